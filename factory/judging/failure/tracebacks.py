"""Reads Python's tracebacks in the output of any command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from factory.judging.failure.finding import Finding, at_place

_HEAD = re.compile(r"^\s*Traceback \(most recent call last\):$")
_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in .*)?$')
_ERROR = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
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
        """Return whether the file is one of the workspace, by its relative path."""
        return not self.path.startswith(("/", "<"))


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
        ours = [each for each in self.frames if each.is_ours]
        return at_place(ours[-1].path, ours[-1].line, ours[-1].source) if ours else ""


def read_tracebacks(lines: Sequence[str]) -> Iterator[Traceback]:
    """Yield the tracebacks in `lines`; of a chain of exceptions the last."""
    pending: Traceback | None = None
    number = 0
    while number < len(lines):
        found = _read_one(lines, number)
        if found is None:
            number += 1
            continue
        if pending and not _chained(lines, pending, found):
            yield pending
        pending = found
        number = found.lines.stop
    if pending:
        yield pending


def find_tracebacks(lines: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each traceback, and for what `compileall` could not compile."""
    for each in read_tracebacks(lines):
        error = stable_error(each.error)
        bare = each.error_type == "AssertionError" and not each.place
        yield Finding(
            each.lines, "" if bare else f"{error} ({each.place})" if each.place else error
        )
    for number, line in enumerate(lines):
        if (sorry := _SORRY.match(line)) and number:
            compiling = _COMPILING.match(lines[number - 1])
            path = compiling["path"] if compiling else sorry["file"]
            fact = f"{sorry['message']} ({at_place(path, sorry['line'])})"
            yield Finding(range(number - 1, number + 1), fact)


def stable_error(error: str) -> str:
    """Return an exception's line without the suggestions that differ between Python versions."""
    return _SUGGESTION.sub("", error)


def _read_one(lines: Sequence[str], start: int) -> Traceback | None:
    if not _HEAD.match(lines[start]) and not _FRAME.match(lines[start]):
        return None
    indent = len(lines[start]) - len(lines[start].lstrip()) if _HEAD.match(lines[start]) else 0
    frames: list[Frame] = []
    for number in range(start, len(lines)):
        line = lines[number]
        if frame := _FRAME.match(line):
            frames.append(Frame(_relative(frame["path"]), int(frame["line"]), ""))
        elif line.startswith(" " * (indent + 1)) or number == start:
            last = frames[-1] if frames else None
            if last and not last.source and not line.lstrip().startswith("["):
                frames[-1] = Frame(last.path, last.line, line.strip())
        elif frames and (error := _ERROR.match(line.strip())):
            text = error["type"] + (f": {error['message']}" if error["message"] else "")
            return Traceback(range(start, number + 1), tuple(frames), text)
        elif line.strip():
            return None
    return None


def _relative(path: str) -> str:
    return path.removeprefix("./")


def _chained(lines: Sequence[str], first: Traceback, second: Traceback) -> bool:
    between = (line.strip() for line in lines[first.lines.stop : second.lines.start])
    return any(line in _CHAINED for line in between)
