"""What a model is to the rest of the program: a request goes in, a completion comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol


class Api(StrEnum):
    """The endpoint family a request is made for."""

    RESPONSES = "responses"
    CHAT = "chat"


class Role(StrEnum):
    """On whose behalf a call is made; each may have its own model."""

    PLANNER = "planner"
    REVIEWER = "reviewer"
    FACTORY = "factory"


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where in a run a call stands. With the request itself it is the key of a recorded reply."""

    role: Role
    attempt: int
    order: str | None = None

    def __str__(self) -> str:
        where = f" {self.order}" if self.order else ""
        return f"{self.role}{where} attempt {self.attempt}"


@dataclass(frozen=True, slots=True)
class ReplySchema:
    """The JSON schema a reply should follow, under the name that servers want for it."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. Holds nothing that changes between runs on the same inputs.

    `max_output_tokens`, `temperature` and `reasoning_effort` are `None` where the server's own
    default is wanted.
    """

    api: Api
    model: str
    prompt: str
    place: CallPlace
    reply_schema: ReplySchema | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of one or more calls; `cost_usd` is `None` while any price is unknown."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost_usd=(self.cost_usd or Decimal(0)) + (other.cost_usd or Decimal(0))
            if known
            else None,
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply: its text, its visible reasoning if any, and what it took.

    `model` is the name the server answered with; `replayed` is true where nothing was asked and
    the reply came from a transcript; `adjustments` lists in words what had to be changed about
    the request (a refused parameter dropped, another endpoint used).
    """

    text: str
    model: str
    usage: Usage
    reasoning: str = ""
    replayed: bool = False
    adjustments: tuple[str, ...] = field(default=())


class LlmClient(Protocol):
    """Anything that answers a request: the live transport, a transcript, a test's script."""

    def complete(self, request: Request) -> Completion:
        """Return the model's reply.

        Raises `ModelUnavailable` or `BudgetReached` where asking again would not help, and
        `ReplyFailed` where another attempt might.
        """
        ...


class ReplyFailed(Exception):
    """This call brought no usable reply (refusal, truncation, transport), but the next one may.

    `message` says in words what came instead; `usage` is what the call took all the same, as far
    as is known; `replayed` is true where the failure came from a transcript.
    """

    def __init__(self, message: str, usage: Usage | None = None, *, replayed: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.usage = usage if usage is not None else Usage(calls=1)
        self.replayed = replayed


class ReplyBroken(ReplyFailed):
    """The reply broke off on its way: a lost connection, silence, a stream without its end."""


class ReplyCutShort(ReplyFailed):
    """The reply reached its token limit before it was complete."""
