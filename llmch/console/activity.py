"""Tracks the work under way, how far orders have come, and how long the rest may take.

Nothing is said before there is evidence, and what is said is a range: orders differ from each
other, and few of them are seen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, variance

from llmch.console.line import PLAN, cost, count
from llmch.console.model_reply import ArrivingReply
from shared.events import events
from shared.llm.model_client import Role

_LEAST_LANDED = 2
# Few orders say little of how much orders differ. So the deviation begins with an assumption, half
# of the mean, that weighs as much as two of them.
_ASSUMED_DEVIATION = 0.5
_ASSUMED_WEIGHT = 2
# Deviations on each side. Where durations differ by half (lognormal, sigma 0.5), the end then lies
# in the range four times in five; a test simulates it.
_WIDTH = 1.5
_MINUTES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
_HOURS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
_STEPS = (*_MINUTES, *(60 * each for each in _HOURS))


@dataclass(frozen=True, slots=True)
class WorkedTime:
    """Say when the work on an order that landed began and ended, in seconds of one clock."""

    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Hold the least and the most seconds that the rest may take."""

    least: float
    most: float


def expect(
    landed: Sequence[WorkedTime], under_way: Sequence[float], to_begin: int
) -> TimeLeft | None:
    """Return how long the rest may take; `None` if too little has landed to say it.

    `under_way` has, for each order that is not over, the seconds of work on it so far. `to_begin`
    is the number of orders that nobody has begun. The orders that landed show how long an order
    takes, and how many are worked on at a time.
    """
    left = len(under_way) + to_begin
    if len(landed) < _LEAST_LANDED or not left:
        return None
    lengths = [each.ended - each.began for each in landed]
    margin = _WIDTH * _deviation(lengths)
    # The error of a sum, and that of the mean of what was seen, which all that is left shares.
    error = margin * math.sqrt(left + left**2 / len(landed))
    at_a_time = _at_a_time(landed)
    # A few long orders draw the mean up, and there may be more of them or not.
    low, high = sorted((median(lengths), fmean(lengths)))
    # However many are worked on at a time, the last one takes its own time.
    last = high if to_begin else max(high - each for each in under_way)
    single = max(last, 0.0) + margin * math.sqrt(1 + 1 / len(landed))
    # An order that takes longer than usual may take as long again.
    late = [each for each in under_way if each > high]
    return TimeLeft(
        least=max((_work(low, under_way, to_begin) - error) / at_a_time, 0.0),
        most=max(
            (_work(high, under_way, to_begin) + error + sum(late)) / at_a_time,
            single + max(late, default=0.0),
        ),
    )


def _deviation(lengths: Sequence[float]) -> float:
    """Return the standard deviation of an order's duration, as far as a few show it."""
    assumed = _ASSUMED_WEIGHT * (_ASSUMED_DEVIATION * fmean(lengths)) ** 2
    seen = (len(lengths) - 1) * variance(lengths)
    return math.sqrt((assumed + seen) / (_ASSUMED_WEIGHT + len(lengths) - 1))


def _work(usual: float, under_way: Sequence[float], to_begin: int) -> float:
    """Return the seconds of work that are left where each order takes as long as `usual`."""
    return to_begin * usual + sum(max(usual - each, 0.0) for each in under_way)


def _at_a_time(landed: Sequence[WorkedTime]) -> float:
    """Return how many orders were worked on at a time, on average, while there was any."""
    busy, until = 0.0, -math.inf
    for each in sorted(landed, key=lambda one: one.began):
        busy += max(0.0, each.ended - max(each.began, until))
        until = max(until, each.ended)
    return max(1.0, sum(each.ended - each.began for each in landed) / busy) if busy else 1.0


def render_left(left: TimeLeft) -> str:
    """Return the range in words, in steps that do not pretend to more than is known."""
    least, most = left.least / 60, left.most / 60
    if most <= 1:
        return "less than a minute left"
    bottom = max((each for each in _STEPS if each <= least), default=0)
    top = min((each for each in _STEPS if each >= most), default=0)
    if not top:
        return f"{_in_words(bottom)} or more left" if bottom else ""
    if not bottom:
        return f"up to about {_in_words(top)} left"
    if bottom == top:
        return f"about {_in_words(top)} left"
    if (bottom < 60) == (top < 60):
        return f"about {_in_words(bottom).split()[0]} to {_in_words(top)} left"
    return f"about {_in_words(bottom)} to {_in_words(top)} left"


def _in_words(minutes: int) -> str:
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h"


