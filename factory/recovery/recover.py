"""Cleans up after the latest run if it was killed, and finds the replies that it received."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factory.orders.stages import Stage
from factory.record.journal import journal_path, read_journal, unfinished
from factory.record.journal_entries import (
    Entry,
    FailureFacts,
    JournalStep,
    LandingBegun,
    OrderConcluded,
    OrderLanded,
    RunBegun,
    RunConcluded,
    WorkspaceOpening,
)
from factory.recovery.interrupted_landing import (
    forget_half_known_trees,
    undo_half_landing,
    unlock_notes,
)
from factory.workbench.side_workspaces import sweep_side_workspaces
from factory.workbench.workspace import close_workspace, is_root_of
from shared.ending import Ending
from shared.events.event import Emit
from shared.events.messages import Noted
from shared.files.atomic_io import remove_drafts, write_json
from shared.git.client import Git
from shared.llm.record.earlier_run import EarlierRun

_RUN_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # a ULID
_KILLED = "killed"  # the status of a run that an earlier start has cleaned up after
_EARLIER_RUNS = 100  # the most runs whose replies are searched; each stopped before it was done


@dataclass(frozen=True, slots=True)
class _LastRun:
    """Hold what the journal of the latest run says about the run."""

    begun: RunBegun
    earlier: tuple[EarlierRun, ...]
    """The run itself, and, if its work is not done, the earlier runs that it continued."""
    roots: tuple[Path, ...]
    """The working trees that the run opened."""
    landed: tuple[OrderLanded, ...]
    half_landing: LandingBegun | None
    last_step: JournalStep
    cut_off: bool


def recover(git: Git, common_dir: Path, emit: Emit) -> tuple[EarlierRun, ...]:
    """Remove what the latest run left behind, finish its records, and return the earlier runs.

    The transcripts of these runs hold the replies that the next run may use again. The latest run
    is over, because the caller holds the repo's lock. A commit that was about to land has either
    landed, which the branch shows, or is forgotten: its replies are on record, so making it again
    costs nothing. Raises `Busy` if the journal cannot be understood.
    """
    last = _last_run(read_journal(journal_path(common_dir)))
    sweep_side_workspaces(git, common_dir)
    if last is None:
        return ()
    if last.cut_off and _record_of(last).get("status") != _KILLED:
        emit(Noted(f"run {last.begun.run_id} was cut off; cleaning up after it"))
    # A run that came to its end may need this too: its own cleanup may have been interrupted.
    for root in last.roots:
        if last.cut_off or root.parent.exists():
            close_workspace(git, root)
            with contextlib.suppress(OSError):
                root.parent.parent.rmdir()
    forget_half_known_trees(common_dir)
    unlock_notes(common_dir)
    if last.half_landing is not None:
        undo_half_landing(git, common_dir, last.half_landing)
    _finish_records(last)
    return tuple(each for each in last.earlier if each.transcript.is_file())


def run_that_was_cut_off(common_dir: Path) -> RunBegun | None:
    """Return how the latest run began, if it was killed or interrupted."""
    entries = read_journal(journal_path(common_dir))
    match entries[-1:]:
        case () | (RunConcluded(ending=None | Ending.COMPLETED | Ending.ERROR),):
            return None
        case _:
            return _begun(entries)


def workspaces_of(entries: Sequence[Entry]) -> Iterator[Path]:
    """Yield the working trees that were opened according to a journal.

    A path counts only if it has the form that a run gives to it.
    """
    begun = _begun(entries)
    run_id = begun.run_id if begun else ""
    for entry in entries:
        if isinstance(entry, WorkspaceOpening) and is_root_of(run_id, entry.root):
            yield entry.root


def _begun(entries: Iterable[Entry]) -> RunBegun | None:
    return next((each for each in entries if isinstance(each, RunBegun)), None)


def _last_run(entries: Sequence[Entry]) -> _LastRun | None:
    begun = _begun(entries)
    if begun is None:
        return None
    landed = tuple(each for each in entries if isinstance(each, OrderLanded))
    gave_up = frozenset(_gave_up(entries))
    done = {each.id for each in begun.orders} <= {each.order for each in landed}
    handed_on = () if done else begun.earlier
    return _LastRun(
        begun=begun,
        earlier=(
            EarlierRun(begun.transcript, gave_up),
            # Orders that failed since are asked anew here too: the same replies are in both.
            *(EarlierRun(each.transcript, each.anew | gave_up) for each in handed_on),
        )[:_EARLIER_RUNS],
        roots=tuple(workspaces_of(entries)),
        landed=landed,
        half_landing=_half_landing(entries),
        last_step=entries[-1].step,
        cut_off=unfinished(entries),
    )


def _gave_up(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the orders that failed because of their replies: the next run asks for new replies.

    If the disk refused to write or the plan's preconditions were not met, no reply is to blame.
    """
    for each in entries:
        match each:
            case OrderConcluded(verdict="FAIL", failure=FailureFacts(stage=Stage() as stage)):
                if stage.retryable:
                    yield each.order
            case _:
                pass


def _half_landing(entries: Sequence[Entry]) -> LandingBegun | None:
    """Return the landing that has no end; only the last landing can be without one."""
    steps = [each for each in entries if isinstance(each, LandingBegun | OrderLanded)]
    last = steps[-1] if steps else None
    return last if isinstance(last, LandingBegun) else None


def _record_of(last: _LastRun) -> Mapping[str, Any]:
    """Return the `run.json` of the run; empty where it cannot be read or is another run's."""
    try:
        document = json.loads((last.begun.folder / "run.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    own = isinstance(document, dict) and document.get("run_id") == last.begun.run_id
    return document if own else {}


def _finish_records(last: _LastRun) -> None:
    """Record in the run's own folder how the run ended, if the run could not do so itself."""
    folder, run_id = last.begun.folder, last.begun.run_id
    if _RUN_ID.fullmatch(folder.name) and folder.name == run_id:
        remove_drafts(folder)
    document = _record_of(last)
    if document.get("status") != "running":
        return
    summary: Mapping[str, Any] = {
        "verdict": "ERROR",
        "state": _KILLED,
        "cause": "the process ended without recording its end; the next start wrote this summary",
        "last_step": last.last_step,
        "landed": [{"work_order": each.order, "commit": each.commit} for each in last.landed],
    }
    if not (folder / "run_summary.json").exists():
        write_json(folder / "run_summary.json", summary)
    write_json(folder / "run.json", {**document, "status": _KILLED, "summary": summary})
