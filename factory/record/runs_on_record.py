"""Finds runs and attempts by the records that they leave.

Anything may have happened to these files since they were written, and a clone may have brought
some of them along. So they are read with bounds, and never believed further than a person who
looks at them would believe them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from factory.orders.documents import FailureBrief, FileWrite, RunSummary, WriteProposal
from factory.preflight import name_paths
from factory.record.journal import journal_path, read_understood
from factory.record.journal_entries import CandidateCoupled, OrderBegun, RunBegun
from shared.errors import InvalidInput
from shared.events.run_record import ModelSettings, is_run_id
from shared.files.atomic_io import make_folder, write_refused
from shared.files.strict_documents import MAX_DOCUMENT_BYTES
from shared.files.text_sources import read_regular_file
from shared.files.typed_documents import Faults, read_record
from shared.llm.usage import UsageRecord

LATEST = "latest"
_ATTEMPT = re.compile("attempt_([1-9][0-9]{0,3})")
_REMADE = "on_the_tip"  # the folder of an order that was made again on a newer commit


@dataclass(frozen=True, slots=True)
class AskedOrder:
    """Name an order that a run was asked for; `order_key` is the hash of its work."""

    id: str
    order_key: str = ""


@dataclass(frozen=True, slots=True)
class RunDocument:
    """Hold what readers use of a `run.json`, of runs of orders and of the planner's runs.

    Earlier versions wrote fewer keys, and named the `model` alone. The first ones named the orders
    in the `summary` of the run only.
    """

    command: str = ""
    status: str = ""
    started: str = ""
    ended: str = ""
    error: str = ""
    llmch_version: str = ""
    repo: Path | None = None
    workdir: Path | None = None
    outdir: Path | None = None
    """Where the planner put a copy of its plan, for a person."""
    work_order: Path | None = None
    spec: str = ""
    branch: str = ""
    base: str = ""
    manifest_sha256: str = ""
    orders: tuple[AskedOrder, ...] = ()
    author: str = ""
    max_attempts: int | None = None
    timeout_seconds: float | None = None
    model: str = ""
    model_settings: ModelSettings = field(default_factory=ModelSettings)
    usage: UsageRecord | None = None
    commands: Any = None
    """The choices for commands; code that follows them reads them strictly."""
    summary: RunOutcome | None = None

    @property
    def made_attempts(self) -> bool:
        """Return whether orders were made: `accept` may have judged a commit that is there."""
        return self.command != "plan" and (self.command != "accept" or bool(self.base))


NO_DOCUMENT: Final = RunDocument()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Hold what readers use of the `run_summary.json` of a whole run.

    A `BatchSummary` has it, the `RunSummary` of a run of one order, and what the next start writes
    for a run that was killed: only that one has the state `killed`, or `interrupted` in the records
    of the first versions.
    """

    verdict: str = ""
    state: str = ""
    work_order: str = ""
    tip: str = ""
    commit: str = ""
    usage: UsageRecord | None = None
    orders: tuple[RunSummary, ...] = ()


def read_run_document(folder: Path, faults: Faults | None = None) -> RunDocument:
    """Return the `run.json` of a folder, `NO_DOCUMENT` where it cannot be read."""
    return read_record(folder / "run.json", RunDocument, faults or Faults()) or NO_DOCUMENT


@dataclass(frozen=True, slots=True)
class RunOnRecord:
    """Name a run and its folder; `head` is its `run.json`."""

    run_id: str
    folder: Path
    head: RunDocument = NO_DOCUMENT

    def orders(self) -> tuple[str, ...]:
        """Return the orders that the run was asked for."""
        whole = self.head.summary
        if self.head.orders or whole is None:
            return tuple(each.id for each in self.head.orders)
        return (
            (whole.work_order,) if whole.work_order else tuple(o.work_order for o in whole.orders)
        )

    def folder_of(self, order: str) -> Path:
        """Return the folder of an order's attempts, where there may be none."""
        folder = self.folder if self.head.command == "run" else self.folder / order
        remade = folder / _REMADE
        return remade if remade.is_dir() else folder

    def summary_folder_of(self, order: str) -> Path:
        """Return the folder of an order's `run_summary.json` and `work_order.json`."""
        folder = self.folder_of(order)
        return folder.parent if folder.name == _REMADE else folder

    def attempts_of(self, order: str) -> tuple[int, ...]:
        """Return the numbers of the attempts at an order that left a folder, in their sequence."""
        folder = self.folder_of(order)
        names = (each.name for each in folder.iterdir()) if folder.is_dir() else ()
        found = map(_ATTEMPT.fullmatch, names)
        return tuple(sorted(int(each[1]) for each in found if each))


