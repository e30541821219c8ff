"""The plan on disk: each file read whole or refused by name, and written as one plan."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import CommandFailed, InvalidInput
from shared.work_order.parse_order import manifest_sha256, parse_document
from shared.work_order.plan_folder import (
    MANIFEST_NAME,
    FileMalformed,
    StoredManifest,
    holds_plan,
    list_plan_files,
    plan_file_names,
    plan_files,
    read_manifest,
    read_stored_plan,
    replace_plan,
    write_plan,
)
from shared.work_order.work_order import Manifest
from tests.planner.plans import order, plan

NAMES = ["WO-01.json", "WO-02.json", MANIFEST_NAME]


def manifest(*orders: Any) -> Manifest:
    return parse_document(Manifest, plan(*orders))


PLAN = manifest(order(1), order(2))


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def put(folder: Path, documents: dict[str, Any]) -> Path:
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document))
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(InvalidInput) as refused:
        read_stored_plan(folder)
    assert refused.value.hint
    return refused.value.message


# Names


def test_orders_are_listed_by_number_and_the_manifest_last() -> None:
    given = ["README.md", MANIFEST_NAME, "WO-100.json", "WO-02.json", "WO-99.json", "WO-2.json"]
    assert plan_file_names([*given, "xWO-01.json", "WO-.json", "WO-01.json.bak"]) == (
        *("WO-02.json", "WO-2.json", "WO-99.json", "WO-100.json"),
        MANIFEST_NAME,
    )


def test_a_folder_holds_a_plan_where_it_has_one_of_its_files(tmp_path: Path) -> None:
    assert not holds_plan(tmp_path)
    assert not holds_plan(tmp_path / "none")
    put(tmp_path, {"WO-07.json": {}})
    assert holds_plan(tmp_path)
    assert list_plan_files(tmp_path) == ("WO-07.json",)


# Reading


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 200), unique=True, max_size=8))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("plan") / "plan"
    written = manifest(*(order(number) for number in numbers))
    write_plan(folder, written)
    stored = read_stored_plan(folder)
    assert stored.document == written.model_dump(mode="json")
    assert [each.document for each in stored.orders] == written.model_dump(mode="json")[
        "work_orders"
    ]


@pytest.mark.parametrize(
    ("name", "held"), [("WO-02.json", 1), ("WO-1.json", 1), ("WO-01.json", 100)]
)
def test_an_order_in_the_file_of_another_one_is_refused(
    tmp_path: Path, name: str, held: int
) -> None:
    message = refusal(put(tmp_path, {name: order(held)}))
    assert name in message
    assert order(held)["id"] in message


def test_an_id_of_another_form_is_left_to_whoever_judges_the_order(tmp_path: Path) -> None:
    for given_id in ("first", "WO-1", 7, None):
        put(tmp_path, {"WO-02.json": order(1) | {"id": given_id}})
        assert len(read_stored_plan(tmp_path).files) == 1


def test_a_malformed_file_is_named_with_its_problem(tmp_path: Path) -> None:
    put(tmp_path, {"WO-01.json": order(1)})
    (tmp_path / "WO-02.json").write_text('{"id": "WO-02", "id": "WO-02"}')
    with pytest.raises(FileMalformed) as refused:
        read_stored_plan(tmp_path)
    assert refused.value.name == "WO-02.json"
    assert "stands twice" in refused.value.problem


def test_a_fifo_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / MANIFEST_NAME)
    assert "FIFO" in refusal(tmp_path)
    with pytest.raises(InvalidInput, match="FIFO"):
        read_manifest(tmp_path)


def test_no_manifest_is_no_fault(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None


@pytest.mark.parametrize("given_id", [None, 7, ["WO-02"]])
def test_a_manifests_order_without_an_id_cannot_agree_with_a_file(
    tmp_path: Path, given_id: Any
) -> None:
    document = plan(order(1), order(2) | {"id": given_id})
    put(tmp_path, {"WO-01.json": order(1), "WO-02.json": order(2), MANIFEST_NAME: document})
    assert f"{MANIFEST_NAME}: work_orders[1] has no id" in refusal(tmp_path)


# The identity of a plan


def sealed(**provenance: Any) -> Any:
    document = plan(order(1), provenance={"planner_run_id": "01RUN", "manifest_sha256": ""})
    document["provenance"] |= {"manifest_sha256": manifest_sha256(document), **provenance}
    return document


def test_a_manifest_that_recomputes_to_its_hash_has_an_identity() -> None:
    facts = StoredManifest(sealed()).facts
    assert facts is not None
    assert facts.planner_run_id == "01RUN"
    assert facts.manifest_sha256 == manifest_sha256(sealed())


@pytest.mark.parametrize(
    "document",
    [
        sealed(manifest_sha256="0" * 64),
        sealed(planner_run_id=7),
        sealed() | {"system_overview": ["changed"]},
        sealed() | {"provenance": None},
        sealed() | {"provenance": [1]},
        [],
        None,
    ],
    ids=range(7),
)
def test_any_other_manifest_has_none(document: Any) -> None:
    assert StoredManifest(document).facts is None


# Writing


def test_a_plan_is_a_file_for_each_order_and_the_manifest_last() -> None:
    files = plan_files(PLAN)
    assert [*files] == NAMES
    assert json.loads(files["WO-02.json"]) == PLAN.work_orders[1].model_dump(mode="json")
    assert json.loads(files["WORK_ORDERS_MANIFEST.json"]) == PLAN.model_dump(mode="json")


def test_orders_beyond_ninety_nine_have_files_of_their_own() -> None:
    document = manifest(*[order(number) for number in range(1, 121)])
    assert len(plan_files(document)) == 121
    assert "WO-100.json" in plan_files(document)


def test_a_plan_is_written_with_everything_in_place(tmp_path: Path) -> None:
    write_plan(tmp_path / "plan", PLAN)
    assert names(tmp_path / "plan") == NAMES
    assert names(tmp_path) == ["plan"]


def test_a_plan_that_cannot_be_written_whole_is_not_written_at_all(tmp_path: Path) -> None:
    broken = manifest(order(1), order(2, id="WO/02"))
    with pytest.raises(CommandFailed, match="cannot write"):
        write_plan(tmp_path / "plan", broken)
    assert names(tmp_path) == []


def test_the_manifest_of_the_old_plan_goes_first(tmp_path: Path) -> None:
    """A directory in the place of an order's file stops the replacement where it stands."""
    replace_plan(tmp_path, PLAN)
    (tmp_path / "WO-02.json").unlink()
    (tmp_path / "WO-02.json").mkdir()
    with pytest.raises(CommandFailed, match=r"WO-02\.json"):
        replace_plan(tmp_path, PLAN)
    assert names(tmp_path) == ["WO-01.json", "WO-02.json"]
