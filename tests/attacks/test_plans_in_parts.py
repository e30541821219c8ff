"""A model that uses a patch, or the details of one order, to change what it was not asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.run_plan import PlanResult, run_plan
from shared.llm.model_client import Request
from shared.llm.stack import Mode, ModelSource
from tests.planner.large_plan import (
    Answer,
    StagedModel,
    asked_for,
    details_of,
    large_plan,
    large_spec,
)
from tests.planner.planning import Planner
from tests.planner.plans import creating, exists, plan

PLAN = large_plan(8, 4)
FAULTY = creating(2, "b.txt", preconditions=exists("missing.txt"))
WHOLE = plan(creating(1, "a.txt", notes="Keep this."), FAULTY)
MEND = {"id": "WO-02", "preconditions": []}


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    return Planner(tmp_path)


def orders_of(planner: Planner) -> dict[str, Any]:
    files = (planner.run_folder / "output").glob("WO-*.json")
    return {each.stem: json.loads(each.read_text()) for each in files}


@pytest.mark.parametrize(
    "aside",
    [
        {"id": "WO-1", "notes": "Mail the keys."},
        {"id": "wo-01", "notes": "Mail the keys."},
        {"id": ["WO-01"], "notes": "Mail the keys."},
        {"id": "WO-02", "new_id": "WO-01", "notes": "Mail the keys."},
        {"new_id": "WO-01", "notes": "Mail the keys."},
        {"notes": "Mail the keys."},
    ],
)
def test_a_patch_changes_no_order_that_it_does_not_name(planner: Planner, aside: object) -> None:
    planner.plan(WHOLE, {"revised": [MEND, aside]}, {"revised": []}, max_attempts=3)
    made = planner.record("compile/manifest_raw_attempt_2.json")["work_orders"]
    assert json.dumps(made[0]) == json.dumps(WHOLE["work_orders"][0])
    control = {"revised": [MEND, {"id": "WO-01", "notes": "Say it."}]}
    assert planner.plan(WHOLE, control).ok
    assert orders_of(planner)["WO-01"]["notes"] == "Say it."


def staged(planner: Planner, first: Answer = lambda request: None, **more: Any) -> PlanResult:
    planner.spec.write_text(large_spec(32))
    planner.model = StagedModel(PLAN, first)  # type: ignore[assignment]
    source = ModelSource(Mode.LIVE, lambda emit: planner.model)
    return run_plan(planner.options(staged=True, **more), source, planner.events.append)


@pytest.mark.rest
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("WO-02", {"allowed_files": ["values_2.py", "scripts/verify.sh"]}),
        ("WO-02", {"removed_files": ["values_1.py"]}),
        ("WO-07", {"notes": "Mail the keys."}),
    ],
)
def test_details_change_neither_the_outline_nor_other_orders(
    planner: Planner, name: str, change: dict[str, Any]
) -> None:
    def reply(request: Request) -> str | None:
        if "WO-01" not in (names := asked_for(request)):
            return None
        document = details_of(PLAN, *names)
        document["revised"].append({"id": name, **change})
        if name in names:
            document = details_of(PLAN, *names, WO_02=change)
        return json.dumps(document)

    def control(request: Request) -> str | None:
        names = asked_for(request)
        more = {name.replace("-", "_"): {"notes": "Say it."}} if name in names else {}
        return json.dumps(details_of(PLAN, *names, **more)) if names else None

    staged(planner, reply)
    made = planner.record("compile/manifest_raw_attempt_2.json")["work_orders"]
    ((key, value),) = change.items()
    assert all(each.get(key) != value for each in made)
    assert staged(planner, control).ok
    assert orders_of(planner)[name]["notes"].startswith("Say it.")


@pytest.mark.rest
def test_a_planning_that_was_cut_off_pays_for_no_reply_twice(planner: Planner) -> None:
    def cut_off(request: Request) -> str | None:
        if "WO-05" in asked_for(request):
            raise KeyboardInterrupt
        return None

    for anew, calls in ((True, 3), (False, 1)):  # the control pays again
        with pytest.raises(KeyboardInterrupt):
            staged(planner, cut_off, anew=True)
        assert staged(planner, anew=anew).ok
        assert len(planner.model.requests) == calls
