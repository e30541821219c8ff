"""Renders the live region: the current work, its duration, and the model's latest text."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console as RichConsole
from rich.text import Text

from llmch.console.activity import Activity, Task
from llmch.console.figures import count, ticking
from llmch.console.line import ASCII_GLYPHS, GLYPHS, Mark, Span, Style
from llmch.console.terminal.text import styled

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
        tasks = list(self._activity.tasks.values())[:_MAX_TASKS]
        lines = [line for task in tasks for line in self._task(task, now)]
        lines = [*lines, *self._tail(), self._footer(now)][: max(self._rich.height - 1, 1)]
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
            arrived = self._activity.arriving_tokens
            so_far = f"  about {arrived:,} tokens so far" if arrived else ""
            lines.append(styled([Span(f"  {task.detail}{so_far}", Style.FAINT)]))
        return lines

    def _tail(self) -> list[Text]:
        """Return the last lines of the model's current text, folded to the terminal's width."""
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
        return styled([Span(f"  {', '.join(parts)}", Style.FAINT)])
