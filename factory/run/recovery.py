"""Cleans up after a run that was killed, and keeps its replies."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from factory.orders.order_commit import NOTES_REF
from factory.orders.stages import Failure, Stage
from factory.preflight import RepoPlace, checkout_of, hold
from factory.record.journal import journal_path, read_journal, read_understood, unfinished
from factory.record.journal_entries import (
    Entry,
    JournalStep,
    LandingBegun,
    OrderConcluded,
    OrderLanded,
    RunBegun,
    RunConcluded,
    WorkspaceOpening,
)
from factory.record.run_status import state_path
from factory.statement.statement import PROOF_REF
from factory.workbench.pool import side_workspaces_in_use, sweep_side_workspaces
from factory.workbench.workspace import close_workspace, is_root_of, workspaces_root
from shared.errors import CommandFailed
from shared.events.events import Emit, Ending, Noted, Warned
from shared.events.run_record import is_run_id
from shared.files.atomic_io import remove_drafts, write_json
from shared.files.typed_documents import Faults, read_record
from shared.git import refs, repos, trees
from shared.git.client import Git
from shared.llm.model_client import CallPlace
from shared.llm.replayed_replies import EarlierRun
from shared.llm.transcript import uncertain_calls
from shared.llm.transcript_lines import place_to_json

_SETTLED_SECONDS = 2.0


def undo_half_landing(git: Git, common_dir: Path, landing: LandingBegun) -> None:
    """Restore the branch and its checkout to the state before a landing that did not end.

    The user's tree is changed only if the landing writes every file that differs, and each of these
    files holds only what git had written of it so far, or was restoring. Then no difference is the
    user's own work. Otherwise the tree is left alone, and preflight reports that it is dirty. If
    the branch has moved, the landing was complete and nothing is undone.
    """
    if not refs.branch_name_allowed(git, landing.branch):
        return
    _remove_stale(common_dir / "refs" / "heads" / f"{landing.branch}.lock")
    checkout = checkout_of(landing.branch, repos.checkouts(git))
    if checkout is None or not checkout.path.is_dir():
        return
    place = git.at(checkout.path)
    layout = repos.layout(place)
    if layout is not None:
        _, git_dir, _ = layout
        for name in ("HEAD.lock", "ORIG_HEAD.lock"):
            _remove_stale(git_dir / name)
        # Git locks the index while it writes files, and then puts the new index in its place.
        begun = _remove_stale(git_dir / "index.lock")
        _restore_checkout(
            place, landing, torn=bool(begun) or trees.has_staged(place, landing.new), begun=begun
        )


def _restore_checkout(git: Git, landing: LandingBegun, *, torn: bool, begun: int) -> None:
    old, new = landing.old, landing.new
    changes = repos.changes(git, own_tree=True)  # lists the files of a new folder one by one
    if changes.head != old or not refs.commit_of(git, new):  # a power loss may have destroyed `new`
        return
    files = trees.files_between(git, old, new)
    if begun:
        _remove_new_folders(git.folder, files, begun)
    # Untracked files that the landing does not write are the person's and stay as they are.
    reported = {*changes.changed, *files.intersection(changes.untracked)}
    if not files >= reported:
        return
    added = files.difference(trees.entries_of(git, old, sorted(files)))
    # Git does not report a file that it ignores. If such a file is empty, it may be the user's.
    here = reported | {path for path in added if _size_at(git.folder / path)}
    if not here or not all(_written_by_git(git, path, landing, torn=torn) for path in here):
        return
    for path in sorted(here & added):
        (git.folder / path).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # up to the first folder that holds something else
            os.removedirs((git.folder / path).parent)
    with contextlib.suppress(CommandFailed):
        repos.reset(git, old)


def _remove_new_folders(tree: Path, files: Iterable[str], since: int) -> None:
    """Remove those folders of `files` that are empty and changed at or after `since`.

    `since` is in nanoseconds. Git made such folders and had not filled them yet.
    """
    folders = {parent for path in files for parent in Path(path).parents if parent != Path()}
    for folder in sorted((tree / each for each in folders), reverse=True):  # the deepest first
        with contextlib.suppress(OSError):  # a folder that holds something stays
            if folder.resolve() == folder and folder.stat().st_mtime_ns >= since:
                folder.rmdir()


def _size_at(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def _written_by_git(git: Git, path: str, landing: LandingBegun, *, torn: bool) -> bool:
    """Return whether the file at `path` has the content of the landing commit.

    With `torn`, the beginning of that content is enough, and so is the beginning of the content
    before the landing. The file may then also be missing, because git removes a file before it
    writes the new one.
    """
    file = git.folder / path
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return False
        written = file.read_bytes()
    except FileNotFoundError:
        return torn
    except OSError:
        return False
    if not torn:
        return trees.content_of(git, landing.new, path) == written
    contents = (trees.content_of(git, commit, path) for commit in (landing.new, landing.old))
    return any(each is not None and each.startswith(written) for each in contents)


def _remove_stale(lock: Path) -> int:
    """Remove a lock file that a dead git process left behind.

    Return the modification time of the file in nanoseconds; zero if no file was removed.

    No git process of a run can still be using the file, because it would hold the repo's lock. A
    git process of the user has its lock file open, or finishes with the file in a moment.
    """
    try:
        found = lock.stat(follow_symlinks=False)
        if not _settled(lock) or (found.st_dev, found.st_ino) in _open_files():
            return 0
        lock.unlink()
    except OSError:
        return 0
    return found.st_mtime_ns


def unlock_notes(common_dir: Path) -> None:
    """Remove stale locks on the refs of the notes, which are written beside a landing."""
    for ref in (NOTES_REF, PROOF_REF):
        _remove_stale(common_dir / f"{ref}.lock")


def forget_half_known_trees(common_dir: Path) -> None:
    """Remove the records of working trees that a killed git was just adding or removing.

    Such a record lacks the file `gitdir`, which says where the tree is. `git worktree prune`
    applies the same rule.
    """
    known = common_dir / "worktrees"
    with contextlib.suppress(OSError):
        for folder in tuple(known.iterdir()):
            if not (folder / "gitdir").exists() and _settled(folder):
                shutil.rmtree(folder)
        known.rmdir()  # as git does after the last record


def _settled(path: Path) -> bool:
    """Return whether `path` stays unchanged; if it changed recently, wait a moment to find out."""
    before = path.stat(follow_symlinks=False)
    time.sleep(max(0.0, _SETTLED_SECONDS - abs(time.time() - before.st_mtime)))
    now = path.stat(follow_symlinks=False)
    return (before.st_ino, before.st_mtime_ns) == (now.st_ino, now.st_mtime_ns)


def _open_files() -> Iterator[tuple[int, int]]:
    """Yield device and inode of each file that a process has open, if this process may see it."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                for descriptor in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        found = descriptor.stat()
                        yield found.st_dev, found.st_ino


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
            if left := close_workspace(git, root):
                emit(Warned(f"rollback failed: {left}"))
            with contextlib.suppress(OSError):
                root.parent.parent.rmdir()
    forget_half_known_trees(common_dir)
    unlock_notes(common_dir)
    if last.half_landing is not None:
        undo_half_landing(git, common_dir, last.half_landing)
    try:
        _end_records(last, "the next start")
    except CommandFailed as refused:  # a full disk under old records must not keep from new ones
        emit(Warned(f"run {last.begun.run_id} has no end on record: {refused.message}"))
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
    gave_up = frozenset(gave_up_in(entries))
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


