"""Reads what a plan says of the plans before it: their hashes, and what became of their orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from shared.files.strict_json import JsonValue
from shared.work_order.field_path import at
from shared.work_order.parsing import DocumentInvalid, SchemaProblem, parse_document
from shared.work_order.schemas import (
    MAX_LISTED,
    NotRemoved,
    Supersedes,
    WithdrawnOrder,
    WorkOrder,
    order_number,
)

E = TypeVar("E", WithdrawnOrder, NotRemoved)


@dataclass(frozen=True, slots=True)
class Succession:
    """Hold what a plan says of the plans before it; all is empty where it follows none.

    `withdrawn` are the orders that no plan carries out any more, and `not_removed` the requirements
    that are gone while their code stays.
    """

    supersedes: Supersedes | None = None
    withdrawn: tuple[WithdrawnOrder, ...] = ()
    not_removed: tuple[NotRemoved, ...] = ()

    @property
    def lineage(self) -> tuple[str, ...]:
        """Return the hashes of the plans before this one, oldest first."""
        return self.supersedes.lineage if self.supersedes else ()

    @property
    def withdrawn_numbers(self) -> frozenset[int]:
        """Return the numbers of the withdrawn orders, which no order has again."""
        numbers = (order_number(each.id) for each in self.withdrawn)
        return frozenset(each for each in numbers if each is not None)


NO_SUCCESSION = Succession()


def is_inherited(order: WorkOrder, succession: Succession) -> bool:
    """Say whether an order of a plan that follows another one was in the plan before."""
    if succession.supersedes is None:
        return False
    made_by = order.provenance.manifest_sha256 if order.provenance else ""
    return not made_by or made_by in succession.lineage


def parse_succession(
    document: Mapping[str, JsonValue],
) -> tuple[Succession, tuple[SchemaProblem, ...]]:
    """Return what a plan's document says, and its faults. Nothing counts without `supersedes`."""
    stated = document.get("supersedes")
    if stated is None:
        return NO_SUCCESSION, ()
    try:
        supersedes = parse_document(Supersedes, stated)
    except DocumentInvalid as error:
        return NO_SUCCESSION, (SchemaProblem(at("supersedes"), str(error)),)
    withdrawn, problems = parse_entries(WithdrawnOrder, "withdrawn", document.get("withdrawn"))
    left, more = parse_entries(NotRemoved, "not_removed", document.get("not_removed"))
    return Succession(supersedes, withdrawn, left), (*problems, *more)


def parse_entries(
    schema: type[E], key: str, value: JsonValue
) -> tuple[tuple[E, ...], tuple[SchemaProblem, ...]]:
    """Return the entries of the list at `key` that can be read, and the faults of the others."""
    if value is None:
        return (), ()
    if not isinstance(value, list) or len(value) > MAX_LISTED:
        return (), (SchemaProblem(at(key), f"is not a list of at most {MAX_LISTED} entries"),)
    entries: list[E] = []
    problems: list[SchemaProblem] = []
    for index, each in enumerate(value):
        try:
            entries.append(parse_document(schema, each))
        except DocumentInvalid as error:
            problems.append(SchemaProblem(at(key, index), str(error)))
    return tuple(entries), tuple(problems)
