"""Parses TOML that a stranger may have written, within a bound on time. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

# tomllib takes time by the square of a key's parts, and goes through the parts of a table's name
# for each line of the table. A key of 6,000 parts takes a second, and one of 90,000 takes minutes.
# Dots are counted wherever they stand, because only a parser knows what is a key.
_FEW_DOTS: Final = 100  # in a line; such lines cost nothing worth a bound
_MOST_WORK: Final = 40_000_000  # about a second


def parse_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises `ValueError` where it is not TOML or has keys of too many parts, and `RecursionError`
    where it is nested too deep.
    """
    import tomllib  # takes 5 ms, and most runs have nothing to parse

    lines = text.split("\n")
    dots = [number for line in lines if (number := line.count(".")) > _FEW_DOTS]
    if dots and sum(each * each for each in dots) + max(dots) * len(lines) > _MOST_WORK:
        raise ValueError("its keys have too many parts")
    return tomllib.loads(text, parse_float=parse_float)
