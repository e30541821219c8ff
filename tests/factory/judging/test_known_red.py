"""What may fail after an order, because it failed before: counted where the output allows it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factory.judging.environment_faults import Failures, count_failures
from factory.judging.proof import KnownCommit, KnownCommits, KnownRed, RedCheck, more_failures
from factory.sandbox.policy import Cause

PYTEST = """\
.F.E                                                                     [100%]
=========================== short test summary info ============================
FAILED tests/test_a.py::test_x[a b] - assert 1 == 2
ERROR tests/test_b.py::test_y - RuntimeError: no - not now
1 failed, 2 passed, 1 error in 0.02s
"""
UNITTEST = """\
FE
======================================================================
ERROR: test_y (test_m.T.test_y)
----------------------------------------------------------------------
FAIL: test_x (test_m.T.test_x)
Ran 2 tests in 0.001s

FAILED (failures=1, errors=1)
"""
COMPILE = """\
*** Error compiling './bad.py'...
  File "./bad.py", line 1
    def (
SyntaxError: invalid syntax
"""


def names(*each: str) -> frozenset[str]:
    return frozenset(each)


@pytest.mark.parametrize(
    ("output", "failures"),
    [
        (PYTEST, Failures(2, names("tests/test_a.py::test_x[a b]", "tests/test_b.py::test_y"))),
        (UNITTEST, Failures(2, names("test_y (test_m.T.test_y)", "test_x (test_m.T.test_x)"))),
        (COMPILE, Failures(1, names("./bad.py"))),
        ("===== 3 failed, 100 passed, 2 warnings in 12.50s (0:00:12) =====", Failures(3, names())),
        ("\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\x1b[31m in 0.1s\x1b[0m",
         Failures(1, names())),
        (f"{PYTEST}\n{PYTEST.replace('test_x', 'test_z')}",
         Failures(4, names("tests/test_a.py::test_x[a b]", "tests/test_a.py::test_z[a b]",
                           "tests/test_b.py::test_y"))),
        ("5 passed in 0.1s", None),
        ("ERROR: something else entirely", None),
        ("", None),
        (f"{PYTEST}!!!!!! stopping after 1 failures !!!!!!", None),
        (f"!!!!! Interrupted: 1 error during collection !!!!!\n{PYTEST}", None),
        ("INTERNALERROR> Traceback", None),
    ],
)  # fmt: skip
def test_failures_are_counted_and_named(output: str, failures: Failures | None) -> None:
    assert count_failures(output) == failures


def red(*failing: str, count: int | None = None, cause: Cause = Cause.EXITED) -> RedCheck:
    return RedCheck(cause, Failures(len(failing) if count is None else count, frozenset(failing)))


UNCOUNTED = RedCheck(Cause.EXITED)


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (red("a", "b"), red("a"), ""),
        (red("a", "b"), red("a", "b"), ""),
        (red("a"), red("b"), "These did not fail on the base: b."),
        (red("a", "b"), red("c"), "c."),
        (red("a", count=3), red("a", count=3), ""),
        (red("a", count=3), red("z", count=4), "On the base there were 3 failures, now 4."),
        (red("a"), UNCOUNTED, "reported 1 failure"),
        (UNCOUNTED, red("a"), "nothing counts what failed, and now 1 failure is reported"),
        (UNCOUNTED, UNCOUNTED, ""),
        (UNCOUNTED, RedCheck(Cause.TIMED_OUT), "in another way"),
        (RedCheck(Cause.TIMED_OUT), RedCheck(Cause.TIMED_OUT), ""),
        (red(), red(*"cdefghi"), "c, d, e, f, g, and 2 more."),
    ],
)
def test_more_failures_are_said_to_be_more(before: RedCheck, now: RedCheck, words: str) -> None:
    said = more_failures(before, now)
    assert words in said
    assert bool(said) == bool(words)


@settings(deadline=None)
@given(st.sets(st.sampled_from("abcdef"), min_size=1), st.sets(st.sampled_from("abcdef")))
def test_named_failures_may_only_become_fewer(before: set[str], now: set[str]) -> None:
    known = KnownRed({"check": red(*before)})
    assert known.allows("check", red(*now)) == (now <= before)
    assert not known.allows("another check", red(*now))


@settings(deadline=None)
@given(st.text())
def test_any_output_is_counted_without_an_error(output: str) -> None:
    found = count_failures(output)
    assert found is None or found.count >= len(found.names) > -1


def test_what_an_order_fixed_counts_from_then_on() -> None:
    commits = KnownCommits()
    assert commits.of("base").red.checks == {}
    commits.assume(KnownCommit(KnownRed({"check": red("a", "b")})))
    commits.learn("landed", KnownCommit(KnownRed({"check": red("a")})))
    assert commits.of("base").red.allows("check", red("a", "b"))
    assert not commits.of("landed").red.allows("check", red("a", "b"))
