"""Shows requirements with the orders and commits that carry them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any, Final

from shared.work_order.coverage import Asserted, CoveredRequirement

_REMOVED: Final = "not in the specification any more"


def coverage_document(rows: Sequence[CoveredRequirement]) -> dict[str, Any]:
    """Return the document that `report --coverage --json` prints."""
    covered, wanted = count_covered(rows)
    return {
        "requirements": [{**asdict(each), "asserted_by": each.asserted_by} for each in rows],
        "covered": covered,
        "uncovered": wanted - covered,
    }


def count_covered(rows: Sequence[CoveredRequirement]) -> tuple[int, int]:
    """Return how many requirements an order covers, and how many the specification has."""
    wanted = [each for each in rows if not each.removed]
    return sum(1 for each in wanted if each.orders), len(wanted)


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
        f"{row.id}: {row.asserted_by.describe() if row.asserted_by else _REMOVED} "
        f"({', '.join(each.id for each in row.orders)})"
        for row in rows
        if row.asserted_by is not None or row.removed
    )


def _row_lines(row: CoveredRequirement) -> Iterator[str]:
    where = f" (line {row.line})" if row.line else ""
    removed = f" ({_REMOVED})" if row.removed else ""
    yield " ".join(f"{row.id}{where}{removed} {row.text}".split())
    if not row.orders:
        yield "    covered by no order"
    for order in row.orders:
        yield f"    {order.id}  {order.title}"
        yield from (f"        $ {command}" for command in order.commands)
        for commit, proof in zip_longest(order.commits, order.proofs, fillvalue=""):
            yield f"        commit {commit[:10]}{f', {proof}' if proof else ''}"
        if order.asserted_by is not None and not row.removed:
            yield f"        {order.asserted_by.describe()}"
