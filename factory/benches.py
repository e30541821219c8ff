"""Workspaces with their sandboxes, opened as they are needed and lent to one order at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from factory.bench import Bench
from factory.journal import Journal
from factory.journal_entries import WorkspaceOpened, WorkspaceOpening
from factory.options import RunOptions
from factory.preflight import Repo
from factory.sandbox import Policy, open_sandbox
from factory.sandbox.dependencies import prepare as prepare_dependencies
from factory.workspace import (
    Workspace,
    close_workspace,
    dependencies_root,
    open_workspace,
    workspace_refused,
    workspaces_root,
)
from shared.events import Emit, Noted


class Benches:
    """The benches of one run. Safe for threads; the caller bounds how many are lent at a time."""

    def __init__(
        self, options: RunOptions, repo: Repo, journal: Journal, run_id: str, emit: Emit
    ) -> None:
        self._options = options
        self._repo = repo
        self._journal = journal
        self._root = workspaces_root() / run_id
        self._python: Path | None = None
        self._emit = emit
        self._lock = threading.Lock()
        self._idle: list[Bench] = []
        self._roots: list[Path] = []

    def prepare(self, commit: str) -> None:
        """Open the first bench, so that what keeps any from being opened is told early."""
        self._idle.append(self._open(commit))

    @contextlib.contextmanager
    def lend(self, commit: str) -> Iterator[Bench]:
        """Lend a bench whose tree is exactly `commit`.

        Raises `CommandFailed` where disk or git refuse, `SandboxUnavailable` where none works.
        """
        with self._lock:
            bench = self._idle.pop() if self._idle else None
        if bench is None:
            bench = self._open(commit)
        elif bench.used or bench.workspace.baseline != commit:
            bench.workspace.baseline = commit
            bench.reset()
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

    def _open(self, commit: str) -> Bench:
        # One at a time: git keeps its list of working trees in files that it does not lock.
        with self._lock:
            root = self._root / str(len(self._roots) + 1) / self._repo.tree.name
            self._roots.append(root)
            self._journal.record(WorkspaceOpening(root))
            workspace = open_workspace(self._repo.git, root, commit)
            self._journal.record(WorkspaceOpened(root))
            if self._python is None:
                self._python = self._interpreter(workspace)
            policy = self._policy(workspace, self._python)
            try:
                sandbox = open_sandbox(self._options.sandbox.backend, policy)
            except OSError as error:
                raise workspace_refused(root.parent, error) from error
            if len(self._roots) == 1:
                self._emit(Noted(sandbox.describe()))
            return Bench(workspace, sandbox, self._python, policy.temporary)

    def _interpreter(self, workspace: Workspace) -> Path:
        """Return what commands get as `python`: with the target's dependencies, where asked for.

        They are those that the run's first commit declares; one that an order adds is there from
        the next run on.
        """
        options = self._options
        if not options.install_dependencies:
            return options.python
        self._emit(Noted("looking after the target's dependencies"))
        return prepare_dependencies(workspace.root, options.python, dependencies_root())

    def _policy(self, workspace: Workspace, python: Path) -> Policy:
        choice = self._options.sandbox
        named = {name: os.environ[name] for name in choice.environment if name in os.environ}
        return Policy(
            workspace=workspace.root,
            git_dir=self._repo.common_dir,
            private=workspace.private,
            python=python,
            network="host" if choice.network_host else "none",
            read=choice.read,
            write=choice.write,
            environment=named,
        )
