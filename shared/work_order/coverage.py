"""Defines requirements together with the orders and commits that carry them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Asserted(StrEnum):
    """Name what of an order asserts a requirement: a test of the plan, a command, or nothing."""

    TEST = "test"
    COMMAND = "command"
    NOTHING = "nothing"

    @property
    def short(self) -> str:
        """Return what can follow `covers R1`."""
        match self:
            case Asserted.TEST:
                return "by a test"
            case Asserted.COMMAND:
                return "by a command"
            case Asserted.NOTHING:
                return "by mention only"

    def describe(self) -> str:
        """Return what can follow the id of a requirement or of an order."""
        match self:
            case Asserted.TEST:
                return "asserted by a test of the plan"
            case Asserted.COMMAND:
                return "asserted by a command"
            case Asserted.NOTHING:
                return "mentioned only: no test of the plan and no command asserts it"


@dataclass(frozen=True, slots=True)
class CoveringOrder:
    """Describe an order that carries out a requirement: its acceptance commands and its commits.

    `proofs` says what verified each of the commits, one line each; "" where nobody recorded it.
    `asserted_by` is `None` where the order itself is not known, but only its commits.
    """

    id: str
    title: str
    commands: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()
    asserted_by: Asserted | None = None


@dataclass(frozen=True, slots=True)
class CoveredRequirement:
    """Describe a requirement with its orders, and its text and line as far as they are known.

    `removed` says that an earlier specification had it and the one of the plan does not.
    """

    id: str
    text: str = ""
    line: int | None = None
    orders: tuple[CoveringOrder, ...] = ()
    removed: bool = False

    @property
    def asserted_by(self) -> Asserted | None:
        """Return the strongest assertion of any order; `None` where there is nothing to assert."""
        if self.removed:
            return None
        known = {each.asserted_by for each in self.orders}
        return next((each for each in Asserted if each in known), None)


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
