"""Parses and renders search texts with what takes their place. Pure.

    <<<<<<< SEARCH
    lines of the file
    =======
    lines that take their place
    >>>>>>> REPLACE

The signs of one block are equally many, so that a text may hold such lines of another length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shared.llm.json_in_reply import ReplyMalformed

_OPENING = re.compile(r"^(?P<signs><{5,})[ \t]*SEARCH[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_CLOSING = re.compile(r"^(?P<signs>>{5,})[ \t]*REPLACE[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_DIVIDER = re.compile(r"^(?P<signs>={5,})[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_ANY_SIGNS = re.compile(r"^[<=>]{5,}", re.MULTILINE)
_SHORTEST = 7


@dataclass(frozen=True, slots=True)
class Change:
    """Hold lines to search for, and the lines that take their place; each ends with its newline."""

    search: str
    replace: str


def holds_changes(content: str) -> bool:
    """Return whether a text begins and ends with the lines around search texts."""
    first, _, _ = content.strip().partition("\n")
    _, _, last = content.strip().rpartition("\n")
    return bool(_OPENING.match(first.strip()) and _CLOSING.match(last.strip()))


def parse_changes(content: str) -> tuple[Change, ...]:
    """Return the changes in the content of a block.

    Raises `ReplyMalformed` where a line is missing, where text stands between two changes, or where
    the text itself has a line that may be the divider.
    """
    changes: list[Change] = []
    position = 0
    while opening := _OPENING.search(content, position):
        _refuse_text(content[position : opening.start()])
        closing = _closing(content, opening)
        body = content[opening.end() + 1 : closing.start()]
        divider = _divider(body, len(opening["signs"]))
        changes.append(Change(body[: divider.start()], body[divider.end() :]))
        position = min(closing.end() + 1, len(content))
    _refuse_text(content[position:])
    if not changes:
        raise ReplyMalformed("the block has no line `<<<<<<< SEARCH`")
    return tuple(changes)


def render_changes(changes: Iterable[Change]) -> str:
    """Return the content of a block that parses to these changes."""
    return "".join(map(_render, changes))


def _render(change: Change) -> str:
    text = change.search + change.replace
    longest = max((len(found[0]) for found in _ANY_SIGNS.finditer(text)), default=0)
    count = max(_SHORTEST, longest + 1)
    opening, divider, closing = (sign * count for sign in "<=>")
    return f"{opening} SEARCH\n{change.search}{divider}\n{change.replace}{closing} REPLACE\n"


def _closing(content: str, opening: re.Match[str]) -> re.Match[str]:
    """Return the line that closes a change: the next of equally many signs, else the next."""
    first: re.Match[str] | None = None
    for found in _CLOSING.finditer(content, opening.end()):
        if len(found["signs"]) == len(opening["signs"]):
            return found
        first = first or found
    if first is None:
        raise ReplyMalformed(f"`{opening[0].strip()}` is never closed by `>>>>>>> REPLACE`")
    return first


def _divider(body: str, signs: int) -> re.Match[str]:
    found = list(_DIVIDER.finditer(body))
    alike = [each for each in found if len(each["signs"]) == signs] or found
    if not alike:
        raise ReplyMalformed("a search text is not divided from its replacement by `=======`")
    if len(alike) > 1:
        raise ReplyMalformed(
            "a search text or its replacement has a line of `=` itself: write the lines around "
            "them with more signs, each with as many"
        )
    return alike[0]


def _refuse_text(text: str) -> None:
    if text.strip():
        raise ReplyMalformed(
            f"`{text.strip().splitlines()[0][:60]}` stands outside of `<<<<<<< SEARCH` and "
            "`>>>>>>> REPLACE`"
        )
