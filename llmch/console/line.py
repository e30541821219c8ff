"""Defines a shown line as a value and lays out its columns: mark, who, what, text.

This module is pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from llmch.console.clean import one_line, shorten

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


class Mark(Enum):
    """Name the kind of a line."""

    HEAD = auto()
    STEP = auto()
    DONE = auto()
    FAILED = auto()
    WARNED = auto()
    RETRY = auto()
    SKIPPED = auto()
    ERROR = auto()
    HINT = auto()
    TEXT = auto()
    PATCHED_FILE = auto()
    PATCHED_PLACE = auto()
    ADDED = auto()
    REMOVED = auto()
    # The marks from here on are those of lines that stand below another line and belong to it.
    ITEM = auto()
    QUOTE = auto()
    NEXT = auto()
    COPY = auto()
    NEW = auto()
    CHANGED = auto()
    GONE = auto()
    DOUBT = auto()


GLYPHS = {
    Mark.HEAD: "●",
    Mark.STEP: " ",
    Mark.DONE: "✓",
    Mark.FAILED: "✗",
    Mark.WARNED: "!",
    Mark.RETRY: "↻",
    Mark.SKIPPED: "○",
    Mark.ERROR: "error:",
    Mark.HINT: "hint:",
    Mark.TEXT: "",
    Mark.PATCHED_FILE: "",
    Mark.PATCHED_PLACE: "",
    Mark.ADDED: "",
    Mark.REMOVED: "",
    Mark.ITEM: " ",
    Mark.QUOTE: "│",
    Mark.NEXT: "→",
    Mark.COPY: "$",
    Mark.NEW: "+",
    Mark.CHANGED: "~",
    Mark.GONE: "-",
    Mark.DOUBT: "!",
}
ASCII_GLYPHS = GLYPHS | {
    Mark.HEAD: "*",
    Mark.DONE: "+",
    Mark.FAILED: "x",
    Mark.RETRY: "~",
    Mark.SKIPPED: "o",
    Mark.QUOTE: "|",
    Mark.NEXT: ">",
}


@dataclass(frozen=True, slots=True)
class Line:
    """Hold one line to show: `who what text (aside)`, as in `WO-01 verify pytest -q (0.9s)`."""

    mark: Mark
    text: str
    who: str = ""
    what: str = ""
    aside: str = ""
    weight: Weight = Weight.NORMAL


class Style(StrEnum):
    """Name how a part of a line looks where there is colour; the values are styles of rich."""

    PLAIN = "none"
    STRONG = "bold"
    FAINT = "dim"
    GOOD = "green"
    BAD = "red"
    DOUBTFUL = "yellow"
    COMMAND = "cyan"


@dataclass(frozen=True, slots=True)
class Span:
    """Hold a part of a line that has one style."""

    text: str
    style: Style = Style.PLAIN


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Hold a line in its columns: the prefix that stands before the text, and the text itself."""

    prefix: tuple[Span, ...]
    body: tuple[Span, ...]

    def __str__(self) -> str:
        return "".join(span.text for span in (*self.prefix, *self.body)).rstrip()


_MARK_STYLES = {
    Mark.HEAD: Style.STRONG,
    Mark.DONE: Style.GOOD,
    Mark.FAILED: Style.BAD,
    Mark.WARNED: Style.DOUBTFUL,
    Mark.RETRY: Style.DOUBTFUL,
    Mark.SKIPPED: Style.FAINT,
    Mark.ERROR: Style.BAD,
    Mark.HINT: Style.COMMAND,
    Mark.QUOTE: Style.FAINT,
    Mark.COPY: Style.FAINT,
    Mark.NEW: Style.GOOD,
    Mark.CHANGED: Style.DOUBTFUL,
    Mark.GONE: Style.BAD,
    Mark.DOUBT: Style.DOUBTFUL,
}
_BELOW = frozenset(
    {
        *(Mark.ITEM, Mark.QUOTE, Mark.NEXT, Mark.COPY),
        *(Mark.NEW, Mark.CHANGED, Mark.GONE, Mark.DOUBT),
    }
)
_INDENTED = frozenset({Mark.QUOTE, Mark.NEW, Mark.GONE})
_AS_THEY_ARE = frozenset(
    {Mark.TEXT, Mark.PATCHED_FILE, Mark.PATCHED_PLACE, Mark.ADDED, Mark.REMOVED}
)
_TEXT_STYLES = {
    Mark.PATCHED_FILE: Style.STRONG,
    Mark.PATCHED_PLACE: Style.COMMAND,
    Mark.ADDED: Style.GOOD,
    Mark.REMOVED: Style.BAD,
    Mark.HEAD: Style.STRONG,
    Mark.SKIPPED: Style.FAINT,
    Mark.QUOTE: Style.FAINT,
    Mark.COPY: Style.COMMAND,
}


def lay_out(line: Line, *, glyphs: bool) -> LaidOut:
    """Put a line into its columns; without `glyphs` its mark is ASCII."""
    text = Span(shorten(_on_one_line(line), _MAX_TEXT), _TEXT_STYLES.get(line.mark, Style.PLAIN))
    aside = (Span(f"  ({one_line(line.aside)})", Style.FAINT),) if line.aside else ()
    return LaidOut(_prefix(line, (GLYPHS if glyphs else ASCII_GLYPHS)[line.mark]), (text, *aside))


def _prefix(line: Line, glyph: str) -> tuple[Span, ...]:
    style = _MARK_STYLES.get(line.mark, Style.PLAIN)
    match line.mark:
        case mark if mark in _AS_THEY_ARE:
            return ()
        case Mark.ERROR | Mark.HINT:
            return (Span(f"{glyph:<6} ", style),)
        case mark if mark in _BELOW:
            return (Span(f"    {glyph} ", style),)
        case _:
            prominent = line.mark is Mark.HEAD or line.weight is Weight.VERDICT
            who = Style.STRONG if prominent else Style.FAINT
            what = Style.PLAIN if line.mark is Mark.HEAD else style
            columns = (
                Span(f"{glyph} ", style),
                Span(f"{one_line(line.who):<{_WHO_WIDTH}} ", who),
                Span(f"{one_line(line.what):<{_WHAT_WIDTH}} ", what),
            )
            return columns if line.what else columns[:2]


def _on_one_line(line: Line) -> str:
    # The indentation of an excerpt, which may be Python, and of free text has a meaning.
    if line.mark in _INDENTED or line.mark in _AS_THEY_ARE:
        return line.text.replace("\n", " ").rstrip()
    return one_line(line.text)