def places_of_runs(artifacts: Path, common_dir: Path) -> tuple[Path, ...]:
    """Return the folders that have folders of a repo's runs; some may not be there.

    The run of the journal may have had another artifacts folder.
    """
    entries = read_understood(journal_path(common_dir))
    begun = (each.folder.parent for each in entries if isinstance(each, RunBegun))
    return tuple(dict.fromkeys((artifacts / "factory", *begun)))


def runs_on_record(artifacts: Path, common_dir: Path, tree: Path) -> Iterator[RunOnRecord]:
    """Yield the runs of a repo, newest first: ids of runs sort by the time they were made."""
    found = {
        folder.name: folder
        for place in places_of_runs(artifacts, common_dir)
        for folder in (place.iterdir() if place.is_dir() else ())
        if is_run_id(folder.name) and folder.is_dir()
    }
    for run_id, folder in sorted(found.items(), reverse=True):
        head = read_run_document(folder)
        if not head.made_attempts:
            continue
        if head.repo is None or head.repo.is_relative_to(tree):
            yield RunOnRecord(run_id, folder, head)


def choose_run(runs: tuple[RunOnRecord, ...], wanted: str) -> RunOnRecord:
    """Return the run that `wanted` names: its id, the beginning of the id, or `LATEST`.

    `runs` are newest first. Raises `InvalidInput` if that is none of them or several.
    """
    if wanted == LATEST:
        return runs[0]
    found = [each for each in runs if each.run_id.startswith(wanted.upper())]
    if wanted and len(found) == 1:
        return found[0]
    ids = [each.run_id for each in found or runs]
    if wanted and not found:
        raise InvalidInput(
            f"there is no run {wanted!r} of this repo", f"the runs on record: {name_paths(ids)}"
        )
    raise InvalidInput(f"{wanted!r} begins the ids of several runs", f"they are {name_paths(ids)}")


REJECTED_PATCH = "rejected.patch"
"""The name of the file, in the folder of an attempt that failed, with what it changed."""
PLACED_FILES = "placed_files.json"
FORMATTED_FILES = "formatted_files.json"
WRITE_RESULT = "write_result.json"
REMOVED_FILES = "removed_files"
"""The key in the record of what was written that lists the files the order removes, if any."""
_MOST_PATCH_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AttemptOnRecord:
    """Hold what is on record of one attempt; `last` is the number of the order's last attempt.

    `baseline` is the commit that the attempt began from, empty if no record names it.
    `brief` says why the attempt failed; it is `None` for one that passed or that was cut off.
    """

    run: RunOnRecord
    order: str
    number: int
    last: int
    folder: Path
    baseline: str
    passed: bool
    brief: FailureBrief | None
    proposal: WriteProposal | None
    placed: WriteProposal | None
    """The acceptance files of the plan that were put in place beside the proposal."""
    formatted: WriteProposal | None
    """The files of both as the project's formatter made them, where it changed them."""
    written: bool
    """Whether all files of the proposal were written."""
    removed: tuple[str, ...] = ()
    """The files that the order removes."""

    @property
    def patch(self) -> bytes | None:
        """Return the recorded patch of a rejected attempt, or `None` if there is none."""
        path = self.folder / REJECTED_PATCH
        if not path.is_file():
            return None
        return read_regular_file(path, "patch", _MOST_PATCH_BYTES).data

    @property
    def writes(self) -> tuple[FileWrite, ...]:
        """Return the files that were judged: proposed and placed ones, as they were formatted."""
        proposed, placed, formatted = (
            each.writes if each else () for each in (self.proposal, self.placed, self.formatted)
        )
        made = {each.path: each for each in formatted}
        return tuple(made.get(each.path, each) for each in (*proposed, *placed))

    def describe(self) -> str:
        """Return the attempt's name for messages."""
        return f"attempt {self.number} of {self.order} in run {self.run.run_id}"


