"""A reply and the plan before make one plan, in which what landed or is kept never changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.manifest import PlanOrigin, build_manifest
from planner.plan.parse_plan import Plan, parse_plan, read_reply
from planner.replan.merge_plans import Merged, Place, merge, reply_text
from planner.replan.predecessor import FollowUp
from shared.work_order.parse_order import canonical_json, manifest_sha256
from tests.planner.plans import order, requiring
from tests.planner.replanning import follow_up, judged_report, unstored_predecessor, writing

NAMES = ("R1", "R2", "R3", "R4")
KINDS = ("untouched", "changed", "removed")
# A value that JSON can hold, and few texts that mean something.
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "WO-01", "R1", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "covers", "reason", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
IDS = st.integers(0, 8).map(lambda number: f"WO-{number:02d}")


@dataclass(frozen=True)
class Change:
    """A plan, which of its orders landed, and what becomes of each requirement."""

    covers: tuple[tuple[str, ...], ...]
    landed: frozenset[str]
    kinds: tuple[str, ...]
    added: bool

    @property
    def task(self) -> FollowUp:
        orders = [writing(number, *names) for number, names in enumerate(self.covers, 1)]
        texts = {name: f"{name} as it was." for name in NAMES}
        after = {
            name: texts[name] if kind == "untouched" else f"{name} as it is."
            for name, kind in zip(NAMES, self.kinds, strict=True)
            if kind != "removed"
        }
        after |= {"R9": "Something new."} if self.added else {}
        return follow_up(unstored_predecessor(texts, *orders, landed=self.landed), after)

    def of_kind(self, *kinds: str) -> set[str]:
        return {name for name, kind in zip(NAMES, self.kinds, strict=True) if kind in kinds}

    @property
    def replaceable(self) -> list[str]:
        """Return what the rule names: not landed, and something of it changed or was removed."""
        touched = self.of_kind("changed", "removed")
        return [name for name, covers in self._open if touched & {*covers}]

    @property
    def withdrawable(self) -> list[str]:
        removed = self.of_kind("removed")
        return [name for name, covers in self._open if covers and {*covers} <= removed]

    @property
    def _open(self) -> list[tuple[str, tuple[str, ...]]]:
        named = [(f"WO-{number:02d}", names) for number, names in enumerate(self.covers, 1)]
        return [each for each in named if each[0] not in self.landed]


COVERS = st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(tuple)
CHANGES = st.builds(
    Change,
    covers=st.lists(COVERS, min_size=1, max_size=5).map(tuple),
    landed=st.frozensets(IDS, max_size=4),
    kinds=st.tuples(*[st.sampled_from(KINDS)] * len(NAMES)),
    added=st.booleans(),
)
REPLIED = st.builds(
    lambda name, covers, title: order(covers=covers, title=title) | {"id": name},
    IDS,
    st.lists(st.sampled_from((*NAMES, "R9")), max_size=3),
    st.sampled_from(["Part 1", "Another"]),
)
REASONED = st.fixed_dictionaries({"id": IDS, "reason": st.sampled_from(["", "Removed."])})
EXCUSED = st.fixed_dictionaries({"requirement": st.sampled_from(NAMES), "reason": st.just("Used.")})
REPLIES = st.fixed_dictionaries(
    {"work_orders": st.lists(REPLIED | JUNK, max_size=5) | JUNK},
    optional={
        "withdrawn": st.lists(REASONED | JUNK, max_size=4) | JUNK,
        "not_removed": st.lists(EXCUSED | JUNK, max_size=4) | JUNK,
        "verify_contract": st.just(requiring("a.txt")) | JUNK,
        "requirements": JUNK,
        "supersedes": JUNK,
    },
)


@given(CHANGES)
def test_what_may_be_replaced_is_what_the_rule_names(change: Change) -> None:
    assert [*change.task.replaceable] == change.replaceable
    assert [*change.task.withdrawable] == change.withdrawable


def _bytes(plan: Plan) -> dict[str, str]:
    return {each.label: json.dumps(each.raw) for each in plan.drafts}


@given(CHANGES, REPLIES)
def test_whatever_the_reply_says_what_landed_or_is_kept_stays(change: Change, reply: Any) -> None:
    task = change.task
    merged = merge(parse_plan(reply), task)
    before, after = _bytes(task.predecessor.plan), _bytes(merged.plan)
    gone = {each.id for each in merged.plan.succession.withdrawn}
    assert gone <= {*change.withdrawable}
    for name, text in before.items():
        if name not in change.replaceable:
            assert after.get(name, text if name in gone else "") == text
    changed = {merged.plan.drafts[p - 1].label for p in merged.answer.positions(Place.REPLACES)}
    assert changed <= {*change.replaceable}
    assert merged.answer.task.predecessor.landed <= {each.label for each in merged.plan.drafts}


@given(CHANGES, REPLIES)
def test_whatever_the_reply_says_it_is_judged_and_a_good_one_sealed(
    change: Change, reply: Any
) -> None:
    task = change.task
    merged = merge(parse_plan(reply), task)
    if not judged_report(task, merged).ok:
        return
    origin = PlanOrigin("01SECOND", "d" * 64)
    manifest = build_manifest(merged.plan, (), origin, own=merged.answer.own)
    document = manifest.model_dump(mode="json")
    assert manifest_sha256(document) == document["provenance"]["manifest_sha256"]
    assert parse_plan(document).succession == merged.plan.succession
    written = {each["id"]: canonical_json(each) for each in document["work_orders"]}
    for draft in task.predecessor.plan.drafts:
        if draft.label in written.keys() - {*change.replaceable}:
            assert written[draft.label] == canonical_json(dict(draft.raw))


@given(st.text() | JUNK.map(lambda value: json.dumps(value)))
def test_any_text_is_a_reply(text: str) -> None:
    task = Change((("R1",),), frozenset(), ("changed", *["untouched"] * 3), False).task
    merged = merge(read_reply(text).plan, task)
    assert not judged_report(task, merged).ok


def _merged(reply: Any, *orders: Any) -> Merged:
    texts = {"R1": "Five letters.", "R2": "A score."}
    before = unstored_predecessor(texts, *orders, landed=["WO-01"])
    return merge(parse_plan(reply), follow_up(before, texts | {"R2": "Two scores."}))


def test_a_replacement_stands_where_the_order_stood_and_new_orders_come_last() -> None:
    reply = {"work_orders": [writing(4, "R2"), writing(2, "R2", title="Two")]}
    merged = _merged(reply, writing(1, "R1"), writing(2, "R2"), writing(3))
    assert [each.label for each in merged.plan.drafts] == ["WO-01", "WO-02", "WO-03", "WO-04"]
    assert merged.plan.drafts[1].raw["title"] == "Two"
    assert merged.answer.own == {2, 4}


def test_a_model_cannot_say_where_its_order_comes_from() -> None:
    forged = {"planner_run_id": "x", "compile_hash": "y", "manifest_sha256": "z"}
    reply = {"work_orders": [writing(2, "R2", provenance=forged, verify_exempt=True)]}
    raw = _merged(reply, writing(1, "R1")).plan.drafts[1].raw
    assert "provenance" not in raw
    assert "verify_exempt" not in raw


def test_what_the_plan_has_already_is_left_out_with_a_note() -> None:
    merged = _merged({"work_orders": [writing(1, "R1"), writing(2, "R2")]}, writing(1, "R1"))
    assert merged.left_out == ("WO-01 is left out of the reply: the plan has it already",)
    assert merged.answer.own == {2}


@pytest.mark.parametrize("stated", [None, requiring("part_01.txt")], ids=["none", "its own"])
def test_the_contract_is_the_replys_where_it_has_one(stated: Any) -> None:
    reply = {"work_orders": [writing(2, "R2")], "verify_contract": stated}
    contract = _merged(reply, writing(1, "R1")).plan.contract
    assert (contract is None) is (stated is None)


def test_the_next_prompt_shows_the_replys_own_orders_alone() -> None:
    reply = {"work_orders": [writing(2, "R2")], "not_removed": []}
    merged = _merged(reply, writing(1, "R1"))
    assert json.loads(reply_text(merged.plan, merged.answer)) == {"work_orders": [writing(2, "R2")]}


@pytest.mark.parametrize(("landed", "waits"), [(["WO-01"], []), (["WO-01", "WO-03"], ["WO-02"])])
def test_no_order_that_is_still_to_be_made_waits_for_one_that_is_gone(
    landed: list[str], waits: list[str]
) -> None:
    orders = (writing(1), writing(2, "R2"), writing(3, "R1", depends_on=["WO-02"]))
    texts = {"R1": "Five letters.", "R2": "A score."}
    before = unstored_predecessor(texts, *orders, landed=landed)
    reply: Any = {"work_orders": [], "withdrawn": [{"id": "WO-02", "reason": "gone"}]}
    merged = merge(parse_plan(reply), follow_up(before, {"R1": texts["R1"]}))
    raw = {each.label: each.raw for each in merged.plan.drafts}
    assert raw.keys() == {"WO-01", "WO-03"} and raw["WO-03"]["depends_on"] == waits


def test_two_plans_may_be_too_long_together() -> None:
    reply = {"work_orders": [writing(number, "R2") for number in range(2, 2002)]}
    merged = _merged(reply, writing(1, "R1"))
    assert [str(each.message) for each in merged.plan.problems] == [
        "has 2000 entries, at most 1999 may follow the plan"
    ]
    assert len(merged.plan.drafts) == 1
