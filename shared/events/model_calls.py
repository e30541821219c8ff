"""Defines what happens while a model is asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from shared.events.event import Event


@dataclass(frozen=True, slots=True)
class ModelCallStarted(Event):
    """Report that a request is sent, or looked up in a transcript.

    `order` is empty for a call that belongs to no order.
    """

    kind: ClassVar[str] = "model_call_started"
    place: str
    model: str
    order: str = ""


class Channel(StrEnum):
    """Name the part of a reply that a streamed piece belongs to."""

    TEXT = "text"
    REASONING = "reasoning"


@dataclass(frozen=True, slots=True)
class ModelTextArrived(Event):
    """Report a piece of a streamed reply."""

    kind: ClassVar[str] = "model_text_arrived"
    channel: Channel
    text: str
    order: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRetryScheduled(Event):
    """Report that a call failed for a passing reason and is made again after `wait_seconds`."""

    kind: ClassVar[str] = "model_retry_scheduled"
    reason: str
    wait_seconds: float
    retry: int
    order: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCallEnded(Event):
    """Report that a reply is complete; `seconds` includes all waiting."""

    kind: ClassVar[str] = "model_call_ended"
    place: str
    model: str
    seconds: float
    input_tokens: int
    output_tokens: int
    replayed: bool
    order: str = ""


@dataclass(frozen=True, slots=True)
class BudgetCommitted(Event):
    """Report what a capped command has spent, and what its calls under way may still take.

    `tokens` are input and output together; `cost_usd` is `None` while any price is unknown. A call
    that was cut off counts with the most that it could take: nobody knows what it cost.
    """

    kind: ClassVar[str] = "budget_committed"
    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class UsageCounted(Event):
    """Report the usage of the live calls for an order; of all in the run where `order` is empty.

    `cost_usd` is `None` while any price is unknown.
    """

    kind: ClassVar[str] = "usage_counted"
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None
    replayed_calls: int
    order: str = ""
