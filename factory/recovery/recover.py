"""Picks up after the latest run: what it left behind where it was killed, and what it was told."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factory.orders.documents import Stage
from factory.record.journal import journal_path, read_journal, unfinished
from factory.record.journal_entries import (
    Entry,
    FailureFacts,
    JournalStep,
    LandingBegun,
    OrderConcluded,
    OrderLanded,
    RunBegun,
    WorkspaceOpening,
)
from factory.recovery.interrupted_landing import (
    forget_half_known_trees,
    undo_half_landing,
    unlock_notes,
)
from factory.workbench.workspace import close_workspace
from shared.events import Emit, Noted
from shared.files.atomic_io import remove_drafts, write_json
from shared.git.client import Git
from shared.llm.record.earlier import EarlierRun

_RUN_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # a ULID
_EARLIER_RUNS = 100  # whose replies are looked through; each was cut off before it was done


@dataclass(frozen=True, slots=True)
class _LastRun:
    """What the journal of the latest run tells of it."""

    begun: RunBegun
    earlier: tuple[EarlierRun, ...]
    """Its own transcript, and those it was handed on while its work was not done."""
    roots: tuple[Path, ...]
    """The working trees it opened."""
    landed: tuple[OrderLanded, ...]
    half_landing: LandingBegun | None
    last_step: JournalStep
    cut_off: bool


def recover(git: Git, common_dir: Path, emit: Emit) -> tuple[EarlierRun, ...]:
    """Clear away what the latest run left behind, finish its records, and return what it was told.

    The caller holds the repo's lock, so that run is over. A commit that was about to land either
    has landed, which the branch itself shows, or is forgotten: its replies are on record, so it
    is made again at no cost. Raises `Busy` where the journal cannot be understood.
    """
    last = _last_run(read_journal(journal_path(common_dir)))
    if last is None:
        return ()
    if last.cut_off:
        emit(Noted(f"run {last.begun.run_id} was cut off; clearing up after it"))
    # Also after a run that came to its end: its clearing up may have been interrupted.
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


def workspaces_of(entries: Sequence[Entry]) -> Iterator[Path]:
    """Yield the working trees that a journal says were opened.

    A path counts only where it has the form that a run gives it: the tree is removed as a whole,
    and the journal is no safer than the repo that it lies in.
    """
    begun = _begun(entries)
    run_id = begun.run_id if begun else ""
    for entry in entries:
        if isinstance(entry, WorkspaceOpening):
            root = entry.root
            number, run = root.parent, root.parent.parent
            linked = number.is_symlink() or run.is_symlink()  # one at `root` is not followed
            named = _RUN_ID.fullmatch(run_id) and run.name == run_id and number.name.isdigit()
            if root.is_absolute() and named and not linked and ".." not in root.parts:
                yield root


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
            # Less what has failed since: the same replies are in both.
            *(EarlierRun(each.transcript, each.anew | gave_up) for each in handed_on),
        )[:_EARLIER_RUNS],
        roots=tuple(workspaces_of(entries)),
        landed=landed,
        half_landing=_half_landing(entries),
        last_step=entries[-1].step,
        cut_off=unfinished(entries),
    )


def _gave_up(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the orders whose replies did not do: asked for again, they are tried with new ones.

    Where the disk refused to write, or the plan was not met, no reply is to blame.
    """
    for each in entries:
        match each:
            case OrderConcluded(verdict="FAIL", failure=FailureFacts(stage=Stage() as stage)):
                if stage.retryable:
                    yield each.order
            case _:
                pass


def _half_landing(entries: Sequence[Entry]) -> LandingBegun | None:
    """Return the landing without an end, which is the last if there is one."""
    steps = [each for each in entries if isinstance(each, LandingBegun | OrderLanded)]
    last = steps[-1] if steps else None
    return last if isinstance(last, LandingBegun) else None


def _finish_records(last: _LastRun) -> None:
    """Say in the run's own folder how it ended, where it could not say so itself."""
    folder, run_id = last.begun.folder, last.begun.run_id
    if _RUN_ID.fullmatch(folder.name) and folder.name == run_id:
        remove_drafts(folder)
    head = folder / "run.json"
    try:
        document = json.loads(head.read_text("utf-8"))
        if document["run_id"] != run_id or document["status"] != "running":
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    summary: Mapping[str, Any] = {
        "verdict": "ERROR",
        "state": "killed",
        "cause": "the process ended without notice; this was written by the next start",
        "last_step": last.last_step,
        "landed": [{"work_order": each.order, "commit": each.commit} for each in last.landed],
    }
    if not (folder / "run_summary.json").exists():
        write_json(folder / "run_summary.json", summary)
    write_json(head, {**document, "status": "killed", "summary": summary})
