"""Defines the journal's records, one type for each step, and writes and reads them.

A field that was added to a record later has a default, so that the journal of an older version can
still be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, get_args

from factory.orders.stages import AttemptStage, Failure, VerdictWord
from shared.events.events import Ending
from shared.files.typed_documents import read_as
from shared.llm.replayed_replies import EarlierRun
from shared.llm.usage import UsageRecord


class JournalStep(StrEnum):
    """Name the step that a record announces or reports."""

    RUN_BEGUN = "run_begun"
    WORKSPACE_OPENING = "workspace_opening"
    WORKSPACE_OPENED = "workspace_opened"
    ORDER_BEGUN = "order_begun"
    STAGE = "stage"
    ATTEMPT_FAILED = "attempt_failed"
    COUPLED = "coupled"
    DROPPED = "dropped"
    LANDING = "landing"
    LANDED = "landed"
    ORDER_ENDED = "order_ended"
    ORDER_STOPPED = "order_stopped"
    RUN_ENDED = "run_ended"


@dataclass(frozen=True, slots=True)
class ListedOrder:
    """Name an order of the run, in the list that the run records when it begins.

    `key` is the hash of its work, "" in the journal of an older version.
    """

    id: str
    title: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class RunBegun:
    """Record that a run holds the repo's lock and has its folder.

    `earlier` are the earlier runs whose transcripts the run may use. `author` and `date` are those
    of the run's commits; they are empty in the journal of an older version. `plan` is the hash of
    the oldest plan that the orders go back to, "" if they have none. `replayed` is true if no model
    is asked: `transcript` answers.
    """

    step: ClassVar[JournalStep] = JournalStep.RUN_BEGUN
    run_id: str
    pid: int
    started: str
    folder: Path
    orders: tuple[ListedOrder, ...]
    branch: str
    base: str
    transcript: Path
    earlier: tuple[EarlierRun, ...] = ()
    author: str = ""
    date: str = ""
    plan: str = ""
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceOpening:
    """Record that a working tree is about to be made at `root`."""

    step: ClassVar[JournalStep] = JournalStep.WORKSPACE_OPENING
    root: Path


@dataclass(frozen=True, slots=True)
class WorkspaceOpened:
    """Record that the working tree at `root` is complete."""

    step: ClassVar[JournalStep] = JournalStep.WORKSPACE_OPENED
    root: Path


@dataclass(frozen=True, slots=True)
class OrderBegun:
    """Record that an order is about to be made on the commit `base`."""

    step: ClassVar[JournalStep] = JournalStep.ORDER_BEGUN
    order: str
    base: str
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True)
class StageBegun:
    """Record that a stage of an attempt begins.

    `usage` is the usage of the order's model calls until then.
    """

    step: ClassVar[JournalStep] = JournalStep.STAGE
    order: str
    attempt: int
    stage: AttemptStage
    usage: UsageRecord | None = None


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """Record that an attempt ended without a commit.

    `usage` is the usage of the order's model calls until then.
    """

    step: ClassVar[JournalStep] = JournalStep.ATTEMPT_FAILED
    order: str
    attempt: int
    failure: Failure
    usage: UsageRecord | None = None


@dataclass(frozen=True, slots=True)
class CandidateCoupled:
    """Record that an order's commit is judged on `parent`, the commit that it is to follow.

    `ahead` are the orders whose commits `parent` has and that have not landed yet.
    """

    step: ClassVar[JournalStep] = JournalStep.COUPLED
    order: str
    commit: str
    parent: str
    ahead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateDropped:
    """Record that an order is judged again, because the order `because` was judged otherwise.

    The order goes back to its first attempt that was judged, `attempt`. `failure` says why the one
    before was refused, `None` if there is none.
    """

    step: ClassVar[JournalStep] = JournalStep.DROPPED
    order: str
    because: str
    attempt: int = 1
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class LandingBegun:
    """Record that the branch is about to move from `old` to `new`.

    `old` is all zeros if the branch does not exist yet.
    """

    step: ClassVar[JournalStep] = JournalStep.LANDING
    order: str
    branch: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class OrderLanded:
    """Record that an order's commit is on the branch.

    `skipped` is true if an earlier run landed the commit. `proof` says in one line what verified
    the commit; it is empty for a skipped order and in the journal of an older version.
    """

    step: ClassVar[JournalStep] = JournalStep.LANDED
    order: str
    commit: str
    skipped: bool = False
    proof: str = ""


@dataclass(frozen=True, slots=True)
class OrderConcluded:
    """Record the verdict of an order."""

    step: ClassVar[JournalStep] = JournalStep.ORDER_ENDED
    order: str
    verdict: VerdictWord
    failure: Failure | None
    usage: UsageRecord


@dataclass(frozen=True, slots=True)
class OrderStopped:
    """Record that an order was in progress when its run ended. The next run continues the order."""

    step: ClassVar[JournalStep] = JournalStep.ORDER_STOPPED
    order: str
    usage: UsageRecord


@dataclass(frozen=True, slots=True)
class RunConcluded:
    """Record that the run closed everything it had opened.

    `ending` is `None` in the journal of an older version, which did not record how a run ended.
    """

    step: ClassVar[JournalStep] = JournalStep.RUN_ENDED
    ending: Ending | None = None


Entry = (
    RunBegun
    | WorkspaceOpening
    | WorkspaceOpened
    | OrderBegun
    | StageBegun
    | FailedAttempt
    | CandidateCoupled
    | CandidateDropped
    | LandingBegun
    | OrderLanded
    | OrderConcluded
    | OrderStopped
    | RunConcluded
)


_FORMAT = 1


def render_entry(entry: Entry) -> str:
    """Return the record as one line of JSON, without a line break, in ASCII."""
    document: dict[str, Any] = {"format": _FORMAT, "step": entry.step}
    for each in fields(entry):
        document.update(_render(entry, each.name, getattr(entry, each.name)))
    return json.dumps(document)


def _render(entry: Entry, name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of one field; an optional field without a value yields nothing."""
    match value:
        case Failure(stage, command, exit_code, excerpt, remedy, repeats):
            yield ("stage" if isinstance(entry, FailedAttempt) else "failure"), stage
            yield from (("command", command), ("exit_code", exit_code), ("excerpt", excerpt))
            if remedy:
                yield "remedy", remedy
            if repeats:
                yield "repeats", asdict(repeats)
        case None if name == "failure":
            yield name, None
        case None:
            pass
        case Path():
            yield name, str(value)
        case UsageRecord():
            yield name, asdict(value)
        case tuple() if isinstance(entry, CandidateCoupled):
            yield name, list(value)
        case tuple():
            yield name, [_render_item(each) for each in value]
        case _:
            yield name, value


