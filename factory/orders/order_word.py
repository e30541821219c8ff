"""Reads the id of an order as a person types it. Pure."""

from __future__ import annotations

import re

from shared.errors import InvalidInput
from shared.work_order.schemas import order_id

_WORD = re.compile(r"(?:wo[-_]?)?([0-9]{1,9})", re.IGNORECASE)


def parse_order_word(text: str) -> str:
    """Return the id that is meant by `3`, `WO-03` or `wo-3`. Raises `InvalidInput` for others."""
    found = _WORD.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"{text!r} is not the id of an order", "give it as in WO-03, or as 3")
    return order_id(int(found[1]))
