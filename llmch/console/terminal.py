"""Shows lines in colour, and below them a live region; the only code that knows rich."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console as RichConsole
from rich.text import Text

from llmch.console.activity import Activity, Task
from llmch.console.line import (
    LaidOut,
    Line,
    Mark,
    Span,
    Style,
    Weight,
    count,
    lay_out,
    one_line,
    ticking,
)
from llmch.console.model_reply import ArrivingReply
from llmch.console.plain_printer import Stream, Ticker
from shared.events.events import Channel, Event

# On a narrower terminal the columns would leave too little room for the text, so the text is
# folded over the whole width with a small indent.
_MIN_COLUMNS = 60
_NARROW_INDENT = 4
_MIN_TEXT = 10  # with less room than this, the terminal folds better than we do


def styled(spans: Sequence[Span]) -> Text:
    """Return the spans as one text in their styles."""
    text = Text()
    for span in spans:
        text.append(span.text, style=str(span.style))
    return text


def folded(line: Line, laid_out: LaidOut, console: RichConsole) -> Text:
    """Return the line folded to the terminal's width, its further lines indented below its text.

    A command to copy is left to the terminal to fold: a copy must not hold our line breaks.
    """
    prefix, body = styled(laid_out.prefix), styled(laid_out.body)
    width, indent = console.width, prefix.cell_len
    if line.mark is Mark.COPY or indent + body.cell_len <= width:
        return prefix.append_text(body)
    if width < _MIN_COLUMNS and indent > 2 * _NARROW_INDENT:
        prefix, body, indent = Text(), prefix.append_text(body), _NARROW_INDENT
    if width - indent < _MIN_TEXT:
        return prefix.append_text(body)
    first, *rest = body.wrap(console, width - indent, overflow="fold")
    below = (Text(" " * indent).append_text(each) for each in rest)
    return Text("\n").join([prefix.append_text(first), *below])


FRAMES_PER_SECOND = 8
_FRAMES = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
_ASCII_FRAMES = ("|", "/", "-", "\\")
_TAIL_LINES = 3
_MAX_TASKS = 4


class LiveRegion:
    """Render the activity as lines that fit the size of `console`.

    `protect` makes a model's text fit to be shown.
    """

    def __init__(
        self,
        activity: Activity,
        protect: Callable[[str], str],
        console: RichConsole,
        *,
        glyphs: bool,
    ) -> None:
        self._activity = activity
        self._protect = protect
        self._rich = console
        self._glyphs = glyphs

    def lines(self) -> list[Text]:
        """Return the lines of the region at this moment, cut to the terminal's size."""
        now = self._activity.clock()
        tasks = list(self._activity.tasks.values())
        # The text of one reply at a time: that of the last to speak would change with each frame.
        heard = next((task for task in tasks if task.reply and task.reply.tail), None)
        shown = []
        for task in tasks[:_MAX_TASKS]:
            shown += self._task(task, now)
            if task is heard and task.reply is not None:
                shown += self._arriving(task.reply)
        footer = self._footer(now, len(tasks[_MAX_TASKS:]))
        room = max(self._rich.height - 1, 1)
        lines = [*shown[: max(room - len(footer), 0)], *footer][:room]
        for line in lines:
            line.truncate(self._rich.width - 1, overflow="ellipsis" if self._glyphs else "crop")
        return lines

    def _task(self, task: Task, now: float) -> list[Text]:
        frames = _FRAMES if self._glyphs else _ASCII_FRAMES
        frame = frames[int(now * FRAMES_PER_SECOND) % len(frames)]
        head = [Span(f"{frame} ", Style.COMMAND), Span(task.who, Style.STRONG)]
        if task.attempt:
            of = f" of {task.max_attempts}" if task.max_attempts else ""
            head.append(Span(f"  attempt {task.attempt}{of}"))
        if task.stage:
            head.append(Span(f"  {task.stage}"))
        head.append(Span(f"  {ticking(now - (task.waiting_since or task.since))}", Style.FAINT))
        lines = [styled(head)]
        if task.retry_at > now:
            wait = f"  asking again in {ticking(task.retry_at - now + 1)}"
            lines.append(styled([Span(wait, Style.DOUBTFUL)]))
        elif task.detail:
            arrived = task.reply.describe(now) if task.reply else ""
            so_far = f"  {arrived}" if arrived else ""
            lines.append(styled([Span(f"  {task.detail}{so_far}", Style.FAINT)]))
        return lines

    def _arriving(self, reply: ArrivingReply) -> list[Text]:
        """Return the latest orders of a plan that is arriving, else the latest lines of text."""
        bar = Mark.QUOTE.sign(glyphs=self._glyphs)
        lines = self._orders(reply) if self._shows_orders(reply) else self._tail(reply)
        return [Text(f"    {bar} ", style=Style.FAINT).append_text(line) for line in lines]

    def _shows_orders(self, reply: ArrivingReply) -> bool:
        return bool(reply.planned.count) and reply.channel == Channel.TEXT

    def _orders(self, reply: ArrivingReply) -> list[Text]:
        planned = reply.planned
        names = [f"{self._fit(each.id)}  {self._fit(each.title)}" for each in planned.latest]
        lines = [styled([Span(each, Style.FAINT)]) for each in names]
        if arriving := self._fit(planned.latest[-1].field):
            lines[-1].append(f": {arriving} ...", style=str(Style.FAINT))
        return lines

    def _fit(self, text: str) -> str:
        return one_line(self._protect(text))

    def _tail(self, reply: ArrivingReply) -> list[Text]:
        """Return the last lines of a model's text, folded to the terminal's width."""
        width = max(self._rich.width - 7, 10)
        room = _TAIL_LINES * width
        shown = self._protect(reply.tail)[-room:].strip()
        if not shown:
            return []
        text = Text(shown, style=Style.FAINT)
        return list(text.wrap(self._rich, width, overflow="fold")[-_TAIL_LINES:])

    def _footer(self, now: float, hidden: int) -> list[Text]:
        activity = self._activity
        first, second = [ticking(now - (activity.started or now))], []
        if activity.progress is not None:
            first.append(activity.progress.describe(now, hidden=hidden))
            if activity.progress.attempts > 1:
                second.append(count(activity.progress.attempts, "attempt"))
        if activity.input_tokens or activity.output_tokens:
            second.append(f"{activity.input_tokens:,} tokens in, {activity.output_tokens:,} out")
        lines = (", ".join(parts) for parts in (first, second) if parts)
        return [styled([Span(f"  {line}", Style.FAINT)]) for line in lines]


