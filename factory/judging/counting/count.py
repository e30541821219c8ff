"""Counts the tests in the output of a command, and the failures among them. Pure.

A command may run several test runners, so what they report is added up. A program can print
whatever it likes: the numbers say what the output reports, and no command passes because of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from factory.judging.counting.compiled_tests import (
    read_cargo,
    read_ctest,
    read_dotnet,
    read_gradle,
    read_surefire,
)
from factory.judging.counting.counted import Counted, add_up, matches
from factory.judging.counting.go_tests import read_go
from factory.judging.counting.javascript_tests import (
    read_ava,
    read_jest,
    read_mocha,
    read_node,
    read_vitest,
)
from factory.judging.counting.python_tests import read_pytest, read_unittest

READERS: Final[tuple[Callable[[str], Counted | None], ...]] = (
    read_pytest,
    read_unittest,
    read_node,
    read_jest,
    read_vitest,
    read_mocha,
    read_ava,
    read_go,
    read_cargo,
    read_surefire,
    read_gradle,
    read_dotnet,
    read_ctest,
)

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The runners' own words where they did not run all tests, so that their lists say nothing of the
# others: pytest, a panic in Go, and cargo, which stops after the first test binary that fails.
_INCOMPLETE = re.compile(
    r"^(?:!+ (?:Interrupted|stopping after|_pytest)|INTERNALERROR>|panic: )", re.MULTILINE
)
_CARGO_STOPPED: Final = "error: test failed, to rerun pass "
_CARGO_WENT_ON = re.compile(r"^error: \d+ targets? failed:$", re.MULTILINE)
_COMPILE_NAME = re.compile(r"\*\*\* Error compiling '(.+)'\.\.\.$")


@dataclass(frozen=True, slots=True)
class Failures:
    """Hold how many tests (or files) failed, and the names of those that the output lists."""

    count: int
    names: frozenset[str]

    @property
    def all_named(self) -> bool:
        """Return whether each failure has its name, so that two runs can be compared by name."""
        return len(self.names) == self.count


def count_tests(output: str) -> Counted | None:
    """Return the tests that the output reports; `None` where no known test runner wrote it."""
    text = _COLOUR.sub("", output)
    runs = [found for reader in READERS if (found := reader(text)) is not None]
    return add_up(runs) if runs else None


def count_failures(output: str) -> Failures | None:
    """Return the failures in the output of a failed command; `None` where nothing counts them.

    Files that compileall refuses are failures too. A test run that ended early has no count,
    because tests that did not run may fail as well.
    """
    text = _COLOUR.sub("", output)
    if _INCOMPLETE.search(text) or (_CARGO_STOPPED in text and not _CARGO_WENT_ON.search(text)):
        return None
    tests = count_tests(text) or Counted()
    files = [each[1] for each in matches(text, "*** Error", _COMPILE_NAME)]
    names = tests.names.union(files)
    count = max(tests.failed + len(files), len(names))
    return Failures(count, names) if count else None
