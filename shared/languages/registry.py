"""The languages that there are. A new one is a folder beside this file and an entry here."""

from __future__ import annotations

import posixpath
from typing import Final

from shared.languages.base import Language
from shared.languages.python.language import PYTHON

LANGUAGES: Final[tuple[Language, ...]] = (PYTHON,)


def language_of(path: str) -> Language | None:
    """Return the language of the file at `path`, by its suffix, and `None` for any other file."""
    suffix = posixpath.splitext(path)[1]
    return next((each for each in LANGUAGES if suffix in each.suffixes), None)
