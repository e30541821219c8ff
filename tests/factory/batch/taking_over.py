"""What a person does about single orders: retries, acceptances, omissions, on a real repo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factory.batch.accept_commit import JudgedCommit, accept_commit, take_back
from factory.batch.decide import (
    LeftOut,
    PlanOnBranch,
    leave_out,
    plan_on_branch,
    retry_order,
    take_up,
)
from factory.orders.documents import RunSummary
from factory.preflight import RepoPlace, find_repo
from tests.fakes import Reply
from tests.harness import Factory, git


@dataclass(frozen=True)
class Person:
    """Decides about the orders of the plan that ran last."""

    factory: Factory

    @property
    def place(self) -> RepoPlace:
        return find_repo(self.factory.repo)

    def plan(self, workdir: Path | None = None, branch: str | None = None) -> PlanOnBranch:
        return plan_on_branch(self.place, workdir, branch)

    def retry(
        self, name: str, replies: Sequence[Reply], hint: str | None = None, **options: Any
    ) -> RunSummary:
        factory = self.factory
        source = factory._script({name: list(replies)})
        chosen = factory.options(**options)
        return retry_order(self.plan(), name, hint, self.place, chosen, source, factory._take)

    def accept(
        self, name: str, commit: str = "work", *, allow_more: bool = False, **options: Any
    ) -> JudgedCommit:
        factory = self.factory
        factory.events = []
        chosen = factory.options(**options)
        return accept_commit(
            self.plan(), name, commit, self.place, chosen, factory._take, allow_more=allow_more
        )

    def take_back(self, name: str) -> str:
        return take_back(self.plan(), name, self.place, self.factory.options())

    def skip(self, name: str, reason: str = "not wanted") -> LeftOut:
        return leave_out(self.plan(), name, reason, self.place)

    def take_up(self, name: str) -> LeftOut:
        return take_up(self.plan(), name, self.place)

    def commits(self, *paths: str, text: str = "by hand\n", branch: str = "work") -> str:
        """Commit files on the branch, as a person does, and return the commit."""
        repo = self.factory.repo
        before = git(repo, "branch", "--show-current")
        git(repo, "switch", "--quiet", branch)
        for path in paths:
            (repo / path).parent.mkdir(parents=True, exist_ok=True)
            (repo / path).write_text(text)
        git(repo, "add", "--all")
        git(repo, "commit", "--quiet", "--allow-empty", "--message=by hand")
        commit = git(repo, "rev-parse", "HEAD")
        git(repo, "switch", "--quiet", before)
        return commit

    def note(self, commit: str) -> str:
        return git(self.factory.repo, "notes", "--ref=llmch", "show", commit)
