"""Puts a reply and the plan before together to one whole plan.

Orders that landed or are kept stay as they are, whatever the reply says of them: the rules E310 to
E316 then report what the reply should not have said.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from planner.plan import manifest, parse_plan
from shared.files.strict_documents import at
from shared.work_order import parse_order, work_order

if TYPE_CHECKING:
    from planner.plan.parse_plan import Draft, Plan
    from planner.replan.predecessor import FollowUp
    from shared.files.strict_documents import JsonObject, JsonValue
    from shared.work_order.parse_order import SchemaProblem
    from shared.work_order.work_order import NotRemoved, WithdrawnOrder, WorkOrder


class Place(Enum):
    """Name where an order of the reply belongs in the plan before."""

    NEW = auto()
    REPLACES = auto()
    SAME = auto()
    """The plan before has this order, word for word."""
    LANDED = auto()
    KEPT = auto()
    REPEATED = auto()
    """The reply has the id twice."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold where an order of the reply belongs.

    `position` is its place in the merged plan, from 1. For one that is not taken over, it is the
    place of the order whose id it has.
    """

    place: Place
    position: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what a reply says about the plan before, in the sequence of the reply.

    `withdrawn` and `not_removed` are as the reply states them, whether or not they may be.
    """

    task: FollowUp
    entries: tuple[Entry, ...] = ()
    withdrawn: tuple[WithdrawnOrder, ...] = ()
    not_removed: tuple[NotRemoved, ...] = ()

    @property
    def own(self) -> frozenset[int]:
        taken = (Place.NEW, Place.REPLACES)
        return frozenset(each.position for each in self.entries if each.place in taken)

    def positions(self, place: Place) -> tuple[int, ...]:
        return tuple(each.position for each in self.entries if each.place is place)


_OF_THE_HARNESS = frozenset({"provenance", "verify_exempt"})
_HEAD = ("system_overview", "verify_contract")


@dataclass(frozen=True, slots=True)
class Merged:
    """Hold the whole plan, what the reply changes in it, and sentences on what was left out."""

    plan: Plan
    answer: Answer
    left_out: tuple[str, ...] = ()


def merge(reply: Plan, task: FollowUp, *, require_coverage: bool = False) -> Merged:
    """Return the plan before with the reply's orders in it, judged by nobody yet.

    A reply whose document is not an object changes nothing, and its faults are the plan's.
    """
    before = task.predecessor.plan
    said = reply.document if isinstance(reply.document, dict) else {}
    withdrawn, problems = parse_plan.parse_entries(
        work_order.WithdrawnOrder, "withdrawn", said.get("withdrawn")
    )
    left, more = parse_plan.parse_entries(
        work_order.NotRemoved, "not_removed", said.get("not_removed")
    )
    drafts, too_many = _fitting(reply.drafts, before.drafts)
    gone = _gone(withdrawn, drafts, task)
    entries, orders = _put_together(drafts, said, task, gone)
    answer = Answer(task, entries, withdrawn, left)
    plan = parse_plan.parse_plan(
        {
            **_head(said, before),
            "work_orders": orders,
            "assumptions": _assumptions(said, task, gone),
            **_succession(answer, gone),
        }
    )
    plan = replace(
        plan,
        requirements=task.difference.requirements,
        require_coverage=require_coverage or before.require_coverage,
        problems=tuple(
            dict.fromkeys((*plan.problems, *_of_reply(reply), *problems, *more, *too_many))
        ),
        unknown=reply.unknown,
        is_json=reply.is_json,
    )
    plan = parse_plan.with_history(plan, task.predecessor.landed)
    return Merged(plan, answer, tuple(_left_out(answer, plan)))


def reply_text(plan: Plan, answer: Answer) -> str:
    """Return the reply that makes the merged `plan`, whose orders may have been repaired since."""
    positions = answer.own
    own = [dict(each.raw) for each in plan.drafts if each.position in positions]
    before = answer.task.predecessor.plan.document
    reply: JsonObject = {}
    if isinstance(plan.document, dict) and isinstance(before, dict):
        reply = {key: plan.document[key] for key in _HEAD if plan.document[key] != before.get(key)}
    reply["work_orders"] = [*own]
    known = {each.id for each in answer.task.predecessor.plan.assumptions}
    new = [each.model_dump(mode="json") for each in plan.assumptions if each.id not in known]
    reply |= {"assumptions": [*new]} if new else {}
    if answer.withdrawn:
        reply["withdrawn"] = [each.model_dump(mode="json") for each in answer.withdrawn]
    if answer.not_removed:
        reply["not_removed"] = [each.model_dump(mode="json") for each in answer.not_removed]
    return json.dumps(reply, indent=1, ensure_ascii=False)


