"""What is known of a commit: asked for while it is still being verified."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from factory.judging.proof import NOTHING_KNOWN, KnownCommit, KnownCommits
from factory.orders.documents import CountedTests
from shared.errors import Interrupted

SEVEN = KnownCommit(tests={"pytest": CountedTests(passed=7, failed=0, skipped=0)})
THREE = KnownCommit(tests={"pytest": CountedTests(passed=3, failed=0, skipped=0)})


def test_a_commit_that_nobody_judged_counts_as_the_base() -> None:
    known = KnownCommits()
    assert known.of("any") == NOTHING_KNOWN
    known.assume(SEVEN)
    assert known.of("any") == SEVEN


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (lambda known: known.learn("new", THREE), THREE),
        (lambda known: known.give_up("new"), SEVEN),
    ],
)
def test_who_asks_for_a_commit_that_is_being_verified_waits(
    end: Callable[[KnownCommits], None], expected: KnownCommit
) -> None:
    known, found, asking = KnownCommits(), list[KnownCommit](), threading.Event()
    known.assume(SEVEN)
    known.expect("new")
    thread = threading.Thread(target=lambda: found.append(known.of("new", asking.set)))
    thread.start()
    assert asking.wait(60)
    assert found == []
    end(known)
    thread.join(60)
    assert found == [expected]


def test_who_is_cancelled_waits_no_longer() -> None:
    known = KnownCommits()
    known.expect("new")

    def cancelled() -> None:
        raise Interrupted("cancelled")

    with pytest.raises(Interrupted):
        known.of("new", cancelled)


def test_what_was_learned_before_need_not_be_waited_for() -> None:
    known = KnownCommits()
    known.learn("new", THREE)
    known.expect("new")
    assert known.of("new") == THREE
