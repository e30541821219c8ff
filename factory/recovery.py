"""Picks up after the latest run: what it left behind where it was killed, and what it was told."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factory.half_landing import (
    HalfLanding,
    forget_half_known_trees,
    undo_half_landing,
    unlock_notes,
)
from factory.journal import Entry, Step, journal_path, read_journal, unfinished
from factory.schemas import Stage
from factory.workspace import close_workspace
from shared.atomic_io import remove_drafts, write_json
from shared.errors import Busy
from shared.events import Emit, Noted
from shared.git import Git
from shared.llm.resume import Earlier

_RUN_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # a ULID
_EARLIER_RUNS = 100  # whose replies are looked through; each was cut off before it was done


@dataclass(frozen=True, slots=True)
class _LastRun:
    """What the journal of the latest run tells of it."""

    run_id: str
    folder: Path
    earlier: tuple[Earlier, ...]
    """Its own transcript, and those it was handed on while its work was not done."""
    roots: tuple[Path, ...]
    """The working trees it opened."""
    landed: Sequence[Mapping[str, Any]]
    half_landing: HalfLanding | None
    last_step: Step
    cut_off: bool


def recover(git: Git, common_dir: Path, emit: Emit) -> tuple[Earlier, ...]:
    """Clear away what the latest run left behind, finish its records, and return what it was told.

    The caller holds the repo's lock, so that run is over. A commit that was about to land either
    has landed, which the branch itself shows, or is forgotten: its replies are on record, so it
    is made again at no cost. Raises `Busy` where the journal cannot be understood.
    """
    path = journal_path(common_dir)
    entries = read_journal(path)
    try:
        last = _last_run(entries)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise Busy(
            f"{path} tells of what cannot be: {fault}",
            "`llmch reset` ends the run it belongs to and keeps all commits",
        ) from fault
    if last is None:
        return ()
    if last.cut_off:
        emit(Noted(f"run {last.run_id} was cut off; clearing up after it"))
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

    Only those with a path of the form that a run gives them: they are removed as a whole, and
    the journal is no safer than the repo that it lies in.
    """
    begun = next((each for each in entries if each.step is Step.RUN_BEGUN), None)
    run_id = str(begun.facts.get("run_id")) if begun else ""
    for entry in entries:
        if entry.step is Step.WORKSPACE_OPENING:
            root = Path(str(entry.facts.get("root")))
            number, run = root.parent, root.parent.parent
            linked = number.is_symlink() or run.is_symlink()  # one at `root` is not followed
            named = _RUN_ID.fullmatch(run_id) and run.name == run_id and number.name.isdigit()
            if root.is_absolute() and named and not linked and ".." not in root.parts:
                yield root


def _last_run(entries: Sequence[Entry]) -> _LastRun | None:
    begun = next((each.facts for each in entries if each.step is Step.RUN_BEGUN), None)
    if begun is None:
        return None
    ended = [each.facts for each in entries if each.step is Step.ORDER_ENDED]
    landed = [each.facts for each in entries if each.step is Step.LANDED]
    gave_up = frozenset(_gave_up(ended))
    done = {each["id"] for each in begun.get("orders", ())} <= {each["order"] for each in landed}
    handed_on = () if done else begun.get("earlier", ())
    return _LastRun(
        run_id=str(begun["run_id"]),
        folder=Path(begun["folder"]),
        earlier=(
            Earlier(Path(begun["transcript"]), gave_up),
            *(_parse_earlier(each, gave_up) for each in handed_on),
        )[:_EARLIER_RUNS],
        roots=tuple(workspaces_of(entries)),
        landed=[{"work_order": each["order"], "commit": each["commit"]} for each in landed],
        half_landing=_half_landing(entries),
        last_step=entries[-1].step,
        cut_off=unfinished(entries),
    )


def _gave_up(ended: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the orders whose replies did not do: asked for again, they are tried with new ones.

    Where the disk refused to write, or the plan was not met, no reply is to blame.
    """
    for each in ended:
        if each["verdict"] == "FAIL" and Stage(each["failure"]).retryable:
            yield str(each["order"])


def _half_landing(entries: Sequence[Entry]) -> HalfLanding | None:
    """Return the landing without an end, which is the last if there is one."""
    steps = [each for each in entries if each.step in (Step.LANDING, Step.LANDED)]
    if not steps or steps[-1].step is Step.LANDED:
        return None
    facts = steps[-1].facts
    return HalfLanding(str(facts["branch"]), str(facts["old"]), str(facts["new"]))


def render_earlier(earlier: Sequence[Earlier]) -> list[dict[str, Any]]:
    """Return what a run was handed on, for its journal."""
    return [{"transcript": str(each.transcript), "anew": sorted(each.anew)} for each in earlier]


def _parse_earlier(document: Mapping[str, Any], gave_up: frozenset[str]) -> Earlier:
    """Return what was handed on, less what has failed since: the same replies are in both."""
    anew = gave_up.union(map(str, document["anew"]))
    return Earlier(Path(document["transcript"]), anew)


def _finish_records(last: _LastRun) -> None:
    """Say in the run's own folder how it ended, where it could not say so itself."""
    if _RUN_ID.fullmatch(last.folder.name) and last.folder.name == last.run_id:
        remove_drafts(last.folder)
    head = last.folder / "run.json"
    try:
        document = json.loads(head.read_text("utf-8"))
        if document["run_id"] != last.run_id or document["status"] != "running":
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    summary: Mapping[str, Any] = {
        "verdict": "ERROR",
        "state": "killed",
        "cause": "the process ended without notice; this was written by the next start",
        "last_step": last.last_step,
        "landed": last.landed,
    }
    if not (last.folder / "run_summary.json").exists():
        write_json(last.folder / "run_summary.json", summary)
    write_json(head, {**document, "status": "killed", "summary": summary})
