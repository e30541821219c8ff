"""Reads Python's tracebacks in the output of any command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shared.languages.capabilities.reports import FaultReport, at_place

_HEAD = re.compile(r"^(?P<indent>\s*)Traceback \(most recent call last\):$")
_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in .*)?$')
_ERROR = re.compile(r"^[A-Za-z_][\w.]*(?:: .*)?$")
_SORRY = re.compile(r"^Sorry: (?P<message>\w+: .*) \((?P<file>[^,()]+), line (?P<line>\d+)\)$")
_COMPILING = re.compile(r"^\*\*\* Error compiling '(?P<path>[^']+)'\.\.\.$")
# Each Python version has other suggestions, and some have none.
_SUGGESTION = re.compile(r"(?:\. Did you (?:mean|forget)\b.*| \(most likely due to .*)$")
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)


@dataclass(frozen=True, slots=True)
class Frame:
    """Represent a line of code in a traceback. `source` is its text, empty where not shown."""

    path: str
    line: int
    source: str

    @property
    def is_ours(self) -> bool:
        """Return whether the file is one of the workspace's own, by its relative path."""
        return not self.path.startswith(("/", "<")) and "site-packages/" not in self.path


@dataclass(frozen=True, slots=True)
class Traceback:
    """Represent an exception that a Python program did not catch, and the lines that show it."""

    lines: range
    frames: tuple[Frame, ...]
    error: str
    """The exception's type and its message, as Python prints them."""

    @property
    def error_type(self) -> str:
        return self.error.partition(":")[0]

    @property
    def place(self) -> str:
        """Return the words for the last line of the workspace that ran, or an empty string."""
        return _place(self._ours[-1]) if self._ours else ""

    @property
    def caller(self) -> str:
        """Return the words for the line of another file that led there, or an empty string."""
        ours = self._ours
        return _place(ours[0]) if ours and ours[0].path != ours[-1].path else ""

    @property
    def _ours(self) -> Sequence[Frame]:
        return [each for each in self.frames if each.is_ours]


def read_tracebacks(lines: Sequence[str]) -> Iterator[Traceback]:
    """Yield the tracebacks in `lines`; of a chain of exceptions the last."""
    pending: Traceback | None = None
    number = 0
    while number < len(lines):
        found, stop = _read_one(lines, number)
        if found:
            if pending and not _chained(lines, pending, found):
                yield pending
            pending = found
        number = stop
    if pending:
        yield pending


def find_tracebacks(lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield a finding for each traceback, and for what `compileall` could not compile."""
    for each in read_tracebacks(lines):
        error = stable_error(each.error)
        place = f" ({each.place})" if each.place else ""
        caller = f", called in {each.caller}" if each.caller else ""
        says_nothing = error == "AssertionError" and not place
        yield FaultReport(each.lines, "" if says_nothing else f"{error}{place}{caller}")
    for number, line in enumerate(lines):
        if (sorry := _SORRY.match(line)) and number:
            compiling = _COMPILING.match(lines[number - 1])
            path = compiling["path"] if compiling else sorry["file"]
            fact = f"{sorry['message']} ({at_place(path, sorry['line'])})"
            yield FaultReport(range(number - 1, number + 1), fact)


def stable_error(error: str) -> str:
    """Return an exception's line without the suggestions that differ between Python versions."""
    return _SUGGESTION.sub("", error)


def _read_one(lines: Sequence[str], start: int) -> tuple[Traceback | None, int]:
    """Return the traceback that begins in a line, if any, and the line to go on with."""
    head = _HEAD.match(lines[start])
    if not head and not _FRAME.match(lines[start]):
        return None, start + 1
    deeper = f"{head['indent']} " if head else " "
    frames: list[Frame] = []
    for number in range(start + 1 if head else start, len(lines)):
        line = lines[number]
        if frame := _FRAME.match(line):
            frames.append(Frame(frame["path"].removeprefix("./"), int(frame["line"]), ""))
        elif line.startswith(deeper):
            if frames and not frames[-1].source and not line.lstrip().startswith("["):
                frames[-1] = replace(frames[-1], source=line.strip())
        elif frames and (error := _ERROR.match(line.strip())):
            return Traceback(range(start, number + 1), tuple(frames), error[0]), number + 1
        elif line.strip():
            return None, number
    return None, len(lines)


def _place(frame: Frame) -> str:
    return at_place(frame.path, frame.line, frame.source)


def _chained(lines: Sequence[str], first: Traceback, second: Traceback) -> bool:
    between = (line.strip() for line in lines[first.lines.stop : second.lines.start])
    return any(line in _CHAINED for line in between)
