"""The plan that another one follows is read from its folder, or refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.replan.predecessor import read_predecessor
from shared.errors import InvalidInput
from shared.work_order.plan_folder import MANIFEST_NAME
from tests.harness import hashed
from tests.planner.replanning import stored_plan, writing

TEXTS = {"R1": "Five letters.", "R2": "A score."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored_plan(tmp_path / "plan", TEXTS, writing(1, "R1"), writing(2, "R2"))


def refusal(folder: Path) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as refused:
        read_predecessor(folder, ["WO-01"])
    return refused.value.message, refused.value.hint or ""


def rewritten(folder: Path, **changes: Any) -> None:
    """Change the manifest, make its hash true again, and leave the order files away."""
    document = json.loads((folder / MANIFEST_NAME).read_text()) | changes
    for path in folder.glob("WO-*.json"):
        path.unlink()
    (folder / MANIFEST_NAME).write_text(json.dumps(hashed(document)))


def test_a_plan_says_what_landed_and_which_number_is_next(folder: Path) -> None:
    before = read_predecessor(folder, ["WO-02", "WO-07"], left_out=["WO-01"])
    assert [each.landed for each in before.plan.drafts] == [False, True]
    assert before.landed == {"WO-02"}
    assert before.left_out == {"WO-01"}
    assert before.last_number == 2
    assert before.supersedes.lineage == (before.facts.manifest_sha256,)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "is not a directory" in refusal(tmp_path / "none")[0]


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    assert "holds no work orders" in refusal(tmp_path)[0]


def test_orders_without_a_manifest_are_refused(folder: Path) -> None:
    (folder / MANIFEST_NAME).unlink()
    assert "has no manifest" in refusal(folder)[0]


def test_an_edited_plan_is_refused_with_the_command_that_takes_the_edits_over(folder: Path) -> None:
    for path in (folder / MANIFEST_NAME, folder / "WO-01.json"):
        path.write_text(path.read_text().replace("Part 1", "Part one"))
    message, hint = refusal(folder)
    assert "was edited" in message
    assert f"llmch check {folder} --accept-edits" in hint


def test_files_that_disagree_are_refused(folder: Path) -> None:
    path = folder / "WO-01.json"
    path.write_text(path.read_text().replace("Part 1", "Part one"))
    assert "disagree" in refusal(folder)[0]


@pytest.mark.parametrize(
    "changes",
    [{"requirements": []}, {"requirements": [{"id": "R9", "text": "x"}], "work_orders": None}],
    ids=["no requirements", "no order names one"],
)
def test_a_plan_that_is_not_traced_to_requirements_is_refused(
    folder: Path, changes: dict[str, Any]
) -> None:
    document = json.loads((folder / MANIFEST_NAME).read_text())
    bare = [{k: v for k, v in each.items() if k != "covers"} for each in document["work_orders"]]
    rewritten(folder, **{**changes, "work_orders": bare})
    message, hint = refusal(folder)
    assert "name no requirements" in message
    assert "--require-coverage" in hint


@pytest.mark.parametrize("broken", ["an id twice", "an order that is none"])
def test_a_plan_that_cannot_be_read_is_refused(folder: Path, broken: str) -> None:
    first, second = json.loads((folder / MANIFEST_NAME).read_text())["work_orders"]
    other = second | {"id": "WO-01"} if broken == "an id twice" else second | {"title": 7}
    rewritten(folder, work_orders=[first, other])
    message, hint = refusal(folder)
    assert "cannot be read" in message
    assert f"llmch check {folder}" in hint


def test_a_manifest_that_is_no_json_is_refused(folder: Path) -> None:
    (folder / MANIFEST_NAME).write_text("{")
    assert MANIFEST_NAME in refusal(folder)[0]
