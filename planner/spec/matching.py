"""Finds out which requirement of a new version was which one of the version before. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.spec.derived_ids import is_derived
from planner.spec.likeness_pairs import Tie, pair_alike
from planner.spec.own_ids import split_own_id
from planner.spec.requirements import Requirement
from planner.spec.wording import exact_words, folded

_Key = Callable[[Requirement], str]


@dataclass(frozen=True, slots=True)
class Match:
    """Hold, for positions in the new version, that in the old one; and what was ambiguous."""

    before_of: Mapping[int, int]
    ties: tuple[Tie, ...]


def match_requirements(before: Sequence[Requirement], after: Sequence[Requirement]) -> Match:
    """Return which requirements are the same ones; each is matched once at most.

    In this order: ids that the author gave, the same words, words that are alike, derived ids.
    """
    found = _Found(before, after)
    found.match(given_id, lambda old: old.id)
    found.match(given_id, own_label)
    found.match(_exact, _exact)
    found.match(_folded, _folded)
    ties = found.match_alike()
    found.match(lambda new: new.id, lambda old: old.id, leaving=ties)
    return Match(found.before_of, ties)


def given_id(requirement: Requirement) -> str:
    """Return the id that the author gave, "" where it is derived."""
    return requirement.id if requirement.given else ""


def own_label(requirement: Requirement) -> str:
    """Return the author's id that the text of a requirement of an earlier plan begins with."""
    return split_own_id(requirement.text)[0]


def _words(requirement: Requirement) -> str:
    return split_own_id(requirement.text)[1]


def _exact(requirement: Requirement) -> str:
    return f"={exact_words(_words(requirement))}"  # blank words are equal to blank words


def _folded(requirement: Requirement) -> str:
    return f"={folded(_words(requirement))}"


class _Found:
    """Collect the matches between two versions."""

    def __init__(self, before: Sequence[Requirement], after: Sequence[Requirement]) -> None:
        self.before: Final = before
        self.after: Final = after
        self.before_of: Final[dict[int, int]] = {}
        self._taken: Final[set[int]] = set()

    def match(self, key_of_new: _Key, key_of_old: _Key, leaving: Sequence[Tie] = ()) -> None:
        """Match what is free and has an equal key, in order. An empty key is equal to none."""
        tied_new = {each for tie in leaving for each in tie.after}
        tied_old = {each for tie in leaving for each in tie.before}
        free: dict[str, deque[int]] = defaultdict(deque)
        for old, each in enumerate(self.before):
            if old not in self._taken and old not in tied_old:
                free[key_of_old(each)].append(old)
        for new, each in enumerate(self.after):
            key = key_of_new(each)
            if key and new not in self.before_of and new not in tied_new and free.get(key):
                self._take(free[key].popleft(), new)

    def match_alike(self) -> tuple[Tie, ...]:
        """Match what is free by likeness. Return what was ambiguous."""
        pairing = pair_alike(
            [_words(each) for each in self.before],
            [_words(each) for each in self.after],
            self._pairs(),
        )
        for new, old in pairing.before_of.items():
            self._take(old, new)
        return pairing.ties

    def _pairs(self) -> list[tuple[int, int]]:
        """Return the free pairs, without those to which the author gave two different ids."""
        olds = [old for old in range(len(self.before)) if old not in self._taken]
        named = {old for old in olds if _is_named(self.before[old])}
        return [
            (old, new)
            for new, each in enumerate(self.after)
            if new not in self.before_of
            for old in olds
            if not (each.given and old in named)
        ]

    def _take(self, old: int, new: int) -> None:
        self.before_of[new] = old
        self._taken.add(old)


def _is_named(old: Requirement) -> bool:
    """Say whether a requirement of an earlier plan has an id of the author's."""
    return not is_derived(old.id) or bool(own_label(old))