def find_attempt(
    artifacts: Path,
    common_dir: Path,
    tree: Path,
    run: str | None,
    order: str | None,
    number: int | None,
    *,
    failed: bool = False,
) -> AttemptOnRecord:
    """Return an attempt on the repo whose git folder is `common_dir` and whose tree is `tree`.

    `run` is an id, the beginning of one, or `LATEST`. Without it, the newest run that made the
    order counts, and without an order, the last attempt of the newest run, or the last that
    `failed`. If `number` is `None`, it is the last attempt. Raises `InvalidInput` if the run, order
    or attempt does not exist; the error names those that do.
    """
    runs = tuple(runs_on_record(artifacts, common_dir, tree))
    if not runs:
        raise InvalidInput(
            f"there is no run of this repo in {artifacts / 'factory'}",
            "name the folder of the records with --artifacts-dir, or the repo with --repo",
        )
    if order is None:
        return _last_attempt((choose_run(runs, run),) if run else runs, common_dir, failed=failed)
    if run is None:
        made = [each for each in runs if order in each.orders() and each.attempts_of(order)]
        if not made:
            raise _no_order(order, runs)
        return _attempt(made[0], order, number, common_dir)
    return _attempt(choose_run(runs, run), order, number, common_dir)


def _last_attempt(
    runs: Sequence[RunOnRecord], common_dir: Path, *, failed: bool
) -> AttemptOnRecord:
    name = "failure_brief.json" if failed else "se_prompt.txt"
    for run in runs:
        found = [
            (path.stat().st_mtime_ns, order, number)
            for order in run.orders()
            for number in run.attempts_of(order)
            if (path := run.folder_of(order) / f"attempt_{number}" / name).is_file()
        ]
        if found:
            return _attempt(run, *max(found)[1:], common_dir)
    raise InvalidInput(
        "no attempt on record failed" if failed else "no attempt is on record",
        "name one: [RUN] ORDER [ATTEMPT]",
    )


def attempts_of_order(
    run: RunOnRecord, order: str, common_dir: Path, faults: Faults
) -> tuple[AttemptOnRecord, ...]:
    """Return all attempts of a run at an order, in their sequence; there may be none."""
    numbers = run.attempts_of(order)
    return tuple(
        _read_attempt(run, order, each, numbers[-1], common_dir, faults) for each in numbers
    )


def bases_on_record(artifacts: Path, common_dir: Path, tree: Path, branch: str) -> frozenset[str]:
    """Return the commits that the runs on a branch began from, as far as their records say."""
    heads = (each.head for each in runs_on_record(artifacts, common_dir, tree))
    bases = (object_id(each.base) for each in heads if each.branch == branch)
    return frozenset(filter(None, bases))


def _attempt(run: RunOnRecord, order: str, number: int | None, common_dir: Path) -> AttemptOnRecord:
    if order not in run.orders():
        raise _no_order(order, (run,))
    numbers = run.attempts_of(order)
    if not numbers:
        raise InvalidInput(
            f"run {run.run_id} made no attempt at {order}",
            "the order had landed before, or the run ended before it began; "
            "without RUN, the newest run with an attempt is taken",
        )
    if number is not None and number not in numbers:
        raise InvalidInput(
            f"there is no attempt {number} of {order} in run {run.run_id}",
            f"its attempts: {', '.join(map(str, numbers))}",
        )
    return _read_attempt(run, order, number or numbers[-1], numbers[-1], common_dir, Faults())


def _read_attempt(
    run: RunOnRecord, order: str, number: int, last: int, common_dir: Path, faults: Faults
) -> AttemptOnRecord:
    folder = run.folder_of(order) / f"attempt_{number}"
    summary = order_summary(run, order, Faults())
    failed = folder / "failure_brief.json"
    brief = read_record(failed, FailureBrief, faults)
    result = read_record(folder / WRITE_RESULT, _WriteResult, faults) or _WriteResult()
    return AttemptOnRecord(
        run=run,
        order=order,
        number=number,
        last=last,
        folder=folder,
        baseline=_baseline(summary, number) or _begun_at(run, order, common_dir),
        passed=not failed.is_file()
        and number == last
        and summary is not None
        and summary.verdict == "PASS",
        brief=brief,
        proposal=_read_proposal(folder / "proposed_writes.json"),
        placed=_read_proposal(folder / PLACED_FILES),
        formatted=_read_proposal(folder / FORMATTED_FILES),
        written=result.write_ok,
        removed=result.removed_files,
    )


