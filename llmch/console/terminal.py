"""A terminal: lines in colour, and below them a region that shows what is going on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console as RichConsole
from rich.console import Group
from rich.live import Live
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


class TerminalPrinter:
    """Shows lines in colour and, while something is under way, the live region below them.

    `protect` makes a model's text fit to be shown. Safe for threads.
    """

    def __init__(
        self,
        stream: Stream,
        activity: Activity,
        protect: Callable[[str], str],
        *,
        colour: bool,
        environ: Mapping[str, str],
    ) -> None:
        self._glyphs = stream.shows_glyphs
        self._activity = activity
        self._protect = protect
        # Held for moments only, and never while calling rich, which has locks of its own.
        self._activity_lock = threading.Lock()
        self._rich = RichConsole(
            file=stream,  # type: ignore[arg-type]  # rich writes, flushes and asks isatty, no more
            force_terminal=True,
            color_system="standard",  # the sixteen colours of the user's own theme
            no_color=not colour,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
            # COLUMNS and LINES, once exported, no longer follow the window.
            _environ={"TERM": environ.get("TERM", "")},
        )
        self._live: Live | None = None
        self._ticker: Ticker | None = None

    def show(self, lines: Sequence[Line]) -> None:
        """Print the lines above the live region, but for those that it shows itself."""
        for line in lines:
            if line.weight is Weight.PASSING:
                continue
            text = _hung(line, lay_out(line, glyphs=self._glyphs), self._rich)
            self._rich.print(text, soft_wrap=True)

    def follow(self, event: Event) -> None:
        """Bring the live region up to the event; it is there while anything is under way."""
        with self._activity_lock:
            self._activity.take(event)
        if self._activity.idle:
            self.close()
        elif self._live is None:
            self._live = Live(
                console=self._rich,
                get_renderable=self._region,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                vertical_overflow="crop",
            )
            self._live.start()
            self._ticker = Ticker(1 / _FRAMES_PER_SECOND, self._live.refresh, "live region")

    def close(self) -> None:
        """Take the live region away."""
        live, self._live = self._live, None
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.close()
        if live is not None:
            live.stop()

    def _region(self) -> Group:
        with self._activity_lock:
            now = self._activity.clock()
            tasks = list(self._activity.tasks.values())[:_MAX_TASKS]
            lines = [line for task in tasks for line in self._task(task, now)]
            lines += [*self._tail(), self._footer(now)]
        for line in lines:
            line.truncate(self._rich.width - 1, overflow="ellipsis" if self._glyphs else "crop")
        return Group(*lines)

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
    if width < _MIN_COLUMNS:
        prefix, body, indent = Text(), prefix.append_text(body), _NARROW_INDENT
    first, *rest = body.wrap(console, max(width - indent, 1), overflow="fold")
    return Text("\n").join([prefix.append_text(first), *(_indented(each, indent) for each in rest)])


def _indented(text: Text, indent: int) -> Text:
    return Text(" " * indent).append_text(text)
