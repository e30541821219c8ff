"""Renders results as the Markdown tables that the documentation shows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.model.figures import ATTEMPTS, Rate, Row

_ASKED = ("prompt", "n", "passed", "tokens in, out per pass", "failed replies")
_RUN = (
    "variant",
    "n",
    "passed at attempt 1",
    *(f"within {attempts}" for attempts in range(2, ATTEMPTS + 1)),
    "tokens in, out per pass",
    "calls",
    "repeated",
    "failed attempts",
)


def render_tables(rows: Sequence[Row]) -> str:
    """Return a table of the prompts that were asked once, and one of the runs, where there are any.

    A number of passes has the 95% interval of its rate in brackets.
    """
    asked = [_asked(row) for row in rows if not row.is_run]
    run = [_run(row) for row in rows if row.is_run]
    tables = [
        _table(("model", "tasks", *head), lines)
        for head, lines in ((_ASKED, asked), (_RUN, run))
        if lines
    ]
    return "\n".join(tables)


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * len(head)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *lines))


def _asked(row: Row) -> tuple[str, ...]:
    first = row.within[0]
    known = (row.model, row.kind, row.variant, str(first.n), first.render())
    return (*known, _tokens(row), _failures(row))


def _run(row: Row) -> tuple[str, ...]:
    rates = row.within[:ATTEMPTS]
    known = (row.model, row.kind, row.variant, str(rates[0].n), *map(Rate.render, rates))
    return (*known, _tokens(row), str(row.calls), str(row.repeated), _failures(row))


def _tokens(row: Row) -> str:
    if row.input_per_pass is None or row.output_per_pass is None:
        return "none passed"
    return f"{row.input_per_pass:,}, {row.output_per_pass:,}"


def _failures(row: Row) -> str:
    return ", ".join(f"{count} {stage}" for stage, count in row.failures) or "none"
