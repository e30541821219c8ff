"""Represents a shown line: its columns, its figures, its text made safe for a terminal.

All of it is pure, but for `this_program` and the lines of commands to copy, which name it.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import Any

# The names before lines that are not of an order.
PLAN = "plan"
BATCH = "run-all"
MODEL = "model"

# ECMA-48, in its 7-bit (ESC [) and 8-bit (U+009B) forms: control sequences, control strings (OSC,
# DCS, SOS, PM, APC) with their content, and the short escapes. A string stops at any further
# introducer, so that many unfinished strings take linear time.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9b-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_BREAKS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# The remaining control characters, and invisible characters that change how text is seen: soft
# hyphen, bidi marks, embeddings, overrides and isolates, zero-width characters, tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_FOLD = re.compile(r"\s*\n\s*")
_TAB_WIDTH = 4


def clean(text: str) -> str:
    """Return `text` without escape sequences, control characters and invisible ones.

    Every kind of line break becomes a newline, and tabs become spaces.
    """
    text = _BREAKS.sub("\n", _SEQUENCES.sub("", text))
    return _UNSEEN.sub("", text.expandtabs(_TAB_WIDTH))


def as_unicode(text: str) -> str:
    """Return `text` with an escape for each byte that was no UTF-8, as in a name of an old disk."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def one_line(text: str) -> str:
    """Return `text` on one line: breaks, with the space around them, become one space."""
    return _FOLD.sub(" ", text.strip())


# The head of an excerpt shows what was being done, and the tail shows how it ended.
_EXCERPT_HEAD, _AROUND_ERROR, _EXCERPT_TAIL = 3, 5, 4
_AN_ERROR = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception|Failure)\b|\berror(?:\[\w+\])?:|\bpanic"
    r"|^\s*(?:E  |not ok |--- FAIL|[✗✖✕] )|[Aa]ssert\w* .*(?:fail|==|!=)"
)


def lines_of_excerpt(excerpt: str, *, whole: bool) -> list[str]:
    """Return the lines of an excerpt; where it is long, its head, first error and tail."""
    lines = excerpt.strip("\n").split("\n") if excerpt.strip() else []
    if whole or len(lines) <= _EXCERPT_HEAD + _AROUND_ERROR + _EXCERPT_TAIL + 1:
        return lines
    kept = {*range(_EXCERPT_HEAD), *range(len(lines) - _EXCERPT_TAIL, len(lines))}
    error = next((n for n, line in enumerate(lines) if _AN_ERROR.search(line)), len(lines))
    # Without an error that can be seen, the end says most.
    begin = min(error - 1, len(lines) - _EXCERPT_TAIL - _AROUND_ERROR)
    kept |= set(range(max(0, begin), begin + _AROUND_ERROR))
    shown: list[str] = []
    before, how = -1, " (--verbose shows all)"
    for number in sorted(kept):
        if (left_out := number - before - 1) > 1:
            shown.append(f"... {left_out:,} more lines{how}")
            how = ""
        shown += lines[number - (left_out == 1) : number + 1]
        before = number
    return shown


def shorten(text: str, limit: int) -> str:
    """Return `text`, cut to `limit` characters where it is longer; the dots count in."""
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


def cell_width(text: str) -> int:
    """Return how many columns `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def on_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value, an event or a block with `change` made to every text in it."""
    match value:
        case str():
            return change(value)
        case tuple() | list():
            return type(value)(on_texts(each, change) for each in value)
        case dict():
            return {on_texts(key, change): on_texts(each, change) for key, each in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            texts = {each.name: getattr(value, each.name) for each in fields(value)}
            return replace(value, **on_texts(texts, change))
        case _:
            return value


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# Control characters but newline and tab; soft hyphen, bidi marks, embeddings, overrides and
# isolates, zero-width characters, tags, and what no text file can hold: lone surrogates.
_UNSEEN_IN_TEXT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Control sequences of terminals (ECMA-48), as programs print them to colour their output.
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)")
_RETURNS = re.compile(r"\r\n?")
_PICTURES = 0x2400  # the block of Unicode that shows control characters as small letters
_DELETE = 0x7F


def visible(text: str) -> str:
    """Return `text` with each unseen character replaced by a picture or the number of it.

    What escapes markup, as a page does, would still obey a character that turns the direction of
    text or that nobody sees.
    """
    return _UNSEEN_IN_TEXT.sub(lambda found: _name_of(ord(found[0])), text)


def printed(text: str) -> str:
    """Return what a command printed, without the colours and cursor movements of a terminal."""
    return visible(_RETURNS.sub("\n", _COLOURS.sub("", text)))


