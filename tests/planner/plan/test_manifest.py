"""The manifest of a valid plan: computed exemptions, its origin, and a hash that recomputes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.manifest import PlanOrigin, build_manifest, compile_hash
from planner.plan.parse_plan import parse_plan
from shared.work_order.parse_order import manifest_sha256, parse_document
from shared.work_order.plan_folder import plan_files
from shared.work_order.work_order import Manifest
from tests.planner.plans import creating, order, plan, requiring

ORIGIN = PlanOrigin("01RUN", "c" * 64)
VERIFY = "scripts/verify.sh"


def built(document: Any, origin: PlanOrigin = ORIGIN) -> Manifest:
    return build_manifest(parse_plan(document), (), origin)


def manifest_of(document: Any, origin: PlanOrigin = ORIGIN) -> dict[str, Any]:
    return built(document, origin).model_dump(mode="json")


def hash_of(document: Any, origin: PlanOrigin = ORIGIN) -> object:
    return manifest_of(document, origin)["provenance"]["manifest_sha256"]


def test_a_manifest_holds_the_plan_and_where_it_comes_from() -> None:
    document = manifest_of(plan(order(1), system_overview="One module."))
    assert (document["schema_version"], document["system_overview"]) == ("1.0", ["One module."])
    assert document["verify_contract"] is None
    assert [each["id"] for each in document["work_orders"]] == ["WO-01"]
    assert document["provenance"]["planner_run_id"] == "01RUN"
    assert document["provenance"]["compile_hash"] == "c" * 64


def test_a_manifest_is_a_document_of_its_own_schema() -> None:
    document = manifest_of(plan(creating(1, "a"), verify_contract=requiring("a")))
    assert parse_document(Manifest, document).model_dump(mode="json") == document


def test_the_hash_recomputes_from_the_bytes_on_disk() -> None:
    manifest = built(plan(creating(1, "naïve ✓.py"), creating(2, "b"), notes=None))
    written = json.loads(plan_files(manifest)["WORK_ORDERS_MANIFEST.json"])
    assert manifest_sha256(written) == written["provenance"]["manifest_sha256"]


def test_every_order_names_the_manifest_it_belongs_to() -> None:
    document = manifest_of(plan(order(1), order(2)))
    named = {each["provenance"]["manifest_sha256"] for each in document["work_orders"]}
    assert named == {document["provenance"]["manifest_sha256"]}


def test_the_hash_does_not_depend_on_the_run() -> None:
    assert hash_of(plan(order(1)), PlanOrigin("01A", "c" * 64)) == hash_of(
        plan(order(1)), PlanOrigin("01B", "c" * 64)
    )


CHANGES: dict[str, dict[str, Any]] = {
    "a title": plan(order(1, title="Another")),
    "a command": plan(order(1, acceptance_commands=["python -m compileall -q src"])),
    "one order more": plan(order(1), order(2)),
    "the contract": plan(order(1), verify_contract=requiring()),
    "the overview": plan(order(1), system_overview=["x"]),
}


@pytest.mark.parametrize("document", CHANGES.values(), ids=CHANGES)
def test_the_hash_covers(document: dict[str, Any]) -> None:
    assert hash_of(document) != hash_of(plan(order(1)))


def test_the_hash_covers_what_the_plan_was_made_from() -> None:
    assert hash_of(plan(order(1)), PlanOrigin("01A", "d" * 64)) != hash_of(plan(order(1)))


def test_a_changed_order_no_longer_fits_the_hash() -> None:
    document = manifest_of(plan(order(1)))
    forged = copy.deepcopy(document)
    forged["work_orders"][0]["verify_exempt"] = True
    assert manifest_sha256(forged) != document["provenance"]["manifest_sha256"]


def test_exempt_orders_are_marked_as_bootstrap_and_so_is_their_manifest() -> None:
    document = manifest_of(
        plan(creating(1, "a"), creating(2, VERIFY), verify_contract=requiring(VERIFY))
    )
    marks = [each["provenance"]["bootstrap"] for each in document["work_orders"]]
    assert marks == [each["verify_exempt"] for each in document["work_orders"]] == [True, False]
    assert document["provenance"]["bootstrap"] is True
    assert manifest_of(plan(order(1)))["provenance"]["bootstrap"] is False


INPUTS = {"spec": "a" * 64, "template": "b" * 64, "model": "m", "reasoning_effort": "medium"}


def test_equal_inputs_compile_to_equal_hashes() -> None:
    assert compile_hash(**INPUTS) == compile_hash(**dict(reversed(INPUTS.items())))
    assert len(compile_hash(**INPUTS)) == 64


@pytest.mark.parametrize("name", INPUTS)
def test_each_input_changes_the_compile_hash(name: str) -> None:
    assert compile_hash(**{**INPUTS, name: "other"}) != compile_hash(**INPUTS)


def test_no_effort_is_not_the_word_for_none() -> None:
    without = compile_hash(spec="a", template="b", model="m", reasoning_effort=None)
    named = compile_hash(spec="a", template="b", model="m", reasoning_effort="None")
    assert without != named


@given(st.text(), st.text())
def test_values_cannot_run_into_each_other(model: str, effort: str) -> None:
    joined = compile_hash(spec="", template="", model=model + effort, reasoning_effort="")
    apart = compile_hash(spec="", template="", model=model, reasoning_effort=effort)
    assert (joined == apart) == (effort == "")


def test_plans_that_follow_none_have_the_hash_that_they_always_had() -> None:
    document = plan(
        creating(1, "a.py", covers=["R1"], notes="A thing."),
        creating(2, VERIFY),
        verify_contract=requiring(VERIFY),
        requirements=[{"id": "R1", "text": "A thing."}],
        system_overview="One.",
    )
    before = "41d268fc973f5aa59b02ff6382fc12691291f7c1888a84aa1188396f21d85b97"
    assert hash_of(document) == before
