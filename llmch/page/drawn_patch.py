"""Draws a patch: files and hunks, with code in colours.

Lexers are chosen from a list and not by what is installed, so that a page does not depend on the
machine that makes it. The text given is short: `allowance` has cut it before.

It is for people only. A line that fits nothing is kept as a note, so nothing of a patch is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from llmch.console.line import visible

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType


_LEXERS: Final = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript",
    "jsx": "javascript", "ts": "typescript", "tsx": "typescript", "mts": "typescript",
    "go": "go", "rs": "rust", "java": "java", "kt": "kotlin", "c": "c", "h": "c", "cc": "cpp",
    "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "rb": "ruby", "php": "php", "sh": "bash",
    "bash": "bash", "sql": "sql", "html": "html", "css": "css", "json": "json", "toml": "toml",
    "yaml": "yaml", "yml": "yaml", "ini": "ini", "cfg": "ini", "md": "markdown", "xml": "xml",
}  # fmt: skip
_LONGEST_LINE: Final = 2_000  # characters; a longer one is data, which no lexer makes clearer


def highlighted(lines: list[str], path: str) -> list[Markup]:
    """Return the lines of a file as markup, of which there are as many."""
    language = _LEXERS.get(path.rpartition(".")[2].lower(), "")
    if not language or any(len(each) > _LONGEST_LINE for each in lines):
        return [escape(visible(each)) for each in lines]
    # A lexer may see other line ends than newlines; visible text has none.
    text = "\n".join(map(visible, lines))
    found = "".join(_coloured(text, _lexer(language))).split("\n")
    if len(found) < len(lines):  # lexers drop empty lines at the end
        found += [""] * (len(lines) - len(found))
    return [Markup(each) for each in found[: len(lines)]]  # noqa: S704  # escaped in `_coloured`


def _coloured(text: str, lexer: Lexer) -> Iterator[str]:
    for token, value in lexer.get_tokens(text):
        name = _class_of(token)
        for position, line in enumerate(value.split("\n")):
            if position:
                yield "\n"
            safe = str(escape(line))
            yield f"<b class={name}>{safe}</b>" if name and safe.strip() else safe


@cache
def _lexer(language: str) -> Lexer:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@cache
def _class_of(token: _TokenType) -> str:
    """Return the class of the page's style sheet for a token, "" for one without a colour."""
    from pygments.token import Comment, Keyword, Name, Number, String, is_token_subtype

    for kind, name in (
        (Comment, "c"),
        (String, "s"),
        (Number, "n"),
        (Name.Function, "f"),
        (Name.Class, "f"),
        (Name.Tag, "f"),
        (Name.Decorator, "d"),
        (Name.Builtin, "d"),
        (Keyword, "k"),
    ):
        if is_token_subtype(token, kind):
            return name
    return ""


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
        return sum(line.side is Side.NEW for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
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


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """Hold a line of a patch: the element that shows it, its number, and its markup."""

    element: str
    number: int
    code: Markup


@dataclass(frozen=True, slots=True)
class DrawnHunk:
    """Hold the lines of one place of a file."""

    heading: str
    lines: tuple[DrawnLine, ...]


@dataclass(frozen=True, slots=True)
class DrawnFile:
    """Hold a changed file; `left_out` is the number of its lines that are not shown.

    `is_whole` says that all lines are new or all are removed, so that no line is highlighted.
    """

    path: str
    notes: tuple[str, ...]
    added: int
    removed: int
    hunks: tuple[DrawnHunk, ...]
    left_out: int
    is_whole: bool


_ELEMENTS = {Side.OLD: "del", Side.NEW: "ins", Side.BOTH: "span"}


def draw_patch(patch: str, most_characters: int) -> tuple[DrawnFile, ...]:
    """Return the files of a patch, with the first `most_characters` of its lines."""
    return tuple(_drawn(parse_patch(patch), most_characters))


_LINE_BYTES: Final = 24  # of the element around a line


def size_drawn(files: Iterable[DrawnFile]) -> int:
    """Return about how many bytes the lines of a patch take on a page."""
    lines = (line for file in files for hunk in file.hunks for line in hunk.lines)
    return sum(len(each.code) + _LINE_BYTES for each in lines)


def _drawn(files: tuple[PatchFile, ...], room: int) -> Iterator[DrawnFile]:
    for file in files:
        hunks = []
        shown = 0
        for hunk in file.hunks:
            fitting = _fitting(hunk.lines, room)
            room -= sum(len(each.text) + 1 for each in fitting)
            shown += len(fitting)
            if fitting:
                hunks.append(_drawn_hunk(hunk, fitting, file.path))
            if len(fitting) < len(hunk.lines):
                room = 0  # the rest of the patch would not follow on from here
        sides = {line.side for hunk in file.hunks for line in hunk.lines}
        total = sum(len(each.lines) for each in file.hunks)
        yield DrawnFile(
            file.path,
            tuple(dict.fromkeys(file.notes)),
            file.added,
            file.removed,
            tuple(hunks),
            total - shown,
            len(sides) == 1,
        )


def _fitting(lines: list[PatchLine], room: int) -> list[PatchLine]:
    fitting = []
    for line in lines:
        room -= len(line.text) + 1
        if room < 0:
            break
        fitting.append(line)
    return fitting


def _drawn_hunk(hunk: Hunk, lines: list[PatchLine], path: str) -> DrawnHunk:
    """Colour the two versions of a place each as a whole, and lay their lines side by side."""
    old = iter(highlighted([each.text for each in lines if each.side is not Side.NEW], path))
    new = iter(highlighted([each.text for each in lines if each.side is not Side.OLD], path))
    drawn = []
    for each in lines:
        if each.side is Side.OLD:
            code = next(old)
        else:
            code = next(new)
            if each.side is Side.BOTH:
                next(old)
        drawn.append(DrawnLine(_ELEMENTS[each.side], each.number, code))
    return DrawnHunk(hunk.heading, tuple(drawn))
