"""Renders results as the Markdown table that the documentation shows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench_model.figures import Rate, Row

_HEAD = (
    "| model | tasks | asked by | n | passed at attempt 1 | within 2 | within 3 "
    "| tokens in and out per pass | calls | repeated | failed attempts |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n"
)


def render_table(rows: Sequence[Row]) -> str:
    """Return one line for each row; a pass rate has its 95% interval in brackets."""
    return _HEAD + "".join(_line(row) for row in rows)


def _line(row: Row) -> str:
    cells = (
        row.model,
        row.kind,
        row.variant,
        str(row.within[0].n),
        *(_rate(rate) for rate in _shown(row)),
        _tokens(row),
        str(row.calls),
        str(row.repeated),
        ", ".join(f"{count} {stage}" for stage, count in row.failures) or "none",
    )
    return f"| {' | '.join(cells)} |\n"


def _shown(row: Row) -> Sequence[Rate | None]:
    """Return the first three rates; a variant that asks once has only one."""
    if row.variant.startswith("run"):
        return row.within[:3]
    return row.within[0], None, None


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return ""
    low, high = rate.interval
    return f"{rate.passed} ({low:.0%} to {high:.0%})"


def _tokens(row: Row) -> str:
    if row.input_per_pass is None or row.output_per_pass is None:
        return "none passed"
    return f"{row.input_per_pass:,}, {row.output_per_pass:,}"
