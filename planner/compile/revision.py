"""Shows a model what it is to revise, and puts its reply into the plan. Pure.

A revision is a patch: it holds the orders and fields that change, and the rest of the plan stays
byte for byte. Only a reply that cannot be read as orders with ids of their own is written anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from planner.plan.parse_plan import Reply, parse_plan, read_reply
from planner.prompts.prompt_templates import (
    REVISION_FORM,
    WHOLE_FORM,
    Revision,
    have_room,
    render_revision,
)
from planner.rules.judge_plan import RULE_BY_CODE
from shared.files.strict_documents import FieldPath, JsonObject, JsonValue, at
from shared.work_order.parse_order import SchemaProblem
from shared.work_order.work_order import order_id, order_number

if TYPE_CHECKING:
    from planner.compile.judge_reply import Claim, Judged
    from planner.rules.rule_model import Finding

_PATCH: Final = frozenset({"revised", "added", "removed"})
_MAX_ENTRIES: Final = 2_000  # entries of a patch that are read
# What orders rely on in other orders.
_SHORT: Final = ("id", "title", "allowed_files", "removed_files", "interfaces")


def revision_prompt(first: str, refused: Judged, latest: Judged) -> str:
    """Return the prompt that shows the model what is wrong with its refused plan.

    `latest` is the latest reply. Where that could not be read, its fault comes beside the findings
    on `refused`, the plan that is revised. Findings are sorted by order and code. If they do not
    all fit, every error comes first.
    """
    reports = [refused.report] if latest is refused else [refused.report, latest.report]
    found = [each for report in reports for each in report.findings]
    texts, needed = [*map(_with_remedy, found)], 0
    if not have_room(texts):
        errors = [each for report in reports for each in report.errors]
        found = [*errors, *(each for report in reports for each in report.warnings)]
        texts, needed = [*map(_with_remedy, found)], len(errors)
    named = {each.order for each in found}
    return _prompt(first, refused, named, texts, Revision.REFUSED, needed)


def review_revision_prompt(first: str, valid: Judged, claims: Sequence[Claim]) -> str:
    """Return the prompt that shows the model its valid plan and the reviewer's claims."""
    named = {each.work_order for each in claims}
    return _prompt(first, valid, named, [each.render() for each in claims], Revision.REVIEWED)


def _prompt(
    first: str,
    judged: Judged,
    named: Collection[str],
    texts: Sequence[str],
    kind: Revision,
    needed: int = 0,
) -> str:
    orders = orders_of(judged.reply)
    if orders is None:
        shown, form = judged.reply, WHOLE_FORM
    else:
        shown, form = _shown(orders, named), REVISION_FORM
    return render_revision(first, shown, texts, judged.attempt, kind, form=form, needed=needed)


def _with_remedy(finding: Finding) -> str:
    return f"{finding.render()} Remedy: {RULE_BY_CODE[finding.code].remedy}"


def _shown(orders: Mapping[str, JsonObject], named: Collection[str]) -> str:
    """Return the orders as JSON, one after the other: those `named` whole, the others in short."""
    shown = (
        order if name in named else {key: order[key] for key in _SHORT if order.get(key)}
        for name, order in orders.items()
    )
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in shown)


def orders_of(text: str) -> dict[str, JsonObject] | None:
    """Return the orders in a reply by their ids; `None` where it cannot be revised in parts."""
    match read_reply(text).plan.document:
        case {"work_orders": [_, *_] as entries}:
            orders = {
                str(each["id"]): each for each in entries if isinstance(each, dict) and "id" in each
            }
            whole = len(orders) == len(entries) and all(order_number(each) for each in orders)
            return orders if whole else None
        case _:
            return None


