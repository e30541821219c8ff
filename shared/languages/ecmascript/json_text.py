"""Reads JSON that may have comments and trailing commas, as configuration files have."""

from __future__ import annotations

import json
import re
from typing import Final

_MAX_BYTES: Final = 2_000_000
# A string is matched first, so that what looks like a comment in it stays.
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')

Table = dict[str, object]


def read_table(text: str | None) -> Table | None:
    """Return the object that the text holds; `None` where it holds anything else."""
    if text is None or len(text) > _MAX_BYTES:
        return None
    for form in (str, _plain):
        try:
            value = json.loads(form(text))
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _plain(text: str) -> str:
    bare = _STRING_OR_COMMENT.sub(_keep_string, text.removeprefix("\ufeff"))
    return _STRING_OR_COMMA.sub(_keep_string, bare)


def _keep_string(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else " "


def table_at(table: Table, key: str) -> Table:
    """Return the object under a key; an empty one where there is none."""
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def text_at(table: Table, key: str) -> str:
    """Return the text under a key; the empty string where there is none."""
    value = table.get(key)
    return value if isinstance(value, str) else ""


def texts_in(value: object) -> tuple[str, ...]:
    """Return the texts of a list, or the one text; nothing of any other value."""
    if isinstance(value, str):
        return (value,)
    return tuple(e for e in value if isinstance(e, str)) if isinstance(value, list) else ()
