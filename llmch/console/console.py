"""The console: what a person, or a program with `--json`, sees of a command."""

from __future__ import annotations

import json as json_text
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TextIO

from llmch.console.activity import Activity
from llmch.console.clean import cell_width, clean, on_event, on_texts, one_line
from llmch.console.line import Line, Mark, Verbosity, Weight
from llmch.console.narrator import Narrator
from llmch.console.plain import HEARTBEAT_SECONDS, WatchfulPrinter
from llmch.console.stream import Stream
from shared.errors import CommandFailed
from shared.events import Event, ModelTextArrived


class Color(StrEnum):
    """Whether a terminal gets colour; anything else never does."""

    AUTO = "auto"
    NEVER = "never"


class FindingLike(Protocol):
    """What the console needs of a rule's finding."""

    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def work_order(self) -> str | None: ...
    @property
    def field(self) -> str | None: ...
    @property
    def message(self) -> str: ...
    @property
    def remedy(self) -> str: ...


class Printer(Protocol):
    """Where lines go, and what shows the work under way."""

    def show(self, lines: Sequence[Line]) -> None:
        """Show the lines, as one piece."""

    def follow(self, event: Event) -> None:
        """Take notice of an event that may change what is under way."""

    def close(self) -> None:
        """End whatever runs in the background."""


class OnDemand:
    """A printer that is opened when first used: what a terminal needs takes time to import."""

    def __init__(self, open_printer: Callable[[], Printer]) -> None:
        self._open = open_printer
        self._printer: Printer | None = None

    def show(self, lines: Sequence[Line]) -> None:
        """Show the lines, if there are any."""
        if lines:
            self._opened().show(lines)

    def follow(self, event: Event) -> None:
        """Pass the event on."""
        self._opened().follow(event)

    def close(self) -> None:
        """Close the printer if it was ever opened."""
        if self._printer is not None:
            self._printer.close()

    def _opened(self) -> Printer:
        if self._printer is None:
            self._printer = self._open()
        return self._printer


