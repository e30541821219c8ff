"""Quotes a reply that could not be read, in a few short lines. Pure."""

from __future__ import annotations

from factory.orders.limits import MAX_QUOTED_CHARACTERS

_CUT = " [...] "
_LINES = 3


def quote_reply(reply: str) -> str:
    """Return a line that says how long a reply is, and its first and last lines, bounded.

    Characters that a terminal would obey, and those that nobody sees, are shown as escapes. The
    result is empty for an empty reply.
    """
    lines = [line.rstrip() for line in reply.splitlines() if line.strip()]
    if not lines:
        return ""
    shown = lines if len(lines) <= _LINES else [*lines[: _LINES - 1], lines[-1]]
    each = MAX_QUOTED_CHARACTERS // len(shown)
    size = f"The reply has {len(reply):,} characters in {reply.count(chr(10)) + 1:,} lines"
    begins = ", and begins and ends:" if len(lines) > _LINES else ":"
    return "\n".join((size + begins, *(f"> {_short(_visible(line), each)}" for line in shown)))


def _visible(line: str) -> str:
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in line
    )


def _short(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    half = (limit - len(_CUT)) // 2
    return f"{line[:half]}{_CUT}{line[-half:]}"