def gave_up_in(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the orders that failed because of their replies: the next run asks for new replies.

    If the disk refused to write or the plan's preconditions were not met, no reply is to blame.
    """
    for each in entries:
        match each:
            case OrderConcluded(verdict="FAIL", failure=Failure(stage=Stage() as stage)):
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
    """Return the `run.json` of the run; empty if it cannot be read or is another run's.

    It is written again with its end, so no key of it may be lost.
    """
    document = read_record(last.begun.folder / "run.json", dict[str, Any], Faults()) or {}
    return document if document.get("run_id") == last.begun.run_id else {}


def _end_records(last: _LastRun, writer: str) -> tuple[CallPlace, ...]:
    """Record in the run's own folder how the run ended, if the run could not do so itself.

    Return the calls that were under way, which may have been paid for.
    """
    folder, run_id = last.begun.folder, last.begun.run_id
    if is_run_id(folder.name) and folder.name == run_id:
        remove_drafts(folder)
    document = _record_of(last)
    if document.get("status") != "running":
        return ()
    uncertain = uncertain_calls(last.begun.transcript)
    summary: Mapping[str, Any] = {
        "verdict": "ERROR",
        "state": _KILLED,
        "cause": f"the process ended without recording its end; {writer} wrote this summary",
        "last_step": last.last_step,
        "landed": [{"work_order": each.order, "commit": each.commit} for each in last.landed],
        "uncertain_calls": [place_to_json(each) for each in uncertain],
    }
    if not (folder / "run_summary.json").exists():
        write_json(folder / "run_summary.json", summary)
    write_json(folder / "run.json", {**document, "status": _KILLED, "summary": summary})
    return uncertain


@dataclass(frozen=True, slots=True)
class Leftovers:
    """List the working trees and the state files that earlier runs left behind.

    `uncertain` are the calls of the last run that may have been paid for, once it was ended.
    """

    workspaces: tuple[Path, ...]
    state: tuple[Path, ...]
    uncertain: tuple[CallPlace, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.workspaces or self.state)


def find_run_leftovers(place: RepoPlace) -> Leftovers:
    """Return what runs left behind: working trees below `workspaces_root`, and state files.

    The working trees also include those that the journal names. Those that `llmch repro` uses at
    the moment are left out.
    """
    root = workspaces_root().resolve()
    trees = {
        each.path for each in repos.checkouts(place.git) if each.path.resolve().is_relative_to(root)
    }
    # Only the readable records count: a journal that cannot be understood is a reason to reset.
    entries = read_understood(journal_path(place.common_dir))
    trees |= {path for path in workspaces_of(entries) if path.exists()}
    trees -= side_workspaces_in_use(place.common_dir)
    files = (journal_path(place.common_dir), state_path(place.common_dir))
    return Leftovers(tuple(sorted(trees)), tuple(path for path in files if path.exists()))


def reset_repo(place: RepoPlace) -> Leftovers:
    """Remove what runs left behind, end the last run's records, and return what was removed.

    Raises `Busy` if a run is still in progress: only the user may end that run.
    """
    with hold(place.common_dir):
        found = find_run_leftovers(place)
        # Without its journal no later start would know of a run that was killed.
        last = _last_run(read_understood(journal_path(place.common_dir)))
        if last is not None:
            with contextlib.suppress(CommandFailed):  # a full disk must not keep the state
                found = replace(found, uncertain=_end_records(last, "`llmch reset`"))
        left = ""
        for root in found.workspaces:
            left = close_workspace(place.git, root) or left
            for folder in (root.parent, root.parent.parent):
                with contextlib.suppress(OSError):
                    folder.rmdir()
        for path in found.state:
            path.unlink(missing_ok=True)
        if left:
            what, _, remedy = left.rpartition(": ")
            raise CommandFailed(f"rollback failed: {what}", remedy)
        return found


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def deferring_signals() -> Iterator[None]:
    """Defer Ctrl-C, SIGTERM and SIGHUP until the end of the block.

    Only handlers in Python are deferred; the system's default actions still happen at once. Python
    handles signals only in the main thread, so in any other thread there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {each: signal.getsignal(each) for each in _SIGNALS}
    ours = {each: handler for each, handler in before.items() if callable(handler)}
    for each in ours:
        signal.signal(each, wait)
    try:
        yield
    finally:
        for each, handler in ours.items():
            signal.signal(each, handler)
    for number in came[:1]:
        ours[signal.Signals(number)](number, None)
