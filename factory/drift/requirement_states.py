"""Names the states of a requirement at a commit, and holds what was found. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.work_order.work_order import Asserted


class RequirementState(StrEnum):
    """Name the state of a requirement, or of one order that carries it out. The worst comes last.

    `gone` is a milder word than `broken`: the files are gone, so nothing here is wrong by itself.
    """

    PROVEN = "proven"
    UNPROVEN = "unproven"
    WEAKENED = "weakened"
    GONE = "gone"
    BROKEN = "broken"


GATED: Final = (RequirementState.BROKEN, RequirementState.GONE, RequirementState.WEAKENED)
"""The states that fail `llmch drift` where nothing else is asked for."""


def worst_state(states: Iterable[RequirementState]) -> RequirementState:
    """Return the worst of the states; unproven where there are none."""
    found = {*states}
    ranked = (each for each in reversed(tuple(RequirementState)) if each in found)
    return next(ranked, RequirementState.UNPROVEN)


@dataclass(frozen=True, slots=True)
class ChangedTest:
    """Hold what of a planned test is not as the plan placed it.

    `what` can follow the file's name. `line` is that of the file at the commit, from 1.
    """

    path: str
    line: int
    what: str

    def describe(self) -> str:
        return f"{self.path}:{self.line} {self.what}"


@dataclass(frozen=True, slots=True)
class CommandAtRev:
    """Hold how a command ended on a tree.

    `ran` is `None` where nothing counts tests. `failed` are the tests that are named, and
    `all_named` says whether these are all. `said` is a line of what the command printed, and
    `fault` says what of this machine the command lacks. `ran_nothing` says that it found no test
    to run, or skipped them all.
    """

    command: str
    ok: bool
    ran: int | None = None
    skipped: int = 0
    failed: tuple[str, ...] = ()
    all_named: bool = False
    said: str = ""
    fault: str = ""
    flaky: bool = False
    ran_nothing: bool = False


@dataclass(frozen=True, slots=True)
class OrderAtRev:
    """Hold what became of one landed order at a commit.

    `cases` are the tests that failed, by the names that their runner gives them. `flaky` has the
    commands that failed and then passed.
    """

    order: str
    commit: str
    state: RequirementState
    detail: str = ""
    tests: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    changed: tuple[ChangedTest, ...] = ()
    flaky: tuple[str, ...] = ()


_SURVIVORS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class MeasuredStrength:
    """Hold how many mutants of the landed lines the tests killed, and those that survived."""

    killed: int
    of: int
    survivors: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the score in one line, with the first survivors."""
        shown, more = self.survivors[:_SURVIVORS_SHOWN], len(self.survivors) - _SURVIVORS_SHOWN
        survivors = f", survivors: {'; '.join(shown)}" if shown else ""
        return f"strength {self.killed} of {self.of}{survivors}" + (
            f"; and {more} more" if more > 0 else ""
        )


@dataclass(frozen=True, slots=True)
class RequirementAtRev:
    """Hold the state of a requirement at a commit: the worst of its orders."""

    id: str
    text: str
    orders: tuple[OrderAtRev, ...]
    asserted_by: Asserted
    unasserted: str = ""
    """Why no test and no command asserts it; "" where one does."""
    strength: MeasuredStrength | None = None

    @property
    def state(self) -> RequirementState:
        return worst_state(each.state for each in self.orders)

    @property
    def work_orders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.order for each in self.orders))

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test for each in self.orders for test in each.tests))

    @property
    def flaky(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each for one in self.orders for each in one.flaky))

    @property
    def changed(self) -> tuple[ChangedTest, ...]:
        return tuple(dict.fromkeys(each for one in self.orders for each in one.changed))

    @property
    def detail(self) -> str:
        """Return why the state is what it is, each order by name where there are several."""
        several = len(self.work_orders) > 1
        said = [
            f"{each.order}: {each.detail}" if several else each.detail
            for each in self.orders
            if each.detail
        ]
        return "; ".join(dict.fromkeys(filter(None, (*said, self.unasserted))))


@dataclass(frozen=True, slots=True)
class VerificationAtRev:
    """Hold how the repository's own verification ended: it decides no requirement."""

    state: str
    """One of `passed`, `failed` and `none`."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """Hold the states of all requirements at the commit `rev`, the worst first.

    `gaps` says what could not be looked at, and what to do. `is_whole` says that no order that may
    have landed is among it.
    """

    rev: str
    requirements: tuple[RequirementAtRev, ...]
    verification: VerificationAtRev
    gaps: tuple[str, ...] = ()
    is_whole: bool = True

    def in_state(self, states: Iterable[RequirementState]) -> tuple[RequirementAtRev, ...]:
        """Return the requirements that are in one of the states."""
        wanted = {*states}
        return tuple(each for each in self.requirements if each.state in wanted)
