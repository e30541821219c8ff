"""Prints what a command shows to people and programs; no other code prints."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Self, TextIO

from llmch.console import activity, narration, plain_printer, terminal
from llmch.console.document import (
    AlreadyShown,
    Block,
    Document,
    ErrorDocument,
    Patch,
    Remark,
    Verbatim,
)
from llmch.console.line import Line, Verbosity, Weight, clean
from llmch.console.render import Format, renderer_of, text_lines
from shared.events import events

# Verbs without events, and errors, need not wait for the import of the code that renders events.


class Color(StrEnum):
    """Say whether a terminal gets colour; any other stream never gets it."""

    AUTO = "auto"
    NEVER = "never"


class Console:
    """Render events as they happen, and everything else that a command shows.

    A console is an `Emit`, and safe for threads. Every text is cleaned of control characters, and
    secrets are masked, before it is rendered.
    """

    def __init__(
        self,
        *,
        out: plain_printer.Stream,
        err: plain_printer.Stream,
        printer: plain_printer.Printer,
        err_printer: plain_printer.Printer,
        verbosity: Verbosity,
        output: Format,
        protect: Callable[[str], str],
        mask: Callable[[str], str],
        in_actions: bool = False,
    ) -> None:
        self._out = out
        self._err = err
        self._mask = mask
        self._printer = printer
        self._err_printer = err_printer
        self._narrator: narration.Narrator | None = None
        self._verbosity = verbosity
        self._render = renderer_of(output)
        self._is_json = output is Format.JSON
        self._in_actions = in_actions
        self._is_obeyed = in_actions and not out.is_file
        self._protect = protect
        self._answered = False
        self._passed_over: frozenset[str] = frozenset()
        self._listeners: list[events.Emit] = []
        self._lock = threading.RLock()

    def __call__(self, event: events.Event) -> None:
        """Show an event, and pass it on to who listens."""
        with self._lock:
            for listen in self._listeners:
                listen(event)
            if (
                isinstance(event, events.Noted | events.Warned)
                and event.message in self._passed_over
            ):
                return
            narrator = self._narrator or self._begin()
            fit = narrator.fit(event)
            lines = tuple(narrator.lines(fit))
            if self._verbosity is not Verbosity.QUIET:
                self._printer.follow(fit)
            self._printer.log([*self._shown(lines)])

    def pass_over(self, messages: Iterable[str]) -> None:
        """Do not show notes and warnings of these words again: a person has read them."""
        self._passed_over |= frozenset(messages)

    def listen(self, listener: events.Emit) -> None:
        """Have a listener hear each event, before it is shown and as it was emitted."""
        self._listeners.append(listener)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the live region and end the work in the background; a second call does nothing."""
        with self._lock:
            self._printer.close()
            self._err_printer.close()

    def show(self, document: Document) -> None:
        """Print the command's one document in the format that the user asked for.

        Raises `CommandFailed` if the document cannot be written to standard output, unless the
        reader of standard output went away.
        """
        with self._lock:
            self._printer.close()
            if self._render is None:
                if isinstance(self._out.failure, BlockingIOError):
                    self._out.failure = None  # events were lost, and nothing of the answer yet
                if self._show_text(document.blocks()):
                    self._out.check_printed()
                return
            if self._answered:
                return
            self._answer(self._render(document, self._protect))
            self._out.check_printed()

    def error(self, message: str, hint: str, exit_code: int, name: str) -> None:
        """Report the error that ended the command.

        In the text format the error goes to stderr. In another format it is the command's
        document, unless a document was printed already.
        """
        document = ErrorDocument(message, hint, exit_code, name)
        with self._lock:
            self._printer.close()
            if self._render is not None and not self._answered:
                self._answer(self._render(document, self._protect))
            else:
                self._err_printer.show([*text_lines(document.blocks(), self._protect)])

    def say(self, *blocks: Block) -> None:
        """Show blocks before the command has ended; on stderr where a document will follow."""
        with self._lock:
            self._print(text_lines(blocks, self._protect))

    def advise(self, text: str) -> None:
        """Show a text to whoever reads the errors at a terminal; `--quiet` leaves it out."""
        with self._lock:
            if self._err.isatty() and self._verbosity is not Verbosity.QUIET:
                self._err_printer.show([*text_lines([Remark((text,))], self._protect)])

    def annotate(self, commands: Iterable[str]) -> None:
        """Write commands as they are to stderr, where the workflow that this runs in reads them.

        Outside of GitHub Actions nothing happens.
        """
        if not self._in_actions:
            return
        with self._lock:
            self._err.write("".join(f"{each}\n" for each in commands))

    def remark(self, *texts: str) -> None:
        """Show texts, unchanged, before the command has ended; `--quiet` leaves them out."""
        self.say(Remark(texts))

    def _show_text(self, blocks: Iterable[Block]) -> bool:
        """Print the blocks, and return whether there are any that events have not shown."""
        has_answer = False
        for block in blocks:
            has_answer = has_answer or not isinstance(block, AlreadyShown)
            if isinstance(block, Verbatim) or (isinstance(block, Patch) and not self._out.isatty()):
                text = self._mask(block.text)
                self._out.write(plain_printer.uninterpreted(text) if self._is_obeyed else text)
            else:
                self._print(text_lines((block,), self._protect))
        return has_answer

    def _begin(self) -> narration.Narrator:
        verbose = self._verbosity is Verbosity.VERBOSE
        self._narrator = narration.Narrator(verbose=verbose, cwd=_cwd(), protect=self._protect)
        return self._narrator

    def _answer(self, text: str) -> None:
        self._answered = True
        if self._is_obeyed:
            text = plain_printer.inert_json(text) if self._is_json else plain_printer.inert(text)
        self._out.write(text)

    def _print(self, lines: Iterable[Line]) -> None:
        self._printer.show([*self._shown(lines)])

    def _shown(self, lines: Iterable[Line]) -> Iterator[Line]:
        return (line for line in lines if line.weight in _SHOWN[self._verbosity])


