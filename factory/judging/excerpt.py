"""Cuts a command's output down to what a model needs, without traces of the machine.

The excerpt goes into the next prompt, and a prompt must be equal wherever the same thing happens:
paths of this machine, durations and addresses are removed, and so are the parts of a traceback
that differ from one Python version to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from factory.orders.limits import MAX_EXCERPT_CHARACTERS

_CUT = "[... cut ...]"
_BETWEEN = f"\n{_CUT}\n"
_WITHIN = f" {_CUT} "
_MAX_LINE = 600
_CARETS = re.compile(r"^[ \t]*[\^~][\^~ ]*$")
_STRING_FRAME = re.compile(r'^\s+File "<(?:string|stdin)>", line \d+')
_FRAME = re.compile(r'^\s+File "')
_SOURCE_LINE = re.compile(r"^ {4,}\S")
# What differs from one run to the next, and what stands in its place.
_VOLATILE = (
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),  # colours
    (re.compile(r"\bin \d+(?:\.\d+)?s\b"), "in ...s"),
    (re.compile(r"(?<=[\t(])\d+\.\d+s\b"), "...s"),  # go test
    (re.compile(r"\b(duration_ms:? )\d+(?:\.\d+)?\b"), r"\1..."),  # node --test
    (re.compile(r"^(thread '.*') \(\d+\) panicked", re.MULTILINE), r"\1 panicked"),  # rust
    (re.compile(r"(?<=/deps/)([\w]+)-[0-9a-f]{16}\b"), r"\1-..."),  # cargo
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0x..."),
)


def stable_excerpt(output: str, paths: Iterable[tuple[str, str]] = ()) -> str:
    """Return `output` without what differs between machines, cut to `MAX_EXCERPT_CHARACTERS`.

    `paths` are pairs of a path on this machine and what stands for it, applied longest first.
    """
    return cut(stable_text(output, paths))


def stable_text(output: str, paths: Iterable[tuple[str, str]] = ()) -> str:
    """Return the whole `output` without what differs between machines; `paths` as above."""
    text = _without_paths(output, paths)
    text = "\n".join(_without_volatile_lines(text.splitlines())).strip()
    for pattern, stable in _VOLATILE:
        text = pattern.sub(stable, text)
    return text


def cut(text: str, limit: int = MAX_EXCERPT_CHARACTERS) -> str:
    """Return `text`, or its head and tail with a mark between where it is longer than `limit`.

    The tail gets three quarters: that is where programs say what went wrong. Both end at line
    ends, unless a line is longer than its part.
    """
    if len(text) <= limit:
        return text
    room = limit - len(_BETWEEN)
    head, tail = text[: room // 4], text[-(room - room // 4) :]
    whole_head, line_end, _ = head.rpartition("\n")
    if line_end:
        head = whole_head
    before_tail = text[-(room - room // 4) - 1]
    _, line_end, whole_tail = tail.partition("\n")
    if line_end and whole_tail and before_tail != "\n":
        tail = whole_tail
    return head + _BETWEEN + tail


def shorten(line: str, limit: int) -> str:
    """Return `line`, or its head and its tail with a mark between where it is over `limit`."""
    if len(line) <= limit:
        return line
    tail = (limit - len(_WITHIN)) // 3
    head = limit - len(_WITHIN) - tail
    return line[:head].rstrip() + _WITHIN + line[-tail:].lstrip()


def select_lines(text: str, marked: Sequence[range], limit: int = MAX_EXCERPT_CHARACTERS) -> str:
    """Return `text`, or of a longer one the `marked` lines and what else fits, lines kept whole.

    `marked` are ranges of line numbers from 0, the most telling first. Of the rest, the end comes
    before the beginning. Only a line of over 600 characters is shortened.
    """
    if len(text) <= limit or not marked:
        return cut(text, limit)
    lines = [shorten(line, _MAX_LINE) for line in text.split("\n")]
    wanted = [number for each in marked for number in each]
    tail = range(len(lines) - 1, -1, -1)
    chosen = _fitting(lines, [wanted, tail, range(len(lines))], limit)
    return _joined(lines, chosen) if chosen else cut(text, limit)


def _fitting(lines: Sequence[str], series: Iterable[Iterable[int]], limit: int) -> set[int]:
    """Return the numbers of the lines that fit; each of `series` ends at its first that doesn't."""
    chosen: set[int] = set()
    room = limit
    for numbers in series:
        for number in numbers:
            if number in chosen or not 0 <= number < len(lines):
                continue
            # Each line may need the mark of a gap beside it.
            cost = len(lines[number]) + 1 + (0 if number - 1 in chosen else len(_CUT) + 1)
            if cost + len(_CUT) + 1 > room:
                break
            chosen.add(number)
            room -= cost
    return chosen


def _joined(lines: Sequence[str], chosen: set[int]) -> str:
    parts: list[str] = []
    expected = 0
    for number in sorted(chosen):
        if number != expected:
            parts.append(_CUT)
        parts.append(lines[number])
        expected = number + 1
    if expected != len(lines):
        parts.append(_CUT)
    return "\n".join(parts)


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