def _render_item(item: ListedOrder | EarlierRun) -> dict[str, object]:
    match item:
        case ListedOrder(id_, title, key):
            return {"id": id_, "title": title, "key": key}
        case EarlierRun(transcript, anew):
            return {"transcript": str(transcript), "anew": sorted(anew)}


def parse_entry(line: bytes) -> Entry:
    """Return the record in `line`.

    Raises `ValueError` with the reason if the line is not a record of this format.
    """
    document = json.loads(line.decode())
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    if document.get("format") != _FORMAT:
        raise ValueError("it was written by another version")
    step = document.get("step")
    if not isinstance(step, str) or step not in _TYPES:
        step = read_as(_Stepped, document).step  # it raises, and says what is wrong
    return read_as(_TYPES[step], _with_failure(document) if step in _WITH_FAILURE else document)


@dataclass(frozen=True, slots=True)
class _Stepped:
    step: JournalStep


_TYPES: Mapping[str, type[Entry]] = {each.step: each for each in get_args(Entry)}
_FAILURE = tuple(each.name for each in fields(Failure))


def _with_failure(document: dict[str, Any]) -> dict[str, Any]:
    """Return a record with its failure as one value; a line has the parts of it side by side."""
    stage = "stage" if document["step"] == JournalStep.ATTEMPT_FAILED else "failure"
    if document.get(stage) is None:
        return {"failure": None, **document}
    failure = {each: document.get(each) for each in _FAILURE} | {"stage": document[stage]}
    return {**document, "failure": failure}


_WITH_FAILURE = (JournalStep.ATTEMPT_FAILED, JournalStep.DROPPED, JournalStep.ORDER_ENDED)
