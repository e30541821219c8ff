"""Reads lists of texts, which files write as lists, and variables and flags as one text."""

from __future__ import annotations

from shared.settings.values.given import Given


def read_texts(given: Given, separator: str) -> tuple[str, ...]:
    """Return the texts of a list, or the parts of a text; blank parts of a text are dropped."""
    match given.value:
        case str() if given.as_text:
            texts = [each.strip() for each in given.value.split(separator)]
            items: list[object] = [each for each in texts if each]
        case list() | tuple():
            items = list(given.value)
        case _:
            raise given.refused("a list of texts")
    found = []
    for item in items:
        if not (isinstance(item, str) and item.strip() and item.isprintable()):
            raise given.refused("a list of texts")
        found.append(item.strip())
    return tuple(found)
