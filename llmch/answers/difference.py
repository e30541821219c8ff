"""Answers `diff` where it compares two plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmch.answers.changed_requirements import changed_requirements
from llmch.console.document import Block, Item, Paragraph, Remark, Section, Sign, Tone
from llmch.console.figures import count, short
from llmch.preview.difference import OrderChange

if TYPE_CHECKING:
    from llmch.preview.difference import FieldDifference, OrderDifference, PlanDifference

_SIGNS = {"+": Sign.NEW, "-": Sign.REMOVED}
_TONES = {
    OrderChange.ADDED: Tone.STRONG,
    OrderChange.REPLACED: Tone.STRONG,
    OrderChange.WITHDRAWN: Tone.FAINT,
    OrderChange.KEPT: Tone.PLAIN,
}


@dataclass(frozen=True, slots=True)
class PlanDifferenceDocument:
    """Represent the answer of `diff PLAN_A PLAN_B`."""

    before: Path
    after: Path
    difference: PlanDifference

    def to_json(self) -> object:
        """Return the difference as plain values."""
        found = self.difference
        return {
            "plans": [str(self.before), str(self.after)],
            "equal": found.is_empty,
            "follows": found.follows,
            "requirements": found.requirements.to_json(),
            "fields": _fields_json(found.fields),
            "orders": [_order_json(each) for each in found.orders],
        }

    def blocks(self) -> Iterator[Block]:
        """Return what changed by requirement and by order, and a line that counts."""
        found = self.difference
        follows = ", which follows it" if found.follows else ""
        yield Remark((f"from {self.before} to {self.after}{follows}", ""))
        if found.is_empty:
            counted = f"{count(len(found.requirements.untouched), 'requirement')}, "
            counted += count(len(found.orders), "order")
            yield Paragraph((f"Difference: none: both plans are to do the same ({counted})",))
            return
        yield from changed_requirements(found.requirements)
        if found.fields:
            yield Section("The plan as a whole", tuple(_fields(found.fields)))
        for each in found.orders:
            if each.change is not OrderChange.KEPT:
                yield _order(each)
        if kept := found.of(OrderChange.KEPT):
            yield Section("Orders that are kept as they are", tuple(_kept(kept)))
        yield Remark(("",))
        yield Paragraph((_counts(found),))


def _order(order: OrderDifference) -> Section:
    return Section(
        order.title or "(no title)",
        tuple(_fields(order.fields)),
        name=order.id,
        word=order.change.value,
        aside=", ".join(filter(None, (_stands(order), order.reason))),
        tone=_TONES[order.change],
    )


def _stands(order: OrderDifference) -> str:
    standing = order.standing
    return f"{standing.stand.words} as {short(standing.commit)}" if standing.commit else ""


def _fields(fields: Sequence[FieldDifference]) -> Iterator[Item]:
    for each in fields:
        yield Item(f"{each.field}:", Sign.CHANGED)
        for line in each.lines:
            yield Item(line[1:], _SIGNS.get(line[:1], Sign.NONE), literal=True)


def _kept(orders: Sequence[OrderDifference]) -> Iterator[Item]:
    landed = [each.id for each in orders if each.standing.commit]
    others = [each.id for each in orders if not each.standing.commit]
    if landed:
        yield Item(", ".join(landed), aside="on the branch")
    if others:
        yield Item(", ".join(others))


def _counts(found: PlanDifference) -> str:
    spec = found.requirements
    requirements = (
        f"{count(len(spec.changed), 'requirement')} changed, {len(spec.added):,} added, "
        f"{len(spec.removed):,} removed, {len(spec.untouched):,} untouched"
    )
    numbers = {each: len(found.of(each)) for each in OrderChange}
    rest = [f"{numbers[each]:,} {each.value}" for each in OrderChange][1:]
    orders = f"{count(numbers[OrderChange.ADDED], 'order')} {OrderChange.ADDED.value}"
    return f"Difference: {requirements}; {', '.join([orders, *rest])}"


def _fields_json(fields: Sequence[FieldDifference]) -> list[dict[str, Any]]:
    return [{"field": each.field, "lines": list(each.lines)} for each in fields]


def _order_json(order: OrderDifference) -> dict[str, Any]:
    return {
        "id": order.id,
        "title": order.title,
        "change": order.change.value,
        "fields": _fields_json(order.fields),
        "state": order.standing.stand.value,
        "commit": order.standing.commit or None,
        "reason": order.reason or None,
    }
