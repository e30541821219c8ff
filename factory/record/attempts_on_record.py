"""Finds attempts by the records that runs leave in the artifacts folder.

Anything may have happened to these files since they were written, and a clone may have brought
some of them along. So they are read with bounds, and never believed further than a person who
looks at them would believe them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from factory.orders.documents import FailureBrief, WriteProposal
from factory.record.journal import journal_path, read_understood
from factory.record.journal_entries import CandidateCoupled, OrderBegun, RunBegun
from factory.record.runs_on_record import RunOnRecord, choose_run, read_object, runs_on_record
from factory.repo.path_names import name_paths
from shared.errors import InvalidInput
from shared.files.strict_json import MAX_DOCUMENT_BYTES
from shared.files.text_input import read_regular_file

REJECTED_PATCH = "rejected.patch"
"""The name of the file, in the folder of an attempt that failed, with what it changed."""
PLACED_FILES = "placed_files.json"
WRITE_RESULT = "write_result.json"
REMOVED_FILES = "removed_files"
"""The key in the record of what was written that lists the files the order removes, if any."""
_MOST_PATCH_BYTES = 64 * 1024 * 1024

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class AttemptOnRecord:
    """Hold what is on record of one attempt; `last` is the number of the order's last attempt.

    `baseline` is the commit that the attempt began from, empty where no record names it.
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
    written: bool
    """Whether all files of the proposal were written."""
    removed: tuple[str, ...] = ()
    """The files that the order removes."""

    @property
    def patch(self) -> bytes | None:
        """Return the recorded patch of a rejected attempt, or `None` where there is none."""
        path = self.folder / REJECTED_PATCH
        if not path.is_file():
            return None
        return read_regular_file(path, "patch", _MOST_PATCH_BYTES).data

    def describe(self) -> str:
        """Return the attempt's name for messages."""
        return f"attempt {self.number} of {self.order} in run {self.run.run_id}"


def find_attempt(
    artifacts: Path, common_dir: Path, tree: Path, run: str | None, order: str, number: int | None
) -> AttemptOnRecord:
    """Return an attempt on the repo whose git folder is `common_dir` and whose tree is `tree`.

    `run` is an id, the beginning of one, or `LATEST`; without it, the newest run that made the
    order counts. `number` is the last attempt where it is `None`. Raises `InvalidInput`, which
    names what there is instead, where there is no such run, order or attempt.
    """
    runs = tuple(runs_on_record(artifacts, common_dir, tree))
    if not runs:
        raise InvalidInput(
            f"there is no run of this repo in {artifacts / 'factory'}",
            "name the folder of the records with --artifacts-dir, or the repo with --repo",
        )
    if run is None:
        made = [each for each in runs if order in each.orders() and each.attempts_of(order)]
        if not made:
            raise _no_order(order, runs)
        return _attempt(made[0], order, number, common_dir)
    return _attempt(choose_run(runs, run), order, number, common_dir)


def attempts_of_order(
    run: RunOnRecord, order: str, common_dir: Path
) -> tuple[AttemptOnRecord, ...]:
    """Return all attempts of a run at an order, in their sequence; there may be none."""
    numbers = run.attempts_of(order)
    return tuple(_read_attempt(run, order, each, numbers[-1], common_dir) for each in numbers)


def bases_on_record(artifacts: Path, common_dir: Path, tree: Path, branch: str) -> frozenset[str]:
    """Return the commits that the runs on a branch began from, as far as their records say."""
    heads = (each.head for each in runs_on_record(artifacts, common_dir, tree))
    bases = (_object_id(each.get("base")) for each in heads if each.get("branch") == branch)
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
    return _read_attempt(run, order, number or numbers[-1], numbers[-1], common_dir)


def _read_attempt(
    run: RunOnRecord, order: str, number: int, last: int, common_dir: Path
) -> AttemptOnRecord:
    folder = run.folder_of(order) / f"attempt_{number}"
    summary = _summary_of(run, order)
    brief = _read_model(folder / "failure_brief.json", FailureBrief)
    result = read_object(folder / WRITE_RESULT)
    return AttemptOnRecord(
        run=run,
        order=order,
        number=number,
        last=last,
        folder=folder,
        baseline=_baseline(summary, number) or _begun_at(run, order, common_dir),
        passed=brief is None and number == last and summary.get("verdict") == "PASS",
        brief=brief,
        proposal=_read_model(folder / "proposed_writes.json", WriteProposal),
        placed=_read_model(folder / PLACED_FILES, WriteProposal),
        written=result.get("write_ok") is True,
        removed=_texts(result.get(REMOVED_FILES)),
    )


def _texts(value: object) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(each for each in entries if isinstance(each, str))


def _summary_of(run: RunOnRecord, order: str) -> Mapping[str, Any]:
    return read_object(run.summary_folder_of(order) / "run_summary.json")


def _baseline(summary: Mapping[str, Any], number: int) -> str:
    records = summary.get("attempt_records")
    for each in records if isinstance(records, list) else ():
        if isinstance(each, dict) and each.get("attempt_index") == number:
            return _object_id(each.get("baseline_commit"))
    return ""


def _begun_at(run: RunOnRecord, order: str, common_dir: Path) -> str:
    """Return what a run that left no summary judged the order on, as far as the journal knows.

    Where it judged nothing, that is the commit on which the run began the order.
    """
    entries = read_understood(journal_path(common_dir))
    if any(isinstance(each, RunBegun) and each.run_id == run.run_id for each in entries):
        for each in reversed(entries):
            match each:
                case CandidateCoupled(order=name, parent=parent) if name == order:
                    return _object_id(parent)
                case OrderBegun(order=name, base=base) if name == order:
                    return _object_id(base)
                case _:
                    pass
    return _object_id(run.head.get("base")) if len(run.orders()) == 1 else ""


def _object_id(value: object) -> str:
    text = value if isinstance(value, str) else ""
    return text if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", text) else ""


def _no_order(order: str, runs: tuple[RunOnRecord, ...]) -> InvalidInput:
    known = sorted({each for run in runs for each in run.orders()})
    where = f"run {runs[0].run_id} has" if len(runs) == 1 else "the runs of this repo have"
    return InvalidInput(
        f"{where} no attempt at an order {order!r}",
        f"the orders on record: {name_paths(known)}" if known else "no order is on record",
    )


def _read_model(path: Path, model: type[M]) -> M | None:
    """Return a record as its type; `None` where there is no readable one."""
    try:
        start = read_regular_file(path, "record", MAX_DOCUMENT_BYTES + 1)
        return model.model_validate_json(start.data)
    except (InvalidInput, ValidationError):
        return None
