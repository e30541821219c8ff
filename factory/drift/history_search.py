"""Searches a history for the place where something went wrong, with as few looks as it can.

A history is a row of places, oldest first: the commits that one reaches by first parents, so what
became of a branch, merge by merge. The last place is bad, and the first is taken for good until a
look says otherwise.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Final

from shared.git import commits
from shared.git.client import Git

MOST_RUNS: Final = 12
"""How many runs a history of a thousand commits takes at most, as long as none is skipped."""
_MOST_SKIPPED: Final = 20


class AtPlace(Enum):
    """Say what a look found at a place; `UNKNOWN` where the place cannot be judged."""

    GOOD = auto()
    BAD = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Border:
    """Hold the place `bad`, and the last one before it that is known to be good.

    `good` is `None` where even the first is bad. What is between the two cannot be judged.
    `is_latest` is true where everything after `bad` that could make a difference was looked at.
    """

    good: int | None
    bad: int
    is_latest: bool = True

    @property
    def between(self) -> range:
        return range(0 if self.good is None else self.good + 1, self.bad)


@dataclass
class BorderSearch:
    """Find where a history went bad for the last time.

    `likely` are the places that touch what the answer rests on. Between two of them the answer
    is taken to be the same, which only decides where the next look is: both sides of the border
    that is found have been looked at. `again` looks anew at a place that was found bad.
    """

    look_at: Callable[[int], AtPlace]
    again: Callable[[int], AtPlace]
    last: int
    likely: Sequence[int]
    spent: int = 0
    looked: dict[int, AtPlace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.likely = sorted({each for each in self.likely if 0 < each <= self.last})
        self.looked[self.last] = AtPlace.BAD

    def find(self) -> Border:
        good, bad = self._one_by_one()
        while True:
            good, bad = self._narrow(good, bad)
            if good == 0 and self._look(0) is AtPlace.BAD:
                return Border(None, 0, self._is_latest(0))
            if bad == self.last or self.again(bad) is not AtPlace.GOOD:
                return Border(good, bad, self._is_latest(bad))
            # It failed once by chance.
            self.looked[bad] = AtPlace.GOOD
            good, bad = bad, self._next_bad(bad)

    def _one_by_one(self) -> tuple[int, int]:
        """Go back over the likely places, as far as enough runs are left to halve the rest."""
        bad, left = self.last, len(self.likely)
        for place in reversed(self.likely):
            left -= 1
            if self._runs_left() <= left.bit_length() + 2:
                break
            found = self._look(place - 1)
            if found is AtPlace.GOOD:
                return place - 1, bad
            if found is AtPlace.BAD:
                bad = place - 1
        return 0, bad

    def _runs_left(self) -> int:
        return MOST_RUNS - self.spent - len(self.looked) + 1

    def _narrow(self, good: int, bad: int) -> tuple[int, int]:
        while (place := self._between(good, bad)) is not None:
            match self._look(place):
                case AtPlace.GOOD:
                    good = place
                case AtPlace.BAD:
                    bad = place
                case AtPlace.UNKNOWN:
                    if [*self.looked.values()].count(AtPlace.UNKNOWN) > _MOST_SKIPPED:
                        break
        return good, bad

    def _between(self, good: int, bad: int) -> int | None:
        """Return the place to look at next: that which halves the changes that are likely."""
        if bad - good < 2:
            return None
        known = [each for each, found in self.looked.items() if good < each < bad]
        if not known:
            return self._half(good, bad)
        return next((e for e in _around(self._half(good, bad), good, bad) if e not in known), None)

    def _half(self, good: int, bad: int) -> int:
        """Return the place before the likely one in the middle; without any, the middle."""
        first = bisect_right(self.likely, good + 1)
        changes = self.likely[first : bisect_right(self.likely, bad)]
        if changes:
            return changes[(len(changes) - 1) // 2] - 1
        if self._is_likely(good + 1):
            return good + 1
        return (good + bad) // 2

    def _is_likely(self, place: int) -> bool:
        at = bisect_left(self.likely, place)
        return at < len(self.likely) and self.likely[at] == place

    def _look(self, place: int) -> AtPlace:
        if place not in self.looked:
            self.looked[place] = self.look_at(place)
        return self.looked[place]

    def _next_bad(self, place: int) -> int:
        return min(e for e, found in self.looked.items() if e > place and found is AtPlace.BAD)

    def _is_latest(self, bad: int) -> bool:
        """Return whether each stretch after `bad` that a likely place begins has been looked at."""
        places = sorted(each for each, found in self.looked.items() if found is AtPlace.BAD)
        stretches = {bisect_right(self.likely, each) for each in places}
        after = range(bisect_right(self.likely, bad), len(self.likely) + 1)
        return all(each in stretches for each in after)


def _around(middle: int, good: int, bad: int) -> Iterator[int]:
    """Yield the places between two others: first at distances that double, then all the rest."""
    yield middle
    distance = 1
    while distance < bad - good:
        yield from (e for e in (middle - distance, middle + distance) if good < e < bad)
        distance *= 2
    yield from _all_near(middle, range(good + 1, bad))


def _all_near(middle: int, places: Iterable[int]) -> Iterator[int]:
    yield from sorted(places, key=lambda each: abs(each - middle))


@dataclass(frozen=True, slots=True)
class CommitOnMainline:
    """Hold a commit as a person tells it: who wrote it, when, and its first line."""

    id: str = ""
    author: str = ""
    date: str = ""
    subject: str = ""


@dataclass(frozen=True)
class Mainline:
    """Hold the commits that one reaches by first parents, oldest first; a place is an index."""

    git: Git
    ids: tuple[str, ...]

    @classmethod
    def read(cls, git: Git, rev: str) -> Mainline:
        return cls(git, tuple(git.run("rev-list", "--first-parent", "--reverse", rev).split()))

    @property
    def last(self) -> int:
        return len(self.ids) - 1

    @cached_property
    def _places(self) -> dict[str, int]:
        return {each: place for place, each in enumerate(self.ids)}

    def first_with(self, commit: str) -> int:
        """Return the first place whose history has a commit: its own, or that of its merge."""
        if commit in self._places:
            return self._places[commit]
        low, high = 0, self.last
        while low < high:
            middle = (low + high) // 2
            if commits.is_ancestor(self.git, commit, self.ids[middle]):
                high = middle
            else:
                low = middle + 1
        return low

    def touching(self, paths: Collection[str]) -> tuple[int, ...]:
        """Return the places that change one of the files, or a file in one of the folders."""
        if not paths or not self.ids:
            return ()
        listed = self.git.run(
            "log", "--first-parent", "--no-renames", "--format=%H", self.ids[-1], "--",
            *sorted(paths),
        )  # fmt: skip
        return tuple(sorted(self._places[each] for each in listed.split() if each in self._places))

    def describe(self, place: int) -> CommitOnMainline:
        """Return who wrote the commit at a place, and when."""
        output = self.git.run(
            "show", "--no-patch", "--no-notes", "--format=%H%x00%an <%ae>%x00%aI%x00%s",
            self.ids[place],
        )  # fmt: skip
        fields = output.split("\0", 3)
        return CommitOnMainline(*(each.encode("utf-8", "replace").decode() for each in fields))
