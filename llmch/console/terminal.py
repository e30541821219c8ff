"""A terminal: lines in colour, and below them a region that shows what is going on."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console as RichConsole
from rich.text import Text

from llmch.console.activity import Activity, Task
from llmch.console.figures import count, ticking
from llmch.console.line import (
    ASCII_GLYPHS,
    GLYPHS,
    LaidOut,
    Line,
    Mark,
    Span,
    Style,
    Weight,
    lay_out,
)
from llmch.console.stream import Stream
from llmch.console.ticker import Ticker
from shared.events import Event

_FRAMES_PER_SECOND = 8
_FRAMES = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
_ASCII_FRAMES = ("|", "/", "-", "\\")
_TAIL_LINES = 3
_MAX_TASKS = 4
# Narrower, the columns would leave too little for the text: it goes on below, barely indented.
_MIN_COLUMNS = 60
_NARROW_INDENT = 4
_MIN_TEXT = 10  # narrower still, the terminal folds better than we do
# Line by line first: erasing downwards from the top corner, tmux takes for a cleared screen and
# keeps a copy of it among what was scrolled away.
_ERASE_BELOW = "\r\x1b[K\n\x1b[J\x1b[A"


class TerminalPrinter:
    """Shows lines in colour and, while something is under way, the live region below them.

    The cursor rests at the start of the region, not at its end: there it stays when the window
    changes its width and the terminal folds the region anew, so that all of it can be erased. It
    is never hidden, and so nothing needs to be restored after a SIGKILL.

    `protect` makes a model's text fit to be shown. Safe for threads.
    """

    def __init__(
        self, stream: Stream, activity: Activity, protect: Callable[[str], str], *, colour: bool
    ) -> None:
        self._stream = stream
        self._glyphs = stream.shows_glyphs
        self._activity = activity
        self._protect = protect
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._live = False
        self._drawn = False
        self._rich = RichConsole(
            file=io.StringIO(),  # rich only renders here; it never writes
            force_terminal=True,
            color_system="standard",  # the sixteen colours of the user's own theme
            no_color=not colour,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
        )

    def show(self, lines: Sequence[Line]) -> None:
        """Print the lines above the live region, but for those that it shows itself."""
        with self._lock:
            self._measure()
            self._draw(
                _hung(line, lay_out(line, glyphs=self._glyphs), self._rich)
                for line in lines
                if line.weight is not Weight.PASSING
            )

    def follow(self, event: Event) -> None:
        """Bring the live region up to the event; it is there while anything is under way."""
        with self._lock:
            self._activity.take(event)
            self._live = not self._activity.idle
        if not self._live:
            self.close()
        elif self._ticker is None:
            self._ticker = Ticker(1 / _FRAMES_PER_SECOND, self._refresh, "live region")

    def close(self) -> None:
        """Take the live region away."""
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.close()
        with self._lock:
            self._live = False
            if self._drawn:
                self._draw(())

    def _refresh(self) -> None:
        with self._lock:
            self._measure()
            self._draw(())

    def _measure(self) -> None:
        # Asked anew each time: the window may have changed, and COLUMNS, once exported, has not.
        self._rich.size = self._stream.size

    def _draw(self, lasting: Iterable[Text]) -> None:
        """Put lasting lines where the region began, and the region, as it is now, below them."""
        erase = _ERASE_BELOW if self._drawn else ""
        region = self._region() if self._live else []
        back = f"\x1b[{len(region) - 1}A\r" if len(region) > 1 else "\r" if region else ""
        above = "".join(f"{self._render(line)}\n" for line in lasting)
        below = "\n".join(self._render(line) for line in region)
        text = f"{erase}{above}{below}{back}"
        if text:
            self._stream.write(text)
        self._drawn = bool(region)

    def _render(self, line: Text) -> str:
        with self._rich.capture() as rendered:
            self._rich.print(line, soft_wrap=True, end="")
        return rendered.get()

    def _region(self) -> list[Text]:
        now = self._activity.clock()
        tasks = list(self._activity.tasks.values())[:_MAX_TASKS]
        lines = [line for task in tasks for line in self._task(task, now)]
        lines = [*lines, *self._tail(), self._footer(now)][: max(self._rich.height - 1, 1)]
        for line in lines:
            line.truncate(self._rich.width - 1, overflow="ellipsis" if self._glyphs else "crop")
        return lines

    def _task(self, task: Task, now: float) -> list[Text]:
        frames = _FRAMES if self._glyphs else _ASCII_FRAMES
        frame = frames[int(now * _FRAMES_PER_SECOND) % len(frames)]
        head = [Span(f"{frame} ", Style.COMMAND), Span(task.who, Style.STRONG)]
        if task.attempt:
            of = f" of {task.max_attempts}" if task.max_attempts else ""
            head.append(Span(f"  attempt {task.attempt}{of}"))
        if task.stage:
            head.append(Span(f"  {task.stage}"))
        head.append(Span(f"  {ticking(now - (task.waiting_since or task.since))}", Style.FAINT))
        lines = [_text(head)]
        if task.retry_at > now:
            wait = f"  asking again in {ticking(task.retry_at - now + 1)}"
            lines.append(_text([Span(wait, Style.DOUBTFUL)]))
        elif task.detail:
            arrived = self._activity.arriving_tokens
            so_far = f"  about {arrived:,} tokens so far" if arrived else ""
            lines.append(_text([Span(f"  {task.detail}{so_far}", Style.FAINT)]))
        return lines

    def _tail(self) -> list[Text]:
        """Return the last lines of what the model is writing, folded to the terminal's width."""
        if not self._activity.tail:
            return []
        width = max(self._rich.width - 7, 10)
        room = _TAIL_LINES * width
        text = Text(self._protect(self._activity.tail)[-room:].strip(), style=Style.FAINT)
        folded = text.wrap(self._rich, width, overflow="fold")[-_TAIL_LINES:]
        bar = (GLYPHS if self._glyphs else ASCII_GLYPHS)[Mark.QUOTE]
        return [Text(f"    {bar} ", style=Style.FAINT).append_text(line) for line in folded]

    def _footer(self, now: float) -> Text:
        activity = self._activity
        parts = [ticking(now - (activity.started or now))]
        if activity.orders:
            parts.append(f"{activity.orders_done} of {count(activity.orders, 'order')} done")
        if activity.input_tokens or activity.output_tokens:
            parts.append(f"{activity.input_tokens:,} tokens in, {activity.output_tokens:,} out")
        return _text([Span(f"  {', '.join(parts)}", Style.FAINT)])


def _text(spans: Sequence[Span]) -> Text:
    text = Text()
    for span in spans:
        text.append(span.text, style=str(span.style))
    return text


def _hung(line: Line, laid_out: LaidOut, console: RichConsole) -> Text:
    """Return the line folded to the terminal's width, what follows indented below its text.

    Commands to copy are left to the terminal to fold: a copy must not hold our line breaks.
    """
    prefix, body = _text(laid_out.prefix), _text(laid_out.body)
    width, indent = console.width, prefix.cell_len
    if line.mark is Mark.COPY or indent + body.cell_len <= width:
        return prefix.append_text(body)
    if width < _MIN_COLUMNS and indent > 2 * _NARROW_INDENT:
        prefix, body, indent = Text(), prefix.append_text(body), _NARROW_INDENT
    if width - indent < _MIN_TEXT:
        return prefix.append_text(body)
    first, *rest = body.wrap(console, width - indent, overflow="fold")
    return Text("\n").join([prefix.append_text(first), *(_indented(each, indent) for each in rest)])


def _indented(text: Text, indent: int) -> Text:
    return Text(" " * indent).append_text(text)
