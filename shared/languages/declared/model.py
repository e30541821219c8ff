"""Defines a file as its declarations, whatever the language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["function", "type", "value", "module", "implementation"]

# Longer contracts, and longer files of tests in a plan, are refused instead of read.
MAX_BYTES = 100 * 1024


@dataclass(frozen=True, slots=True)
class Member:
    """Represent a field, a variant or a method that a type lists, as it is written."""

    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Declared:
    """Represent one declaration of a file.

    `name` is qualified: `Game.play`. `head` is the declaration on one line without its body, and
    `key` is equal for declarations that mean the same. `start` and `end` are characters of the
    file, attributes included; declarations that one statement makes together have its place. `text`
    is what stands there. `line` counts from 1. `around` is the head of the block that the
    declaration stands in.

    Of a function, `body` has the characters of its block, braces included, `opening` is the text
    before its result, and `result` the type of what it returns. Of a type, `separator` stands
    between its members.
    """

    name: str
    kind: Kind
    head: str
    key: str
    line: int
    start: int
    end: int
    is_public: bool
    body: tuple[int, int] | None = None
    members: Mapping[str, Member] = field(default_factory=dict)
    around: str = ""
    text: str = ""
    opening: str = ""
    result: str = ""
    separator: str = "\n"

    @property
    def last_name(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """Return the type that the declaration belongs to; empty where it stands alone."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Imported:
    """Represent one name that a file brings in: what it is called there, and where it is from."""

    name: str
    source: str
    line: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Say why a text cannot be read; `line` counts from 1, and is 0 for the whole text."""

    message: str
    line: int = 0
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Declarations:
    """Hold what a file declares, in its order. `fault` is the first of its faults, if any.

    `package` is the name that the file gives itself, where its language asks for one.
    """

    text: str
    items: tuple[Declared, ...] = ()
    imports: tuple[Imported, ...] = ()
    fault: Fault | None = None
    package: str = ""

    def named(self, name: str) -> tuple[Declared, ...]:
        """Return the declarations of that qualified name."""
        return tuple(each for each in self.items if each.name == name)

    def is_shared(self, item: Declared) -> bool:
        """Return whether other declarations are made by the statement that makes this one."""
        return sum(each.start == item.start for each in self.items) > 1
