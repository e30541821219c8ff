"""Picks up after a run that came to no end of its own: killed, or cut off with the power."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factory.journal import Entry, Step, journal_path, read_journal, unfinished
from factory.workspace import close_workspace
from shared.atomic_io import write_json
from shared.errors import CommandFailed
from shared.events import Emit, Noted
from shared.git import Git


@dataclass(frozen=True, slots=True)
class Leftover:
    """What an earlier run leaves for the next one: the transcript of what it asked."""

    transcript: Path | None


def recover(git: Git, common_dir: Path, emit: Emit) -> Leftover:
    """Clear away what the latest run left behind, finish its records, and return what is of use.

    The caller holds the repo's lock, so that run is over. A commit that was about to land either
    has landed, which the branch itself shows, or is forgotten: its replies are on record, so it
    is made again at no cost. Raises `Busy` where the journal cannot be understood.
    """
    entries = read_journal(journal_path(common_dir))
    begun = next((each for each in entries if each.step is Step.RUN_BEGUN), None)
    if begun is None:
        return Leftover(None)
    if unfinished(entries):
        emit(Noted(f"run {begun.facts['run_id']} was cut off; clearing up after it"))
        for entry in entries:
            if entry.step is Step.WORKSPACE_OPENING:
                root = Path(entry.facts["root"])
                close_workspace(git, root)
                with contextlib.suppress(OSError):
                    root.parent.parent.rmdir()
        _undo_half_checkout(git, entries)
        _finish_records(Path(begun.facts["folder"]), entries)
    transcript = Path(begun.facts["transcript"])
    return Leftover(transcript if transcript.is_file() and not _gave_up(entries) else None)


def _gave_up(entries: tuple[Entry, ...]) -> bool:
    """Say whether an order used up its attempts: asked for again, it is tried with new replies."""
    return any(
        entry.step is Step.ORDER_ENDED and entry.facts["verdict"] == "FAIL" for entry in entries
    )


def _finish_records(folder: Path, entries: tuple[Entry, ...]) -> None:
    """Say in the run's own folder how it ended, where that folder is still there."""
    if not folder.is_dir():
        return
    landed = [entry.facts for entry in entries if entry.step is Step.LANDED]
    summary: Mapping[str, Any] = {
        "verdict": "ERROR",
        "state": "killed",
        "cause": "the process ended without notice; this was written by the next start",
        "last_step": entries[-1].step,
        "landed": [{"work_order": each["order"], "commit": each["commit"]} for each in landed],
    }
    if not (folder / "run_summary.json").exists():
        write_json(folder / "run_summary.json", summary)
    head = folder / "run.json"
    try:
        document = json.loads(head.read_text("utf-8"))
    except (OSError, ValueError):
        document = {}
    write_json(head, {**document, "status": "killed", "summary": summary})


def _undo_half_checkout(git: Git, entries: tuple[Entry, ...]) -> None:
    """Take back a fast-forward of the user's tree that was cut off in the middle.

    Only where each changed file is byte for byte what the landing commit holds: then nothing of
    the user's is in it. Else the tree is left alone, and preflight says that it is dirty.
    """
    last = next((each for each in reversed(entries) if each.step is Step.LANDING), None)
    if last is None or last.facts["old"] == last.facts["new"]:
        return
    changes = git.changes()
    paths = (*changes.changed, *changes.untracked)
    if not paths or changes.branch != last.facts["branch"] or changes.head != last.facts["old"]:
        return
    if all(git.same_as(last.facts["new"], path) for path in paths):
        for path in changes.untracked:
            (git.folder / path).unlink(missing_ok=True)
        try:
            git.run("reset", "--hard", "--quiet", last.facts["old"])
        except CommandFailed:
            return
