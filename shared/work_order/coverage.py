"""Defines requirements together with the orders and commits that carry them out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CoveringOrder:
    """Describe an order that carries out a requirement: its acceptance commands and its commits."""

    id: str
    title: str
    commands: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoveredRequirement:
    """Describe a requirement with its orders, and its text and line as far as they are known."""

    id: str
    text: str = ""
    line: int | None = None
    orders: tuple[CoveringOrder, ...] = ()
