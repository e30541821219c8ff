"""Cuts a command's output down to what a model needs, without traces of the machine.

The excerpt goes into the next prompt, and a prompt must be equal wherever the same thing happens:
paths of this machine, durations and addresses are removed, and so are the parts of a traceback
that differ from one Python version to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from factory.orders.limits import MAX_EXCERPT_CHARACTERS

_CUT = "\n[... cut ...]\n"
_CARETS = re.compile(r"^[ \t]*[\^~][\^~ ]*$")
_DURATION = re.compile(r"\bin \d+(?:\.\d+)?s\b")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_STRING_FRAME = re.compile(r'^\s+File "<(?:string|stdin)>", line \d+')
_FRAME = re.compile(r'^\s+File "')
_SOURCE_LINE = re.compile(r"^ {4,}\S")


def stable_excerpt(output: str, paths: Iterable[tuple[str, str]] = ()) -> str:
    """Return `output` without what differs between machines, cut to `MAX_EXCERPT_CHARACTERS`.

    `paths` are pairs of a path on this machine and what stands for it, applied longest first.
    """
    text = _without_paths(output, paths)
    text = "\n".join(_without_volatile_lines(text.splitlines())).strip()
    return cut(_ADDRESS.sub("0x...", _DURATION.sub("in ...s", text)))


def cut(text: str, limit: int = MAX_EXCERPT_CHARACTERS) -> str:
    """Return `text`, or its head and tail with a mark between where it is longer than `limit`.

    The tail gets three quarters: that is where programs say what went wrong.
    """
    if len(text) <= limit:
        return text
    head = (limit - len(_CUT)) // 4
    tail = limit - len(_CUT) - head
    return text[:head] + _CUT + text[-tail:]


def _without_paths(text: str, paths: Iterable[tuple[str, str]]) -> str:
    pairs = sorted((pair for pair in paths if pair[0] not in pair[1]), key=lambda p: -len(p[0]))
    while any(path in text for path, _ in pairs):  # the rest can form a path again
        for path, name in pairs:
            text = text.replace(path, name)
    return text


def _without_volatile_lines(lines: Iterable[str]) -> Iterator[str]:
    in_string_frame = False
    for line in map(str.rstrip, lines):
        if _CARETS.match(line):
            continue
        # Python 3.13 began to show the source of `-c` code; the command is in the brief anyway.
        if in_string_frame and _SOURCE_LINE.match(line) and not _FRAME.match(line):
            continue
        in_string_frame = bool(_STRING_FRAME.match(line))
        yield line
