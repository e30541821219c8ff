"""When a failed call is made again, and how long is waited before."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Protocol, TypeVar

from shared.errors import ModelUnavailable
from shared.events import Emit, ModelRetryScheduled, ignore
from shared.llm.wire.refusals import Refused, Unreachable

T = TypeVar("T")


class Clock(Protocol):
    """Time as this layer needs it, so that a test can pass it without waiting."""

    def now(self) -> float:
        """Return seconds since some fixed moment; never goes back."""
        ...

    def wall(self) -> float:
        """Return seconds since the epoch, for dates that servers send."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Return the monotonic clock."""
        return time.monotonic()

    def wall(self) -> float:
        """Return the time of day."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `retries` further calls, after waits that double from `base_seconds` on.

    The waits are jittered down to their half at the least, so that parallel orders spread out.
    """

    retries: int = 6
    base_seconds: float = 1.0
    longest_seconds: float = 60.0
    jitter: Callable[[], float] = random.random

    def backoff(self, retry: int) -> float:
        """Return the seconds to wait before the `retry`-th further call, the first being 1."""
        full = min(self.longest_seconds, self.base_seconds * 2.0 ** (retry - 1))
        return full * (0.5 + 0.5 * self.jitter())


@dataclass(frozen=True, slots=True)
class RetryContext:
    """All that waiting needs: the policy, the clock, and who is told."""

    policy: RetryPolicy
    clock: Clock
    emit: Emit = ignore
    order: str | None = None

    def of(self, order: str | None) -> RetryContext:
        """Return the same for a call of one order, which is then named."""
        return replace(self, order=order)

    def wait(self, reason: str, retry: int, seconds: float) -> None:
        """Announce a wait and let it pass."""
        self.emit(ModelRetryScheduled(reason, seconds, retry, self.order))
        self.clock.sleep(seconds)


def with_retries(call: Callable[[], T], patience: RetryContext, deadline: float) -> T:
    """Return what `call` returns, calling again after faults that may pass.

    `deadline` is a moment of the clock. Raises `ModelUnavailable` when the retries or the time are
    used up, and lets a `Refused` through that waiting does not mend.
    """
    retry = 0
    while True:
        try:
            return call()
        except Unreachable as fault:
            reason, asked_for = fault.message, None
        except Refused as fault:
            if not fault.may_pass:
                raise
            reason, asked_for = fault.message, fault.retry_after
        retry += 1
        seconds = patience.policy.backoff(retry) if asked_for is None else asked_for
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
            f"the model server cannot be waited for: {reason}; "
            f"the next try would be in {seconds:,.0f} seconds, past the call's deadline",
            hint="run again later: what is done is kept and not paid for again",
        )


def parse_retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Return the seconds that the server asks to wait, or `None` where it names none.

    Knows `retry-after-ms` and `Retry-After`, as seconds or as a date seen from `wall`. `headers`
    have lower-case names.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _seconds(value)
    if seconds is not None or value is None:
        return seconds
    from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - wall)


def _seconds(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return None if math.isnan(number) else max(0.0, number)
