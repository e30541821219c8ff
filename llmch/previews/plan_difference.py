"""Compares two plans by requirement and by order, and shows the difference.

Orders are compared by their ids, and without what says where they come from. The plans need not
follow each other.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, takewhile
from pathlib import Path
from typing import Final

from llmch.console.document import (
    Block,
    Document,
    Item,
    Paragraph,
    Remark,
    Section,
    Shape,
    Sign,
    Tone,
)
from llmch.console.line import count, short
from llmch.previews.plan_preview import NOT_BEGUN, OrderStanding
from planner.plan.parse_plan import Draft, Plan
from planner.replan.removal import Removal
from planner.spec.spec_difference import SpecDifference, compare_requirements
from shared.work_order.work_order import WithdrawnOrder

# A comparison takes time with the square of the lines. Texts that differ in more are only counted.
_MAX_LINES: Final = 400
_CONTEXT: Final = 1
_NOT_THE_WORK: Final = ("id", "provenance", "verify_exempt")
_OF_THE_PLAN: Final = ("system_overview", "verify_contract", "require_coverage")


class OrderChange(StrEnum):
    """Name what became of an order."""

    ADDED = "added"
    REPLACED = "replaced"
    WITHDRAWN = "withdrawn"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """Hold how one field differs: lines that begin with `+`, `-` or, around these, a space."""

    field: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderDifference:
    """Say what became of one order; `standing` is its state on the branch, if one is known.

    `reason` is why the order was withdrawn, as far as the second plan says it.
    """

    id: str
    title: str
    change: OrderChange
    fields: tuple[FieldDifference, ...] = ()
    standing: OrderStanding = NOT_BEGUN
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """Say how two plans differ; `fields` are those of the plan itself."""

    requirements: SpecDifference
    fields: tuple[FieldDifference, ...]
    orders: tuple[OrderDifference, ...]
    follows: bool
    removal: Removal | None = None
    """What goes with the requirements that were removed, if any were."""

    @property
    def is_empty(self) -> bool:
        """Say whether both plans are to do the same."""
        kept = all(each.change is OrderChange.KEPT for each in self.orders)
        return kept and self.requirements.is_empty and not self.fields

    def of(self, change: OrderChange) -> tuple[OrderDifference, ...]:
        return tuple(each for each in self.orders if each.change is change)


def compare_plans(
    before: Plan,
    after: Plan,
    *,
    follows: bool = False,
    withdrawn: Sequence[WithdrawnOrder] = (),
    standings: Mapping[str, OrderStanding] | None = None,
) -> PlanDifference:
    """Return how `after` differs from `before`.

    `follows` says that `after` was made from `before`: requirements then have kept their ids.
    `withdrawn` are the orders that `after` names as withdrawn. `standings` says where orders stand.
    """
    reasons = {each.id: each.reason for each in withdrawn}
    old, new = _by_id(before), _by_id(after)
    return PlanDifference(
        requirements=compare_requirements(
            before.requirements, after.requirements, ids_given=follows
        ),
        fields=tuple(_fields(_of_plan(before), _of_plan(after))),
        orders=tuple(
            _order(name, old.get(name), new.get(name), reasons, standings or {})
            for name in dict.fromkeys((*old, *new))
        ),
        follows=follows,
    )


def _order(
    name: str,
    before: Draft | None,
    after: Draft | None,
    reasons: Mapping[str, str],
    standings: Mapping[str, OrderStanding],
) -> OrderDifference:
    old, new = _document(before), _document(after)
    title = (new if after else old).get("title")
    shown = title if isinstance(title, str) else ""
    standing, reason = standings.get(name, NOT_BEGUN), reasons.get(name, "")
    fields = tuple(_fields(old, new)) if before and after else ()
    if before is None:
        change = OrderChange.ADDED
    elif after is None:
        change = OrderChange.WITHDRAWN
    else:
        change = OrderChange.REPLACED if fields else OrderChange.KEPT
    return OrderDifference(name, shown, change, fields, standing, reason)


def _by_id(plan: Plan) -> dict[str, Draft]:
    """Return the entries of a plan by their labels; the first counts where two are the same."""
    found: dict[str, Draft] = {}
    for draft in plan.drafts:
        found.setdefault(draft.label, draft)
    return found


def _document(draft: Draft | None) -> Mapping[str, object]:
    """Return the fields of an order: with their defaults, where the order can be read."""
    if draft is None:
        return {}
    return draft.raw if draft.order is None else draft.order.model_dump(mode="json")


def _of_plan(plan: Plan) -> Mapping[str, object]:
    document = plan.document if isinstance(plan.document, dict) else {}
    return {
        **{name: document.get(name) or None for name in _OF_THE_PLAN},
        "system_overview": list(plan.overview) or None,
    }


def _fields(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[FieldDifference]:
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if name not in _NOT_THE_WORK and old != new:
            yield FieldDifference(name, tuple(_difference([*_lines(old)], [*_lines(new)])))


def _difference(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the lines that differ, with a line before and after; their numbers if too many."""
    alike = _alike(before, after)
    if max(len(before), len(after)) - alike > _MAX_LINES:
        yield f"-{len(before):,} lines"
        yield f"+{len(after):,} lines"
        return
    start = max(0, alike - _CONTEXT)
    lines = difflib.unified_diff(before[start:], after[start:], n=_CONTEXT, lineterm="")
    # The first two lines name the files.
    yield from (line for line in islice(lines, 2, None) if not line.startswith("@@"))


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many lines both texts begin with."""
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _lines(value: object) -> Iterator[str]:
    match value:
        case None:
            return
        case str():
            yield from value.split("\n")
        case list():
            for each in value:
                yield from _lines(each)
        case dict():
            short = [each for each in value.values() if not _is_long(each)]
            yield " ".join(each if isinstance(each, str) else json.dumps(each) for each in short)
            for each in filter(_is_long, value.values()):
                yield from (f"    {line}" for line in _lines(each))
        case _:
            yield json.dumps(value)


def _is_long(value: object) -> bool:
    return isinstance(value, list | dict) or (isinstance(value, str) and "\n" in value)


def changed_requirements(difference: SpecDifference) -> Iterator[Block]:
    """Yield a section with what changed, was added and was removed; none if nothing was."""
    if items := tuple(_items(difference)):
        yield Section("Requirements", items)


def removed_with(removal: Removal | None) -> Iterator[Block]:
    """Yield a section with what only removed requirements brought; none if nothing was removed."""
    if removal is None or removal.is_empty:
        return
    items = [
        *(Item(each, Sign.REMOVED, literal=True) for each in removal.files),
        *(Item(each, Sign.REMOVED, aside="the file stays") for each in removal.names),
        *(Item(each, Sign.REMOVED, aside="a test; the file stays") for each in removal.tests),
        *(Item(each) for each in removal.stays),
    ]
    if removal.shared:
        words = f"{', '.join(removal.shared)} also did what remains: no order says what of it goes"
        items.append(Item(words, Sign.WARNING))
    title = f"What only {', '.join(removal.requirements)} brought"
    yield Section(title, tuple(items or [Item("nothing that is there any more")]))


def _items(difference: SpecDifference) -> Iterator[Item]:
    for changed in difference.changed:
        yield Item(f"{changed.after.id}: the text has changed", Sign.CHANGED)
        yield Item(changed.before.text, Sign.REMOVED, literal=True)
        yield Item(changed.after.text, Sign.NEW, literal=True)
    yield from (Item(f"{each.id}: {each.text}", Sign.NEW) for each in difference.added)
    yield from (Item(f"{each.id}: {each.text}", Sign.REMOVED) for each in difference.removed)
    yield from (Item(each, Sign.WARNING) for each in difference.doubts)


_SIGNS = {"+": Sign.NEW, "-": Sign.REMOVED}
_TONES = {
    OrderChange.ADDED: Tone.STRONG,
    OrderChange.REPLACED: Tone.STRONG,
    OrderChange.WITHDRAWN: Tone.FAINT,
    OrderChange.KEPT: Tone.PLAIN,
}


@dataclass(frozen=True, slots=True)
class PlanDifferenceDocument(Document):
    """Represent the answer of `diff PLAN_A PLAN_B`."""

    shape = Shape(
        "plans",
        "equal=difference.is_empty",
        "follows=difference.follows",
        "requirements=difference.requirements",
        "fields=difference.fields",
        "orders=difference.orders",
        "removal=difference.removal?",
        orders=Shape(
            "id",
            "title",
            "change",
            "fields",
            "state=standing.stand",
            "commit=standing.commit?",
            "reason?",
        ),
    )

    before: Path
    after: Path
    difference: PlanDifference

    @property
    def plans(self) -> tuple[Path, Path]:
        return self.before, self.after

    def blocks(self) -> Iterator[Block]:
        found = self.difference
        follows = ", which follows it" if found.follows else ""
        yield Remark((f"from {self.before} to {self.after}{follows}", ""))
        if found.is_empty:
            counted = f"{count(len(found.requirements.untouched), 'requirement')}, "
            counted += count(len(found.orders), "order")
            yield Paragraph((f"Difference: none: both plans are to do the same ({counted})",))
            return
        yield from changed_requirements(found.requirements)
        yield from removed_with(found.removal)
        if found.fields:
            yield Section("The plan as a whole", tuple(_fields_difference(found.fields)))
        for each in found.orders:
            if each.change is not OrderChange.KEPT:
                yield _order_difference(each)
        if kept := found.of(OrderChange.KEPT):
            yield Section("Orders that are kept as they are", tuple(_kept(kept)))
        yield Remark(("",))
        yield Paragraph((_counts(found),))


def _order_difference(order: OrderDifference) -> Section:
    return Section(
        order.title or "(no title)",
        tuple(_fields_difference(order.fields)),
        name=order.id,
        word=order.change.value,
        aside=", ".join(filter(None, (_stands(order), order.reason))),
        tone=_TONES[order.change],
    )


def _stands(order: OrderDifference) -> str:
    standing = order.standing
    return f"{standing.stand.words} as {short(standing.commit)}" if standing.commit else ""


def _fields_difference(fields: Sequence[FieldDifference]) -> Iterator[Item]:
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
