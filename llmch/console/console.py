"""The console: what a person, or a program with `--json`, sees of a command."""

from __future__ import annotations

import json as json_text
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from llmch.console.clean import clean, on_texts
from llmch.console.line import Line, Mark, Verbosity, Weight
from llmch.console.plain import HEARTBEAT_SECONDS, WatchfulPrinter
from llmch.console.printer import OnDemand, Printer
from llmch.console.stream import Stream
from llmch.console.table import render_table
from shared.errors import CommandFailed

# Verbs without events, and errors, need not wait for what renders events.
if TYPE_CHECKING:
    from llmch.console.narrator import Narrator
    from shared.events import Event


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
        verbosity: Verbosity,
        json: bool,
        protect: Callable[[str], str],
    ) -> None:
        self._out = out
        self._printer = printer
        self._err_printer = err_printer
        self._narrator: Narrator | None = None
        self._verbosity = verbosity
        self._json = json
        self._protect = protect
        self._answered = False
        self._lock = threading.RLock()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            narrator = self._narrator or self._begin()
            fit = narrator.fit(event)
            lines = narrator.tell(fit)
            if self._verbosity is not Verbosity.QUIET:
                self._printer.follow(fit)
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
            lines = [*_marked(Mark.ERROR, self._protect(message))]
            if hint:
                lines += _marked(Mark.HINT, self._protect(hint))
            self._err_printer.show(lines)

    def lines(self, *texts: str) -> None:
        """Print what was asked for, such as an explanation, as it is; also where quiet."""
        self._say(self._text_lines(texts, Weight.VERDICT))

    def remark(self, *texts: str) -> None:
        """Print what goes with the verdict, as it is; not where quiet."""
        self._say(self._text_lines(texts, Weight.NORMAL))

    def table(self, rows: Iterable[Sequence[str]], headings: Sequence[str] = ()) -> None:
        """Print rows of equal length in aligned columns; also where quiet."""
        every = [*([headings] if headings else []), *rows]
        self.lines(*render_table([[self._protect(cell) for cell in row] for row in every]))

    def findings(self, findings: Iterable[FindingLike]) -> None:
        """Print what the rules found, each with its remedy."""
        self._say(line for finding in findings for line in self._finding_lines(finding))

    def verdict(self, who: str, text: str, *, ok: bool, aside: str = "") -> None:
        """Print how a command without events of its own ended; also where quiet."""
        mark, word = (Mark.DONE, "PASS") if ok else (Mark.FAILED, "FAIL")
        protect = self._protect
        self._say([Line(mark, protect(text), protect(who), word, protect(aside), Weight.VERDICT)])

    def _begin(self) -> Narrator:
        from llmch.console.narrator import Narrator

        verbose = self._verbosity is Verbosity.VERBOSE
        self._narrator = Narrator(verbose=verbose, cwd=_cwd(), protect=self._protect)
        return self._narrator

    def _say(self, lines: Iterable[Line]) -> None:
        with self._lock:
            self._show(lines)

    def _show(self, lines: Iterable[Line]) -> None:
        self._printer.show([line for line in lines if line.weight in _SHOWN[self._verbosity]])

    def _text_lines(self, texts: Iterable[str], weight: Weight) -> Iterable[Line]:
        # Before it is split: a secret may have several lines.
        split = (part for text in texts for part in self._protect(text).split("\n"))
        return (Line(Mark.TEXT, part, weight=weight) for part in split)

    def _finding_lines(self, finding: FindingLike) -> Iterable[Line]:
        mark = Mark.FAILED if finding.severity == "error" else Mark.WARNED
        field = f"{finding.field}: " if finding.field else ""
        text = self._protect(f"{field}{finding.message}")
        order = self._protect(finding.work_order or "")
        yield Line(mark, text, self._protect(finding.code), order)
        if finding.remedy:
            yield Line(Mark.NEXT, self._protect(finding.remedy))


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
            return WatchfulPrinter(stream, heartbeat_seconds)
        from llmch.console.activity import Activity
        from llmch.console.terminal import TerminalPrinter

        colour = color is Color.AUTO and not environ.get("NO_COLOR")
        return TerminalPrinter(stream, Activity(), protect, colour=colour)

    out, err = Stream(stdout), Stream(stderr)
    err_printer = OnDemand(lambda: open_printer(err))
    return Console(
        out=out,
        printer=err_printer if json else OnDemand(lambda: open_printer(out)),
        err_printer=err_printer,
        verbosity=verbosity,
        json=json,
        protect=protect,
    )


def _marked(mark: Mark, text: str) -> Iterable[Line]:
    first, *rest = text.split("\n")
    return [Line(mark, first), *(Line(Mark.TEXT, f"       {each}") for each in rest)]


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # the folder is gone
        return ""
