"""Holds a value as it was written, and says what it must be where it cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from shared.errors import InvalidInput

T = TypeVar("T")

Reader = Callable[["Given"], T]


@dataclass(frozen=True, slots=True)
class Given:
    """Hold a value as it was written.

    `source` is the file, "environment" or "command line", and `name` is the value's name there. A
    relative path starts at `folder`. `as_text` is true for variables and flags, whose numbers and
    lists are written as text; in a file, a text is not a number.
    """

    value: object
    source: str
    name: str
    folder: Path
    as_text: bool = False

    def refused(self, wanted: str) -> InvalidInput:
        """Return the error that says what the value must be."""
        return InvalidInput(
            f"{self.source}: {self.name} must be {wanted}, not {_shown(self.value)}",
            f"change {self.name} there, or remove it",
        )


def _shown(value: object) -> str:
    match value:
        case str():
            text = repr(value)
        case bool():
            text = str(value).lower()
        case dict():
            text = "a table"
        case list() | tuple():
            text = f"[{', '.join(_shown(each) for each in value[:5])}]"
        case int() if abs(value) >= 10**30:
            text = "a huge number"  # Python refuses to print very large numbers
        case _:
            text = str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
