"""Defines the capability to tell what a failed command lacks, by what it printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Installable:
    """Hold what a project has declared in one language before a command failed.

    `declared` are the packages of its manifests, in normal form, and `allowed` those that the user
    allows besides, as they were written. `environments` are interpreters of the checkout that may
    have packages. `brought` says whether the code that is judged adds a word by itself.
    """

    declared: frozenset[str]
    allowed: tuple[str, ...]
    environments: tuple[str, ...]
    brought: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Lack:
    """Say in a sentence what is not installed, and how a person can get it.

    Each of `ways` completes "To fix it, ...".
    """

    what: str
    ways: tuple[str, ...]


class Failures(Protocol):
    """Read what a command printed that failed. Nothing in it is trusted, and no method raises."""

    def find_lack(self, output: str, project: Installable) -> Lack | None:
        """Return a package that the project declares and the output misses; else `None`.

        What the code that is judged brought along by itself is its own fault.
        """

    def ways_to_program(self, program: str, *, is_command: bool) -> tuple[str, ...]:
        """Return the ways to `program`, which a package of the project may have.

        `is_command` is true where a command starts the program, and false where a script does. It
        is only asked where the project declares packages.
        """
