"""Describes the validator's errors in this project's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_WANTED = {
    "string_type": "a string",
    "string_unicode": "a string of valid Unicode",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_MAX_SHOWN = 80

NOTHING_TO_CHANGE: Final = "nothing_to_change"
"""The type of the validator's error on an order that neither writes nor removes a file."""


def describe(error: ErrorDetails) -> str:
    """Return a text that can follow the field's name: `must be a string, not null`."""
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "value_error":
            return f"{_shown(error['input'])} {context['error']}"
        case "literal_error":
            return f"must be {context['expected']}, not {_shown(error['input'])}"
        case kind if kind == NOTHING_TO_CHANGE:
            return "must not be empty, unless the order has removed_files"
        case "too_short":
            return "must not be empty"
        case "too_long":
            return f"has {context['actual_length']} entries, at most {context['max_length']} may be"
        case kind:
            wanted = _WANTED.get(kind, "of another type")
            return f"must be {wanted}, not {_kind(error['input'])}"


def _shown(value: object) -> str:
    """Return a value as a message shows it, cut to 80 characters."""
    text = json.dumps(value, default=str) if isinstance(value, str) else _kind(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return type(value).__name__
