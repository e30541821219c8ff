"""Runs what is tried of a plan where the commands of its orders will run."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from factory.orders.model_choice import ModelChoice
from factory.orders.task import RunOptions
from factory.preflight import find_repo
from factory.run.reproduce import open_pool_beside_runs
from factory.sandbox.policy import Cause
from factory.workbench.dependencies import choose_python
from factory.workbench.judging_tools import SandboxRunner
from factory.workbench.pool import Workbench
from factory.workbench.tree import NotReadable
from shared.errors import LlmchError
from shared.events.events import ignore
from shared.git import refs
from shared.languages.language_tools import ToolMissing, ToolResult, ToolRunner
from shared.settings.settings import Settings


class DryRunner:
    """Implement `ToolRunner` on the files that a plan begins with, as a run would show them.

    Without a repo, or without a commit in it, there are none. Everything is opened by the first
    run. Several threads may ask; they take turns.
    """

    def __init__(
        self, settings: Settings, repo: Path | None, branch: str | None, start: str | None
    ) -> None:
        """Begin with the tip of `branch` where that exists, else with `start`, else with HEAD."""
        self._settings = settings
        self._repo = repo
        self._begin = (branch, start or "HEAD")
        self._lock = threading.Lock()
        self._opened = ExitStack()
        self._bench: Workbench | None = None
        self._bare: ToolRunner | None = None

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        """Run `argv` on the tree with `files` in it. Raises `ToolMissing` as the protocol says."""
        with self._lock:
            try:
                if self._bench is None and self._bare is None:
                    self._open()
                if self._bare is not None:
                    return self._bare.run(files, argv, seconds=seconds)
                assert self._bench is not None, "one of both is open"
                return _run(self._bench, files, argv, seconds)
            except (LlmchError, OSError) as error:
                raise ToolMissing(f"{argv[0]} could not be run: {error}") from error

    def _open(self) -> None:
        python = choose_python(self._settings.python, self._repo).python
        commit = ""
        if self._repo is not None:
            place = find_repo(self._repo)
            branch, start = self._begin
            tip = refs.tip_of_branch(place.git, branch) if branch else None
            commit = tip or refs.commit_of(place.git, start) or ""
        if self._repo is None or not commit:
            self._bare = SandboxRunner(self._settings.sandbox, self._repo, python)
            return
        options = RunOptions(self._repo, self._settings, ModelChoice(()), python)
        _, pool = self._opened.enter_context(open_pool_beside_runs(commit, place, options, ignore))
        self._bench = self._opened.enter_context(pool.lend(commit))

    def close(self) -> None:
        """Remove all folders. Nothing may be running."""
        with self._lock:
            if self._bare is not None:
                self._bare.close()
            self._bench = self._bare = None
            self._opened.close()


def _run(
    bench: Workbench, files: Mapping[str, str], argv: Sequence[str], seconds: float
) -> ToolResult:
    tree = bench.workspace.tree
    log = bench.workspace.root.parent / "dry-run"
    try:
        for path, text in files.items():
            tree.write(path, text.encode("utf-8", "replace"))
        ended = bench.sandbox.run(argv, timeout_seconds=seconds, log=log)
    except NotReadable as refused:
        raise ToolMissing(f"{argv[0]} was not run: a file is in the way ({refused})") from refused
    finally:
        bench.restore()
    exit_code = ended.exit_code if ended.cause is Cause.EXITED else None
    if ended.cause is Cause.NOT_FOUND:
        raise ToolMissing(f"{argv[0]} is not installed")
    return ToolResult(exit_code, ended.stdout.text, ended.stderr.text)
