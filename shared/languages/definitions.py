"""Defines what an edit of definitions by their names is, in any language."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamedCode:
    """Hold the code that the definition `name` is to have.

    The name is qualified (`Game.play`) if the author of the code qualified it.
    """

    name: str
    code: str


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace the characters of a text from `start` up to `end`, which is excluded, by `text`.

    Of several insertions at one place, the one with the greatest `depth` comes first: what is added
    to an inner class comes before what is added to the class around it.
    """

    start: int
    end: int
    text: str
    depth: int = 0


@dataclass(frozen=True, slots=True)
class DefinitionEdit:
    """Hold the splices that bring a definition into a file.

    `repairs` describes each place where the code or its name was read leniently.
    """

    splices: tuple[Splice, ...]
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditRefused:
    """Say why code cannot be brought into a file.

    `lines` are the lines of the file that the reason is about; they count from 1.
    """

    reason: str
    lines: tuple[int, ...] = ()
