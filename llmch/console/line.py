"""One shown line as a value, and its columns: mark, who, what, text. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from llmch.console.clean import one_line, shorten

_WHO_WIDTH = 8
_WHAT_WIDTH = 9
_MAX_TEXT = 2000  # characters; nobody reads further on a line, and a log stays a log


class Verbosity(StrEnum):
    """How much is shown: the verdict alone, what happens, or all of it."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


class Weight(Enum):
    """When a line is shown."""

    VERDICT = "always"
    NORMAL = "unless quiet"
    PASSING = "unless quiet, and only where no live region shows it already"
    VERBOSE = "only when verbose"


class Mark(Enum):
    """What kind of line it is."""

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
    # The rest stand below a line and belong to it.
    ITEM = auto()
    QUOTE = auto()
    NEXT = auto()
    COPY = auto()


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
    Mark.ITEM: " ",
    Mark.QUOTE: "│",
    Mark.NEXT: "→",
    Mark.COPY: "$",
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
    """One line to show: `who what text (aside)`, as in `WO-01 verify pytest -q (0.9s)`."""

    mark: Mark
    text: str
    who: str = ""
    what: str = ""
    aside: str = ""
    weight: Weight = Weight.NORMAL


class Style(StrEnum):
    """How a part of a line looks where there is colour; the values are rich's words."""

    PLAIN = "none"
    STRONG = "bold"
    FAINT = "dim"
    GOOD = "green"
    BAD = "red"
    DOUBTFUL = "yellow"
    COMMAND = "cyan"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a line that looks one way."""

    text: str
    style: Style = Style.PLAIN


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A line in its columns: what stands before the text, and the text itself."""

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
}
_TEXT_STYLES = {
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
        case Mark.TEXT:
            return ()
        case Mark.ERROR | Mark.HINT:
            return (Span(f"{glyph:<6} ", style),)
        case Mark.ITEM | Mark.QUOTE | Mark.NEXT | Mark.COPY:
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
    # Indentation means something in an excerpt, which may be Python, and in free text.
    if line.mark in (Mark.QUOTE, Mark.TEXT):
        return line.text.replace("\n", " ").rstrip()
    return one_line(line.text)
