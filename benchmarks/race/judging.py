"""Judges what a tool left by tests that it never saw, in the sandbox that judges orders."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.race.tasks import Task
from benchmarks.setting import git
from factory.judging.count_tests import tests_of
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.task import RunOptions
from factory.preflight import find_repo
from factory.run.reproduce import open_pool_beside_runs
from shared.events.events import ignore
from shared.processes.shell_words import split_words
from shared.settings.settings import Settings

_SECONDS: Final = 300.0


def passes(task: Task, repo: Path, log: Path) -> bool:
    """Return whether the hidden tests ran and passed on the files that are in the repository."""
    for path, text in task.hidden.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text, "utf-8")
    git(repo, "add", "--all", "--force")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=Judged")
    commit = git(repo, "rev-parse", "HEAD")
    options = RunOptions(
        repo, replace(Settings(), timeout_seconds=_SECONDS), ModelChoice((Rung("none"),)),
        Path(sys.executable),
    )  # fmt: skip
    place = find_repo(repo)
    with (
        open_pool_beside_runs(commit, place, options, ignore) as (_, pool),
        pool.lend(commit) as bench,
    ):
        words = split_words(task.command).texts
        ended = bench.sandbox.run(words, timeout_seconds=_SECONDS, log=log)
        counted = tests_of(ended)
        return ended.ok and counted is not None and counted.ran > 0 and not counted.failed


def files_beside(task: Task, repo: Path) -> tuple[str, ...]:
    """Return the files that differ from the beginning and that the task is not about.

    Tests that a tool wrote are not among them: everybody is asked for good work.
    """
    git(repo, "add", "--all")
    begin = task.commit or git(repo, "rev-list", "--max-parents=0", "HEAD")
    changed = git(repo, "diff", "--cached", "--name-only", "--no-renames", begin).splitlines()
    return tuple(each for each in changed if each not in task.targets and not _is_test(each))


def _is_test(path: str) -> bool:
    name = Path(path).name.lower()
    return "test" in name or "spec" in name or path.startswith(("test/", "tests/"))