_SHOWN = {
    Verbosity.QUIET: (Weight.VERDICT,),
    Verbosity.NORMAL: (Weight.VERDICT, Weight.NORMAL, Weight.PASSING),
    Verbosity.VERBOSE: tuple(Weight),
}
_PLAIN_TERMINALS = ("", "dumb", "unknown")


def protection(mask: Callable[[str], str]) -> Callable[[str], str]:
    """Return what takes control characters and, by `mask`, secrets out of a text."""
    # Invisible characters are removed in between. A secret may be recognisable only before
    # their removal, or only after it.
    return lambda text: mask(clean(mask(text)))


def open_console(
    *,
    verbosity: Verbosity,
    color: Color,
    output: Format,
    stdout: TextIO | None,
    stderr: TextIO | None,
    environ: Mapping[str, str],
    mask: Callable[[str], str] = str,
    heartbeat_seconds: float = plain_printer.HEARTBEAT_SECONDS,
    now: Callable[[], datetime] | None = None,
) -> Console:
    """Return the console for a command; the caller closes it, or uses it as a context manager.

    Text goes to `stdout`, errors to `stderr`. In any other format, `stdout` gets the document
    alone, and `stderr` gets everything else. `mask` takes secrets out of a text. Lines are plain
    where a stream is not a terminal, or is a simple one. Plain lines that say what has just
    happened begin with the time that `now` gives, if it is given.
    """

    protect = protection(mask)

    in_actions = plain_printer.runs_in_actions(environ)
    # The log of a job has times of its own, and the verdict alone needs none.
    no_times = in_actions or verbosity is Verbosity.QUIET
    clock = None if no_times else now

    def open_printer(stream: plain_printer.Stream) -> plain_printer.Printer:
        if (
            output is not Format.TEXT
            or not stream.isatty()
            or environ.get("TERM", "") in _PLAIN_TERMINALS
        ):
            fit = plain_printer.inert if in_actions and not stream.is_file else str
            return plain_printer.PlainPrinter(stream, heartbeat_seconds, protect, clock, fit)
        colour = color is Color.AUTO and not environ.get("NO_COLOR")
        return terminal.TerminalPrinter(stream, activity.Activity(), protect, colour=colour)

    out, err = plain_printer.Stream(stdout), plain_printer.Stream(stderr)
    err_printer = plain_printer.OnDemand(lambda: open_printer(err))
    return Console(
        out=out,
        err=err,
        printer=plain_printer.OnDemand(lambda: open_printer(out))
        if output is Format.TEXT
        else err_printer,
        err_printer=err_printer,
        verbosity=verbosity,
        output=output,
        protect=protect,
        mask=mask,
        in_actions=in_actions,
    )


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # the folder no longer exists
        return ""


def someone_is_there() -> bool:
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)


def agrees(question: str) -> bool:
    """Ask the question and return whether the answer is yes; no answer counts as no."""
    plain_printer.Stream(sys.stderr).write(f"{question} [y/N] ")
    return _typed_line().strip().lower() in ("y", "yes")


def _typed_line() -> str:
    """Return the next line of the input, whatever its bytes; "" where it has ended."""
    if sys.stdin is None:  # it was closed
        return ""
    if isinstance(sys.stdin, io.TextIOWrapper) and sys.stdin.errors != "replace":
        with contextlib.suppress(io.UnsupportedOperation):  # something was read before
            sys.stdin.reconfigure(errors="replace")
    return sys.stdin.readline()


def answer_to(question: str, most: int) -> str | None:
    """Ask the question and return the line that answers it; a long one is refused.

    The line is "" for Enter alone. `None` says that nobody answers: the input has ended.
    """
    stream = plain_printer.Stream(sys.stderr)
    while True:
        stream.write(question)
        line = _typed_line()
        answer = " ".join(line.split())
        if not line:
            stream.write("\n")
            return None
        if len(answer) <= most:
            return answer
        stream.write(f"(at most {most} characters)\n")


def has_standard_streams() -> bool:
    # Python has `None` for one that was closed.
    return sys.stdin is not None and sys.stdout is not None


def terminal_descriptors() -> tuple[int, int] | None:
    """Return the descriptors of keyboard and screen, `None` if either is not a terminal."""
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        return None
    return sys.stdin.fileno(), sys.stdout.fileno()


def _is_terminal(stream: TextIO | None) -> bool:
    # `sys.stdin` is `None` where the stream was closed before Python started.
    return plain_printer.Stream(stream).isatty()
