"""Words why tests of a plan were not judged."""

from __future__ import annotations

from typing import Final

from shared.languages.capabilities.chain import Fault
from shared.work_order.field_path import at

_MAX_REASON: Final = 200


def unjudged(language: str, reason: str) -> Fault:
    """Return the warning that the tests of a language were not compared with the contracts."""
    shown = " ".join(reason.split())[:_MAX_REASON]
    return Fault("W224", 0, at(), f"the {language} of the plan was not judged: {shown}")
