"""Says how long the orders that are left may take, by those that landed. This module is pure.

Nothing is said before there is evidence, and what is said is a range: orders differ from each
other, and few of them are seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, variance

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
class Worked:
    """Say when the work on an order that landed began and ended, in seconds of one clock."""

    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Left:
    """Hold the least and the most seconds that the rest may take."""

    least: float
    most: float


def expect(landed: Sequence[Worked], under_way: Sequence[float], to_begin: int) -> Left | None:
    """Return how long the rest may take; `None` where too little has landed to say it.

    `under_way` has the seconds for which each order has been worked on that is not over, and
    `to_begin` is the number of the orders that nobody has begun. What landed shows how long an
    order takes, and how many are worked on at a time.
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
    return Left(
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


def _at_a_time(landed: Sequence[Worked]) -> float:
    """Return how many orders were worked on at a time, on average, while there was any."""
    busy, until = 0.0, -math.inf
    for each in sorted(landed, key=lambda one: one.began):
        busy += max(0.0, each.ended - max(each.began, until))
        until = max(until, each.ended)
    return max(1.0, sum(each.ended - each.began for each in landed) / busy) if busy else 1.0


def render_left(left: Left) -> str:
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
