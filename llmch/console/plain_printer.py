"""Prints plain lines to pipes, files and simple terminals, also where nobody reads any longer.

The runner obeys each line of a step's output that begins with `::NAME`, spaces aside, and each line
with `##[NAME]` anywhere in it: it sets outputs, masks words, adds annotations. The titles, paths
and logs that are printed may be anybody's.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import re
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol, TextIO

from llmch.console import activity as activities
from llmch.console.line import BATCH, GLYPHS, Line, Mark, lay_out, ticking
from shared.errors import CommandFailed
from shared.events import events


class Stream:
    """Write text, without buffering, to a stream that may be closed, full or of a poor encoding.

    Writing never raises: a reader that went away (`| head -1`) ends the output and not the run,
    and characters that the encoding lacks are escaped. `failure` says why output was lost.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._gone = stream is None
        self.encoding = _encoding_of(stream)
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        if self._stream is None or self._gone:
            return len(text)
        safe = text.encode(self.encoding, "backslashreplace").decode(self.encoding)
        try:
            self._stream.write(safe)
            self._stream.flush()
        except BlockingIOError as error:  # a non-blocking pipe is full because its reader is slow
            self.failure = error
        except OSError as error:
            self._lose(error)
        except ValueError as error:  # "I/O operation on closed file"
            self._lose(OSError(errno.EBADF, str(error)))
        return len(text)

    def check_printed(self) -> None:
        """Raise `CommandFailed` if output was lost, unless its reader went away."""
        if self.failure is not None and not isinstance(self.failure, BrokenPipeError):
            why = self.failure.strerror or self.failure
            raise CommandFailed(
                f"the result could not be printed: {why}",
                "send it to a terminal, or to a file on a disk with free space",
            )

    def flush(self) -> None:
        """Do nothing: every write is flushed."""

    def isatty(self) -> bool:
        if self._stream is None or self._gone:
            return False
        try:
            return self._stream.isatty()
        except ValueError:
            return False

    @property
    def is_file(self) -> bool:
        """Return whether all that is written goes to a file, so that nothing reads it meanwhile."""
        try:
            return stat.S_ISREG(os.fstat(self.fileno()).st_mode)
        except (OSError, ValueError):
            return False

    def fileno(self) -> int:
        """Return the file descriptor. Raises `OSError` if there is none, as any stream does."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    @property
    def size(self) -> tuple[int, int]:
        """Return the terminal's columns and lines; 80 and 24 where the system does not know."""
        try:
            columns, lines = os.get_terminal_size(self.fileno())
        except (OSError, ValueError):
            columns, lines = 0, 0
        return columns or 80, lines or 24

    @property
    def shows_glyphs(self) -> bool:
        """Return whether the encoding has the marks of lines."""
        try:
            GLYPHS.encode(self.encoding)
        except UnicodeError:
            return False
        return True

    def _lose(self, error: OSError) -> None:
        self._gone = True
        self.failure = error
        # Python would write the buffered text again at exit, and complain.
        with contextlib.suppress(OSError, ValueError):
            descriptor = self.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def _encoding_of(stream: TextIO | None) -> str:
    name = getattr(stream, "encoding", None) or "utf-8"
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "ascii"


class Ticker:
    """Call `act` every `seconds` on a thread of its own, until `close` is called.

    `close` ends the thread and waits for its end. The caller must not hold a lock that `act`
    takes. The thread is a daemon only so that it does not keep a process alive that exits without
    calling `close`.
    """

    def __init__(self, seconds: float, act: Callable[[], None], name: str) -> None:
        self._seconds = seconds
        self._act = act
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; `act` is not called any more once this method has returned."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(self._seconds):
            self._act()


HEARTBEAT_SECONDS = 30.0
"""The time that a command or a call runs before a line says that it still does.

The line is repeated each time the same time has passed again.
"""
_LOOKS_PER_BEAT = 6
_BEATS_PER_PROGRESS = 2


