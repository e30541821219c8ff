"""The plan of a build: made once for equal inputs, and found again by the next build."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from planner.known_plans import BuildPlan, plan_once, remember_plan
from shared.events.events import Noted
from shared.llm.stack import Mode, ModelSource
from tests.fakes import ScriptedModel
from tests.planner.planning import SPEC, Planner
from tests.planner.plans import creating, plan

GOOD = json.dumps(plan(creating(1, "greet.py")))


@pytest.fixture
def common_dir(tmp_path: Path) -> Path:
    """A repo's git folder, where the plans on file are listed."""
    return tmp_path / "git"


def build(planner: Planner, common_dir: Path, reply: str = GOOD) -> BuildPlan:
    """Ask for the plan; `planner.model` and `planner.events` show what that took."""
    planner.spec.write_text(SPEC)
    planner.events = []
    planner.model = ScriptedModel({"planner": [reply]})
    source = ModelSource(Mode.LIVE, lambda emit: planner.model)
    return plan_once(planner.options(max_attempts=1), common_dir, source, planner.events.append)


def test_a_plan_is_found_again_without_the_model(planner: Planner, common_dir: Path) -> None:
    first = build(planner, common_dir)
    assert first.result is not None
    assert first.folder == first.result.output_dir
    again = build(planner, common_dir)
    assert (again.folder, again.result, planner.model.requests) == (first.folder, None, [])
    assert [each.message for each in planner.seen(Noted)] == [
        f"continuing with the plan in {first.folder}"
    ]


def test_a_plan_that_is_gone_is_made_again(planner: Planner, common_dir: Path) -> None:
    folder = build(planner, common_dir).folder
    assert folder is not None
    shutil.rmtree(folder)
    again = build(planner, common_dir)
    assert again.folder not in (None, folder)
    assert build(planner, common_dir).folder == again.folder


def test_a_plan_that_is_not_valid_is_asked_for_again(planner: Planner, common_dir: Path) -> None:
    refused = build(planner, common_dir, "[]")
    assert refused.folder is None
    assert refused.result is not None
    assert build(planner, common_dir).folder is not None


def test_plans_that_are_made_at_the_same_time_are_all_on_file(
    tmp_path: Path, common_dir: Path
) -> None:
    names = [f"{number:02d}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: remember_plan(name, tmp_path / name, common_dir), names))
    plans = json.loads((common_dir / "llmch" / "plans.json").read_text())
    assert plans == {name: str(tmp_path / name) for name in names}
    remember_plan("00", tmp_path / "again", common_dir)
    plans = json.loads((common_dir / "llmch" / "plans.json").read_text())
    assert list(plans.items())[-1] == ("00", str(tmp_path / "again"))
    assert len(plans) == len(names)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', "\udcff"])
def test_a_list_of_plans_that_cannot_be_read_counts_as_empty(
    planner: Planner, common_dir: Path, text: str
) -> None:
    (common_dir / "llmch").mkdir(parents=True)
    (common_dir / "llmch" / "plans.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    first = build(planner, common_dir)
    assert first.result is not None
    assert build(planner, common_dir).folder == first.folder
