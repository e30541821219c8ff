"""Says what the commands that judged an order prove, by the tests that they ran. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from factory.orders.documents import CmdResult
from factory.orders.task import OrderTask
from factory.orders.verified_by import CountedTests, JudgingCommand, VerifiedBy, count_of_tests
from shared.commands.test_runs import runs_tests
from shared.languages.registry import language_of
from shared.work_order.schemas import WorkOrder

_TEST_FOLDERS: Final = frozenset({"test", "tests"})

Tests = Mapping[str, CountedTests]
"""The tests that commands reported, by the text of the command. Others reported none."""


def why_nothing_is_proven(command: str, tests: CountedTests | None) -> str:
    """Return why a test command that succeeded proves nothing, as a sentence; "" if it proves.

    A command that is not a test runner by its text is not expected to run tests.
    """
    if tests is None or tests.ran or not runs_tests(command):
        return ""
    how = f"skipped all of its {tests.skipped} tests" if tests.skipped > 1 else "ran no test"
    if tests.skipped == 1:
        how = "skipped its only test"
    return f"The command succeeded but {how}, so it proves nothing: the tests it names have to run."


@dataclass(frozen=True, slots=True)
class FewerTests:
    """Say that the verification ran fewer tests than before the order, or no longer says how many.

    `command` is the one that ran fewer; "" where the commands changed and only their sum tells.
    `now` is `None` where the command succeeded and its output reports no tests. `others` is how
    many tests the other commands ran.
    """

    command: str
    before: CountedTests
    now: int | None
    others: int = 0

    def is_refused(self, order: WorkOrder) -> bool:
        """Return whether `order` fails because nothing shows a test that ran.

        An order may bring a test runner that llmch cannot read. It then says so in `changes`. An
        order that removes tests may remove the last one.
        """
        if any(map(_is_test, order.removed_files)):
            return False
        if self.now is None:
            return not self.others and not order.changes
        return self.now == 0

    def describe(self) -> str:
        """Return both numbers, in a few words."""
        least = "at least " if self.before.at_least else ""
        what = f"`{self.command}`" if self.command else "the verification"
        tests = f"{least}{count_of_tests(self.before.ran)}"
        if self.now is None:
            return (
                f"{what} ran {tests} before this order; after it, its output does not say how many"
            )
        return f"{what} ran {tests} before this order and {self.now or 'none'} after it"


def find_fewer_tests(before: Tests, now: Tests, silent: Collection[str] = ()) -> FewerTests | None:
    """Return the command that ran fewer tests than before; one that ran none goes first.

    `silent` are the commands that succeeded and whose whole output reports no tests. Exact numbers
    are not compared with those that are the least. Where the commands are not the same as before,
    their sums are compared; any other command that reported no tests shows nothing.
    """
    found = sorted(_fewer(before, now, silent), key=lambda each: each.now or 0)
    return found[0] if found else None


def _fewer(before: Tests, now: Tests, silent: Collection[str]) -> Iterator[FewerTests]:
    lost = [command for command, then in before.items() if then.ran and command in silent]
    for command in lost:
        yield FewerTests(command, before[command], None, _sum(now).ran)
    for command, then in before.items():
        if command in now and _is_fewer(then, now[command]):
            yield FewerTests(command, then, now[command].ran)
    if now and not lost and not before.keys() <= now.keys():
        then, sum_now = _sum(before), _sum(now)
        if _is_fewer(then, sum_now):
            yield FewerTests("", then, sum_now.ran)


def _is_fewer(then: CountedTests, now: CountedTests) -> bool:
    return now.ran < then.ran and (not now.ran or then.at_least == now.at_least)


def _sum(tests: Tests) -> CountedTests:
    return CountedTests(
        passed=sum(each.passed for each in tests.values()),
        failed=sum(each.failed for each in tests.values()),
        skipped=sum(each.skipped for each in tests.values()),
        at_least=any(each.at_least for each in tests.values()),
    )


def verified_by(verify: Sequence[CmdResult], acceptance: Sequence[CmdResult]) -> VerifiedBy:
    """Return what a summary says of the commands that judged an order."""
    verification = tuple(map(_command, verify))
    return VerifiedBy(
        verification=verification,
        acceptance=tuple(map(_command, acceptance)),
        rests_on_acceptance=all(_runs_none(each) for each in verification),
    )


def _command(result: CmdResult) -> JudgingCommand:
    return JudgingCommand(
        command=shlex.join(result.command), exit_code=result.exit_code, tests=result.tests
    )


def _runs_none(command: JudgingCommand) -> bool:
    if command.tests is not None:
        return not command.tests.ran
    return runs_tests(command.command) is False


def _takes_away(order: WorkOrder) -> bool:
    return bool(order.changes) or any(map(_is_test, order.removed_files))


def _is_test(path: str) -> bool:
    language = language_of(path)
    if language is None or language.plans is None:
        return not _TEST_FOLDERS.isdisjoint(path.split("/")[:-1])
    return language.plans.is_test_file(path)


def warnings_on(verified: VerifiedBy, fewer: FewerTests | None, task: OrderTask) -> Iterator[str]:
    """Yield what a person should know of checks that passed but prove less than they seem to.

    An exempt order is verified by compiling alone, on purpose. An order that lists `changes` takes
    something away on purpose, and so does one that removes tests. Tests may go with it; that none
    is left, or that they no longer show, is said.
    """
    if verified.rests_on_acceptance and not task.exempt:
        yield "the verification ran no test: the order rests on its acceptance commands alone"
    elif fewer is not None and (not fewer.now or not _takes_away(task.order)):
        yield fewer.describe()
