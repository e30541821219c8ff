"""Tracks the work under way, for the live region and the heartbeat. The module does no I/O."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from llmch.console.narration.whole import PLAN
from llmch.console.progress import Progress
from llmch.console.reply import ArrivingReply
from shared.events.attempts import AttemptFailed, AttemptStarted, StageStarted
from shared.events.event import Event
from shared.events.model_calls import (
    ModelCallEnded,
    ModelCallStarted,
    ModelRetryScheduled,
    ModelTextArrived,
)
from shared.events.order_commands import CommandEnded, CommandStarted
from shared.events.orders import (
    BatchEnded,
    BatchStarted,
    CandidateDropped,
    OrderEnded,
    OrderStarted,
)
from shared.events.plans import PlanAttemptStarted, PlanEnded, PlanJudged, PlanReviewed, PlanStarted
from shared.llm.client import Role


@dataclass(slots=True)
class Task:
    """Describe an order, or the plan, that is being worked on.

    Times are seconds of the activity's clock.
    """

    who: str
    since: float
    max_attempts: int = 0
    attempt: int = 0
    stage: str = ""
    detail: str = ""
    """The command or the model that the task waits for; empty while it waits for neither."""
    waiting_since: float = 0.0
    retry_at: float = 0.0
    reply: ArrivingReply | None = None
    """What has arrived of the reply, while a model is asked."""


@dataclass(slots=True)
class Activity:
    """Follow the events, and record which tasks run and since when."""

    clock: Callable[[], float] = time.monotonic
    tasks: dict[str, Task] = field(default_factory=dict)
    started: float | None = None
    progress: Progress | None = None
    """How far the batch has come, while one is under way."""
    input_tokens: int = 0
    output_tokens: int = 0
    _asking: str = ""
    """The task that asked a model last; a piece of text may name no order."""

    @property
    def idle(self) -> bool:
        """Return whether nothing is under way."""
        return self.started is None

    def take(self, event: Event) -> None:
        """Apply the event to the state."""
        if self.progress is not None:
            self.progress.take(event, self.clock())
        match event:
            case PlanStarted(max_attempts=most):
                self._begin(PLAN, most)
            case OrderStarted(order=order, max_attempts=most):
                self._begin(order, most)
            case BatchStarted(orders=orders):
                self.progress, self.started = Progress(orders), self.clock()
            case PlanEnded():
                self._end(PLAN)
            case OrderEnded(order=order):
                self._end(order)
            case BatchEnded():
                self.progress = None
                self.tasks.clear()
                self.started = None
            case _:
                self._take_step(event)

    def _take_step(self, event: Event) -> None:
        match event:
            case PlanAttemptStarted(attempt):
                self._set(PLAN, attempt=attempt, stage="")
            case AttemptStarted(order, attempt):
                self._set(order, attempt=attempt, stage="")
            case StageStarted(order, attempt, stage):
                self._set(order, attempt=attempt, stage=stage)
            case CommandStarted(order, purpose, command):
                self._set(order, stage=purpose, detail=f"$ {command}")
            case CommandEnded(order=order) | AttemptFailed(order=order):
                self._set(order)
            case CandidateDropped(order=order):
                self._set(order, stage="")
            case PlanJudged() | PlanReviewed():
                self._set(PLAN)
            case _:
                self._take_call(event)

    def _take_call(self, event: Event) -> None:
        match event:
            case ModelCallStarted(place, model, order):
                self._asking = order or PLAN
                # The planner and its reviewer are asked about the same plan.
                stage = None if order else "review" if place.startswith(Role.REVIEWER) else ""
                self._set(self._asking, stage=stage, detail=model, reply=ArrivingReply())
            case ModelTextArrived(channel, text, order):
                task = self.tasks.get(order or PLAN) or self.tasks.get(self._asking)
                if task is not None and task.reply is not None:
                    task.reply.add(channel, text, self.clock())
            case ModelRetryScheduled(wait_seconds=wait, order=order):
                if (task := self.tasks.get(order or PLAN)) is not None:
                    task.retry_at = self.clock() + wait
                    task.reply = ArrivingReply()
            case ModelCallEnded(order=order):
                self._set(order or PLAN)
                if not event.replayed:
                    self.input_tokens += event.input_tokens
                    self.output_tokens += event.output_tokens
            case _:
                pass

    def _begin(self, who: str, max_attempts: int) -> None:
        now = self.clock()
        self.tasks[who] = Task(who, now, max_attempts)
        if self.started is None:
            self.started = now

    def _end(self, who: str) -> None:
        self.tasks.pop(who, None)
        if not self.tasks and self.progress is None:
            self.started = None

    def _set(
        self,
        who: str,
        *,
        attempt: int | None = None,
        stage: str | None = None,
        detail: str = "",
        reply: ArrivingReply | None = None,
    ) -> None:
        task = self.tasks.get(who)
        if task is None:
            return
        task.attempt = task.attempt if attempt is None else attempt
        task.stage = task.stage if stage is None else stage
        task.detail, task.waiting_since, task.retry_at = detail, self.clock(), 0.0
        task.reply = reply
