"""Defines requirements together with the orders and commits that carry them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class CoveringOrder:
    """Describe an order that carries out a requirement: its acceptance commands and its commits.

    `proofs` says what verified each of the commits, one line each; "" where nobody recorded it.
    """

    id: str
    title: str
    commands: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoveredRequirement:
    """Describe a requirement with its orders, and its text and line as far as they are known."""

    id: str
    text: str = ""
    line: int | None = None
    orders: tuple[CoveringOrder, ...] = ()


def with_proofs(
    rows: Iterable[CoveredRequirement], proofs: Mapping[str, str]
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements with what verified each commit; `proofs` says it by commit."""
    return tuple(
        replace(row, orders=tuple(_with_proofs(order, proofs) for order in row.orders))
        for row in rows
    )


def _with_proofs(order: CoveringOrder, proofs: Mapping[str, str]) -> CoveringOrder:
    return replace(order, proofs=tuple(proofs.get(each, "") for each in order.commits))
