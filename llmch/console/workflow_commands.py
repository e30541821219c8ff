"""Keeps what is printed in a job of GitHub Actions from acting as a command of the workflow. Pure.

The runner obeys each line of a step's output that begins with `::NAME`, spaces aside, and each line
with `##[NAME]` anywhere in it: it sets outputs, masks words, adds annotations. The titles, paths
and logs that are printed may be anybody's.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Final

_AT_START: Final = re.compile(r"^(\s*:):", re.MULTILINE)
_ANYWHERE: Final = re.compile(r"##(?=\[)")


def runs_in_actions(environ: Mapping[str, str]) -> bool:
    """Return whether a job of GitHub Actions reads what is printed."""
    return environ.get("GITHUB_ACTIONS") == "true"


def inert(text: str) -> str:
    """Return a text that people read with a space in all that the runner would obey."""
    return _ANYWHERE.sub("# #", _AT_START.sub(r"\1 :", text))


def inert_json(text: str) -> str:
    """Return an equal JSON document with nothing in it that the runner would obey.

    A line of it never begins with a colon, and a `#` can only be within a string.
    """
    return _ANYWHERE.sub(r"\\u0023#", text)


def uninterpreted(text: str) -> str:
    """Return a text that has to stay as it is, between lines that have the runner obey nothing.

    Nobody can foresee the word that ends this. Git and patch skip the two lines around a patch.
    """
    word = f"llmch-{secrets.token_hex(16)}"
    end = "" if not text or text.endswith("\n") else "\n"
    return f"::stop-commands::{word}\n{text}{end}::{word}::\n"
