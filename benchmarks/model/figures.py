"""Turns results into the figures of a table. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from benchmarks.model.results import Result
from factory.orders.documents import ReplyFormat

# Of the normal distribution, for an interval that holds the true rate in 95 of 100 measurements.
_Z = 1.959964
ATTEMPTS = 3
RUNS = ("run", *(f"run-{each}" for each in ReplyFormat))
"""The variants that are runs of `ATTEMPTS` attempts: the factory's choice, and each format."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Hold how many of `n` passed."""

    passed: int
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95% interval of the true rate, by Wilson's score.

        Unlike the usual approximation it stays between 0 and 1, and is not empty where all or none
        passed (Wilson, "Probable Inference", JASA 22, 1927).
        """
        if not self.n:
            return 0.0, 1.0
        rate, z2 = self.passed / self.n, _Z * _Z
        centre = rate + z2 / (2 * self.n)
        reach = _Z * math.sqrt(rate * (1 - rate) / self.n + z2 / (4 * self.n**2))
        scale = 1 + z2 / self.n
        return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)

    def render(self) -> str:
        """Return the count with the interval, as tables show it."""
        low, high = self.interval
        return f"{self.passed} ({low:.0%} to {high:.0%})"


@dataclass(frozen=True, slots=True)
class Row:
    """Hold the figures of one model, kind of task and variant.

    `within` says how many passed within one attempt, within two, and so on. The tokens are of all
    calls, divided by the number of passes; `None` where nothing passed.
    """

    model: str
    kind: str
    variant: str
    within: tuple[Rate, ...]
    input_per_pass: int | None
    output_per_pass: int | None
    calls: int
    repeated: int
    failures: tuple[tuple[str, int], ...]

    @property
    def is_run(self) -> bool:
        """Return whether the variant is a run of several attempts, and not one question."""
        return self.variant in RUNS


def rows_of(results: Iterable[Result]) -> list[Row]:
    """Return a row for each model, kind and variant, sorted."""
    ordered = sorted(results, key=_group)
    return [_row(list(each)) for _, each in groupby(ordered, _group)]


def latest(results: Sequence[Result]) -> list[Result]:
    """Return the last result of each measurement: one that was made again replaces the first."""
    return list({result.key: result for result in results}.values())


def _group(result: Result) -> tuple[str, str, str]:
    return result.model, result.kind, result.variant


def _row(results: Sequence[Result]) -> Row:
    passed_at = [len(each.failures) + 1 for each in results if each.passed]
    stages = sorted(stage for each in results for stage in each.failures)
    return Row(
        *_group(results[0]),
        within=tuple(
            Rate(sum(at <= attempts for at in passed_at), len(results))
            for attempts in range(1, max((ATTEMPTS, *passed_at)) + 1)
        ),
        input_per_pass=_per_pass([each.input_tokens for each in results], len(passed_at)),
        output_per_pass=_per_pass([each.output_tokens for each in results], len(passed_at)),
        calls=sum(each.calls for each in results),
        repeated=sum(each.repeated for each in results),
        failures=tuple((stage, len(list(each))) for stage, each in groupby(stages)),
    )


def _per_pass(tokens: Sequence[int], passed: int) -> int | None:
    return round(sum(tokens) / passed) if passed else None
