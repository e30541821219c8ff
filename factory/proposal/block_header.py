"""Reads and renders the headers of fenced blocks: what follows the opening fence. Pure.

| header | the block holds |
|---|---|
| `path/to/file.py` | the whole file |
| `path/to/file.py::Class.method` | the definition of this name |
| `edit path/to/file.py` | search texts, each with the text that takes its place |

Each of them is read whichever the prompt asked for, with a language before it or around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from factory.orders.reply_format import Form

_PLAIN_PATH = re.compile(r"[\w.@+-]*[./][\w./@+-]*")
_NAMED_PATH = re.compile(r"(?:.*\s)?(?:path|file|filename|title|name)\s*[=:]\s*(?P<path>\S.*)")
_LANGUAGE = re.compile(
    r"bash|c|cpp|css|csv|diff|go|html|ini|java|javascript|js|jsonc?|jsx|kotlin|markdown|md|perl|php"
    r"|plaintext|pyi?|python3?|r|ruby|rust|sh|shell|sql|svg|text|toml|tsx?|txt|typescript|xml"
    r"|ya?ml|console|zsh",
    re.IGNORECASE,
)
_EDIT = re.compile(
    r"(?:(?P<language>[\w+]+)[ :]\s*)?edit\s*(?:[ :]\s*(?P<rest>.*))?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Header:
    """Hold what a header says: the path, `None` if it names none, and what the block holds.

    `name` is the name of a definition, as it is written.
    """

    path: str | None
    form: Form = Form.WHOLE
    name: str = ""


def read_header(info: str, allowed: Sequence[str] = ()) -> Header:
    """Return what the header of a block says.

    `allowed` are the paths that may be written. They decide how to read a header that could be
    read in two ways.
    """
    edit = _EDIT.fullmatch(info)
    if edit and not (edit["language"] is None or _LANGUAGE.fullmatch(edit["language"])):
        edit = None
    whole = read_path(info, allowed)
    is_whole = info in allowed if edit else whole in allowed
    if is_whole or _json_string(info) is not None:
        return Header(whole)
    rest = (edit["rest"] or "").strip() if edit else info
    path, name = _split_name(rest)
    if name is not None:
        return Header(read_path(path, allowed), Form.DEFINITION, name)
    return Header(read_path(rest, allowed), Form.SEARCH) if edit else Header(whole)


def render_header(header: Header) -> str:
    """Return the header that reads as `header`, for any path and for any name on one line."""
    path = header.path or ""
    plain = _PLAIN_PATH.fullmatch(path) and read_header(path) == Header(path)
    # As a JSON string, any path fits on one line; a backtick would end the header.
    path = path if plain else json.dumps(path).replace("`", "\\u0060")
    match header.form:
        case Form.WHOLE:
            return path
        case Form.DEFINITION:
            return f"{path}::{header.name}"
        case Form.SEARCH:
            return f"edit {path}"


def read_path(info: str, allowed: Sequence[str] = ()) -> str | None:
    """Return the path that a header names, or `None`.

    The header may be `path`, `language path`, `language:path`, `path=...`, or a JSON string.
    """
    if not info:
        return None
    if info.startswith('"') and (quoted := _json_string(info)) is not None:
        return quoted
    first, _, rest = info.partition(" ")
    language, colon, after = info.partition(":")
    readings = [info, rest.strip(), after.strip()]
    if match := _NAMED_PATH.fullmatch(info):
        readings.append(_unquoted(match["path"]))
    for reading in readings:
        if reading in allowed:
            return reading
    if match:
        return readings[-1]
    if _LANGUAGE.fullmatch(first):
        return _unquoted(rest.strip()) or None
    if colon and _LANGUAGE.fullmatch(language):
        return _unquoted(after.strip()) or None
    return info


def _split_name(text: str) -> tuple[str, str | None]:
    """Return the path and the name of `path::name`; the name is `None` if there is none."""
    start = 0
    if text.startswith('"'):
        try:
            start = json.JSONDecoder().raw_decode(text)[1]
        except ValueError:
            start = 0
    path, colons, name = text[start:].partition("::")
    return text[:start] + path.strip(), name.strip() if colons else None


def _json_string(text: str) -> str | None:
    if not text.startswith('"'):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
