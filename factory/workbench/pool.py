"""Lends workspaces with their sandboxes, each to one order at a time.

A run's journal names the workspaces of that run. A command that works beside runs has no journal,
because the journal belongs to whoever holds the repo's lock. It keeps a file of its own in the
repo's git folder instead, which lists its workspaces, and which it locks as long as it lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from factory.orders.task import RunOptions
from factory.preflight import Repo
from factory.record.journal_entries import Entry, WorkspaceOpened, WorkspaceOpening
from factory.sandbox.detect import open_sandbox
from factory.sandbox.lent_folders import Linked
from factory.sandbox.policy import Backend, Policy
from factory.sandbox.runner import Sandbox
from factory.sandbox.toolchains import Toolchains
from factory.sandbox.visible_files import interpreter_of, python_paths
from factory.workbench.judging_tools import Toolset, find_toolset, go_sources, path_of
from factory.workbench.leftovers import TreeWatch, Undone
from factory.workbench.supplies import Supplier, Supplies, find_links
from factory.workbench.workspace import (
    Listings,
    Workspace,
    close_workspace,
    in_background,
    is_root_of,
    open_workspace,
    remove_tree,
    workspace_refused,
    workspaces_root,
)
from shared.errors import CommandFailed
from shared.events.events import Emit, Noted, Warned
from shared.events.run_record import new_run_id
from shared.files.text_sources import RepoSources
from shared.git import repos
from shared.git.client import Git


@dataclass(slots=True, eq=False)
class Workbench:
    """Hold a workspace, its sandbox, and the interpreter that commands find as `python`.

    `policy` says what commands see, and `supplies` are what they find beside the tree; `supply`
    looks for the supplies again where they follow the manifests. `used` is true once an order has
    worked on the tree.
    """

    workspace: Workspace
    sandbox: Sandbox
    policy: Policy
    supplies: Supplies
    supply: Callable[[Workbench, Collection[str]], None] | None = None
    used: bool = False

    @property
    def python(self) -> Path:
        return self.policy.python

    @property
    def toolchains(self) -> Toolchains:
        """Return the toolchains that commands find on PATH."""
        return self.policy.toolchains

    @property
    def linked(self) -> tuple[Linked, ...]:
        """Return the folders that commands find in the tree and that do not belong to it."""
        return self.supplies.linked

    def follow_manifests(self, written: Collection[str] = ()) -> None:
        """Install for commands what the manifests in the tree declare now, with `--deps auto`.

        What the `written` files of Go import of packages is compiled, once a machine.
        No command may be running. Raises `InvalidInput` for a manifest that cannot be followed, and
        `EnvironmentFault` if an installer fails; the supplies then stay as they were.
        """
        if self.supply:
            self.supply(self, written)

    def reset(self) -> None:
        """Restore the state before any command: the tree is its baseline, and /tmp is empty.

        Bytecode in /tmp from the last attempt must not stay: Python would use it for a new file of
        equal size that was written within the same second. Raises `CommandFailed` if disk or git
        refuse.
        """
        self.workspace.reset()
        self.clear()

    def restore(self) -> None:
        """Do what `reset` does, with less work if the commands left the tree unchanged."""
        self.workspace.restore()
        self.clear()

    def undo(self) -> Undone:
        """Restore the tree that is judged, and empty /tmp; return what was undone in the tree.

        Code under test reaches no later command by what it leaves: not by bytecode that a later
        Python would load, nor by a tool's configuration in HOME. Raises as `reset` does.
        """
        undone = self.workspace.undo()
        with self._refusals_reported():
            self.sandbox.renew_temporary()
        return undone

    def clear(self) -> None:
        """Empty /tmp, and make build caches their seeds. Raises `CommandFailed` if disk refuses."""
        with self._refusals_reported():
            self.sandbox.clear()

    @contextlib.contextmanager
    def _refusals_reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise workspace_refused(self.workspace.root.parent, error) from error

    @property
    def reads_alike(self) -> bool:
        """Return whether the commands' Python has the version that runs llmch.

        Then both accept the same syntax.
        """
        return interpreter_of(self.python).tag == sys.implementation.cache_tag

    def path_names(self) -> Mapping[str, str]:
        """Map each path of this machine that may appear in output to the name that replaces it."""
        workspace = self.workspace
        return {
            f"{workspace.root}/": "",
            str(workspace.root): ".",
            str(self.policy.temporary): "/tmp",  # noqa: S108  # as the sandbox shows it
            str(workspace.private): "<private>",
            **{str(each.source): each.path for each in self.linked},
            **{str(each): "<dependencies>" for each in self.supplies.prepared.read},
            **python_paths(self.python),
        }


class WorkspaceLog(Protocol):
    """Keep note of the workspaces that are made, so that they can be removed after a crash."""

    def record(self, entry: WorkspaceOpening | WorkspaceOpened) -> None:
        """Note a step. Raises `CommandFailed` if the disk refuses."""


class WorkbenchPool:
    """Hold the workbenches of one run. Threads may share the pool.

    The caller limits how many workbenches are lent at the same time.
    """

    def __init__(
        self, options: RunOptions, repo: Repo, journal: WorkspaceLog, run_id: str, emit: Emit
    ) -> None:
        self._options = options
        self._repo = repo
        self._journal = journal
        self._root = workspaces_root() / run_id
        self._emit = emit
        self._supplier = Supplier(options, emit)
        self._toolset: Toolset | None = None
        self._listings = Listings()
        self._opening = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[Workbench] = []
        self._roots: list[Path] = []

    def prepare(self, commit: str) -> None:
        """Open the first workbench, so that a cause that would stop any from opening shows early.

        Raises `PreflightRefused` if the setting `link` names a folder that cannot be shown.
        """
        options = self._options
        self._supplier.linking = find_links(options.settings.link, self._repo)
        if options.python_why:
            self._emit(Noted(f"python is {options.python}: {options.python_why}", detail=True))
        self._idle.append(self._open(commit))

    @contextlib.contextmanager
    def lend(self, commit: str) -> Iterator[Workbench]:
        """Lend a workbench whose tree is exactly `commit`.

        Raises `CommandFailed` if disk or git refuse, `SandboxUnavailable` if no sandbox works.
        """
        with self._lock:
            bench = self._idle.pop() if self._idle else None
        if bench is None:
            bench = self._open(commit)
        elif bench.used or bench.workspace.baseline != commit:
            bench.workspace.baseline = commit
            if bench.used:
                bench.reset()
            else:
                bench.workspace.reset()
            linked = bench.linked
            self._supply_again(bench)
            if bench.linked != linked:  # the branch may have files in the place of a folder
                bench.workspace.reset()
        bench.used = True
        try:
            yield bench
        finally:
            with self._lock:
                self._idle.append(bench)

    def close(self) -> tuple[str, ...]:
        """Remove all workspaces: git forgets one while the files of the next one go.

        Announces and returns what cannot be removed.
        """
        left = []
        watches = [each.workspace.watch for each in self._idle if each.workspace.watch]
        # Linux lets some 15 ms pass before it has closed a watch.
        closed = [in_background(each.close) for each in watches]
        with ThreadPoolExecutor(1, "closing") as closing:  # git does not lock its list of them
            for root in self._roots:
                left.append(remove_tree(root))
                closing.submit(repos.forget, self._repo.git, root)
        with contextlib.suppress(OSError):
            self._root.rmdir()
        wait(closed)
        found = tuple(filter(None, left))
        for each in found:
            self._emit(Warned(f"rollback failed: {each}"))
        return found

    def _open(self, commit: str) -> Workbench:
        # Threads take turns: git keeps its list of working trees in files that it does not lock.
        with self._opening:
            root = self._root / str(len(self._roots) + 1) / self._repo.tree.name
            self._roots.append(root)
            self._journal.record(WorkspaceOpening(root))
            workspace = open_workspace(self._repo.git, root, commit, self._listings)
            self._journal.record(WorkspaceOpened(root))
            supplies = self._supplier.supplies_of(workspace)
            workspace.link(supplies.paths)
            is_first = self._toolset is None
            if self._toolset is None:
                self._toolset = self._find_toolset(workspace)
        policy = self._policy(workspace, supplies)
        sandbox = self._sandbox(policy)
        if is_first:
            self._emit(Noted(sandbox.describe(), detail=sandbox.backend is Backend.BWRAP))
        # A folder that the person opens to commands may be another way to the tree's files, and so
        # may one of Landlock's. With no sandbox at all, no look at the tree holds anybody up.
        is_open = sandbox.backend is Backend.LANDLOCK or self._options.settings.sandbox.write
        if not is_open:
            workspace.watch = TreeWatch.of(root)
        return Workbench(workspace, sandbox, policy, supplies, self._follow)

    def _follow(self, bench: Workbench, written: Collection[str]) -> None:
        if self._options.install_dependencies:
            self._supply_again(bench)
        sources = tuple(go_sources(RepoSources(bench.workspace.root), written))
        settings = self._options.settings.sandbox
        with self._opening:
            before = self._toolset or Toolset()
            path = path_of(before.toolchains, settings)
            self._toolset = before.with_imports(sources, path, self._emit)
        seeds = self._policy(bench.workspace, bench.supplies).seeds
        if seeds != bench.policy.seeds:
            bench.policy = replace(bench.policy, seeds=seeds)
            bench.sandbox.reseed(seeds)

    def _supply_again(self, bench: Workbench) -> None:
        """Give a workbench what its tree asks for now; if that changed, open a new sandbox."""
        supplies = self._supplier.supplies_of(bench.workspace, bench.supplies)
        if supplies == bench.supplies:
            return
        bench.workspace.relink(supplies.paths)
        policy = self._policy(bench.workspace, supplies)
        bench.supplies, bench.policy = supplies, policy
        bench.sandbox = self._sandbox(policy)

    def _find_toolset(self, workspace: Workspace) -> Toolset:
        """Return what commands need beside files. The run's first commit says which versions."""
        sandbox = self._options.settings.sandbox
        toolset = find_toolset(workspace, self._repo.tree, sandbox, self._emit)
        for warning in toolset.toolchains.warnings:
            self._emit(Warned(warning))
        return toolset

    def _sandbox(self, policy: Policy) -> Sandbox:
        try:
            return open_sandbox(self._options.settings.sandbox.backend, policy)
        except OSError as error:
            raise workspace_refused(policy.private.parent, error) from error

    def _policy(self, workspace: Workspace, supplies: Supplies) -> Policy:
        chosen = self._options.settings.sandbox
        named = {name: os.environ[name] for name in chosen.env if name in os.environ}
        toolset = self._toolset or Toolset()
        policy = Policy(
            workspace=workspace.root,
            git_dir=self._repo.common_dir,
            private=workspace.private,
            python=self._supplier.python_of(supplies),
            network=chosen.net,
            read=(*chosen.read, *supplies.prepared.read),
            write=chosen.write,
            environment={**supplies.prepared.environment, **named},
            linked=supplies.linked,
            toolchains=toolset.toolchains,
        )
        return toolset.warm(policy, supplies.prepared.builds, chosen.backend, self._emit)


