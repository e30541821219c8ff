"""Records what is known of the commits that the orders of a run start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from factory.judging.known_red import NOTHING_RED, KnownRed
from factory.orders.verified_by import CountedTests


@dataclass(frozen=True, slots=True)
class KnownCommit:
    """Hold what the verification of a commit showed.

    `red` holds the checks that failed. `tests` holds the tests of each command that reported any,
    by the text of the command.
    """

    red: KnownRed = NOTHING_RED
    tests: Mapping[str, CountedTests] = field(default_factory=lambda: MappingProxyType({}))


NOTHING_KNOWN: Final = KnownCommit()


class KnownCommits:
    """Record what is known of the commits that the orders of a run start from.

    Several threads may use it. A commit that was never recorded counts as the base of the run,
    of which nothing is known unless `assume` says otherwise.
    """

    def __init__(self) -> None:
        self._base = NOTHING_KNOWN
        self._known: dict[str, KnownCommit] = {}

    def assume(self, known: KnownCommit) -> None:
        """Record what is known of the base of the run."""
        self._base = known

    def of(self, commit: str) -> KnownCommit:
        """Return what is known of `commit`."""
        return self._known.get(commit, self._base)

    def learn(self, commit: str, known: KnownCommit) -> None:
        """Record what is known of `commit`, so that an order that starts there may not break more.

        What an order has fixed stays fixed in this way.
        """
        self._known[commit] = known