class PlainPrinter:
    """Write plain lines, and a heartbeat for long waits: a silent log looks like a hung program.

    `protect` makes a model's text fit to be shown. `clock` gives the time that is printed before an
    event; it is `None` if something else adds times. `fit` changes a line so that nothing that
    reads along takes it for a command.
    """

    def __init__(
        self,
        stream: Stream,
        every: float,
        protect: Callable[[str], str],
        clock: Callable[[], datetime] | None = None,
        fit: Callable[[str], str] = str,
    ) -> None:
        self._stream = stream
        self._glyphs = stream.shows_glyphs
        self._protect = protect
        self._clock = clock
        self._fit = fit
        self._activity: activities.Activity | None = None
        self._every = every
        self._last_beats: dict[str, tuple[float, int]] = {}
        self._last_progress = 0
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None

    def show(self, lines: Sequence[Line]) -> None:
        with self._lock:
            self._write(lines, "")

    def log(self, lines: Sequence[Line]) -> None:
        """Write the lines in one piece, each with the time of day in UTC before it."""
        with self._lock:
            self._log(lines)

    def _log(self, lines: Sequence[Line]) -> None:
        self._write(lines, f"{self._clock().astimezone(UTC):%H:%M:%SZ} " if self._clock else "")

    def _write(self, lines: Sequence[Line], before: str) -> None:
        texts = [
            f"{self._fit(before + str(lay_out(line, glyphs=self._glyphs)))}\n" for line in lines
        ]
        if texts:
            self._stream.write("".join(texts))

    def follow(self, event: events.Event) -> None:
        """Note the event; the heartbeat runs from the first start of a task to `close`."""
        with self._lock:
            activity = self._activity or self._begin()
            activity.take(event)
        if self._ticker is None and not activity.idle:
            self._ticker = Ticker(self._every / _LOOKS_PER_BEAT, self._beat, "heartbeat")

    def close(self) -> None:
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.close()

    def _begin(self) -> activities.Activity:
        self._activity = activities.Activity()
        return self._activity

    def _beat(self) -> None:
        with self._lock:
            if self._activity is not None:
                self._log(self._due(self._activity))

    def _due(self, activity: activities.Activity) -> list[Line]:
        """Return a line for each task whose wait has passed another heartbeat."""
        now, lines = activity.clock(), []
        for task in activity.tasks.values():
            if not task.detail:
                continue
            waited = now - task.waiting_since
            beat = (task.waiting_since, int(waited / self._every))
            if beat[1] and beat != self._last_beats.get(task.who):
                self._last_beats[task.who] = beat
                what = task.stage or "ask"
                aside = f"still running after {ticking(waited)}{self._arrived(task, now)}"
                lines.append(Line(Mark.STEP, task.detail, task.who, what, aside))
        return [*lines, *self._progress(activity, now)]

    def _arrived(self, task: activities.Task, now: float) -> str:
        """Return how much of a model's reply has arrived, and the last order in it."""
        if task.reply is None or not (text := task.reply.describe(now)):
            return ""
        if not task.reply.planned.count:
            return f"; {text}"
        order = task.reply.planned.latest[-1]
        return f"; {text}, now {self._protect(order.id)} {self._protect(order.title)}"

    def _progress(self, activity: activities.Activity, now: float) -> Iterator[Line]:
        """Yield a line that says how far a batch has come, where it is time for one."""
        if activity.progress is None or activity.started is None:
            self._last_progress = 0
            return
        passed = now - activity.started
        beat = int(passed / (self._every * _BEATS_PER_PROGRESS))
        if beat > self._last_progress:
            self._last_progress = beat
            text = activity.progress.describe(now, hidden=activity.progress.under_way)
            yield Line(Mark.STEP, text, BATCH, "progress", ticking(passed))


class Printer(Protocol):
    """Show lines, and the work under way."""

    def show(self, lines: Sequence[Line]) -> None:
        """Show the lines, as one piece."""

    def log(self, lines: Sequence[Line]) -> None:
        """Show the lines as `show` does; they say what has just happened."""

    def follow(self, event: events.Event) -> None:
        """Apply an event, which may change the work under way, to the display."""

    def close(self) -> None:
        """End the printer's work in the background."""


class OnDemand:
    """Open a printer when it is first used: the modules for a terminal take time to import."""

    def __init__(self, open_printer: Callable[[], Printer]) -> None:
        self._open = open_printer
        self._printer: Printer | None = None

    def show(self, lines: Sequence[Line]) -> None:
        if lines:
            self._opened().show(lines)

    def log(self, lines: Sequence[Line]) -> None:
        if lines:
            self._opened().log(lines)

    def follow(self, event: events.Event) -> None:
        self._opened().follow(event)

    def close(self) -> None:
        if self._printer is not None:
            self._printer.close()

    def _opened(self) -> Printer:
        if self._printer is None:
            self._printer = self._open()
        return self._printer


_AT_START: Final = re.compile(r"^(\s*:):", re.MULTILINE)
_ANYWHERE: Final = re.compile(r"##(?=\[)")


def runs_in_actions(environ: Mapping[str, str]) -> bool:
    return environ.get("GITHUB_ACTIONS") == "true"


def inert(text: str) -> str:
    """Return a text that people read with a space in all that the runner would obey."""
    return _ANYWHERE.sub("# #", _AT_START.sub(r"\1 :", text))


def inert_json(text: str) -> str:
    """Return an equal JSON document with nothing in it that the runner would obey.

    A line of it never begins with a colon, and a `#` can only be within a string.
    """
    return _ANYWHERE.sub(r"\\u0023#", text)


def uninterpreted(text: str) -> str:
    """Return a text that has to stay as it is, between lines that have the runner obey nothing.

    Nobody can foresee the word that ends this. Git and patch skip the two lines around a patch.
    """
    word = f"llmch-{secrets.token_hex(16)}"
    end = "" if not text or text.endswith("\n") else "\n"
    return f"::stop-commands::{word}\n{text}{end}::{word}::\n"