def put_together(before: str, reply: Reply, *, renumber: bool) -> Reply:
    """Return a reply to a revision as the whole reply that it makes of the one `before`.

    A reply that could not be read, and one that is whole, stays as it is. What a patch says of
    orders that are not there is left out, and is a problem of the plan. With `renumber`, ids follow
    the places of the orders after some were added or removed.
    """
    orders, patch = orders_of(before), reply.plan.document
    if orders is None or not isinstance(patch, dict) or "work_orders" in patch:
        return reply
    base = read_reply(before).plan.document
    assert isinstance(base, dict), "it has orders"
    patched = _Patched(orders, [])
    if _PATCH.isdisjoint(patch) and not set(patch) & set(base):
        patched.refuse(at(), "holds neither `revised` nor any other key of a revision")
    patched.revise(patch.get("revised"))
    moved = patched.remove(patch.get("removed")) + patched.add(patch.get("added"))
    entries: list[JsonValue] = [*patched.orders.values()]
    if moved and renumber:
        entries = [*_renumbered(patched.orders)]
    others = {key: each for key, each in patch.items() if key not in _PATCH}
    plan = parse_plan({**base, **others, "work_orders": entries})
    source = json.dumps(plan.document, indent=1, ensure_ascii=False)
    return Reply(source, replace(plan, problems=(*plan.problems, *patched.problems)))


@dataclass(frozen=True, slots=True)
class _Patched:
    """Hold the orders of a plan by their ids, as far as a patch was put in, and its faults."""

    orders: dict[str, JsonObject]
    problems: list[SchemaProblem]

    def refuse(self, field: FieldPath, message: str) -> None:
        self.problems.append(SchemaProblem(field, message))

    def revise(self, entries: JsonValue) -> None:
        seen: set[str] = set()
        for field, entry in self._entries("revised", entries):
            name = entry.get("id") if isinstance(entry, dict) else None
            if not isinstance(entry, dict) or not isinstance(name, str):
                self.refuse(field, "is not an order with the fields that change, and its id")
            elif name not in self.orders:
                self.refuse(field, f"{name[:20]!r} is not an order of the plan")
            elif name in seen:
                self.refuse(field, f"{name} is revised twice")
            else:
                fields = {key: each for key, each in entry.items() if key != "new_id"}
                fields["id"] = entry.get("new_id", name)
                self.orders[name] = {**self.orders[name], **fields}
                seen.add(name)

    def remove(self, entries: JsonValue) -> int:
        before = len(self.orders)
        for field, name in self._entries("removed", entries):
            if not isinstance(name, str) or self.orders.pop(name, None) is None:
                self.refuse(field, f"{str(name)[:20]!r} is not an order of the plan")
        return before - len(self.orders)

    def add(self, entries: JsonValue) -> int:
        """Put new orders in, each after the one that it names, else last; return how many."""
        added = 0
        for field, entry in self._entries("added", entries):
            after = entry.get("after") if isinstance(entry, dict) else None
            if not isinstance(entry, dict) or not isinstance(name := entry.get("id"), str):
                self.refuse(field, "is not a whole order with an id")
            elif name in self.orders and after is None:
                self.refuse(field, f"{name} is an order of the plan already")
            elif after is not None and str(after) not in self.orders:
                self.refuse(field, f"comes after {str(after)[:20]!r}, which the plan does not have")
            else:
                self._insert({key: each for key, each in entry.items() if key != "after"}, after)
                added += 1
        return added

    def _insert(self, order: JsonObject, after: JsonValue) -> None:
        name = str(order["id"])
        while name in self.orders:  # its id may be the one that it has after all are renumbered
            name += f"+{len(self.orders)}"
        kept = [*self.orders.items()]
        place = next((n for n, (each, _) in enumerate(kept, 1) if each == after), len(kept))
        self.orders.clear()
        self.orders.update([*kept[:place], (name, order), *kept[place:]])

    def _entries(self, key: str, value: JsonValue) -> Iterator[tuple[FieldPath, JsonValue]]:
        if value is not None and not isinstance(value, list):
            self.refuse(at(key), "must be a list")
        for index, each in enumerate(value[:_MAX_ENTRIES] if isinstance(value, list) else ()):
            yield at(key, index), each


def _renumbered(orders: Mapping[str, JsonObject]) -> Iterator[JsonObject]:
    """Yield the orders with ids in sequence; `depends_on` follows, and texts stay as they are."""
    names = {old: order_id(number) for number, old in enumerate(orders, 1)}
    for old, order in orders.items():
        needed = order.get("depends_on")
        if isinstance(needed, list):
            followed = [names.get(each, each) if isinstance(each, str) else each for each in needed]
            order = {**order, "depends_on": followed}  # noqa: PLW2901 - one order, renumbered
        yield {**order, "id": names[old]}
