"""Renders the live region: the current work, its duration, and the model's latest text."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console as RichConsole
from rich.text import Text

from llmch.console.activity import Activity, Task
from llmch.console.clean import one_line
from llmch.console.figures import count, ticking
from llmch.console.line import ASCII_GLYPHS, GLYPHS, Mark, Span, Style
from llmch.console.planned_orders import PlannedOrder
from llmch.console.reply import ArrivingReply
from llmch.console.terminal.text import styled
from shared.events.model_calls import Channel

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
        bar = (GLYPHS if self._glyphs else ASCII_GLYPHS)[Mark.QUOTE]
        lines = self._orders(reply) if self._shows_orders(reply) else self._tail(reply)
        return [Text(f"    {bar} ", style=Style.FAINT).append_text(line) for line in lines]

    def _shows_orders(self, reply: ArrivingReply) -> bool:
        return bool(reply.planned.count) and reply.channel == Channel.TEXT

    def _orders(self, reply: ArrivingReply) -> list[Text]:
        planned = reply.planned
        lines = [self._order(each) for each in planned.latest]
        if arriving := self._fit(planned.latest[-1].field):
            lines[-1].append(f": {arriving} ...", style=str(Style.FAINT))
        return lines

    def _order(self, order: PlannedOrder) -> Text:
        return styled([Span(f"{self._fit(order.id)}  {self._fit(order.title)}", Style.FAINT)])

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
