from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.work_order.parse_order import (
    EMPTY_SHA256,
    canonical_json,
    manifest_sha256,
    order_key,
    parse_document,
    sha256_bytes,
)
from shared.work_order.work_order import AcceptanceFile, Interface, Provenance, WorkOrder

ORDER = WorkOrder(
    id="WO-01",
    title="t",
    intent="i",
    allowed_files=("a.py",),
    forbidden=(),
    context_files=(),
    acceptance_commands=("python a.py",),
)


def provenance(**changed: object) -> dict[str, object]:
    given = {
        "planner_run_id": "R1",
        "compile_hash": "c",
        "manifest_sha256": "m",
        "bootstrap": False,
    }
    return {**given, **changed}


def manifest(**changed: object) -> dict[str, Any]:
    order = ORDER.model_dump(mode="json") | {"provenance": provenance(**changed)}
    return {"schema_version": "1.0", "work_orders": [order], "provenance": provenance(**changed)}


def test_nothing_hashes_to_the_well_known_value() -> None:
    assert sha256_bytes(b"") == EMPTY_SHA256
    assert EMPTY_SHA256.startswith("e3b0c44298fc1c14")


def test_canonical_json_has_one_spelling() -> None:
    assert canonical_json({"b": [1, None], "a": "é"}) == '{"a":"é","b":[1,null]}'.encode()
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json(float("nan"))


def test_the_key_of_an_order_is_that_of_its_work() -> None:
    same = ORDER.model_copy(
        update={"verify_exempt": True, "provenance": Provenance.model_validate(provenance())}
    )
    assert order_key(same) == order_key(ORDER)
    assert order_key(ORDER.model_copy(update={"intent": "j"})) != order_key(ORDER)


def test_interfaces_are_work_and_an_order_without_them_keeps_its_key() -> None:
    key = "45a5d342ffc976efb68767fbca5145baea7f71d462f4ba9dfef9caae6494bddc"
    assert order_key(ORDER) == key
    declaring = Interface(path="a.py", stub="x: int")
    assert order_key(ORDER.model_copy(update={"interfaces": (declaring,)})) != key
    assert order_key(ORDER.model_copy(update={"changes": ("x",)})) != key


PARSED = st.builds(
    WorkOrder,
    id=st.just("WO-01"),
    title=st.text(max_size=10),
    intent=st.text(max_size=10),
    allowed_files=st.just(("a.py",)),
    forbidden=st.just(()),
    context_files=st.just(()),
    acceptance_commands=st.lists(st.text(max_size=10), min_size=1, max_size=3).map(tuple),
    regression=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    changes=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    notes=st.none() | st.text(max_size=10),
)


@given(PARSED)
def test_an_order_without_tests_of_the_plan_has_the_key_that_it_had_before(
    order: WorkOrder,
) -> None:
    """The document is as a version without the field would write it: the key is not there."""
    document = order.model_dump(mode="json", exclude={"provenance", "verify_exempt"})
    assert "acceptance_files" not in document
    before = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert order_key(order) == hashlib.sha256(before.encode()).hexdigest()
    empty = parse_document(WorkOrder, {**document, "acceptance_files": []})
    assert order_key(empty) == order_key(order)


@given(PARSED, st.text("abc\n", min_size=1).filter(str.strip))
def test_the_tests_of_the_plan_are_work(order: WorkOrder, text: str) -> None:
    def with_test(content: str) -> WorkOrder:
        file = AcceptanceFile(path="test_a.py", content=content)
        return order.model_copy(update={"acceptance_files": (file,)})

    keys = {order_key(order), order_key(with_test(text)), order_key(with_test(f"{text}#"))}
    assert len(keys) == 3


@given(PARSED)
def test_an_order_that_removes_nothing_has_the_key_that_it_had_before(order: WorkOrder) -> None:
    """The document is as a version without the field would write it: the key is not there."""
    document = order.model_dump(mode="json", exclude={"provenance", "verify_exempt"})
    assert "removed_files" not in document
    empty = parse_document(WorkOrder, {**document, "removed_files": []})
    assert order_key(empty) == order_key(order)


@given(PARSED, st.lists(st.sampled_from(["b.py", "c.py", "d/e.py"]), min_size=1, unique=True))
def test_what_an_order_removes_is_work(order: WorkOrder, removed: list[str]) -> None:
    removing = order.model_copy(update={"removed_files": tuple(removed)})
    more = order.model_copy(update={"removed_files": (*removed, "f.py")})
    assert len({order_key(order), order_key(removing), order_key(more)}) == 3


def test_two_runs_with_equal_content_have_the_same_manifest_hash() -> None:
    other_run = manifest(planner_run_id="R2", manifest_sha256="n")
    assert manifest_sha256(manifest()) == manifest_sha256(other_run)


@pytest.mark.parametrize("changed", [{"bootstrap": True}, {"compile_hash": "d"}])
def test_the_manifest_hash_covers_the_rest_of_the_provenance(changed: dict[str, object]) -> None:
    assert manifest_sha256(manifest(**changed)) != manifest_sha256(manifest())


def test_the_manifest_hash_covers_keys_of_that_name_elsewhere() -> None:
    document = manifest()
    document["work_orders"][0]["manifest_sha256"] = "x"
    assert manifest_sha256(document) != manifest_sha256(manifest())


def test_the_manifest_hash_recomputes_from_the_file_that_carries_it() -> None:
    document = manifest()
    document["provenance"]["manifest_sha256"] = manifest_sha256(document)
    read_back = json.loads(json.dumps(document, indent=2))
    assert manifest_sha256(read_back) == document["provenance"]["manifest_sha256"]