# The current line is erased first, and then everything below it. If everything were erased at
# once from the top corner, tmux would take that for a cleared screen and keep a copy of the
# screen in its scroll-back.
_ERASE_BELOW = "\r\x1b[K\n\x1b[J\x1b[A"


class TerminalPrinter:
    """Show lines in colour and, while work is under way, the live region below them.

    The cursor rests at the start of the region, not at its end. It stays there when the window
    changes its width and the terminal folds the region anew, so that the whole region can be
    erased. The cursor is never hidden, so nothing needs to be restored after a SIGKILL. The `Live`
    of rich does neither.

    `protect` makes a model's text fit to be shown. The printer is safe for threads.
    """

    def __init__(
        self, stream: Stream, activity: Activity, protect: Callable[[str], str], *, colour: bool
    ) -> None:
        self._stream = stream
        self._glyphs = stream.shows_glyphs
        self._activity = activity
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
        self._region = LiveRegion(activity, protect, self._rich, glyphs=self._glyphs)

    def show(self, lines: Sequence[Line]) -> None:
        """Print the lines above the live region, except those that the region shows itself."""
        with self._lock:
            self._measure()
            self._draw(
                folded(line, lay_out(line, glyphs=self._glyphs), self._rich)
                for line in lines
                if line.weight is not Weight.PASSING
            )

    def log(self, lines: Sequence[Line]) -> None:
        """Print the lines; whoever sits at the terminal needs no times."""
        self.show(lines)

    def follow(self, event: Event) -> None:
        """Apply the event to the live region, which is shown while work is under way."""
        with self._lock:
            self._activity.take(event)
            self._live = not self._activity.idle
        if not self._live:
            self.close()
        elif self._ticker is None:
            self._ticker = Ticker(1 / FRAMES_PER_SECOND, self._refresh, "live region")

    def close(self) -> None:
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
        # The size is read each time: the window may change, but an exported COLUMNS does not.
        self._rich.size = self._stream.size

    def _draw(self, lasting: Iterable[Text]) -> None:
        """Print lasting lines where the region began, and the current region below them."""
        erase = _ERASE_BELOW if self._drawn else ""
        region = self._region.lines() if self._live else []
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
