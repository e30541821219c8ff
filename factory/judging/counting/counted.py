"""Defines what is read out of one runner's output, and finds the lines to read. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# No summary of a test runner is as long. The bound keeps each pattern linear in the output.
_LONGEST_LINE: Final = 4096
_PAIR = re.compile(r"(\d{1,9}) ([a-z]+)")


@dataclass(frozen=True, slots=True)
class Counted:
    """Hold how many tests passed, failed and were skipped, with the names of those that failed.

    `names` may lack some. Where `exact` is false, the runner does not count all of its tests, and
    the numbers are the least that can be concluded.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    names: frozenset[str] = frozenset()
    exact: bool = True

    @property
    def ran(self) -> int:
        """Return how many tests ran to their end. A skipped test did not."""
        return self.passed + self.failed


def add_up(counts: Sequence[Counted]) -> Counted:
    """Return the sum of several runs."""
    return Counted(
        sum(each.passed for each in counts),
        sum(each.failed for each in counts),
        sum(each.skipped for each in counts),
        frozenset[str]().union(*(each.names for each in counts)),
        all(each.exact for each in counts),
    )


def lines_with(text: str, words: str) -> Iterator[str]:
    """Yield each line that contains `words`, without its line break, unless it is very long."""
    end = 0
    while (at := text.find(words, end)) >= 0:
        start = text.rfind("\n", end, at) + 1 or end
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if end - start <= _LONGEST_LINE:
            yield text[start:end].strip("\r\n")


def matches(text: str, words: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the match of each line with `words` that the pattern matches from its beginning."""
    found = (pattern.match(line) for line in lines_with(text, words))
    return (each for each in found if each)


def numbers_by_word(text: str) -> dict[str, int]:
    """Return the numbers of a text such as `3 passed, 1 failed` by the words behind them."""
    return {word: int(number) for number, word in _PAIR.findall(text)}
