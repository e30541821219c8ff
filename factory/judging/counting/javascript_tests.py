"""Reads the summaries of the test runners for JavaScript. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from factory.judging.counting.counted import Counted, add_up, matches, numbers_by_word

# Two marks of node: a number sign in TAP, and U+2139 in the form for people.
_MARKS: Final = ("# ", "\u2139 ")
_NODE = re.compile("[#\u2139] (tests|pass|fail|cancelled|skipped|todo) +([0-9]{1,9})$")
_JEST = re.compile(r"Tests: +((?:\d+ [a-z]+, )*)\d+ total$")
_VITEST = re.compile(r" +Tests +((?:\d+ [a-z]+(?: \| )?)+) \(\d+\)$")
_MOCHA = re.compile(r"  (\d{1,9}) (passing \(.*\)|failing|pending)$")
_AVA = re.compile(r"  (\d{1,9} )tests? (passed|failed|skipped|todo)$")
_FOUND_NONE = re.compile(r"No (?:tests|test files) found, exiting with code \d")


def read_node(text: str) -> Counted | None:
    """Return the sum of the summaries of `node --test`, in both of its forms, and of tape.

    Node counts a file that defines no test as one test, which passes when the file ends well.
    """
    found = [(each[1], int(each[2])) for mark in _MARKS for each in matches(text, mark, _NODE)]
    if not any(word == "tests" for word, _ in found):
        return None
    return add_up([_by_word({word: number}) for word, number in found])


def read_jest(text: str) -> Counted | None:
    """Return the sum of jest's summaries."""
    runs = [_by_word(numbers_by_word(each[1])) for each in matches(text, "Tests:", _JEST)]
    none = [Counted() for _ in matches(text, "found, exiting", _FOUND_NONE)]
    return add_up((*runs, *none)) if runs or none else None


def read_vitest(text: str) -> Counted | None:
    """Return the sum of the summaries of vitest."""
    runs = [_by_word(numbers_by_word(each[1])) for each in matches(text, " Tests ", _VITEST)]
    return add_up(runs) if runs else None


def read_mocha(text: str) -> Counted | None:
    """Return the sum of the summaries of mocha."""
    found = [
        numbers_by_word(f"{each[1]} {each[2]}")
        for word in (" passing", " failing", " pending")
        for each in matches(text, word, _MOCHA)
    ]
    return add_up(list(map(_by_word, found))) if any("passing" in each for each in found) else None


def read_ava(text: str) -> Counted | None:
    """Return the sum of the summaries of AVA, which leave out what passed where a test failed."""
    found = [numbers_by_word(each[1] + each[2]) for each in matches(text, " test", _AVA)]
    if not found:
        return None
    total = add_up(list(map(_by_word, found)))
    return replace(total, exact=not total.failed)


def _by_word(numbers: Mapping[str, int]) -> Counted:
    def total(words: Iterable[str]) -> int:
        return sum(numbers.get(word, 0) for word in words)

    return Counted(
        total(("pass", "passed", "passing")),
        total(("fail", "failed", "failing", "cancelled")),
        total(("skipped", "pending", "todo")),
    )
