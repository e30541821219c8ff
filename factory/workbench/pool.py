"""Opens workspaces with their sandboxes as needed, and lends each to one order at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from factory.orders.options import RunOptions
from factory.record.journal_entries import WorkspaceOpened, WorkspaceOpening
from factory.repo.preflight import Repo
from factory.sandbox import Policy, Sandbox, open_sandbox
from factory.sandbox.linked import Linked
from factory.sandbox.visible.dependencies import prepare_dependencies
from factory.workbench.linking import Linking, find_links
from factory.workbench.toolset import Toolset, find_toolset
from factory.workbench.workbench import Workbench
from factory.workbench.workspace import (
    Workspace,
    close_workspace,
    dependencies_root,
    open_workspace,
    workspace_refused,
    workspaces_root,
)
from shared.events.event import Emit
from shared.events.messages import Noted, Warned


class WorkspaceLog(Protocol):
    """Keep note of the workspaces that are made, so that they can be removed after a crash."""

    def record(self, entry: WorkspaceOpening | WorkspaceOpened) -> None:
        """Note a step. Raises `CommandFailed` where the disk refuses."""


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
        self._python: Path | None = None
        self._emit = emit
        self._toolset: Toolset | None = None
        self._linking = Linking()
        self._warned: set[str] = set()
        self._lock = threading.Lock()
        self._idle: list[Workbench] = []
        self._roots: list[Path] = []

    def prepare(self, commit: str) -> None:
        """Open the first workbench, so that a cause that would stop any from opening shows early.

        Raises `PreflightRefused` if the setting `link` names a folder that cannot be shown.
        """
        self._linking = find_links(self._options.settings.link, self._repo)
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
            bench.reset()
            self._relink(bench)
        bench.used = True
        try:
            yield bench
        finally:
            with self._lock:
                self._idle.append(bench)

    def close(self) -> None:
        """Remove all workspaces."""
        for root in self._roots:
            close_workspace(self._repo.git, root)
        with contextlib.suppress(OSError):
            self._root.rmdir()

    def _open(self, commit: str) -> Workbench:
        # Threads take turns: git keeps its list of working trees in files that it does not lock.
        with self._lock:
            root = self._root / str(len(self._roots) + 1) / self._repo.tree.name
            self._roots.append(root)
            self._journal.record(WorkspaceOpening(root))
            workspace = open_workspace(self._repo.git, root, commit)
            self._journal.record(WorkspaceOpened(root))
            if self._python is None:
                self._python = self._interpreter(workspace)
            linked = self._choose_links(workspace)
            workspace.link(frozenset(each.path for each in linked))
            if self._toolset is None:
                self._toolset = self._find_toolset(workspace)
            policy = self._policy(workspace, self._python, linked)
            sandbox = self._sandbox(policy)
            if len(self._roots) == 1:
                self._emit(Noted(sandbox.describe()))
            return Workbench(
                workspace, sandbox, self._python, policy.temporary, linked, policy.toolchains
            )

    def _relink(self, bench: Workbench) -> None:
        """Choose the linked folders for the new baseline; if they changed, open a new sandbox."""
        linked = self._choose_links(bench.workspace)
        if linked == bench.linked:
            return
        bench.workspace.link(frozenset(each.path for each in linked))
        bench.workspace.reset()
        bench.linked = linked
        bench.sandbox = self._sandbox(self._policy(bench.workspace, bench.python, linked))

    def _choose_links(self, workspace: Workspace) -> tuple[Linked, ...]:
        chosen = self._linking.choose(workspace)
        self._warn(chosen.warnings)
        return chosen.linked

    def _find_toolset(self, workspace: Workspace) -> Toolset:
        """Return what commands need beside files. The run's first commit says which versions."""
        sandbox = self._options.settings.sandbox
        toolset = find_toolset(workspace, self._repo.tree, sandbox, self._emit)
        self._warn(toolset.toolchains.warnings)
        return toolset

    def _warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self._emit(Warned(warning))

    def _sandbox(self, policy: Policy) -> Sandbox:
        try:
            return open_sandbox(self._options.settings.sandbox.backend, policy)
        except OSError as error:
            raise workspace_refused(policy.private.parent, error) from error

    def _interpreter(self, workspace: Workspace) -> Path:
        """Return the interpreter that commands find as `python`.

        If the caller asked for the target's dependencies, the interpreter has those that the run's
        first commit declares. A dependency that an order adds is installed from the next run on.
        """
        options = self._options
        if not options.install_dependencies:
            return options.python
        self._emit(Noted("preparing the target's dependencies"))
        return prepare_dependencies(workspace.root, options.python, dependencies_root())

    def _policy(self, workspace: Workspace, python: Path, linked: tuple[Linked, ...]) -> Policy:
        chosen = self._options.settings.sandbox
        named = {name: os.environ[name] for name in chosen.env if name in os.environ}
        toolset = self._toolset or Toolset()
        return Policy(
            workspace=workspace.root,
            git_dir=self._repo.common_dir,
            private=workspace.private,
            python=python,
            network=chosen.net,
            read=chosen.read,
            write=chosen.write,
            environment=named,
            linked=linked,
            toolchains=toolset.toolchains,
            go_seed=toolset.go_seed,
        )
