"""Reads fields of records that may hold anything: cut off, edited, or of another version. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

_OBJECT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_TOO_LARGE = 10**15  # no duration, count or cost of a run comes near


@dataclass(frozen=True, slots=True)
class Fields:
    """Hold a JSON object and give its fields by the type that is wanted.

    A field that is missing or of another type is an empty one of the wanted type, or `None`.
    """

    value: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.value)

    def text(self, name: str) -> str:
        """Return the text of a field, "" where there is none."""
        found = self.value.get(name)
        return found if isinstance(found, str) else ""

    def object_id(self, name: str) -> str:
        """Return the id of a git object in a field; nothing else, so git cannot take it wrong."""
        found = self.text(name)
        return found if _OBJECT_ID.fullmatch(found) else ""

    def path(self, name: str) -> Path | None:
        """Return the path in a field, where it can be one."""
        found = self.text(name)
        return Path(found) if found and "\0" not in found else None

    def number(self, name: str) -> float | None:
        """Return the finite number of a field."""
        found = self.value.get(name)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        return float(found) if abs(found) < _TOO_LARGE and isfinite(found) else None

    def whole(self, name: str) -> int | None:
        """Return the whole number of a field."""
        found = self.number(name)
        return int(found) if found is not None else None

    def is_true(self, name: str) -> bool:
        """Return whether a field is `true`."""
        return self.value.get(name) is True

    def fields(self, name: str) -> Fields:
        """Return the object of a field."""
        return fields_of(self.value.get(name))

    def many(self, name: str) -> tuple[Fields, ...]:
        """Return the objects in the list of a field."""
        return tuple(Fields(each) for each in self._list(name) if isinstance(each, dict))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts in the list of a field."""
        return tuple(each for each in self._list(name) if isinstance(each, str))

    def _list(self, name: str) -> Iterator[Any]:
        found = self.value.get(name)
        return iter(found if isinstance(found, list) else ())


def fields_of(value: object) -> Fields:
    """Return the fields of a JSON value; none where it is not an object."""
    return Fields(value) if isinstance(value, dict) else Fields()
