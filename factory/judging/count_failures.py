"""Counts and names what the output of a failed command reports as failed, or as nothing to run."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from factory.judging.count_tests import Counted, count_tests, matches, without_colours

# The runners' own words where they did not run all tests, so that their lists do not cover the
# others: pytest, a panic in Go, and cargo, which stops after the first test binary that fails.
_INCOMPLETE = re.compile(
    r"^(?:!+ (?:Interrupted|stopping after|_pytest)|INTERNALERROR>|panic: )", re.MULTILINE
)
_CARGO_STOPPED: Final = "error: test failed, to rerun pass "
_CARGO_WENT_ON = re.compile(r"^error: \d+ targets? failed:$", re.MULTILINE)
_COMPILE_NAME = re.compile(r"\*\*\* Error compiling '(.+)'\.\.\.$")


@dataclass(frozen=True, slots=True)
class Failures:
    """Hold how many tests (or files) failed, and the names of those that the output lists.

    Where suites or files that failed have names too, they count as well.
    """

    count: int
    names: frozenset[str]

    @property
    def all_named(self) -> bool:
        """Return whether each failure has its name, so that two runs can be compared by name."""
        return len(self.names) == self.count


def count_failures(output: str) -> Failures | None:
    """Return the failures in the output of a failed command; `None` if nothing counts them.

    Files that compileall refuses are failures too. A test run that ended early has no count,
    because tests that did not run may fail as well.
    """
    text = without_colours(output)
    if _INCOMPLETE.search(text) or (_CARGO_STOPPED in text and not _CARGO_WENT_ON.search(text)):
        return None
    failures = _failures(text)
    return failures if failures.count else None


def name_failures(output: str) -> frozenset[str]:
    """Return the names of the failures that the output lists, also where there may be others."""
    return _failures(without_colours(output)).names


def _failures(text: str) -> Failures:
    tests = count_tests(text) or Counted()
    files = [each[1] for each in matches(text, "*** Error", _COMPILE_NAME)]
    names = tests.names.union(files)
    return Failures(max(tests.failed + len(files), len(names)), names)


# What runners say where they find nothing to run, with the exit code of those whose words come
# with other failures as well, and the files that have to be absent for the words to be true.
_NOTHING_TO_RUN: Final = (
    (r"=* ?(?:no tests ran|\d+ deselected)(?: in [\d.]+s.*)?$", 5, ""),
    (r"NO TESTS RAN(?: \(.*\))?$", 5, ""),
    (r"no packages to test$", 1, ".go"),
    (r"  no targets specified in the manifest$", 101, ".rs"),
    (r".* the workspace has no members\.$", 101, ".rs"),
    (r"Error: no test specified$", 0, ""),
    (r'(?:npm (?:ERR!|error)|.?ERR_PNPM_NO_SCRIPT) +Missing script: "?test"?$', 0, ""),
    (r'error Command "test" not found\.$', 0, ""),
    (r"No (?:tests|test files) found, exiting with code 1$", 0, ""),
    (r"[^\w\n]{0,9}Error: No test files found\b.*$", 0, ""),
    (r"[^\w\n]{0,9}Couldn.t find any files to test\b.*$", 0, ""),
    (r"Could not find '[^']*'$", 1, ""),
    (r"error: No test modules found$", 0, ""),
)
_SAYS_NOTHING = tuple(
    (re.compile(f"^{words}", re.M), code, suffix) for words, code, suffix in _NOTHING_TO_RUN
)


def nothing_to_run(output: str, exit_code: int, files: Collection[str]) -> str:
    """Return the words by which a command that failed says that it found nothing to run; else "".

    `files` are the paths of the tree. A command that reported a test did find something.
    """
    text = without_colours(output)
    for words, code, suffix in _SAYS_NOTHING:
        found = words.search(text)
        if found and code in (0, exit_code):
            counted = count_tests(text) or Counted()
            there = suffix and any(each.endswith(suffix) for each in files)
            if not (there or counted.ran or counted.skipped):
                return found[0].strip()
    return ""
