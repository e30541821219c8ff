"""Prints plain lines to pipes, files, CI logs and simple terminals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from llmch.console.figures import ticking
from llmch.console.line import Line, Mark, lay_out
from llmch.console.narration.whole import BATCH
from llmch.console.stream import Stream
from llmch.console.ticker import Ticker

if TYPE_CHECKING:
    from llmch.console.activity import Activity, Task
    from shared.events.event import Event

HEARTBEAT_SECONDS = 30.0
"""The time that a command or a call runs before a line says that it still does.

The line is repeated each time the same time has passed again.
"""
_LOOKS_PER_BEAT = 6
_BEATS_PER_PROGRESS = 2


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Say what is special about the place where lines are read.

    `clock` gives the time that stands before what happened; it is `None` where something else adds
    times. `fit` changes a line so that nothing that reads along takes it for a command.
    """

    clock: Callable[[], datetime] | None = None
    fit: Callable[[str], str] = str


class PlainPrinter:
    """Write each line as it comes, without any control character."""

    def __init__(self, stream: Stream, surroundings: Surroundings) -> None:
        self._stream = stream
        self._glyphs = stream.shows_glyphs
        self._surroundings = surroundings

    def show(self, lines: Sequence[Line]) -> None:
        """Write the lines in one piece."""
        self._write(lines, "")

    def log(self, lines: Sequence[Line]) -> None:
        """Write the lines in one piece, each with the time of day in UTC before it."""
        clock = self._surroundings.clock
        self._write(lines, f"{clock().astimezone(UTC):%H:%M:%SZ} " if clock else "")

    def _write(self, lines: Sequence[Line], before: str) -> None:
        fit = self._surroundings.fit
        texts = [f"{fit(before + str(lay_out(line, glyphs=self._glyphs)))}\n" for line in lines]
        if texts:
            self._stream.write("".join(texts))

    def follow(self, event: Event) -> None:
        """Do nothing: the lines already say what happens."""

    def close(self) -> None:
        """Do nothing: this printer has no thread to end."""


class WatchfulPrinter(PlainPrinter):
    """Write plain lines, and a heartbeat for long waits: a silent log looks like a hung program.

    `protect` makes a model's text fit to be shown.
    """

    def __init__(
        self,
        stream: Stream,
        every: float,
        protect: Callable[[str], str],
        surroundings: Surroundings | None = None,
    ) -> None:
        super().__init__(stream, surroundings or Surroundings())
        self._protect = protect
        self._activity: Activity | None = None
        self._every = every
        self._last_beats: dict[str, tuple[float, int]] = {}
        self._last_progress = 0
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None

    def show(self, lines: Sequence[Line]) -> None:
        """Write the lines in one piece."""
        with self._lock:
            super().show(lines)

    def log(self, lines: Sequence[Line]) -> None:
        """Write the lines in one piece, each with the time of day in UTC before it."""
        with self._lock:
            super().log(lines)

    def follow(self, event: Event) -> None:
        """Note the event; the heartbeat runs from the first start of a task to `close`."""
        with self._lock:
            activity = self._activity or self._begin()
            activity.take(event)
        if self._ticker is None and not activity.idle:
            self._ticker = Ticker(self._every / _LOOKS_PER_BEAT, self._beat, "heartbeat")

    def close(self) -> None:
        """End the heartbeat."""
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.close()

    def _begin(self) -> Activity:
        from llmch.console.activity import Activity  # imports all events, which takes time

        self._activity = Activity()
        return self._activity

    def _beat(self) -> None:
        with self._lock:
            if self._activity is not None:
                super().log(self._due(self._activity))

    def _due(self, activity: Activity) -> list[Line]:
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

    def _arrived(self, task: Task, now: float) -> str:
        """Return how much of a model's reply has arrived, and the last order in it."""
        if task.reply is None or not (text := task.reply.describe(now)):
            return ""
        if not task.reply.planned.count:
            return f"; {text}"
        order = task.reply.planned.latest[-1]
        return f"; {text}, now {self._protect(order.id)} {self._protect(order.title)}"

    def _progress(self, activity: Activity, now: float) -> Iterator[Line]:
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
