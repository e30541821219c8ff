"""Reads TOML whose tables may hold anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from shared.errors import InvalidInput
from shared.files.toml_text import parse_toml

Table: TypeAlias = Mapping[str, object]


def read_toml(path: str, text: str) -> Table:
    """Return a document. Raises `InvalidInput` where the text is not TOML."""
    try:
        return parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}", "correct it") from error


def table(parent: object, *keys: str) -> Table:
    """Return the table at the end of `keys`; an empty one where there is none."""
    found = parent
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}