def _fitting(
    drafts: tuple[Draft, ...], before: Sequence[Draft]
) -> tuple[tuple[Draft, ...], tuple[SchemaProblem, ...]]:
    """Return the reply's orders; none if both plans together have more than can be parsed."""
    if len(drafts) + len(before) <= work_order.MAX_ORDERS:
        return drafts, ()
    room = work_order.MAX_ORDERS - len(before)
    message = f"has {len(drafts)} entries, at most {room} may follow the plan"
    return (), (parse_order.SchemaProblem(at("work_orders"), message),)


def _gone(
    withdrawn: Sequence[WithdrawnOrder], drafts: Sequence[Draft], task: FollowUp
) -> Mapping[str, WithdrawnOrder]:
    """Return the orders that are withdrawn, as they may be, by their ids."""
    asked = {each.id: each for each in withdrawn}
    replied = {each.label for each in drafts}
    return {each: asked[each] for each in task.withdrawable if each in asked.keys() - replied}


def _put_together(
    drafts: Sequence[Draft], said: Mapping[str, JsonValue], task: FollowUp, gone: Collection[str]
) -> tuple[tuple[Entry, ...], list[JsonValue]]:
    """Return where each order of the reply belongs, and all orders of the merged plan."""
    places = _places(drafts, task)
    replied = dict(zip((each.label for each in reversed(drafts)), reversed(drafts), strict=True))
    replaced = {
        each.label for each, place in zip(drafts, places, strict=True) if place is Place.REPLACES
    }
    orders: list[JsonValue] = []
    position: dict[str, int] = {}
    for name, draft in task.predecessor.drafts.items():
        if name not in gone:
            orders.append(_own(replied[name]) if name in replaced else _kept(draft, gone))
            position[name] = len(orders)
    entries: list[Entry] = []
    for draft, place in zip(drafts, places, strict=True):
        if place is Place.NEW:
            orders.append(_own(draft) if draft.is_object else _entry(said, draft.position))
            position[draft.label] = len(orders)
        entries.append(Entry(place, position[draft.label]))
    return tuple(entries), orders


def _kept(draft: Draft, gone: Collection[str]) -> JsonObject:
    """Return an order as it is; one that has not landed no longer waits for one that is gone."""
    kept = dict(draft.raw)
    waits = kept.get("depends_on")
    if not draft.landed and isinstance(waits, list):
        kept["depends_on"] = [each for each in waits if each not in gone]
    return kept


def _places(drafts: Sequence[Draft], task: FollowUp) -> list[Place]:
    before, replaceable = task.predecessor.drafts, {*task.replaceable}
    seen: set[str] = set()
    places: list[Place] = []
    for draft in drafts:
        known = before.get(draft.label)
        if draft.label in seen:
            places.append(Place.REPEATED)
        elif known is None:
            places.append(Place.NEW)
        elif draft.order is not None and _work(draft) == _work(known):
            places.append(Place.SAME)
        elif known.landed:
            places.append(Place.LANDED)
        else:
            places.append(Place.REPLACES if draft.label in replaceable else Place.KEPT)
        seen.add(draft.label)
    return places


def _work(draft: Draft) -> WorkOrder | None:
    if draft.order is None:
        return None
    own = {
        "provenance": None,
        "verify_exempt": False,
        "notes": manifest.own_notes(draft.order.notes or ""),
    }
    return draft.order.model_copy(update=own)


def _own(draft: Draft) -> JsonObject:
    """Return an order as a model may write it: it cannot say itself where it comes from."""
    return {key: value for key, value in draft.raw.items() if key not in _OF_THE_HARNESS}


def _entry(said: Mapping[str, JsonValue], position: int) -> JsonValue:
    orders = said.get("work_orders")
    return orders[position - 1] if isinstance(orders, list) else None


def _head(said: Mapping[str, JsonValue], before: Plan) -> JsonObject:
    """Return overview and contract: those of the reply where it has any, else those before."""
    old = before.document if isinstance(before.document, dict) else {}
    return {key: said.get(key) or old.get(key) for key in _HEAD}


