"""Takes secrets out of a run before it is drawn.

Drawing escapes a text and cuts it into coloured pieces, so a secret cannot be found afterwards.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from enum import Enum
from typing import TypeVar, cast

_T = TypeVar("_T")


def masked(value: _T, mask: Callable[[str], str]) -> _T:
    """Return the value with `mask` applied to each text in it, also in its fields and items."""
    return cast(_T, _masked(value, mask))


def _masked(value: object, mask: Callable[[str], str]) -> object:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, tuple):
        items = tuple(_masked(each, mask) for each in value)
        return value if all(map(operator.is_, items, value)) else items
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (each.name for each in dataclasses.fields(value) if each.init)
        changed = {
            name: new
            for name in fields
            if (new := _masked(old := getattr(value, name), mask)) is not old
        }
        return dataclasses.replace(value, **changed) if changed else value
    return value
