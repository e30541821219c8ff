"""A commit on a small repo, and how strong the commands are that judge it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from factory.judging.strength import Measured, measure, written_since
from factory.orders.documents import Strength
from factory.preflight import find_repo
from factory.run.reproduce import open_pool_beside_runs
from factory.sandbox.policy import Backend
from factory.workbench.pool import WorkbenchPool
from shared.git.client import Git
from shared.settings.settings import SandboxSettings, StrengthSettings
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.harness import Factory, commit_all, order

# Two lines of each kind of test: what it checks, and what it does not.
STACK = """\
def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value


def total(values):
    result = 0
    for each in values:
        result += each
    return result
"""
STACK_TEST = """\
from stack import clamp, total


def test_clamp():
    assert clamp(5, 1, 9) == 5
    assert clamp(0, 1, 9) == 1
    assert clamp(10, 1, 9) == 9


def test_total():
    assert total([1, 2]) == 3
"""
PYTEST = "python -m pytest -q tests/test_stack.py"


@dataclasses.dataclass(frozen=True)
class Commit:
    """A commit after another one, with the commands that judge it."""

    factory: Factory
    parent: str
    commit: str
    commands: tuple[str, ...]

    @classmethod
    def of(
        cls,
        factory: Factory,
        files: Mapping[str, str | bytes],
        *commands: str,
        before: Mapping[str, str | bytes] | None = None,
    ) -> Commit:
        parent = commit_all(factory.repo, dict(before or {"readme.md": "so\n"}))
        return cls(factory, parent, commit_all(factory.repo, dict(files)), commands)

    def measure(
        self,
        pool: WorkbenchPool,
        *,
        jobs: int = 1,
        batched: bool = True,
        measure_seconds: float = 60.0,
        **settings: Any,
    ) -> Strength:
        document = order(acceptance_commands=list(self.commands), regression=list(self.commands))
        asked = Measured(
            Git(self.factory.repo),
            parse_document(WorkOrder, document),
            self.commit,
            written_since(Git(self.factory.repo), self.parent, self.commit),
            pool.lend,
            StrengthSettings(**settings),
            seconds=300.0,
            jobs=jobs,
            measure_seconds=measure_seconds,
            batched=batched,
        )
        return measure(asked)

    @contextlib.contextmanager
    def pool(self, backend: Backend = Backend.AUTO) -> Iterator[WorkbenchPool]:
        options = self.factory.options(sandbox=SandboxSettings(backend=backend))
        place = find_repo(self.factory.repo)
        with open_pool_beside_runs(self.commit, place, options, self.factory.events.append) as (
            _,
            pool,
        ):
            yield pool

    def strength(self, backend: Backend = Backend.AUTO, **how: Any) -> Strength:
        with self.pool(backend) as pool:
            return self.measure(pool, **how)


def survivors(strength: Strength) -> Sequence[str]:
    return sorted(strength.survivors)
