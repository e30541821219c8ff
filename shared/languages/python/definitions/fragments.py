"""Reads which definitions begin in some lines of a file. The lines need not parse."""

from __future__ import annotations

import re
from typing import Final

_DEFINITION: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:async[ \t]+)?(?P<function>def)|class)[ \t]+(?P<name>\w+)",
    re.MULTILINE,
)


def defined_names(fragment: str) -> tuple[str, ...]:
    """Return the names of the functions and classes that begin in `fragment`, in sequence.

    Functions and classes within a function are left out: they are its own affair.
    """
    names: list[str] = []
    within: int | None = None
    for found in _DEFINITION.finditer(fragment):
        depth = len(found["indent"])
        if within is not None and depth > within:
            continue
        within = depth if found["function"] else None
        names.append(found["name"])
    return tuple(names)