class Console:
    """Renders events as they happen, and all else a command has to say. Safe for threads.

    It is an `Emit`. Every text is cleaned of control characters, and masked, on its way in.
    """

    def __init__(
        self,
        *,
        out: Stream,
        printer: Printer,
        err_printer: Printer,
        narrator: Narrator,
        verbosity: Verbosity,
        json: bool,
        protect: Callable[[str], str],
    ) -> None:
        self._out = out
        self._printer = printer
        self._err_printer = err_printer
        self._narrator = narrator
        self._verbosity = verbosity
        self._json = json
        self._protect = protect
        self._answered = False
        self._lock = threading.RLock()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if not isinstance(event, ModelTextArrived):  # a piece may end within an escape sequence
            event = on_event(event, self._protect)
        with self._lock:
            lines = self._narrator.tell(event)
            if self._verbosity is not Verbosity.QUIET:
                self._printer.follow(event)
            self._show(lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the live region away and end what runs in the background; may be called twice."""
        with self._lock:
            self._printer.close()
            self._err_printer.close()

    def result(self, document: object) -> None:
        """Print the command's one document, where `--json` asks for one.

        Raises `CommandFailed` where standard output cannot take it, unless its reader went away.
        """
        with self._lock:
            self._printer.close()
            if not self._json or self._answered:
                return
            self._answered = True
            safe = on_texts(document, self._protect)
            self._out.write(json_text.dumps(safe, indent=2) + "\n")
            failure = self._out.failure
        if failure is not None and not isinstance(failure, BrokenPipeError):
            raise CommandFailed(f"the result could not be printed: {failure.strerror or failure}")

    def error(self, message: str, hint: str, exit_code: int, name: str) -> None:
        """Say what ended the command: on stderr, or as its document where `--json` asks for one."""
        with self._lock:
            self._printer.close()
            if self._json and not self._answered:
                failure = {"code": exit_code, "name": name, "message": message, "hint": hint}
                self._answered = True
                safe = on_texts({"error": failure}, self._protect)
                self._out.write(json_text.dumps(safe, indent=2) + "\n")
                return
            lines = [*_marked(Mark.ERROR, message), *(_marked(Mark.HINT, hint) if hint else ())]
            self._err_printer.show([self._protected(line) for line in lines])

    def lines(self, *texts: str) -> None:
        """Print what was asked for, such as an explanation, as it is; also where quiet."""
        split = [Line(Mark.TEXT, part) for text in texts for part in text.split("\n")]
        self._say([Line(Mark.TEXT, line.text, weight=Weight.VERDICT) for line in split])

    def table(self, rows: Iterable[Sequence[str]], headings: Sequence[str] = ()) -> None:
        """Print rows of equal length in aligned columns."""
        self.lines(*render_table([*([headings] if headings else []), *rows]))

    def findings(self, findings: Iterable[FindingLike]) -> None:
        """Print what the rules found, each with its remedy."""
        self._say([line for finding in findings for line in _finding_lines(finding)])

    def verdict(self, who: str, text: str, *, ok: bool, aside: str = "") -> None:
        """Print how a command without events of its own ended; also where quiet."""
        mark, word = (Mark.DONE, "PASS") if ok else (Mark.FAILED, "FAIL")
        self._say([Line(mark, text, who, word, aside, Weight.VERDICT)])

    def _say(self, lines: Iterable[Line]) -> None:
        with self._lock:
            self._show([self._protected(line) for line in lines])

    def _show(self, lines: Iterable[Line]) -> None:
        shown = [line for line in lines if line.weight in _SHOWN[self._verbosity]]
        self._printer.show(shown)

    def _protected(self, line: Line) -> Line:
        change = self._protect
        return replace(
            line,
            text=change(line.text),
            who=change(line.who),
            what=change(line.what),
            aside=change(line.aside),
        )


_SHOWN = {
    Verbosity.QUIET: (Weight.VERDICT,),
    Verbosity.NORMAL: (Weight.VERDICT, Weight.NORMAL, Weight.PASSING),
    Verbosity.VERBOSE: tuple(Weight),
}
_PLAIN_TERMINALS = ("", "dumb", "unknown")


def open_console(
    *,
    verbosity: Verbosity,
    color: Color,
    json: bool,
    stdout: TextIO | None,
    stderr: TextIO | None,
    environ: Mapping[str, str],
    mask: Callable[[str], str] = str,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> Console:
    """Return the console for a command; to be closed, or used as a context.

    All goes to `stdout` but errors, and with `json` all but the document to `stderr`. `mask`
    takes secrets out of a text. Where a stream is no terminal, or a simple one, lines are plain.
    """

    def protect(text: str) -> str:
        # A secret may stand there whole only before, or only after, what is unseen is taken out.
        return mask(clean(mask(text)))

    def open_printer(stream: Stream) -> Printer:
        if json or not stream.isatty() or environ.get("TERM", "") in _PLAIN_TERMINALS:
            return WatchfulPrinter(stream, Activity(), heartbeat_seconds)
        from llmch.console.terminal import TerminalPrinter

        colour = color is Color.AUTO and not environ.get("NO_COLOR")
        return TerminalPrinter(stream, Activity(), protect, colour=colour)

    out, err = Stream(stdout), Stream(stderr)
    err_printer = OnDemand(lambda: open_printer(err))
    return Console(
        out=out,
        printer=err_printer if json else OnDemand(lambda: open_printer(out)),
        err_printer=err_printer,
        narrator=Narrator(verbose=verbosity is Verbosity.VERBOSE, cwd=_cwd()),
        verbosity=verbosity,
        json=json,
        protect=protect,
    )


def render_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines, every column as wide as its widest cell."""
    cells = [[one_line(clean(cell)) for cell in row] for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - cell_width(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def _finding_lines(finding: FindingLike) -> Iterable[Line]:
    mark = Mark.FAILED if finding.severity == "error" else Mark.WARNED
    field = f"{finding.field}: " if finding.field else ""
    yield Line(mark, f"{field}{finding.message}", finding.code, finding.work_order or "")
    if finding.remedy:
        yield Line(Mark.NEXT, finding.remedy)


def _marked(mark: Mark, text: str) -> Iterable[Line]:
    first, *rest = text.split("\n")
    return [Line(mark, first), *(Line(Mark.TEXT, f"       {each}") for each in rest)]


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # the folder is gone
        return ""
