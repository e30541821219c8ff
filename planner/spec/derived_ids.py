"""Makes ids of requirements from their words, and knows such ids again. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container
from itertools import chain, count
from typing import Final

# Six digits nearly always tell three hundred requirements apart; an id that is taken gets longer.
_DIGEST_LENGTHS: Final = (6, 12, 40)
_PREFIX: Final = "R"

DERIVED_ID: Final = r"(?:R|\d{1,3}(?:\.\d{1,3}){1,3})-(?:[0-9a-f]{40}|[0-9a-f]{12}|[0-9a-f]{6})"
_DERIVED = re.compile(DERIVED_ID)


def derived_id(words: str, taken: Container[str], section: str = "") -> str:
    """Return the id of words that are not taken yet: `R-6a8c1a`, or `2.1-6a8c1a` in a section.

    An id that is taken gets more digits.
    """
    digests = chain((_digest(words),), (_digest(f"{words} {number}") for number in count(2)))
    return next(
        name
        for digest in digests
        for length in _DIGEST_LENGTHS
        if (name := f"{section or _PREFIX}-{digest[:length]}") not in taken
    )


def is_derived(name: str) -> bool:
    """Say whether an id has the form of those that are made from words."""
    return _DERIVED.fullmatch(name) is not None


def section_of(name: str) -> str:
    """Return the number of the section in a derived id, "" where it has none."""
    section = name.partition("-")[0]
    return "" if section == _PREFIX or not is_derived(name) else section


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()
