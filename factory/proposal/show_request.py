"""Reads a reply that asks to see more of a file that is shown in part. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.llm.json_in_reply import ReplyMalformed, strip_reasoning

_MAX_PARTS = 20
_PART = re.compile(
    r"(?:[-*] +)?`?show (?P<path>\S.*?)"
    r"(?:::(?P<name>[\w.]+)|[ :](?:lines? )?(?P<first>\d{1,7})(?: ?(?:-|to) ?(?P<last>\d{1,7}))?)`?"
)


@dataclass(frozen=True, slots=True)
class WantedPart:
    """Hold a part of a file that the model asks to see: a definition by name, or lines.

    `name` is empty where lines are asked for; these count from 1.
    """

    path: str
    name: str = ""
    first: int = 0
    last: int = 0


def parse_show_request(reply: str) -> tuple[WantedPart, ...]:
    """Return the parts that a reply asks to see; none if it is anything but such a request."""
    try:
        text = strip_reasoning(reply)
    except ReplyMalformed:
        return ()
    lines = [line.strip() for line in text.splitlines()]
    asked = [line for line in lines if line and not line.startswith("```")]
    if not 0 < len(asked) <= _MAX_PARTS:
        return ()
    found = [_PART.fullmatch(line) for line in asked]
    return tuple(map(_part, found)) if all(found) else ()


def _part(match: re.Match[str] | None) -> WantedPart:
    assert match is not None
    if match["name"]:
        return WantedPart(match["path"], name=match["name"])
    first = int(match["first"])
    return WantedPart(match["path"], first=first, last=int(match["last"] or first))


def example_request(path: str) -> Sequence[str]:
    """Return how parts of the file at `path` are asked for."""
    return (f"show {path} 120-180", f"show {path}::Class.method")
