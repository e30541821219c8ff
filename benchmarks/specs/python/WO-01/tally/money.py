"""Amounts of money in whole cents."""

from __future__ import annotations

import re

MAX_CENTS = 100_000_000
_AMOUNT = re.compile(r"([0-9]+)(?:\.([0-9]{2}))?")


def parse_amount(text: str) -> int:
    """Return the cents of an amount such as `12` or `12.50`. Raises `ValueError` otherwise."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not an amount")
    cents = int(found[1]) * 100 + int(found[2] or 0)
    if not 0 < cents <= MAX_CENTS:
        raise ValueError(f"{text} is not above zero and at most 1000000.00")
    return cents


def format_amount(cents: int) -> str:
    """Return an amount with two decimals."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d}"


def divide(cents: int, parts: int) -> list[int]:
    """Return equal shares; the first ones get one cent more each until the sum is right."""
    share, more = divmod(cents, parts)
    return [share + 1] * more + [share] * (parts - more)
