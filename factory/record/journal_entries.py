"""The journal's records, one type for each step, written and read.

A field that was added to a record later has a default, so that the journal of an older version can
still be read.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from factory.orders.documents import UsageRecord
from factory.orders.stages import AttemptStage, Stage, VerdictWord
from shared.events.events import Ending
from shared.llm.replayed_replies import EarlierRun


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
class FailureFacts:
    """Say why an attempt or an order failed: the stage, the failed command if any, an excerpt.

    The stage is "error" if the harness or its environment failed, not a proposal. `remedy` is what
    a person can do where no other attempt would help, and "" elsewhere.
    """

    stage: Stage | Literal["error"]
    command: str | None = None
    exit_code: int | None = None
    excerpt: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class RunBegun:
    """Record that a run holds the repo's lock and has its folder.

    `earlier` are the earlier runs whose transcripts the run may use. `author` and `date` are those
    of the run's commits; they are empty in the journal of an older version. `plan` is the hash of
    the oldest plan that the orders go back to, "" if they have none.
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
    failure: FailureFacts
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
    failure: FailureFacts | None = None


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
    failure: FailureFacts | None
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
_VERDICTS: tuple[VerdictWord, ...] = ("PASS", "FAIL", "ERROR")

T = TypeVar("T")


def render_entry(entry: Entry) -> str:
    """Return the record as one line of JSON, without a line break, in ASCII."""
    document: dict[str, Any] = {"format": _FORMAT, "step": entry.step}
    for each in fields(entry):
        document.update(_render(entry, each.name, getattr(entry, each.name)))
    return json.dumps(document)


