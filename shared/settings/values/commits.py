"""Reads how commits are to be written: their author, and the form of their subject."""

from __future__ import annotations

import re

from shared.git.identity import Identity, parse_identity
from shared.settings.values.given import Given
from shared.settings.values.words import read_text

_FIELD = re.compile(r"\{(?:order|title|id)\}")
_LONGEST_SUBJECT = 100


def read_author(given: Given) -> Identity:
    """Return the author of commits."""
    identity = parse_identity(given.value) if isinstance(given.value, str) else None
    if identity is None:
        raise given.refused("an author such as `Ada <ada@example.org>`")
    return identity


def read_subject(given: Given) -> str:
    """Return the form of a commit's subject: `conventional`, or a text with fields."""
    text = read_text(given)
    if text == "conventional":
        return text
    around, fields = _FIELD.subn("", text)
    if not fields or "{" in around or "}" in around or len(text) > _LONGEST_SUBJECT:
        raise given.refused("`conventional`, or a short text with {order}, {title} or {id}")
    return text