@dataclass(slots=True)
class BatchProgress:
    """Count the orders of a batch; times are seconds of the caller's clock."""

    orders: int
    over: int = 0
    failed: int = 0
    attempts: int = 0
    spent: float | None = 0.0
    """The cost of the finished orders in US dollars; `None` if a price is unknown."""
    _under_way: dict[str, float] = field(default_factory=dict)
    _landed: list[WorkedTime] = field(default_factory=list)
    _replayed: set[str] = field(default_factory=set)

    def take(self, event: events.Event, now: float) -> None:
        match event:
            case events.OrderStarted(order=order):
                self._under_way.setdefault(order, now)
            case events.AttemptStarted():
                self.attempts += 1
            case events.OrderSkipped():
                self.over += 1
            case events.ModelCallEnded(order=order, replayed=True):
                # It took no time, so the order says nothing of how long others take.
                self._replayed.add(order)
            case events.UsageCounted(order=order, cost_usd=usd) if order:
                known = self.spent is not None and usd is not None
                self.spent = (self.spent or 0.0) + (usd or 0.0) if known else None
            case events.OrderEnded():
                self._end(event, now)
            case _:
                pass

    def _end(self, event: events.OrderEnded, now: float) -> None:
        self.over += 1
        self.failed += event.verdict != "PASS"
        began = self._under_way.pop(event.order, now)
        if event.verdict == "PASS" and event.order not in self._replayed:
            self._landed.append(WorkedTime(began, now))

    def describe(self, now: float, *, hidden: int = 0) -> str:
        """Return how far the batch has come, and how much longer it may take.

        `hidden` of the orders under way are not shown elsewhere, so they are counted here.
        """
        text = f"{self.over} of {count(self.orders, 'order')} done"
        if self.spent:
            text += f" ({cost(self.spent)})"
        if self.failed:
            text += f", {self.failed} failed"
        if hidden:
            text += f", {hidden} {'more ' if hidden < len(self._under_way) else ''}under way"
        left = self.left(now)
        return f"{text}; {left}" if left else text

    def left(self, now: float) -> str:
        """Return how much longer the batch may take; "" while nothing speaks for any figure."""
        times = [now - began for began in self._under_way.values()]
        to_begin = max(0, self.orders - self.over - len(times))
        found = expect(self._landed, times, to_begin)
        return "" if found is None else render_left(found)

    @property
    def under_way(self) -> int:
        return len(self._under_way)


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
    """The part of the reply that has arrived, while a model is asked."""


@dataclass(slots=True)
class Activity:
    """Follow the events, and record which tasks run and since when."""

    clock: Callable[[], float] = time.monotonic
    tasks: dict[str, Task] = field(default_factory=dict)
    started: float | None = None
    progress: BatchProgress | None = None
    """How far the batch has come, while one is under way."""
    input_tokens: int = 0
    output_tokens: int = 0
    _asking: str = ""
    """The task that asked a model last; a piece of text may name no order."""

    @property
    def idle(self) -> bool:
        return self.started is None

    def take(self, event: events.Event) -> None:
        if self.progress is not None:
            self.progress.take(event, self.clock())
        match event:
            case events.PlanStarted(max_attempts=most):
                self._begin(PLAN, most)
            case events.OrderStarted(order=order, max_attempts=most):
                self._begin(order, most)
            case events.BatchStarted(orders=orders):
                self.progress, self.started = BatchProgress(orders), self.clock()
            case events.PlanEnded():
                self._end(PLAN)
            case events.OrderEnded(order=order):
                self._end(order)
            case events.BatchEnded():
                self.progress = None
                self.tasks.clear()
                self.started = None
            case _:
                self._take_step(event)

    def _take_step(self, event: events.Event) -> None:
        match event:
            case events.PlanAttemptStarted(attempt):
                self._set(PLAN, attempt=attempt, stage="")
            case events.AttemptStarted(order, attempt):
                self._set(order, attempt=attempt, stage="")
            case events.StageStarted(order, attempt, stage):
                self._set(order, attempt=attempt, stage=stage)
            case events.CommandStarted(order, purpose, command):
                self._set(order, stage=purpose, detail=f"$ {command}")
            case events.AgentStarted(order=order, agent=agent):
                self._set(order, stage="agent", detail=agent)
            case events.AgentActed(order=order, turn=turn):
                taken = event.input_tokens + event.output_tokens
                self._set(order, detail=f"{count(turn, 'call')}, {taken:,} tokens")
            case events.CommandEnded(order=order) | events.AttemptFailed(order=order):
                self._set(order)
            case events.CandidateDropped(order=order):
                self._set(order, stage="")
            case events.PlanJudged() | events.PlanReviewed():
                self._set(PLAN)
            case _:
                self._take_call(event)

    def _take_call(self, event: events.Event) -> None:
        match event:
            case events.ModelCallStarted(place, model, order):
                self._asking = order or PLAN
                # The planner and its reviewer are asked about the same plan.
                stage = None if order else "review" if place.startswith(Role.REVIEWER) else ""
                self._set(self._asking, stage=stage, detail=model, reply=ArrivingReply())
            case events.ModelTextArrived(channel, text, order):
                task = self.tasks.get(order or PLAN) or self.tasks.get(self._asking)
                if task is not None and task.reply is not None:
                    task.reply.add(channel, text, self.clock())
            case events.ModelRetryScheduled(wait_seconds=wait, order=order):
                if (task := self.tasks.get(order or PLAN)) is not None:
                    task.retry_at = self.clock() + wait
                    task.reply = ArrivingReply()
            case events.ModelCallEnded(order=order):
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
