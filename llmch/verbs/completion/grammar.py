"""Describes, as values, what may stand where on a command line. This module is pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """Say where the words come from that a shell offers for a value."""

    TEXT = auto()
    WORDS = auto()
    FILE = auto()
    FOLDER = auto()
    BRANCH = auto()


@dataclass(frozen=True, slots=True)
class Value:
    """Describe a value; `words` are all that a value of `Kind.WORDS` can be."""

    name: str
    kind: Kind
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """Describe an option. `value` is `None` where it takes none.

    `rivals` are the spellings of options that may not stand beside it; its own are among them
    unless it may be repeated.
    """

    spellings: tuple[str, ...]
    meaning: str
    value: Value | None
    rivals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Positional:
    """Describe a word that is known by its position; one that `repeats` is the last."""

    value: Value
    optional: bool
    repeats: bool


@dataclass(frozen=True, slots=True)
class VerbGrammar:
    """Describe what may follow a verb."""

    name: str
    purpose: str
    options: tuple[Option, ...]
    positionals: tuple[Positional, ...]

    @property
    def spellings(self) -> Iterator[str]:
        """Yield the spellings of all options."""
        return (spelling for option in self.options for spelling in option.spellings)

    @property
    def with_value(self) -> Iterator[str]:
        """Yield the spellings of the options that take a value."""
        taking = (option for option in self.options if option.value is not None)
        return (spelling for option in taking for spelling in option.spellings)
