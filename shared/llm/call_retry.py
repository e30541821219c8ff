"""Decides when a call is made again, and how long it waits.

The client belongs outside the budget, so that the budget checks each repetition. It belongs
inside the transcript, so that the transcript holds the final outcome.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from shared.errors import BudgetReached, ModelUnavailable
from shared.events.events import Emit, ModelRetryScheduled, ignore
from shared.llm.model_access import is_small
from shared.llm.model_client import (
    Completion,
    LlmClient,
    ReplyBroken,
    ReplyCutShort,
    ReplyFailed,
    Request,
    Usage,
)
from shared.llm.server_replies import Refusal, Unreachable


class Pace(Protocol):
    """Keep how long a server wants no call for a model. Safe for threads."""

    def hold(self, model: str, seconds: float) -> None:
        """Hold calls back for `seconds` from now, or longer where that was asked before."""

    def seconds_left(self, model: str) -> float:
        """Return how long a call is to wait; 0 if it may be made now."""


class OwnPace:
    """Keep the pace of this process. `now` gives seconds that never decrease."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def hold(self, model: str, seconds: float) -> None:
        with self._lock:
            self._until[model] = max(self._until.get(model, 0.0), self._now() + seconds)

    def seconds_left(self, model: str) -> float:
        with self._lock:
            return max(0.0, self._until[model] - self._now()) if model in self._until else 0.0


T = TypeVar("T")

_TOO_MANY_REQUESTS = 429


