"""Defines how the program asks a model: a request goes in, a completion comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol


class Api(StrEnum):
    """Represent the family of endpoints that a request is made for."""

    RESPONSES = "responses"
    CHAT = "chat"


class Role(StrEnum):
    """Represent the part of the program that makes a call. Each role may have its own model."""

    PLANNER = "planner"
    REVIEWER = "reviewer"
    FACTORY = "factory"


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Represent the position of a call in a run.

    A recorded reply is found by the request and its place.
    """

    role: Role
    attempt: int
    order: str | None = None

    def __str__(self) -> str:
        where = f" {self.order}" if self.order else ""
        return f"{self.role}{where} attempt {self.attempt}"


@dataclass(frozen=True, slots=True)
class ReplySchema:
    """Hold the JSON schema that a reply should follow, and the name that servers require for it."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """Represent one question to a model. Runs on the same inputs make equal requests.

    `max_output_tokens`, `temperature` and `reasoning_effort` are `None` where the server's own
    default applies. `expected_output_tokens` is what a whole reply should need: where a cap leaves
    less than `max_output_tokens`, but this much, the call is made with what the cap leaves. It is
    not sent, and no part of a transcript.
    """

    api: Api
    model: str
    prompt: str
    place: CallPlace
    reply_schema: ReplySchema | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    expected_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Hold the tokens and the cost of calls; `cost_usd` is `None` while any price is unknown."""

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
    """Hold a model's reply: its text, its visible reasoning if there is any, and its usage.

    `model` is the name that the server answered with. `replayed` is true where the reply came
    from a transcript and no model was asked. `adjustments` lists in words how the request had to
    be changed, such as a refused parameter that was dropped or another endpoint that was used.
    """

    text: str
    model: str
    usage: Usage
    reasoning: str = ""
    replayed: bool = False
    adjustments: tuple[str, ...] = field(default=())


class LlmClient(Protocol):
    """Answer requests. A live client, a transcript and a test's script all do."""

    def complete(self, request: Request) -> Completion:
        """Return the model's reply.

        Raises `ModelUnavailable` or `BudgetReached` where asking again would not help, and
        `ReplyFailed` where another attempt may succeed.
        """
        ...


class ReplyFailed(Exception):
    """Raised when a call brought no usable reply (refusal, truncation, transport).

    The next call may succeed. `message` says in words what came instead. `usage` is what the
    failed call took, as far as is known. `replayed` is true where the failure came from a
    transcript.
    """

    def __init__(self, message: str, usage: Usage | None = None, *, replayed: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.usage = usage if usage is not None else Usage(calls=1)
        self.replayed = replayed


class ReplyBroken(ReplyFailed):
    """Raised when a reply broke off on its way.

    The connection was lost, the server fell silent, or a stream had no proper end.
    """


class ReplyCutShort(ReplyFailed):
    """Raised when a reply reached its token limit before it was complete."""