def _name_of(code: int) -> str:
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == _DELETE else f"\u27e8U+{code:04X}\u27e9"


_WHO_WIDTH = 8
_WHAT_WIDTH = 9
_MAX_TEXT = 2000  # characters; nobody reads a longer line, and logs stay readable


class Verbosity(StrEnum):
    """Choose how much is shown: the verdict alone, the usual lines, or every line."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


class Weight(Enum):
    """Say when a line is shown."""

    VERDICT = "always"
    NORMAL = "unless quiet"
    PASSING = "unless quiet, and only where no live region shows it already"
    VERBOSE = "only when verbose"


class Style(StrEnum):
    """Name how a part of a line looks where there is colour; the values are styles of rich."""

    PLAIN = "none"
    STRONG = "bold"
    FAINT = "dim"
    GOOD = "green"
    BAD = "red"
    DOUBTFUL = "yellow"
    COMMAND = "cyan"


class Placement(Enum):
    """Say where the text of a line goes."""

    COLUMNS = auto()
    BELOW = auto()
    """Below another line, to which the line belongs."""
    LABELLED = auto()
    ALONE = auto()


@dataclass(frozen=True, slots=True, eq=False)  # marks that look alike are still several marks
class Look:
    """Say how a line of one kind looks; `ascii` replaces a glyph that an encoding lacks.

    `indented` says that the spaces before the text have a meaning.
    """

    glyph: str = ""
    style: Style = Style.PLAIN
    text: Style = Style.PLAIN
    place: Placement = Placement.COLUMNS
    ascii: str = ""
    indented: bool = False


class Mark(Enum):
    """Name the kind of a line."""

    HEAD = Look("●", Style.STRONG, Style.STRONG, ascii="*")
    STEP = Look(" ")
    DONE = Look("✓", Style.GOOD, ascii="+")
    FAILED = Look("✗", Style.BAD, ascii="x")
    WARNED = Look("!", Style.DOUBTFUL)
    RETRY = Look("↻", Style.DOUBTFUL, ascii="~")
    SKIPPED = Look("○", Style.FAINT, Style.FAINT, ascii="o")
    ERROR = Look("error:", Style.BAD, place=Placement.LABELLED)
    HINT = Look("hint:", Style.COMMAND, place=Placement.LABELLED)
    TEXT = Look(place=Placement.ALONE, indented=True)
    PATCHED_FILE = Look("", text=Style.STRONG, place=Placement.ALONE, indented=True)
    PATCHED_PLACE = Look("", text=Style.COMMAND, place=Placement.ALONE, indented=True)
    ADDED = Look("", text=Style.GOOD, place=Placement.ALONE, indented=True)
    REMOVED = Look("", text=Style.BAD, place=Placement.ALONE, indented=True)
    ITEM = Look(" ", place=Placement.BELOW)
    QUOTE = Look("│", Style.FAINT, Style.FAINT, Placement.BELOW, ascii="|", indented=True)
    NEXT = Look("→", place=Placement.BELOW, ascii=">")
    COPY = Look("$", Style.FAINT, Style.COMMAND, Placement.BELOW)
    NEW = Look("+", Style.GOOD, place=Placement.BELOW, indented=True)
    CHANGED = Look("~", Style.DOUBTFUL, place=Placement.BELOW)
    GONE = Look("-", Style.BAD, place=Placement.BELOW, indented=True)
    DOUBT = Look("!", Style.DOUBTFUL, place=Placement.BELOW)

    def sign(self, *, glyphs: bool) -> str:
        """Return the sign before the text; without `glyphs` it is ASCII."""
        look: Look = self.value
        return look.glyph if glyphs else look.ascii or look.glyph


GLYPHS = "".join(each.sign(glyphs=True) for each in Mark)


@dataclass(frozen=True, slots=True)
class Line:
    """Hold one line to show: `who what text (aside)`, as in `WO-01 verify pytest -q (0.9s)`."""

    mark: Mark
    text: str
    who: str = ""
    what: str = ""
    aside: str = ""
    weight: Weight = Weight.NORMAL


@dataclass(frozen=True, slots=True)
class Span:
    """Hold a part of a line that has one style."""

    text: str
    style: Style = Style.PLAIN


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Hold a line in its columns: the prefix before the text, and the text itself."""

    prefix: tuple[Span, ...]
    body: tuple[Span, ...]

    def __str__(self) -> str:
        return "".join(span.text for span in (*self.prefix, *self.body)).rstrip()