def _assumptions(said: Mapping[str, JsonValue], task: FollowUp, gone: Collection[str]) -> JsonValue:
    """Return the assumptions of the reply, and those before that nobody answered since."""
    own = said.get("assumptions") or []
    if not isinstance(own, list):
        return own
    required = {each.id for each in task.difference.requirements}
    replied = {str(each.get("text")) for each in own if isinstance(each, dict)}
    settled = required | {work_order.question_id(each) for each in replied}
    kept: list[JsonValue] = []
    for each in task.predecessor.plan.assumptions:
        orders = tuple(name for name in each.work_orders if name not in gone)
        if each.id not in settled and orders:
            names = tuple(name for name in each.requirements if name in required)
            update = {"work_orders": orders, "requirements": names}
            kept.append(each.model_copy(update=update).model_dump(mode="json"))
    return [*own, *kept[: max(0, work_order.MAX_ASSUMPTIONS - len(own))]]


def _succession(answer: Answer, gone: Mapping[str, WithdrawnOrder]) -> JsonObject:
    task, before = answer.task, answer.task.predecessor.plan.succession
    present = {each.id for each in task.difference.requirements}
    left = {each.requirement: each for each in before.not_removed}
    left |= {each.requirement: each for each in answer.not_removed}
    known = {*(each.requirement for each in before.not_removed), *task.removed_ids} - present
    return {
        "supersedes": task.predecessor.supersedes.model_dump(mode="json"),
        "withdrawn": [each.model_dump(mode="json") for each in (*before.withdrawn, *gone.values())],
        "not_removed": [
            each.model_dump(mode="json") for name, each in left.items() if name in known
        ],
    }


def _of_reply(reply: Plan) -> tuple[SchemaProblem, ...]:
    """Return the faults of the reply's document, which may be without orders."""
    match reply.document:
        case {"work_orders": []}:
            return tuple(each for each in reply.problems if each.at != at("work_orders"))
        case _:
            return reply.problems


def _left_out(answer: Answer, plan: Plan) -> list[str]:
    return [
        f"{plan.drafts[position - 1].label} is left out of the reply: the plan has it already"
        for position in answer.positions(Place.SAME)
    ]


@dataclass(frozen=True, slots=True)
class PlanChange:
    """Hold the ids of the orders of a plan that follows another one, by what became of them.

    `kept` have not landed and stay as they are. `withdrawn` and `not_removed` are those of this
    plan alone, without those of earlier ones.
    """

    task: FollowUp
    landed: tuple[str, ...]
    kept: tuple[str, ...]
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    withdrawn: tuple[WithdrawnOrder, ...] = ()
    not_removed: tuple[NotRemoved, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the change as `plan --json` prints it."""
        return {
            "supersedes": self.task.predecessor.facts.manifest_sha256,
            "requirements": self.task.difference.to_json(),
            "orders": {
                "landed": list(self.landed),
                "kept": list(self.kept),
                "changed": list(self.changed),
                "added": list(self.added),
                "withdrawn": [each.model_dump(mode="json") for each in self.withdrawn],
            },
            "not_removed": [each.model_dump(mode="json") for each in self.not_removed],
        }


def no_change(task: FollowUp) -> PlanChange:
    """Return what a plan that stays as it is changes: nothing."""
    drafts = task.predecessor.plan.drafts
    kept = tuple(each.label for each in drafts if not each.landed)
    return PlanChange(task, tuple(each.label for each in drafts if each.landed), kept)


def change_of(plan: Plan, answer: Answer) -> PlanChange:
    """Return what a merged plan changes in the one before."""
    task, drafts = answer.task, plan.drafts
    before = task.predecessor.plan.succession
    removed, own = task.removed_ids, answer.own
    return PlanChange(
        task,
        landed=tuple(each.label for each in drafts if each.landed),
        kept=tuple(each.label for each in drafts if not each.landed and each.position not in own),
        changed=tuple(drafts[each - 1].label for each in answer.positions(Place.REPLACES)),
        added=tuple(drafts[each - 1].label for each in answer.positions(Place.NEW)),
        withdrawn=tuple(e for e in plan.succession.withdrawn if e not in before.withdrawn),
        not_removed=tuple(e for e in plan.succession.not_removed if e.requirement in removed),
    )
