"""Shows requirements with the orders and commits that carry them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from shared.work_order.coverage import Asserted, CoveredRequirement


def coverage_document(rows: Sequence[CoveredRequirement]) -> dict[str, Any]:
    """Return the document that `report --coverage --json` prints."""
    covered = sum(1 for each in rows if each.orders)
    return {
        "requirements": [{**asdict(each), "asserted_by": each.asserted_by} for each in rows],
        "covered": covered,
        "uncovered": len(rows) - covered,
    }


def render_coverage(rows: Sequence[CoveredRequirement]) -> list[str]:
    """Return the lines that show each requirement with its orders, commands and commits."""
    return [line for row in rows for line in _row_lines(row)]


def render_asserted(rows: Sequence[CoveredRequirement]) -> str:
    """Return how many requirements are asserted by what, as the end of a sentence."""
    counts = {each: sum(1 for row in rows if row.asserted_by is each) for each in Asserted}
    return (
        f"{counts[Asserted.TEST]} asserted by a test of the plan, "
        f"{counts[Asserted.COMMAND]} by a command, {counts[Asserted.NOTHING]} mentioned only"
    )


def render_assertions(rows: Sequence[CoveredRequirement]) -> tuple[str, ...]:
    """Return a line for each requirement that an order covers: what asserts it, and where."""
    return tuple(
        f"{row.id}: {row.asserted_by.describe()} ({', '.join(each.id for each in row.orders)})"
        for row in rows
        if row.asserted_by is not None
    )


def _row_lines(row: CoveredRequirement) -> Iterator[str]:
    where = f" (line {row.line})" if row.line else ""
    yield " ".join(f"{row.id}{where} {row.text}".split())
    if not row.orders:
        yield "    covered by no order"
    for order in row.orders:
        yield f"    {order.id}  {order.title}"
        yield from (f"        $ {command}" for command in order.commands)
        yield from (f"        commit {commit[:10]}" for commit in order.commits)
        if order.asserted_by is not None:
            yield f"        {order.asserted_by.describe()}"
