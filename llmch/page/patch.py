"""Reads a patch as files with hunks, to be shown line by line. Pure, and never raises.

It is for people only. A line that fits nothing is kept as a note, so nothing of a patch is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@ ?(.*)")
_GIT = re.compile(r'diff --git "?a/(.*?)"? "?b/')
_QUOTED = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\", '"': '"', "a": "\a", "b": "\b"}


class Side(StrEnum):
    """Say which version of a file has a line."""

    OLD = "old"
    NEW = "new"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class PatchLine:
    """Hold a line of a hunk, without its sign; `number` is that in the newest version with it."""

    side: Side
    number: int
    text: str


@dataclass(slots=True)
class Hunk:
    """Hold the lines of one place of a file; `heading` is what git says of that place."""

    heading: str
    lines: list[PatchLine] = field(default_factory=list)


@dataclass(slots=True)
class PatchFile:
    """Hold what a patch does to one file; `notes` are lines that are no content."""

    path: str
    notes: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def added(self) -> int:
        """Return the number of lines that the patch adds."""
        return sum(line.side is Side.NEW for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        """Return the number of lines that the patch removes."""
        return sum(line.side is Side.OLD for hunk in self.hunks for line in hunk.lines)


def parse_patch(patch: str) -> tuple[PatchFile, ...]:
    """Return the files of a patch that git wrote, in their sequence."""
    return tuple(_files(patch.split("\n")))


def _files(lines: list[str]) -> Iterator[PatchFile]:
    file: PatchFile | None = None
    hunk: Hunk | None = None
    old = new = 0
    for line in lines:
        if line.startswith("diff --git "):
            if file:
                yield file
            file, hunk = PatchFile(_path_of(line)), None
        elif found := _HUNK.match(line):
            file = file or PatchFile("")
            hunk = Hunk(found[3])
            file.hunks.append(hunk)
            old, new = int(found[1]), int(found[2])
        elif hunk is not None and line[:1] in ("+", "-", " "):
            side = {"+": Side.NEW, "-": Side.OLD, " ": Side.BOTH}[line[0]]
            hunk.lines.append(PatchLine(side, old if side is Side.OLD else new, line[1:]))
            old += side is not Side.NEW
            new += side is not Side.OLD
        elif line:
            file = file or PatchFile("")
            _note(file, line)
    if file:
        yield file


def _note(file: PatchFile, line: str) -> None:
    """Keep what a line says of the file, unless the page shows it anyway."""
    if line.startswith("+++ ") and line != "+++ /dev/null":
        file.path = _unquoted(line[4:]).removeprefix("b/").rstrip("\t")
    elif line.startswith("new file mode"):
        file.notes.append("new file" + (", executable" if line.endswith("755") else ""))
    elif line.startswith("deleted file mode"):
        file.notes.append("removed")
    elif line.startswith("Binary files"):
        file.notes.append("binary: its content is not shown")
    elif line.startswith("\\ "):
        file.notes.append("no newline at the end")
    elif not line.startswith(("index ", "--- ", "+++ ")):
        file.notes.append(line.removeprefix("# "))


def _path_of(line: str) -> str:
    found = _GIT.match(line)
    return _unquoted(f'"{found[1]}"' if '"a/' in line else found[1]) if found else line[11:]


def _unquoted(path: str) -> str:
    """Return a path as git quotes it where it holds unusual bytes, as the text that it is."""
    if not (path.startswith('"') and path.endswith('"') and len(path) > 1):
        return path
    plain = _QUOTED.sub(_unescaped, path[1:-1])
    return plain.encode("latin-1", "replace").decode("utf-8", "replace")


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 8) & 0xFF) if code.isdigit() else _ESCAPES.get(code, code)
