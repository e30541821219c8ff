"""Reads a journal of shared expenses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tally.money import parse_amount

_NAME = re.compile(r"[A-Z][A-Za-z]{0,19}")


@dataclass(frozen=True)
class Paid:
    """Somebody paid for the people in `among`."""

    name: str
    cents: int
    text: str
    among: tuple[str, ...]


@dataclass(frozen=True)
class Repaid:
    """Somebody gave money back."""

    name: str
    cents: int
    to: str


@dataclass
class Journal:
    """The people, entries and errors of a journal, each in the sequence of the lines."""

    people: list[str] = field(default_factory=list)
    entries: list[Paid | Repaid] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def parse_journal(text: str) -> Journal:
    """Return the journal in a text. An entry with an error is reported and changes nothing."""
    journal = Journal()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            _read_entry(journal, line)
        except ValueError as error:
            journal.errors.append(f"line {number}: {error}")
    return journal


def _read_entry(journal: Journal, line: str) -> None:
    first, *words = line.split()
    readers: dict[str, Callable[[Journal, list[str]], None]] = {
        "people": _read_people,
        "paid": _read_paid,
        "repaid": _read_repaid,
    }
    if first not in readers:
        raise ValueError(f"unknown entry {first!r}")
    if first != "people" and not journal.people:
        raise ValueError("no people yet")
    readers[first](journal, words)


def _read_people(journal: Journal, names: list[str]) -> None:
    if not names or (not journal.people and len(names) < 2):
        raise ValueError("people needs at least two names at first, and one later")
    for position, name in enumerate(names):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name")
        if name in journal.people or name in names[:position]:
            raise ValueError(f"{name} is added twice")
    journal.people += names


def _read_paid(journal: Journal, words: list[str]) -> None:
    name, cents, rest = _opening(journal, words, "for", "paid NAME AMOUNT for TEXT")
    among = list(journal.people)
    if "among" in rest:
        at = len(rest) - 1 - rest[::-1].index("among")
        rest, among = rest[:at], rest[at + 1 :]
    if not rest or not among:
        raise ValueError("expected a text, and names after among")
    for each in among:
        _member(journal, each)
    journal.entries.append(Paid(name, cents, " ".join(rest), tuple(among)))


def _read_repaid(journal: Journal, words: list[str]) -> None:
    name, cents, rest = _opening(journal, words, "to", "repaid NAME AMOUNT to NAME")
    if len(rest) != 1:
        raise ValueError("expected repaid NAME AMOUNT to NAME")
    to = _member(journal, rest[0])
    if to == name:
        raise ValueError(f"{name} repays themselves")
    journal.entries.append(Repaid(name, cents, to))


def _opening(
    journal: Journal, words: list[str], word: str, form: str
) -> tuple[str, int, list[str]]:
    if len(words) < 4 or words[2] != word:
        raise ValueError(f"expected {form}")
    return _member(journal, words[0]), parse_amount(words[1]), words[3:]


def _member(journal: Journal, name: str) -> str:
    if name not in journal.people:
        raise ValueError(f"{name} is not in the group")
    return name
