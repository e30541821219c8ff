"""Opens workspaces with their sandboxes as needed, and lends each to one order at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from factory.orders.options import RunOptions
from factory.record.journal_entries import WorkspaceOpened, WorkspaceOpening
from factory.repo.preflight import Repo
from factory.sandbox import Policy, Sandbox, open_sandbox
from factory.workbench.linking import find_links
from factory.workbench.listings import Listings
from factory.workbench.supplies import Supplier, Supplies
from factory.workbench.toolset import Toolset, find_toolset
from factory.workbench.workbench import Workbench
from factory.workbench.workspace import (
    Workspace,
    open_workspace,
    remove_tree,
    workspace_refused,
    workspaces_root,
)
from shared.events.event import Emit
from shared.events.messages import Noted, Warned
from shared.git import worktrees


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
            self._emit(Noted(f"python is {options.python}: {options.python_why}"))
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

    def close(self) -> None:
        """Remove all workspaces: git forgets one while the files of the next one go."""
        with ThreadPoolExecutor(1, "closing") as closing:  # git does not lock its list of them
            for root in self._roots:
                remove_tree(root)
                closing.submit(worktrees.forget, self._repo.git, root)
        with contextlib.suppress(OSError):
            self._root.rmdir()

    def _open(self, commit: str) -> Workbench:
        # Threads take turns: git keeps its list of working trees in files that it does not lock.
        with self._opening:
            root = self._root / str(len(self._roots) + 1) / self._repo.tree.name
            self._roots.append(root)
            self._journal.record(WorkspaceOpening(root))
            workspace = open_workspace(self._repo.git, root, commit, self._listings)
            self._journal.record(WorkspaceOpened(root))
            supplies = self._supplier.supplies_of(workspace)
            workspace.link(frozenset(each.path for each in supplies.linked))
            is_first = self._toolset is None
            if self._toolset is None:
                self._toolset = self._find_toolset(workspace)
        policy = self._policy(workspace, supplies)
        sandbox = self._sandbox(policy)
        if is_first:
            self._emit(Noted(sandbox.describe()))
        python, temporary = policy.python, policy.temporary
        supply = self._supply_again if self._options.install_dependencies else None
        found = policy.toolchains
        return Workbench(workspace, sandbox, python, temporary, supplies, found, supply)

    def _supply_again(self, bench: Workbench) -> None:
        """Give a workbench what its tree asks for now; if that changed, open a new sandbox."""
        supplies = self._supplier.supplies_of(bench.workspace, bench.supplies)
        if supplies == bench.supplies:
            return
        bench.workspace.relink(frozenset(each.path for each in supplies.linked))
        policy = self._policy(bench.workspace, supplies)
        bench.supplies, bench.python = supplies, policy.python
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
        return Policy(
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
            go_seed=toolset.go_seed,
        )
