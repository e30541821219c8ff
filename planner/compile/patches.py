"""Puts the replies to an attempt's questions into the plan before. Pure.

A revision is a patch: it holds the orders and fields that change, and the rest of the plan stays
byte for byte. The details of an outline are patches, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from planner.plan.parse_plan import Reply, parse_plan, read_reply
from planner.plan.plan_edits import resting_on
from shared.files.strict_documents import FieldPath, JsonObject, JsonValue, at
from shared.work_order.parse_order import SchemaProblem
from shared.work_order.work_order import order_id, order_number

_PATCH: Final = frozenset({"revised", "added", "removed"})
_MAX_ENTRIES: Final = 2_000  # of a patch that are read
OUTLINED: Final = (
    *("id", "title", "intent", "covers", "allowed_files", "removed_files"),
    *("context_files", "interfaces", "changes"),
)
"""The fields of an order that its outline has; all others are details."""
SHORT: Final = ("id", "title", "allowed_files", "removed_files", "interfaces")
NO_DETAILS: Final = "true 'no details yet'"
"""The command of an order of an outline that has no details yet."""


def in_short(order: Mapping[str, JsonValue], keys: Collection[str] = SHORT) -> JsonObject:
    """Return those of the `keys` of an order that have a value: what others rely on in it."""
    return {key: order[key] for key in keys if order.get(key)}


def is_outlined(order: Mapping[str, JsonValue]) -> bool:
    """Say whether an order still lacks its details, beside commands that the harness gave it."""
    commands = order.get("acceptance_commands")
    return isinstance(commands, list) and NO_DETAILS in commands


@dataclass(frozen=True, slots=True)
class Ask:
    """Represent one of the questions of an attempt, which are asked side by side.

    `orders` are the ids of those that are asked for, none for the plan as a whole. With
    `is_detail`, the reply may say nothing else of them than their details.
    """

    prompt: str
    orders: tuple[str, ...] = ()
    is_detail: bool = False

    @property
    def name(self) -> str | None:
        """Return the name of the orders in the place of the call: `WO-07+5` has five others."""
        others = f"+{len(self.orders) - 1}" if len(self.orders) > 1 else ""
        return f"{self.orders[0]}{others}" if self.orders else None


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


@dataclass(frozen=True, slots=True)
class Made:
    """Hold the plan that replies make, and the field in which the details of an order disagree.

    The details of such an order are left out.
    """

    reply: Reply
    clashes: Mapping[str, str] = field(default_factory=dict)


def put_together(before: str, said: Sequence[tuple[Ask, Reply]], *, renumber: bool) -> Made:
    """Return the replies to the questions of an attempt as the plan that they make of `before`.

    A reply that could not be read, and one that is whole, stays as it is. What a patch says of
    orders that are not there is left out, and is a problem of the plan. With `renumber`, ids follow
    the places of the orders after some were added or removed.
    """
    orders, (ask, reply) = orders_of(before), said[0]
    patch = reply.plan.document
    in_parts = len(said) > 1 or bool(ask.orders)
    is_whole = not isinstance(patch, dict) or "work_orders" in patch
    if orders is None or (is_whole and not in_parts):
        return Made(reply)
    base = read_reply(before).plan.document
    assert isinstance(base, dict), "it has orders"
    patched, others, moved = _Patched({**orders}), dict(base), 0
    patches = [(ask, patch) for ask, r in said if isinstance(patch := r.plan.document, dict)]
    for ask, patch in patches:
        if _PATCH.isdisjoint(patch) and not set(patch) & set(base):
            patched.refuse(at(), "holds neither `revised` nor any other key of a revision")
        patched.revise(patch.get("revised", patch.get("work_orders")), ask)
    for ask, patch in patches:
        if not ask.is_detail:
            moved += patched.remove(patch.get("removed")) + patched.add(patch.get("added"))
            hidden = {*_PATCH, "work_orders"}
            others |= {key: each for key, each in patch.items() if key not in hidden}
    entries: list[JsonValue] = [*patched.orders.values()]
    document: JsonObject = {**others, "work_orders": entries}
    if moved and renumber:
        names = {old: order_id(number) for number, old in enumerate(patched.orders, 1)}
        gone = orders.keys() - names.keys()
        document = resting_on(
            {**document, "work_orders": [*_renumbered(patched.orders, names)]},
            lambda name: None if name in gone else names.get(name, name),
        )
    plan = parse_plan(document)
    source = json.dumps(plan.document, indent=1, ensure_ascii=False)
    whole = Reply(source, replace(plan, problems=(*plan.problems, *patched.problems)))
    return Made(whole, patched.clashes)


@dataclass(frozen=True, slots=True)
class _Patched:
    """Hold the orders of a plan by their ids, as far as a patch was put in, and its faults."""

    orders: dict[str, JsonObject]
    problems: list[SchemaProblem] = field(default_factory=list)
    clashes: dict[str, str] = field(default_factory=dict)
    revised: set[str] = field(default_factory=set)

    def refuse(self, place: FieldPath, message: str) -> None:
        self.problems.append(SchemaProblem(place, message))

    def revise(self, entries: JsonValue, ask: Ask) -> None:
        for place, entry in self._entries("revised", entries):
            name = entry.get("id") if isinstance(entry, dict) else None
            if not isinstance(entry, dict) or not isinstance(name, str):
                self.refuse(place, "is not an order with the fields that change, and its id")
            elif name not in self.orders:
                self.refuse(place, f"{name[:20]!r} is not an order of the plan")
            elif name in self.revised:
                self.refuse(place, f"{name} is revised twice")
            elif ask.is_detail and name not in ask.orders:
                self.refuse(place, f"{name} is not one of the orders asked for")
            elif ask.is_detail and (key := _clash(self.orders[name], entry)):
                self.clashes[name] = key
            else:
                fields = {key: each for key, each in entry.items() if key != "new_id"}
                fields["id"] = entry.get("new_id", name)
                before = dict(self.orders[name])
                if "allowed_files" in fields:
                    before.pop("postconditions", None)  # they follow from the files
                self.orders[name] = {**before, **fields}
                self.revised.add(name)

    def remove(self, entries: JsonValue) -> int:
        before = len(self.orders)
        for place, name in self._entries("removed", entries):
            if not isinstance(name, str) or self.orders.pop(name, None) is None:
                self.refuse(place, f"{str(name)[:20]!r} is not an order of the plan")
        return before - len(self.orders)

    def add(self, entries: JsonValue) -> int:
        """Put new orders in, each after the one that it names, else last; return how many."""
        added = 0
        for place, entry in self._entries("added", entries):
            after = entry.get("after") if isinstance(entry, dict) else None
            if not isinstance(entry, dict) or not isinstance(name := entry.get("id"), str):
                self.refuse(place, "is not a whole order with an id")
            elif name in self.orders and after is None:
                self.refuse(place, f"{name} is an order of the plan already")
            elif after is not None and str(after) not in self.orders:
                self.refuse(place, f"comes after {str(after)[:20]!r}, which the plan does not have")
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


def _clash(order: JsonObject, details: JsonObject) -> str:
    """Return the field of the outline that the details of an order have otherwise, if any."""
    given = (key for key in OUTLINED if key in details)
    return next((key for key in given if (details[key] or []) != (order.get(key) or [])), "")


def _renumbered(orders: Mapping[str, JsonObject], names: Mapping[str, str]) -> Iterator[JsonObject]:
    """Yield the orders with their new ids; `depends_on` follows, and texts stay as they are."""
    for old, order in orders.items():
        needed = order.get("depends_on")
        if isinstance(needed, list):
            followed = [names.get(each, each) if isinstance(each, str) else each for each in needed]
            order = {**order, "depends_on": followed}  # noqa: PLW2901 - one order, renumbered
        yield {**order, "id": names[old]}