_MOST_BYTES = 64 * 1024
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Register:
    """Hold the file that lists the workspaces of one command; `owner` names their folder."""

    owner: str
    descriptor: int

    def record(self, entry: Entry) -> None:
        """Note a workspace that is about to be made, before it is made."""
        if isinstance(entry, WorkspaceOpening):
            os.write(self.descriptor, f"{entry.root}\n".encode("utf-8", "surrogateescape"))


@contextlib.contextmanager
def registered(common_dir: Path) -> Iterator[Register]:
    """Register the workspaces that are made while the block runs; all must be closed in it.

    No run is disturbed: the repo's lock is not touched. Raises `CommandFailed` if the git
    folder cannot be written.
    """
    folder = _folder(common_dir)
    owner = new_run_id()
    path = folder / owner
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _create_locked(path)
    except OSError as error:
        raise CommandFailed(
            f"cannot write to {folder}: {error.strerror or error}",
            "make the repo's git folder writable, or free space there",
        ) from error
    try:
        yield Register(owner, descriptor)
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def sweep_side_workspaces(git: Git, common_dir: Path) -> None:
    """Remove the workspaces of commands that were killed; those of living ones stay."""
    for path, roots, living in _registers(common_dir):
        if not living:
            for root in roots:
                close_workspace(git, root)
                with contextlib.suppress(OSError):
                    root.parent.parent.rmdir()
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def side_workspaces_in_use(common_dir: Path) -> frozenset[Path]:
    """Return the workspaces that a living command uses at the moment."""
    found = _registers(common_dir)
    return frozenset(root for _, roots, living in found if living for root in roots)


def _folder(common_dir: Path) -> Path:
    return common_dir / "llmch" / "beside"


def _create_locked(path: Path) -> int:
    """Make the file and lock it. A sweep may take it for abandoned before it is locked."""
    while True:
        descriptor = os.open(path, _FLAGS | os.O_CREAT, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            if os.fstat(descriptor).st_ino == path.lstat().st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)


def _registers(common_dir: Path) -> Iterator[tuple[Path, tuple[Path, ...], bool]]:
    """Yield each register with its workspaces, and whether its process lives.

    The lock of one that does not live is held until the next is asked for.
    """
    folder = _folder(common_dir)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            descriptor = os.open(path, _FLAGS | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            living = not _lock(descriptor)
            text = os.pread(descriptor, _MOST_BYTES, 0).decode("utf-8", "surrogateescape")
            roots = (Path(line) for line in text.splitlines())
            yield path, tuple(each for each in roots if is_root_of(path.name, each)), living
        except OSError:
            continue
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
