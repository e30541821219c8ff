"""Defines what a summary says of the commands that judged an order, and of the tests they ran."""

from __future__ import annotations

import textwrap
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

# Longer than what is said of a few commands. A command may be a program of many lines.
_LONGEST_LINE: Final = 600  # characters


def _is_false(value: object) -> bool:
    return value is False


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CountedTests(_Record):
    """Hold how many tests a command reported.

    `at_least` is in the JSON only where it is true: the runner did not count all of its tests, as
    `go test` without -v, and the numbers are the least that can be concluded.
    """

    passed: int
    failed: int
    skipped: int
    at_least: Annotated[bool, Field(exclude_if=_is_false)] = False

    @property
    def ran(self) -> int:
        """Return how many tests ran to their end. A skipped test did not."""
        return self.passed + self.failed

    def describe(self) -> str:
        """Return the numbers in a few words: `12 tests, 2 of them failed`."""
        least = "at least " if self.at_least and self.ran else ""
        failed = f", {self.failed} of them failed" if self.failed else ""
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{least}{count_of_tests(self.ran)}{failed}{skipped}"


def count_of_tests(number: int) -> str:
    """Return `no test`, `1 test` or `12 tests`."""
    return "no test" if not number else f"{number} test{'' if number == 1 else 's'}"


class JudgingCommand(_Record):
    """Hold a command that judged an order. `tests` is `None` where nothing counts them."""

    command: str
    exit_code: int
    tests: CountedTests | None


class VerifiedBy(_Record):
    """Say which commands judged an order, in their sequence.

    `rests_on_acceptance` says that the verification ran no test, as far as its commands and their
    output show, so that nothing but the acceptance commands speaks for the order.
    """

    verification: tuple[JudgingCommand, ...]
    acceptance: tuple[JudgingCommand, ...]
    rests_on_acceptance: bool

    def describe(self) -> str:
        """Return what speaks for the order, in one line of at most 600 characters."""
        return textwrap.shorten(self._describe(), _LONGEST_LINE, placeholder=" ...")

    def _describe(self) -> str:
        if self.rests_on_acceptance:
            number = len(self.acceptance)
            commands = f"{number} acceptance command{'' if number == 1 else 's'}"
            return f"the verification ran no test: the order rests on {commands}"
        named = [each for each in self.verification if each.tests is None or each.tests.ran]
        tested = [each for each in named if each.tests] or named
        return f"verified by {'; '.join(map(_describe, tested))}"


def _describe(command: JudgingCommand) -> str:
    return f"{command.command}: {command.tests.describe()}" if command.tests else command.command
