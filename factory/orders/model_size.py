"""Reads the size of a model off its name. Pure."""

from __future__ import annotations

import re
from typing import Final

SMALL_BELOW: Final = 3.0
"""In billions: below, a retry mends almost nothing, and a long prompt does more harm than good."""

# `qwen2.5-coder-1.5b-instruct`, `llama3.1:70B`, `mixtral-8x7b`, but not the `4b` of `q4b` or `v2b`.
_PARAMETERS = re.compile(
    r"(?<![a-z0-9.])(?:(?P<experts>\d+)x)?(?P<number>\d+(?:\.\d+)?)(?P<unit>[bm])(?![a-z0-9])",
    re.IGNORECASE,
)


def parameters_of(model: str) -> float | None:
    """Return the number of a model's parameters in billions, if its name tells it."""
    found = _PARAMETERS.search(model)
    if found is None:
        return None
    number = float(found["number"]) * int(found["experts"] or 1)
    return number if found["unit"] in "bB" else number / 1000


def is_small(model: str) -> bool:
    """Return whether a model's name says that it is a small one."""
    size = parameters_of(model)
    return size is not None and size < SMALL_BELOW
