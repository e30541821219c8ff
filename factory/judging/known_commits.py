"""Records what is known of the commits that the orders of a run follow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from factory.judging.known_red import NOTHING_RED, KnownRed
from factory.orders.verified_by import CountedTests

_LOOK_EVERY_SECONDS: Final = 0.05


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
    """Record what is known of the commits that the orders of a run follow.

    Several threads may use it. A commit that was never recorded counts as the base of the run,
    of which nothing is known unless `assume` says otherwise.
    """

    def __init__(self) -> None:
        self._base = NOTHING_KNOWN
        self._known: dict[str, KnownCommit] = {}
        self._expected: set[str] = set()
        self._changed = threading.Condition()

    def assume(self, known: KnownCommit) -> None:
        """Record what is known of the base of the run."""
        self._base = known

    def of(self, commit: str, check_cancelled: Callable[[], None] = lambda: None) -> KnownCommit:
        """Return what is known of `commit`; where it is being verified, wait until that is known.

        `check_cancelled` is called meanwhile, and ends the waiting by raising.
        """
        with self._changed:
            while commit in self._expected:
                check_cancelled()
                self._changed.wait(_LOOK_EVERY_SECONDS)
            return self._known.get(commit, self._base)

    def expect(self, commit: str) -> None:
        """Record that `commit` is about to be verified, so that who asks for it waits."""
        with self._changed:
            if commit not in self._known:
                self._expected.add(commit)

    def learn(self, commit: str, known: KnownCommit) -> None:
        """Record what is known of `commit`, so that an order that follows it may not break more.

        What an order has fixed stays fixed in this way.
        """
        with self._changed:
            self._known[commit] = known
            self._settle(commit)

    def give_up(self, commit: str) -> None:
        """Record that nothing will be learned of `commit`: it failed, or nobody wants it."""
        with self._changed:
            self._settle(commit)

    def _settle(self, commit: str) -> None:
        self._expected.discard(commit)
        self._changed.notify_all()
