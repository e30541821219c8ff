"""What a person edited is found by the plan's own hash, whatever the files hold."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planner.plan.plan_edits import EditKind, take_edits
from shared.work_order.plan_folder import MANIFEST_NAME
from tests.harness import manifest, order

NUMBERS = st.sets(st.sampled_from([1, 2, 3]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
DOCUMENTS = st.dictionaries(
    st.sampled_from([MANIFEST_NAME, "WO-01.json", "WO-02.json"]),
    JSON
    | st.fixed_dictionaries(
        {"work_orders": JSON | st.lists(JSON, max_size=2), "id": JSON, "provenance": JSON}
    ),
)


def documents() -> dict[str, Any]:
    """Return the files of a plan of three orders, as it was made."""
    plan = manifest([order(1), order(2), order(3)])
    files = {f"{each['id']}.json": copy.deepcopy(each) for each in plan["work_orders"]}
    return {**files, MANIFEST_NAME: plan}


def test_a_plan_as_it_was_made_has_no_edits() -> None:
    assert take_edits(documents()) is None


@given(NUMBERS, NUMBERS, NUMBERS, st.booleans())
def test_each_edit_is_found_where_it_was_made(
    changed: set[int], removed: set[int], provenance: set[int], in_manifest: bool
) -> None:
    read = documents()
    orders = read[MANIFEST_NAME]["work_orders"]
    for number in sorted(changed):
        one = orders[number - 1] if in_manifest else read[f"WO-0{number}.json"]
        one["notes"] = "edited"
    for number in sorted(provenance):
        read[f"WO-0{number}.json"]["provenance"]["compile_hash"] = "edited"
    for number in sorted(removed, reverse=True):
        if in_manifest:
            del orders[number - 1]
        elif len(removed) < 3:
            del read[f"WO-0{number}.json"]
    if provenance and in_manifest and (changed or removed):
        return  # both were edited: the next test
    if len(removed) == 3 and not in_manifest:
        return  # the manifest alone is a plan, too
    taken = take_edits(read)
    found = {(each.order, each.kind) for each in taken.edits} if taken else set()
    assert found == {
        *((f"WO-0{number}", EditKind.CHANGED) for number in changed - removed),
        *((f"WO-0{number}", EditKind.REMOVED) for number in removed),
    }
    if taken and taken.edits:
        kept: Any = taken.document["work_orders"]
        assert [each["id"] for each in kept] == [
            f"WO-0{number}" for number in (1, 2, 3) if number not in removed
        ]
        assert {each["provenance"]["compile_hash"] for each in kept} <= {"c" * 64}
        marked = {each["id"] for each in kept if each["provenance"].get("edited")}
        assert marked == {f"WO-0{number}" for number in changed - removed}


@given(DOCUMENTS)
def test_documents_of_any_form_are_taken_or_left(read: dict[str, Any]) -> None:
    before = copy.deepcopy(read)
    taken = take_edits(read)
    assert read == before
    assert taken is None or isinstance(taken.document["work_orders"], list)
