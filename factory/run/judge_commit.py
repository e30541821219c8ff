"""Judges commits that are there already, in workbenches beside the runs of the repo."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.judging.judgement import Judgement
from factory.judging.known_commits import KnownCommits
from factory.judging.warm_checker import warm_tools
from factory.landing.stand_in import StandIn
from factory.orders.options import RunOptions
from factory.orders.task import OrderTask
from factory.recovery.signals import deferring_signals
from factory.repo.preflight import Repo, RepoPlace
from factory.run.baseline import Baseline
from factory.workbench.pool import WorkbenchPool
from factory.workbench.side_workspaces import registered
from shared.events.event import Emit
from shared.languages.capabilities.tools import Tools


@dataclass(frozen=True, slots=True)
class CommitJudge:
    """Judge commits as if attempts at orders had made them. Nothing is moved or written."""

    options: RunOptions
    repo: Repo
    pool: WorkbenchPool
    tools: Tools
    emit: Emit

    def judge(
        self, commit: str, task: OrderTask, changed: frozenset[str], base_folder: Path
    ) -> Judgement:
        """Return the commands that judged a commit, and why it does not do what the order asks for.

        The task's base is the parent, and `changed` are the files that differ from it. Where the
        user allows failures, the parent is verified too, with records in `base_folder`.
        """
        known, pool = KnownCommits(), self.pool
        if self.options.allow_red:
            base = Baseline(self.options, self.repo, pool, base_folder, known, self.emit)
            base.verify(task.base, exempt=task.exempt)
        judge = StandIn(self.options, self.repo.git, pool, self.tools, known, self.emit)
        return judge.judge(commit, task, changed)


@contextlib.contextmanager
def open_judge(
    commit: str, place: RepoPlace, options: RunOptions, emit: Emit
) -> Iterator[CommitJudge]:
    """Open workbenches that the next start removes if this process is killed.

    The first workbench is opened on `commit` at once. Raises `SandboxUnavailable`.
    """
    with registered(place.common_dir) as register:
        repo = Repo(
            place.git.holding(register.descriptor),
            place.tree,
            place.git_dir,
            place.common_dir,
            commit,
            "",
            place.ignored_filters,
        )
        pool = WorkbenchPool(options, repo, register, register.owner, emit)
        tools = None
        try:
            pool.prepare(commit)
            tools = warm_tools(options.settings.sandbox, place.tree)
            yield CommitJudge(options, repo, pool, tools, emit)
        finally:
            with deferring_signals():
                if tools is not None:
                    tools.close()
                pool.close()
