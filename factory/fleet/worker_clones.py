"""Exchanges and inspects a worker's commits, and keeps its clones within disk and memory.

Cycles of references hold the open objects of a plan, above all the client of its model with all
certificates. Python collects cycles when it has made many objects, and does not know how much
memory outside of Python each of them holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from factory.landing.stand_in import faults_of_change
from factory.orders.task import OrderTask, Passed
from factory.preflight import find_repo
from factory.run.recovery import reset_repo
from factory.workbench.pool import sweep_side_workspaces
from factory.workbench.workspace import workspaces_root
from shared.errors import CommandFailed, LlmchError
from shared.files.atomic_io import make_folder
from shared.git import commits, refs, trees
from shared.git import refs as remote_refs
from shared.git.client import Git
from shared.git.refs import commit_of

PLANS: Final = "plans"
"""The folder, in that of a worker, which has a folder for each plan that the worker coordinates."""

_LOCK: Final = "lock"


def clones_of(worker: str) -> Path:
    """Return the folder of a worker, which is held until the process ends.

    The remains of workers that were killed on this machine are removed.
    """
    root = make_folder(workspaces_root().parent / "fleet")
    for each in root.iterdir():
        if each.is_dir() and not each.is_symlink() and _hold(each) is not None:
            _remove(each)
    folder = make_folder(root / worker)
    _hold(folder)
    return folder


def _hold(folder: Path) -> int | None:
    """Return the descriptor that holds a folder; `None` while another process holds it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    return None


def _remove(folder: Path) -> None:
    for git_dir in (*folder.glob("*/*/.git"), *folder.glob(f"{PLANS}/*/*/*/.git")):
        with contextlib.suppress(LlmchError, OSError):
            place = find_repo(git_dir.parent)
            sweep_side_workspaces(place.git, place.common_dir)
            reset_repo(place)  # a coordinator's run has workspaces of its own
    shutil.rmtree(folder, ignore_errors=True)


ALL_REFS = "refs/llmch/"
_PATIENCE_SECONDS: Final = 30.0
_AGAIN_AFTER_SECONDS: Final = 1.0
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(slots=True)
class RunRefs:
    """Offer commits of a run to the others, and bring theirs here."""

    git: Git
    remote: str
    run: str
    _offered: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def offer(self, *commits: str) -> None:
        """Push commits that the others have to find. Raises `CommandFailed`."""
        with self._lock:
            new = set(filter(None, commits)) - self._offered
            refs = {self._ref(each): each for each in new}
            _patiently(lambda: remote_refs.push_refs(self.git, self.remote, refs))
            self._offered |= new

    def bring(self, *commits: str) -> None:
        """Fetch those of the commits that are not here yet. Raises `CommandFailed`."""
        with self._lock:
            missing = [each for each in filter(None, commits) if not commit_of(self.git, each)]
            refs = [self._ref(each) for each in missing]
            _patiently(lambda: remote_refs.fetch_refs(self.git, self.remote, refs))

    def withdraw(self, commit: str) -> None:
        """Delete the ref of a commit that nobody wants. Raises `CommandFailed`."""
        with self._lock:
            self._offered.discard(commit)
            ref = self._ref(commit)
            left = remote_refs.list_refs(self.git, self.remote, ref)
            remote_refs.push_refs(self.git, self.remote, dict.fromkeys(left, ""))

    def sweep(self) -> None:
        """Delete all refs of the run on the remote. Raises `CommandFailed`."""
        _patiently(self._sweep)

    def _sweep(self) -> None:
        # Another run may be sweeping, too: what it deleted meanwhile is not there the next time.
        left = remote_refs.list_refs(self.git, self.remote, f"{ALL_REFS}{self.run}/")
        remote_refs.push_refs(self.git, self.remote, dict.fromkeys(left, ""))

    def _ref(self, commit: str) -> str:
        # Another machine may have named the commit; anything else could be a refspec to git.
        if not _COMMIT.fullmatch(commit):
            raise CommandFailed(f"{commit[:100]!r} is not the id of a commit")
        return f"{ALL_REFS}{self.run}/{commit}"


def _patiently(ask: Callable[[], None]) -> None:
    """Ask the remote again for a while where it refuses: a server may be restarting."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return ask()
        except remote_refs.NoCredential:
            raise
        except CommandFailed:
            if time.monotonic() > until:
                raise
        time.sleep(_AGAIN_AFTER_SECONDS)


def run_of_ref(ref: str) -> str:
    """Return the run that a ref belongs to; "" if it is of another form."""
    run, _, commit = ref.removeprefix(ALL_REFS).partition("/")
    return run if _COMMIT.fullmatch(commit) else ""


def inspect_commit(git: Git, task: OrderTask, parent: str, passed: Passed) -> None:
    """Raise `CommandFailed` unless the commit is what the order makes of its tree on `parent`.

    The commit is built again from its tree, so no worker decides on its parent, author, date or
    trailers. The tree may differ from the parent's only in what the order allows, and has the
    plan's tests byte for byte. The other contents rest on the worker's word: it ran the commands.
    """
    tree = refs.commit_of(git, passed.commit) and trees.tree_of(git, passed.commit)
    if not tree:
        raise _refused(task, passed, "it is not on the remote")
    if commits.write(git, tree, parent, task.commit_facts(passed.summary)) != passed.commit:
        raise _refused(task, passed, "it is not the commit of this order on this parent")
    for fault in faults_of_change(git, task.order, parent, passed.commit):
        raise _refused(task, passed, fault)


def _refused(task: OrderTask, passed: Passed, why: str) -> CommandFailed:
    return CommandFailed(
        f"a worker's commit {passed.commit[:12]} for {task.name} is refused: {why}",
        "look at the workers of the fleet: one of them does not do as llmch does",
    )


_ROOM_BYTES: Final = 64 << 20
_PART: Final = 20


@dataclass(frozen=True, slots=True)
class Disk:
    """Watch the disk of a folder."""

    folder: Path

    def complaint(self) -> str:
        """Return what is wrong in words; "" while there is room.

        There is room while 64 MiB are free, or a twentieth of a small disk.
        """
        try:
            usage = shutil.disk_usage(self.folder)
        except OSError as error:
            return f"its disk cannot be asked: {error.strerror}"
        if usage.free < min(_ROOM_BYTES, usage.total // _PART):
            return f"its disk is full: {usage.free / 1e6:.1f} MB are free below {self.folder}"
        return ""


def leave_out_what_stays() -> None:
    """Exclude the objects that exist now from later collections, which makes these cheap."""
    gc.freeze()


def free_what_was_closed() -> None:
    """Free what belonged to plans that were closed."""
    gc.collect()