def lay_out(line: Line, *, glyphs: bool) -> LaidOut:
    """Put a line into its columns; without `glyphs` its mark is ASCII."""
    look: Look = line.mark.value
    # The indentation of an excerpt, which may be Python, and of free text has a meaning.
    text = line.text.replace("\n", " ").rstrip() if look.indented else one_line(line.text)
    body = Span(shorten(text, _MAX_TEXT), look.text)
    aside = (Span(f"  ({one_line(line.aside)})", Style.FAINT),) if line.aside else ()
    return LaidOut(_prefix(line, line.mark.sign(glyphs=glyphs)), (body, *aside))


def _prefix(line: Line, sign: str) -> tuple[Span, ...]:
    style = line.mark.value.style
    match line.mark.value.place:
        case Placement.ALONE:
            return ()
        case Placement.LABELLED:
            return (Span(f"{sign:<6} ", style),)
        case Placement.BELOW:
            return (Span(f"    {sign} ", style),)
        case _:
            prominent = line.mark is Mark.HEAD or line.weight is Weight.VERDICT
            columns = (
                Span(f"{sign} ", style),
                Span(
                    f"{one_line(line.who):<{_WHO_WIDTH}} ",
                    Style.STRONG if prominent else Style.FAINT,
                ),
                Span(
                    f"{one_line(line.what):<{_WHAT_WIDTH}} ",
                    Style.PLAIN if line.mark is Mark.HEAD else style,
                ),
            )
            return columns if line.what else columns[:2]


_SHORT_COMMIT = 10  # as many digits as git itself shows in large repos


def duration(seconds: float) -> str:
    """Return seconds as `3.2s`, `1m05s` or `2h03m`."""
    tenths = round(max(seconds, 0.0), 1)
    if tenths < 60:
        return f"{tenths:.1f}s"
    whole = round(tenths)
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"


def ticking(seconds: float) -> str:
    """Return the duration of a wait that still goes on, in whole seconds: `12s` or `1m05s`."""
    whole = int(max(seconds, 0.0))
    return f"{whole}s" if whole < 60 else duration(whole)


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def estimated(calls: int) -> str:
    """Return a text that says how many calls have an estimate for their tokens."""
    return f"tokens of {count(calls, 'call')} estimated"


def cost(usd: float | None) -> str:
    """Return a cost in dollars; below one dollar it has four decimals, else two."""
    if usd is None:
        return "cost unknown"
    return f"${usd:.4f}" if usd < 1 else f"${usd:,.2f}"


def short(commit: str) -> str:
    return commit[:_SHORT_COMMIT]


def listed(items: Sequence[str], limit: int) -> str:
    """Return the items joined by commas; those beyond `limit` are only counted."""
    if len(items) <= limit:
        return ", ".join(items)
    return f"{', '.join(items[:limit])} and {len(items) - limit:,} more"


def this_program() -> str:
    """Return what a person types to start this llmch again from the folder they are in.

    An environment that is not on the PATH was named by a path, which is then repeated.
    """
    typed = Path(sys.argv[0])
    found = shutil.which("llmch")
    if typed.name != "llmch" or not typed.parent.name or not typed.exists():
        return "llmch"
    return "llmch" if found and typed.samefile(found) else shlex.quote(sys.argv[0])


def look_lines(branch: str, repo: str, cwd: str, *, done: bool) -> Iterator[Line]:
    """Yield the commands that show and prove what landed on `branch`, fit to be copied.

    Where all is `done`, one more line says how it is taken over.
    """
    git = "git" if repo in ("", cwd) else f"git -C {shlex.quote(repo)}"
    yield own_line("verify", repo, cwd)
    yield Line(Mark.COPY, f"{git} log --oneline {shlex.quote(branch)}")
    yield Line(Mark.COPY, f"{git} switch {shlex.quote(branch)}")
    if done:
        merge = f"`{git} merge {shlex.quote(branch)}` takes them over"
        yield Line(Mark.NEXT, f"{merge}; a run with --pr asks for review")


def fetch_lines(branch: str, remote: str) -> Iterator[Line]:
    """Yield the commands that show what landed on a branch of a remote, fit to be copied."""
    yield Line(Mark.COPY, f"git fetch {shlex.quote(remote)} {shlex.quote(branch)}")
    yield Line(Mark.COPY, "git log --oneline FETCH_HEAD")


def own_line(words: str, repo: str, cwd: str) -> Line:
    place = "" if repo in ("", cwd) else f" --repo {shlex.quote(repo)}"
    return Line(Mark.COPY, f"{this_program()} {words}{place}")