def _render(entry: Entry, name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of one field; an optional field without a value yields nothing."""
    match value:
        case FailureFacts(stage, command, exit_code, excerpt, remedy):
            yield ("stage" if isinstance(entry, FailedAttempt) else "failure"), stage
            yield from (("command", command), ("exit_code", exit_code), ("excerpt", excerpt))
            if remedy:
                yield "remedy", remedy
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
    document = json.loads(line)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    if document.get("format") != _FORMAT:
        raise ValueError("it was written by another version")
    facts = _Facts(document)
    return _PARSERS[facts.one_of("step", JournalStep)](facts)


class _Facts:
    """Read the facts of one record by name and type. Raises `ValueError` naming the fact."""

    def __init__(self, document: object) -> None:
        if not isinstance(document, dict):
            raise ValueError(f"{document!r} is not a JSON object")
        self._document: Mapping[str, object] = document

    def has(self, name: str) -> bool:
        return self._document.get(name) is not None

    def text(self, name: str) -> str:
        return self._get(name, str, "a string")

    def number(self, name: str) -> int:
        if isinstance(self._document.get(name), bool):
            raise ValueError(f"{name!r} is not a whole number")
        return self._get(name, int, "a whole number")

    def flag(self, name: str) -> bool:
        return self._get(name, bool, "true or false")

    def items(self, name: str) -> list[object]:
        return self._get(name, list, "a list")

    def path(self, name: str) -> Path:
        return Path(self.text(name))

    def one_of(self, name: str, choices: Callable[[str], T]) -> T:
        """Return the member of an enumeration that the fact names."""
        value = self.text(name)
        try:
            return choices(value)
        except ValueError as fault:
            raise ValueError(f"{name!r} has the unknown value {value!r}") from fault

    def ending(self, name: str) -> Ending:
        return self.one_of(name, Ending)

    def usage(self, name: str) -> UsageRecord:
        match self._get(name, dict, "a JSON object"):
            case {"cost_usd": None | int() | float() as cost, **tokens} if not any(
                type(each) is not int for each in tokens.values()
            ):
                with contextlib.suppress(TypeError):  # a key is missing, or one too many is there
                    return UsageRecord(cost_usd=None if cost is None else float(cost), **tokens)
            case _:
                pass
        raise ValueError(f"{name!r} is not a record of the usage of model calls")

    def optional(self, name: str, read: Callable[[str], T]) -> T | None:
        """Return what `read` returns, or `None` if the fact is null or missing."""
        return read(name) if self.has(name) else None

    def _get(self, name: str, kind: type[T], described: str) -> T:
        if name not in self._document:
            raise ValueError(f"{name!r} is missing")
        value = self._document[name]
        if not isinstance(value, kind):
            raise ValueError(f"{name!r} is not {described}")
        return value


def _run_begun(facts: _Facts) -> RunBegun:
    return RunBegun(
        run_id=facts.text("run_id"),
        pid=facts.number("pid"),
        started=facts.text("started"),
        folder=facts.path("folder"),
        orders=tuple(_listed_order(_Facts(each)) for each in facts.items("orders")),
        branch=facts.text("branch"),
        base=facts.text("base"),
        transcript=facts.path("transcript"),
        earlier=tuple(
            _earlier(_Facts(each)) for each in facts.optional("earlier", facts.items) or ()
        ),
        author=facts.optional("author", facts.text) or "",
        date=facts.optional("date", facts.text) or "",
        plan=facts.optional("plan", facts.text) or "",
    )


def _listed_order(facts: _Facts) -> ListedOrder:
    return ListedOrder(
        facts.text("id"), facts.text("title"), facts.optional("key", facts.text) or ""
    )


def _earlier(facts: _Facts) -> EarlierRun:
    return EarlierRun(facts.path("transcript"), frozenset(map(str, facts.items("anew"))))


def _order_begun(facts: _Facts) -> OrderBegun:
    return OrderBegun(
        facts.text("order"), facts.text("base"), facts.optional("max_attempts", facts.number)
    )


def _stage_begun(facts: _Facts) -> StageBegun:
    return StageBegun(
        order=facts.text("order"),
        attempt=facts.number("attempt"),
        stage=facts.one_of("stage", AttemptStage),
        usage=facts.optional("usage", facts.usage),
    )


def _failed_attempt(facts: _Facts) -> FailedAttempt:
    return FailedAttempt(
        order=facts.text("order"),
        attempt=facts.number("attempt"),
        failure=_failure(facts, "stage"),
        usage=facts.optional("usage", facts.usage),
    )


def _candidate_coupled(facts: _Facts) -> CandidateCoupled:
    return CandidateCoupled(
        order=facts.text("order"),
        commit=facts.text("commit"),
        parent=facts.text("parent"),
        ahead=tuple(map(str, facts.items("ahead"))),
    )


def _candidate_dropped(facts: _Facts) -> CandidateDropped:
    return CandidateDropped(
        order=facts.text("order"),
        because=facts.text("because"),
        attempt=facts.number("attempt") if facts.has("attempt") else 1,
        failure=_failure(facts, "failure") if facts.has("failure") else None,
    )


def _landing_begun(facts: _Facts) -> LandingBegun:
    return LandingBegun(
        facts.text("order"), facts.text("branch"), facts.text("old"), facts.text("new")
    )


def _order_landed(facts: _Facts) -> OrderLanded:
    return OrderLanded(
        facts.text("order"),
        facts.text("commit"),
        facts.optional("skipped", facts.flag) or False,
        facts.optional("proof", facts.text) or "",
    )


def _order_concluded(facts: _Facts) -> OrderConcluded:
    return OrderConcluded(
        order=facts.text("order"),
        verdict=facts.one_of("verdict", _verdict),
        failure=_failure(facts, "failure") if facts.has("failure") else None,
        usage=facts.usage("usage"),
    )


def _failure(facts: _Facts, stage: str) -> FailureFacts:
    return FailureFacts(
        stage=facts.one_of(stage, _failed_stage),
        command=facts.optional("command", facts.text),
        exit_code=facts.optional("exit_code", facts.number),
        excerpt=facts.optional("excerpt", facts.text) or "",
        remedy=facts.optional("remedy", facts.text) or "",
    )


def _failed_stage(name: str) -> Stage | Literal["error"]:
    return "error" if name == "error" else Stage(name)


def _verdict(name: str) -> VerdictWord:
    for each in _VERDICTS:
        if each == name:
            return each
    raise ValueError(f"{name!r} is not a verdict")


_PARSERS: Mapping[JournalStep, Callable[[_Facts], Entry]] = {
    JournalStep.RUN_BEGUN: _run_begun,
    JournalStep.WORKSPACE_OPENING: lambda facts: WorkspaceOpening(facts.path("root")),
    JournalStep.WORKSPACE_OPENED: lambda facts: WorkspaceOpened(facts.path("root")),
    JournalStep.ORDER_BEGUN: _order_begun,
    JournalStep.STAGE: _stage_begun,
    JournalStep.ATTEMPT_FAILED: _failed_attempt,
    JournalStep.COUPLED: _candidate_coupled,
    JournalStep.DROPPED: _candidate_dropped,
    JournalStep.LANDING: _landing_begun,
    JournalStep.LANDED: _order_landed,
    JournalStep.ORDER_ENDED: _order_concluded,
    JournalStep.ORDER_STOPPED: lambda facts: OrderStopped(
        facts.text("order"), facts.usage("usage")
    ),
    JournalStep.RUN_ENDED: lambda facts: RunConcluded(facts.optional("ending", facts.ending)),
}
