"""Defines the path of a field in a JSON document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldPath:
    """Hold the keys and indexes that lead from a document to one of its fields.

    A path without parts stands for the document itself, and is false.
    """

    parts: tuple[str | int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        """Return the path as `preconditions[0].path`; the document itself is the empty string."""
        text = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.parts)
        return text.removeprefix(".")

    def below(self, *parts: str | int) -> FieldPath:
        """Return this path with `parts` added at its end."""
        return FieldPath((*self.parts, *parts))

    def sort_key(self) -> tuple[tuple[bool, int, str], ...]:
        """Return a sort key: keys sort by the alphabet, indexes by number, shorter paths first."""
        return tuple(
            (True, each, "") if isinstance(each, int) else (False, 0, each) for each in self.parts
        )


def at(*parts: str | int) -> FieldPath:
    """Return the path with these parts, as in `at("preconditions", 0, "path")`."""
    return FieldPath(parts)
