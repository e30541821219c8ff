"""Says why tests of a plan were not judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shared.languages.capabilities.chain import Fault
from shared.languages.capabilities.tools import Tools
from shared.work_order.field_path import at

_MAX_REASON: Final = 200


_MAX_VIEW: Final = 8 * 1024 * 1024  # characters; a copy of a larger tree is not worth the answer
_MAX_QUESTIONS: Final = 100


def unaskable(tools: Tools, asked: int, view: Mapping[str, str], parts: str) -> str:
    """Return why the compiler is not asked about the files of a `view`; empty where it is.

    `asked` counts the questions so far, and `parts` is what a question is about, in the plural.
    """
    if tools.runner is None:
        return "no sandbox was given to the compiler"
    if asked > _MAX_QUESTIONS:
        return f"over {_MAX_QUESTIONS} {parts} and orders bring tests"
    return "the repository is too large" if sum(map(len, view.values())) > _MAX_VIEW else ""


def unjudged(language: str, reason: str) -> Fault:
    """Return the warning that the tests of a language were not compared with the contracts."""
    shown = " ".join(reason.split())[:_MAX_REASON]
    return Fault("W224", 0, at(), f"the {language} of the plan was not judged: {shown}")
