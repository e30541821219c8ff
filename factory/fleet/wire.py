"""Renders the steps of orders, and what came of them, as JSON for the queue, and parses them.

Texts of models and commands may hold any character: all goes as ASCII.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from factory.attempt.state import Attempt, FactoryState
from factory.fleet.jobs import JobMisread, Refusal
from factory.fleet.shared_options import SharedOptions
from factory.judging.evidence import Evidence
from factory.judging.known_commits import KnownCommit
from factory.orders.documents import AttemptRecord, CommandFlag
from factory.orders.past_attempt import PastAttempt
from factory.orders.task import OrderResult, OrderTask
from factory.orders.verdict import Errored, Failed, Passed
from factory.orders.verified_by import VerifiedBy
from factory.run.steps import Making
from shared import errors
from shared.errors import LlmchError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StateDocument:
    """Hold a `FactoryState`, less a verdict, which the result has."""

    attempt: Attempt
    past: tuple[PastAttempt, ...]
    records: tuple[AttemptRecord, ...]
    evidence: Evidence | None
    verdict: Passed | Failed | None


@dataclass(frozen=True, slots=True)
class StepDocument:
    """Hold a step with all that it takes: `run` names its refs, `replies` its replies on record."""

    run: str
    replies: str
    repo: str
    """The name of the repo's folder, which is the name of each workspace."""
    remote: str
    task: OrderTask
    state: StateDocument | None
    parent: str
    options: SharedOptions
    base: KnownCommit
    """What is known of the commit that the run began on."""


@dataclass(frozen=True, slots=True)
class ResultDocument:
    """Hold an `OrderResult`; `error` is what ends the whole run, if anything does."""

    verdict: Passed | Failed | None
    cause: str
    error: Refusal | None
    records: tuple[AttemptRecord, ...]
    flags: tuple[CommandFlag, ...]
    verified_by: VerifiedBy | None


@dataclass(frozen=True, slots=True)
class UsageDocument:
    """Hold the tokens that a step took; `replayed` counts the replies that were on record."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: str | None = "0"
    replayed: int = 0


@dataclass(frozen=True, slots=True)
class OutcomeDocument:
    """Hold how far a step brought an order, and all that a local run would have recorded.

    `files` are those of the order's folder by their path in it, in base64. `events` and `entries`
    are what was announced, and what the journal gets.
    """

    state: StateDocument
    result: ResultDocument | None
    unfit: str
    files: Mapping[str, str]
    events: tuple[Mapping[str, Any], ...]
    entries: tuple[str, ...]
    usage: UsageDocument


def render(document: object) -> str:
    """Return a document of this file as one text of ASCII."""
    adapter = _adapter(type(document))
    # A mapping that nobody may change is none that pydantic knows.
    return json.dumps(adapter.dump_python(document, mode="json", fallback=_plain, warnings=False))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} does not go through the queue")


def parse(kind: type[T], text: object) -> T:
    """Return the document that `render` made. Raises `JobMisread` where it is not one."""
    from pydantic import ValidationError

    if not isinstance(text, str):
        raise JobMisread(f"the job has no {kind.__name__}")
    try:
        parsed: T = _adapter(kind).validate_python(json.loads(text))
    except (ValidationError, ValueError, RecursionError) as error:
        raise JobMisread(f"{kind.__name__} cannot be read: {str(error)[:300]}") from None
    return parsed


_ADAPTERS: dict[type, Any] = {}


def _adapter(kind: type) -> Any:
    from pydantic import TypeAdapter

    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def state_document(state: FactoryState) -> StateDocument:
    """Return a state as it goes through the queue."""
    verdict = state["verdict"]
    return StateDocument(
        state["attempt"],
        state["past"],
        state["records"],
        state["evidence"],
        None if isinstance(verdict, Errored) else verdict,
    )


def state_of(document: StateDocument) -> FactoryState:
    """Return the state that came through the queue."""
    return FactoryState(
        attempt=document.attempt,
        past=document.past,
        records=document.records,
        evidence=document.evidence,
        verdict=document.verdict,
    )


def result_document(result: OrderResult | None) -> ResultDocument | None:
    """Return a result as it goes through the queue."""
    if result is None:
        return None
    verdict, cause, error = result.verdict, "", None
    if isinstance(verdict, Errored):
        cause = verdict.cause
        error = refusal_of(verdict.error) if verdict.error else None
    return ResultDocument(
        None if isinstance(verdict, Errored) else verdict,
        cause,
        error,
        result.records,
        result.flags,
        result.verified_by,
    )


def making_of(document: OutcomeDocument) -> Making:
    """Return how far an order has come, as it came through the queue."""
    found = document.result
    if found is None:
        return Making(state_of(document.state), None, document.unfit)
    verdict = found.verdict or Errored(found.cause, error_of(found.error) if found.error else None)
    result = OrderResult(verdict, found.records, found.flags, found.verified_by)
    return Making(state_of(document.state), result, document.unfit)


def refusal_of(error: LlmchError) -> Refusal:
    """Return an error as it goes through the queue."""
    return Refusal(int(error.exit_code), error.message, error.hint)


def error_of(refusal: Refusal) -> LlmchError:
    """Return the error that came through the queue, with the exit code that it had."""
    kinds = (each for each in vars(errors).values() if isinstance(each, type))
    ours = (each for each in kinds if issubclass(each, LlmchError) and each is not LlmchError)
    for each in ours:
        if each.exit_code == refusal.code:
            return each(refusal.message, refusal.hint)
    return errors.CommandFailed(refusal.message, refusal.hint)
