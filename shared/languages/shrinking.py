"""Checks whether a rewritten text file, in any language, lost more than anybody asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shared.languages.capabilities.conformance import ContractViolation

# A shorter file can lose half of itself by an honest change of a few lines.
_MIN_LINES: Final = 20


def check_shrinking(path: str, before: str, after: str) -> Iterator[ContractViolation]:
    """Yield a violation where a file of at least twenty lines loses over half of its text."""
    old, new = _size(before), _size(after)
    if new * 2 < old and len(before.splitlines()) >= _MIN_LINES:
        message = (
            f"shrinks to {100 * new // old}% of what it was: keep what the order does not change, "
            "and write the whole file"
        )
        yield ContractViolation(path, "", message)


def _size(text: str) -> int:
    """Return the number of characters that are not blank."""
    return len("".join(text.split()))