@dataclass(frozen=True, slots=True)
class _WriteResult:
    """Hold the parts of the record of written files that are read again."""

    write_ok: bool = False
    removed_files: tuple[str, ...] = ()


def order_summary(run: RunOnRecord, order: str, faults: Faults) -> RunSummary | None:
    """Return the summary of an order, out of its own folder or out of that of the run."""
    path = run.summary_folder_of(order) / "run_summary.json"
    found = Faults()
    if own := read_record(path, RunSummary, found):
        faults.named += found.named
        return own
    whole = read_record(path, RunOutcome, Faults())
    if whole is None or whole.state not in ("killed", "interrupted"):
        faults.named += found.named
    listed = run.head.summary.orders if run.head.summary else ()
    return next((each for each in listed if each.work_order == order), None)


def _baseline(summary: RunSummary | None, number: int) -> str:
    records = summary.attempt_records if summary else ()
    found = (each.baseline_commit for each in records if each.attempt_index == number)
    return object_id(next(found, ""))


def _begun_at(run: RunOnRecord, order: str, common_dir: Path) -> str:
    """Return the commit on which a run without a summary judged the order, by the journal.

    If it judged nothing, that is the commit on which the run began the order.
    """
    entries = read_understood(journal_path(common_dir))
    if any(isinstance(each, RunBegun) and each.run_id == run.run_id for each in entries):
        for each in reversed(entries):
            match each:
                case CandidateCoupled(order=name, parent=parent) if name == order:
                    return object_id(parent)
                case OrderBegun(order=name, base=base) if name == order:
                    return object_id(base)
                case _:
                    pass
    return object_id(run.head.base) if len(run.orders()) == 1 else ""


def object_id(text: str | None) -> str:
    """Return the id of a git object, and "" for any other text: git would take it for an option."""
    return text if text and re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", text) else ""


def _no_order(order: str, runs: tuple[RunOnRecord, ...]) -> InvalidInput:
    known = sorted({each for run in runs for each in run.orders()})
    where = f"run {runs[0].run_id} has" if len(runs) == 1 else "the runs of this repo have"
    return InvalidInput(
        f"{where} no attempt at an order {order!r}",
        f"the orders on record: {name_paths(known)}" if known else "no order is on record",
    )


def _read_proposal(path: Path) -> WriteProposal | None:
    """Return a recorded proposal; `None` if there is none or a part of it cannot be read.

    The order is made again from it, so a part of it is not enough.
    """
    try:
        start = read_regular_file(path, "record", MAX_DOCUMENT_BYTES + 1)
        return WriteProposal.model_validate_json(start.data)
    except (InvalidInput, ValidationError):
        return None


_DROPPED_JUDGEMENTS_ATTEMPT: Final = re.compile("attempt_([1-9][0-9]*)")
# The prompt, the reply and the proposal of an attempt stay where they are.
_OF_THE_PROPOSAL: Final = ("se_prompt", "raw_llm_response", "proposed_writes")


def set_aside(folder: Path, attempt: int, number: int) -> None:
    """Move what was recorded of an order since `attempt` was proposed to its folder `dropped_N`.

    `number` is how often the order was dropped. If nothing was recorded since, nothing happens.
    Raises `CommandFailed` if the disk refuses.
    """
    aside = folder / f"dropped_{number}"
    try:
        for each in tuple(_recorded_since(folder, attempt)):
            target = aside / each.relative_to(folder)
            make_folder(target.parent)
            each.rename(target)
    except OSError as error:
        raise write_refused(aside, error) from error


def _recorded_since(folder: Path, attempt: int) -> Iterator[Path]:
    for each in folder.iterdir():
        found = _DROPPED_JUDGEMENTS_ATTEMPT.fullmatch(each.name)
        if found is None:
            continue
        if int(found[1]) > attempt:
            yield each
        elif int(found[1]) == attempt:
            yield from (one for one in each.iterdir() if not one.name.startswith(_OF_THE_PROPOSAL))
