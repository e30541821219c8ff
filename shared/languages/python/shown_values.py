"""Shows values as Python does: bounded, and the same in every run of the same code.

Like `observer.py` this runs in the sandbox, on Python 3.9 and later.
"""

from __future__ import annotations

import re
import sys
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Collection: TypeAlias = dict[Any, Any] | set[Any] | frozenset[Any] | list[Any] | tuple[Any, ...]
    Sequence: TypeAlias = str | bytes | list[Any] | tuple[Any, ...]

MAX_VALUE = 120
MAX_ITEMS = 30
MAX_DEPTH = 5


def show(value: object, limit: int = MAX_VALUE) -> str:
    """Return a value as Python shows it, bounded, and the same in every run."""
    try:
        return shortened(shown(value, MAX_DEPTH), limit)
    except Exception as error:
        return f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"


def shown(value: object, depth: int) -> str:
    """Return a value as Python shows it; sets are sorted, and long collections cut."""
    if isinstance(value, type):
        return value.__qualname__
    if depth and value and type(value) in (list, tuple, set, frozenset, dict):
        return collection(value, depth - 1)  # type: ignore[arg-type]
    if isinstance(value, str) and len(value) > 2 * MAX_VALUE:
        value = value[:MAX_VALUE] + value[-MAX_VALUE:]
    text = repr(value)
    if sys.executable:  # before anything is cut: the length of a path differs between machines
        text = text.replace(sys.executable, "python")
    return re.sub(r"\b0x[0-9a-f]{6,16}\b", "0x...", text)


def collection(value: Collection, depth: int) -> str:
    """Return a built-in collection that is not empty, as Python shows it."""
    more = [] if len(value) <= MAX_ITEMS else ["..."]
    if isinstance(value, dict):
        pairs = [
            f"{shown(k, depth)}: {shown(v, depth)}" for k, v in islice(value.items(), MAX_ITEMS)
        ]
        return "{" + ", ".join(pairs + more) + "}"
    if isinstance(value, (set, frozenset)):  # in no order of its own
        inner = "{" + ", ".join(sorted(shown(each, depth) for each in value)) + "}"
        return inner if isinstance(value, set) else f"frozenset({inner})"
    inner = ", ".join([shown(each, depth) for each in value[:MAX_ITEMS]] + more)
    if isinstance(value, list):
        return f"[{inner}]"
    return f"({inner},)" if len(value) == 1 else f"({inner})"


def shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    tail = limit // 3
    return text[: limit - tail - 5] + " ... " + text[-tail:]


def difference(left: object, right: object) -> str:
    """Return where two values differ that are too long to be seen at a glance; else nothing."""
    if len(show(left)) + len(show(right)) <= MAX_VALUE:
        return ""
    try:
        return compared(left, right)
    except Exception:  # a comparison may do anything
        return ""


def compared(left: object, right: object) -> str:
    """Return where two built-in collections of the same type differ first."""
    for kind in (str, bytes, list, tuple):
        if isinstance(left, kind) and isinstance(right, kind):
            return in_sequence(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return in_dict(left, right)
    if isinstance(left, (set, frozenset)) and isinstance(right, (set, frozenset)):
        return in_set(left, right)
    return ""


def in_sequence(left: Sequence, right: Sequence) -> str:
    both = min(len(left), len(right))
    at = next((i for i in range(both) if left[i : i + 1] != right[i : i + 1]), both)
    if isinstance(left, (str, bytes)):
        begin, end = max(0, at - 10), at + 30
        after = f"from position {at} on, after {left[begin:at]!r}"
        return f"{after}, it has {left[at:end]!r}, expected {right[at:end]!r}"
    if at < both:
        return f"item {at} is {show(left[at])}, expected {show(right[at])}"
    return f"it has {len(left)} items, expected {len(right)}"


def in_dict(left: dict[Any, Any], right: dict[Any, Any]) -> str:
    for key in right:
        if key not in left:
            return f"the key {show(key)} is missing"
        if left[key] != right[key]:
            return f"the key {show(key)} has {show(left[key])}, expected {show(right[key])}"
    return f"the key {show(next(key for key in left if key not in right))} is not expected"


def in_set(left: set[Any] | frozenset[Any], right: set[Any] | frozenset[Any]) -> str:
    missing = f"it lacks {show(right - left)}" if right - left else ""
    extra = f"{show(left - right)} is not expected" if left - right else ""
    return " and ".join(filter(None, (missing, extra)))