class Clock(Protocol):
    """Give the time and let it pass. A test can pass a clock of its own that does not wait."""

    def now(self) -> float:
        """Return the seconds since some fixed moment. The value never decreases."""
        ...

    def wall(self) -> float:
        """Return the seconds since the epoch, to compare with dates that servers send."""
        ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """Give the time of this machine."""

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Allow at most `retries` further calls, after waits that double from `base_seconds` on.

    No wait is longer than `longest_seconds`. Jitter shortens each wait by up to a half, so that
    parallel orders spread out.
    """

    retries: int = 6
    base_seconds: float = 1.0
    longest_seconds: float = 60.0
    jitter: Callable[[], float] = random.random

    def backoff(self, retry: int) -> float:
        """Return the seconds to wait before further call number `retry`, counted from 1."""
        full = min(self.longest_seconds, self.base_seconds * 2.0 ** (retry - 1))
        return full * (0.5 + 0.5 * self.jitter())


@dataclass(frozen=True, slots=True)
class RetryContext:
    """Hold what a wait needs: the policy, the clock, and the sink and order of its event.

    `pace` is shared with other calls for the same `model`; without one, no call waits for another.
    """

    policy: RetryPolicy
    clock: Clock
    emit: Emit = ignore
    order: str | None = None
    pace: Pace | None = None
    model: str = ""

    def of(self, order: str | None, model: str = "") -> RetryContext:
        """Return a copy whose events name `order`, for calls for `model`."""
        return replace(self, order=order, model=model)

    def keep_pace(self, deadline: float) -> None:
        """Wait while the server wants no call for the model, but not past `deadline`.

        Calls that waited together go on one after the other, within a tenth of their wait.
        """
        while self.pace and (left := self.pace.seconds_left(self.model)) > 0:
            seconds = left * (1 + 0.1 * self.policy.jitter())
            if self.clock.now() + seconds > deadline:
                return  # the call itself says what the server wants
            self.wait("the server asked another call to wait", 0, seconds)

    def hold_others(self, seconds: float) -> None:
        if self.pace:
            self.pace.hold(self.model, seconds)

    def wait(self, reason: str, retry: int, seconds: float) -> None:
        """Emit an event about the wait, and sleep for `seconds`."""
        self.emit(ModelRetryScheduled(reason, seconds, retry, self.order))
        self.clock.sleep(seconds)


def with_retries(call: Callable[[], T], patience: RetryContext, deadline: float) -> T:
    """Return what `call` returns; call it again after faults that may pass.

    `deadline` is a time of the clock. Raises `ModelUnavailable` when the retries or the time are
    used up, and `Refusal` if the server refused for a reason that waiting does not resolve.
    """
    retry = 0
    while True:
        patience.keep_pace(deadline)
        too_many = False
        try:
            return call()
        except Unreachable as fault:
            reason, asked_for = fault.message, None
        except Refusal as fault:
            if not fault.may_pass:
                raise
            reason, asked_for = fault.message, fault.retry_after
            too_many = fault.status == _TOO_MANY_REQUESTS
        retry += 1
        seconds = patience.policy.backoff(retry) if asked_for is None else asked_for
        if too_many:
            patience.hold_others(seconds)
        _check_patience(patience, retry, seconds, deadline, reason)
        patience.wait(reason, retry, seconds)


def _check_patience(
    patience: RetryContext, retry: int, seconds: float, deadline: float, reason: str
) -> None:
    if retry > patience.policy.retries:
        raise ModelUnavailable(
            f"the model server did not answer after {retry} tries: {reason}",
            hint="check the network and the server, then run again: what is done is kept",
        )
    if patience.clock.now() + seconds > deadline:
        raise ModelUnavailable(
            f"waiting for the model server would take too long: {reason}; "
            f"the next try would be in {seconds:,.0f} seconds, past the call's deadline",
            hint="run again later: what is done is kept and not paid for again",
        )


def parse_retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Return the seconds that the server asks to wait, or `None` if it names none.

    Reads `retry-after-ms`, `Retry-After` in seconds or as a date, and the moments at which
    Anthropic's limits that are used up begin anew. `wall` is the present time in seconds since the
    epoch. `headers` have lower-case names.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    if value is None:
        return max(_resets(headers, wall), default=None)
    from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - wall)


_LIMIT = "anthropic-ratelimit-"


def _resets(headers: Mapping[str, str], wall: float) -> Iterator[float]:
    """Yield in how many seconds each limit that is used up begins anew."""
    for name, left in headers.items():
        if name.startswith(_LIMIT) and name.endswith("-remaining") and left.strip() == "0":
            moment = headers.get(name.removesuffix("remaining") + "reset", "")
            with suppress(ValueError, OverflowError):
                yield max(0.0, datetime.fromisoformat(moment).timestamp() - wall)


def _seconds(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return None if math.isnan(number) else max(0.0, number)


_BROKEN_REPLIES = 3


class SecondChanceClient:
    """Repeat a call whose reply broke off; repeat it once with twice the limit if it was cut short.

    A call whose replies break off is made three times at most. A small model that was cut had begun
    to repeat itself, and would with more room, too. What can be asked for in parts is left to the
    caller.
    """

    def __init__(self, inner: LlmClient, patience: RetryContext) -> None:
        self._inner = inner
        self._patience = patience

    def complete(self, request: Request) -> Completion:
        try:
            return self._complete_unbroken(request)
        except ReplyCutShort as cut:
            limit = 2 * (request.max_output_tokens or cut.usage.output_tokens)
            if limit == 0 or request.in_parts or is_small(request.model):
                raise
            # A cap that leaves less than that does not justify a call: the reply may be cut again.
            roomier = replace(request, max_output_tokens=limit, expected_output_tokens=limit)
            return self._repeat_cut(roomier, cut, f"{cut.message}; asked again with {limit:,}")

    def _complete_unbroken(self, request: Request) -> Completion:
        spent = Usage()
        words: list[str] = []
        lost: tuple[str, ...] = ()
        for turn in range(1, _BROKEN_REPLIES + 1):
            try:
                completion = self._inner.complete(request)
            except ReplyBroken as broken:
                spent += broken.usage
                lost += broken.lost
                if turn == _BROKEN_REPLIES:
                    message = f"{broken.message} ({turn} times)"
                    raise ReplyBroken(message, spent, lost=lost) from None
                words.append(f"{broken.message}; asked again")
                seconds = self._patience.policy.backoff(turn)
                self._patience.of(request.place.order).wait(broken.message, turn, seconds)
            except ReplyFailed as failed:
                failed.usage += spent
                failed.lost = lost + failed.lost
                raise
            else:
                return _with_earlier(completion, spent, words, lost)
        raise AssertionError("the last turn returns or raises")

    def _repeat_cut(self, request: Request, cut: ReplyCutShort, words: str) -> Completion:
        try:
            completion = self._complete_unbroken(request)
            return _with_earlier(completion, cut.usage, [words], cut.lost)
        except BudgetReached:
            raise cut from None
        except ReplyFailed as failed:
            failed.usage += cut.usage
            failed.lost = cut.lost + failed.lost
            raise


def _with_earlier(
    completion: Completion, spent: Usage, words: list[str], lost: tuple[str, ...]
) -> Completion:
    """Return the completion with the usage, words and lost texts of the failed calls before it."""
    return replace(
        completion,
        usage=spent + completion.usage,
        adjustments=(*completion.adjustments, *words),
        lost=lost + completion.lost,
    )
