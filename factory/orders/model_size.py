"""Reads the size of a model off its name. Pure."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z0-9])", re.IGNORECASE)


def billions_of(model: str) -> float | None:
    """Return the number of parameters in billions that a model's name tells, or `None`.

    `qwen2.5-coder-1.5b-instruct` has 1.5. Of a mixture (`mixtral-8x7b`) nothing is said.
    """
    found = _SIZE.search(model)
    if found is None:
        return None
    size = float(found[1])
    return size / 1000 if found[2].lower() == "m" else size
