"""A large plan is made as an outline first, then its details, a few orders at a time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planner.replan.predecessor import Predecessor, read_predecessor
from planner.run_plan import PlanResult, run_plan
from shared.errors import BudgetReached, ModelUnavailable
from shared.events.events import PlanAttemptStarted, PlanJudged, Warned
from shared.llm.model_client import ReplyCutShort, Request
from shared.llm.stack import Mode, ModelSource
from tests.harness import commit_all
from tests.planner.large_plan import (
    Answer,
    Document,
    StagedModel,
    asked_for,
    code_of,
    details_of,
    large_plan,
    large_spec,
    outline_of,
)
from tests.planner.planning import Planner

PLAN = large_plan(8, 4)
SPEC = large_spec(32)
Staged = Callable[..., PlanResult]


@pytest.fixture
def staged(planner: Planner) -> Staged:
    """Plan the specification in stages; `first` answers what the model would not."""

    def plan(first: Answer = lambda request: None, **options: Any) -> PlanResult:
        planner.spec.write_text(SPEC)
        planner.events, planner.model = [], StagedModel(PLAN, first)  # type: ignore[assignment]
        source = ModelSource(Mode.LIVE, lambda emit: planner.model)
        asked = planner.options(**{"staged": True, "require_coverage": True, **options})
        return run_plan(asked, source, planner.events.append)

    return plan


def calls(planner: Planner) -> list[str]:
    return [str(each.place) for each in planner.model.requests]


def written(planner: Planner) -> list[Any]:
    names = sorted((planner.run_folder / "output").glob("WO-*.json"))
    return [json.loads(each.read_text()) for each in names]


def test_an_outline_and_its_details_are_the_plan(planner: Planner, staged: Staged) -> None:
    result = staged()
    assert (result.ok, result.attempts, result.work_orders) == (True, 2, 8)
    assert sorted(calls(planner)) == [
        "planner WO-01+3 attempt 2",
        "planner WO-05+3 attempt 2",
        "planner attempt 1",
    ]
    for made, meant in zip(written(planner), PLAN["work_orders"], strict=True):
        assert made["notes"].startswith(meant["notes"])
        assert {key: made[key] for key in ("acceptance_files", "covers")} == {
            key: meant[key] for key in ("acceptance_files", "covers")
        }
    begun = [(each.stage, each.calls) for each in planner.seen(PlanAttemptStarted)]
    assert begun == [("outline", 1), ("details", 2)]
    assert [each.errors for each in planner.seen(PlanJudged)] == [0, 0]
    assert {f"compile/prompt_attempt_2_WO-0{n}.txt" for n in (1, 5)} <= planner.records()


def test_small_orders_of_an_outline_are_joined_before_their_details_are_asked_for(
    planner: Planner,
) -> None:
    small = large_plan(2, 1)
    first, second = small["work_orders"]
    both = {key: [*first[key], *second[key]] for key in ("acceptance_files", "acceptance_commands")}
    details = {"id": "WO-01", "notes": f"{first['notes']} {second['notes']}", **both}

    def replies(request: Request) -> str | None:
        return json.dumps({"revised": [details]}) if asked_for(request) else None

    planner.spec.write_text(large_spec(2))
    planner.model = model = StagedModel(small, replies)  # type: ignore[assignment]
    source = ModelSource(Mode.LIVE, lambda emit: model)
    assert run_plan(planner.options(staged=True), source, planner.events.append).ok
    assert calls(planner) == ["planner attempt 1", "planner WO-01 attempt 2"]
    (order,) = written(planner)
    assert order["allowed_files"] == ["values_1.py", "values_2.py"]
    assert order["covers"] == ["R1", "R2"]


def test_all_questions_about_details_begin_alike(planner: Planner, staged: Staged) -> None:
    staged()
    whole = planner.prompts[0].partition("# Stages")[0]
    one, other = planner.prompts[1:]
    length = next(n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    common = one[:length]
    assert common.startswith(whole) and '"id": "WO-08"' in common
    assert len(common) > 0.9 * len(one)
    kept = {each.prompt[: each.shared] for each in planner.model.requests}
    assert len(kept) == 1, "a server that has to be told keeps what all of them begin with"
    assert whole.startswith(kept.pop()) and planner.model.requests[0].shared > 1_000


@pytest.mark.parametrize(
    ("base_url", "most"), [("https://models.example/v1", 2), ("http://127.0.0.1:11434/v1", 1)]
)
def test_calls_are_made_side_by_side_but_on_this_machine(
    planner: Planner, base_url: str, most: int
) -> None:
    planner.spec.write_text(SPEC)
    under_way, peak, both = [0], [0], threading.Barrier(2)

    def counting(request: Request) -> str | None:
        under_way[0] += 1
        if asked_for(request) and most == 2:
            both.wait(timeout=60)
        peak.append(under_way[0])
        under_way[0] -= 1
        return None

    model = StagedModel(PLAN, counting)
    source = ModelSource(Mode.LIVE, lambda emit: model, base_url=base_url)
    assert run_plan(planner.options(staged=True), source, planner.events.append).ok
    assert max(peak) == most


def test_an_outline_is_judged_by_the_rules_that_concern_it(
    planner: Planner, staged: Staged
) -> None:
    outline = outline_of(PLAN)
    outline["work_orders"][1]["context_files"] = ["missing.py"]
    outline["work_orders"][2]["covers"] = ["R99"]
    mended = details_of(PLAN, "WO-02", "WO-03")["revised"]
    orders = {each["id"]: each for each in outline_of(PLAN)["work_orders"]}
    patch = {"revised": [orders[each["id"]] for each in mended]}
    replies = iter([json.dumps(outline), json.dumps(patch)])
    result = staged(lambda request: None if asked_for(request) else next(replies))
    assert (result.ok, result.attempts) == (True, 3)
    said = planner.seen(PlanJudged)[0].findings
    assert {each[1:5] for each in said} == {"E243", "E301", "E302"}
    assert "no details yet" not in planner.prompts[1]
    assert [each.stage for each in planner.seen(PlanJudged)] == ["outline", "outline", "details"]


def test_an_outline_that_is_never_valid_ends_the_planning(planner: Planner, staged: Staged) -> None:
    outline = outline_of(PLAN)
    outline["work_orders"][0]["context_files"] = ["missing.py"]
    result = staged(lambda request: json.dumps(outline))
    assert (result.ok, result.attempts, result.output_dir) == (False, 2, None)
    assert [each.code for each in result.report.errors] == ["E243"]


def test_only_the_orders_with_findings_are_revised(planner: Planner, staged: Staged) -> None:
    wrong = {"acceptance_commands": ["true | cat"], "acceptance_files": []}

    def once(request: Request) -> str | None:
        names = asked_for(request)
        return json.dumps(details_of(PLAN, *names, WO_06=wrong)) if names else None

    result = staged(once)
    assert (result.ok, result.attempts) == (True, 3)
    assert calls(planner)[3:] == ["planner WO-06 attempt 3"]
    revision = planner.prompts[3].partition("# Revision")[2]
    assert "true | cat" in revision and '"WO-05"' not in revision
    before = planner.record("compile/manifest_raw_attempt_2.json")["work_orders"]
    after = planner.record("compile/manifest_raw_attempt_3.json")["work_orders"]
    same = [json.dumps(a) == json.dumps(b) for a, b in zip(before, after, strict=True)]
    assert same == [n != 5 for n in range(8)]


@pytest.mark.parametrize("key", ["allowed_files", "interfaces", "covers", "title"])
def test_details_that_disagree_with_the_outline_are_a_finding(
    planner: Planner, staged: Staged, key: str
) -> None:
    other = {key: "Another title" if key == "title" else []}

    def once(request: Request) -> str | None:
        names = asked_for(request)
        return json.dumps(details_of(PLAN, *names, WO_02=other)) if names else None

    result = staged(once)
    assert (result.ok, result.attempts) == (True, 3)
    said = planner.seen(PlanJudged)[1].findings
    assert any(f"[E005] WO-02 {key}: is not as the outline has it" in each for each in said)
    assert calls(planner)[3:] == ["planner WO-02 attempt 3"]
    (kept,) = [each for each in written(planner) if each["id"] == "WO-02"]
    assert kept[key] == PLAN["work_orders"][1][key]


def test_details_of_other_orders_do_not_count(planner: Planner, staged: Staged) -> None:
    def once(request: Request) -> str | None:
        names = asked_for(request)
        if "WO-01" in names:
            return json.dumps(details_of(PLAN, *names, "WO-07"))
        return None

    result = staged(
        lambda r: (
            once(r)
            or ('{"revised": []}' if r.place.order is None and r.place.attempt > 1 else None)
        )
    )
    assert (result.ok, result.attempts) == (True, 3)
    said = planner.seen(PlanJudged)[1].findings
    assert any("WO-07 is not one of the orders asked for" in each for each in said)


def test_a_stage_that_is_cut_off_is_asked_for_again_in_halves(
    planner: Planner, staged: Staged
) -> None:
    def too_long(request: Request) -> str | None:
        if len(asked_for(request)) > 1 and "WO-01" in asked_for(request):
            raise ReplyCutShort("the reply reached its limit")
        return None

    result = staged(too_long)
    assert (result.ok, result.attempts) == (True, 4)
    assert sorted(each for each in calls(planner) if "attempt 1" not in each) == [
        "planner WO-01 attempt 4",
        "planner WO-01+1 attempt 3",
        "planner WO-01+3 attempt 2",
        "planner WO-02 attempt 4",
        "planner WO-03+1 attempt 3",
        "planner WO-05+3 attempt 2",
    ]


@pytest.mark.parametrize("reply", ["prose", None])
def test_where_no_details_ever_come_the_planning_ends(
    planner: Planner, staged: Staged, reply: str | None
) -> None:
    def nothing(request: Request) -> str | None:
        if asked_for(request) and reply is None:
            raise ReplyCutShort("the reply reached its limit")
        return reply if asked_for(request) else None

    result = staged(nothing, max_attempts=3)
    assert (result.ok, result.attempts, result.output_dir) == (False, 4, None)
    assert (result.error is None) is (reply is not None)
    if reply:
        missing = "acceptance_commands: is missing: the order has no details yet"
        assert [each.render() for each in result.report.errors] == [
            f"[E005] WO-0{n} {missing}" for n in range(1, 9)
        ]
    assert calls(planner)[-1].startswith("planner WO-0")


def test_a_plan_in_stages_that_is_cut_off_goes_on(planner: Planner, staged: Staged) -> None:
    def interrupted(request: Request) -> str | None:
        if "WO-05" in asked_for(request):
            raise KeyboardInterrupt
        return None

    with pytest.raises(KeyboardInterrupt):
        staged(interrupted)
    paid = len(calls(planner))
    result = staged()
    assert (result.ok, result.attempts, paid) == (True, 2, 3)
    assert calls(planner) == ["planner WO-05+3 attempt 2"]


@pytest.mark.parametrize("error", [BudgetReached("cap"), ModelUnavailable("no key")])
def test_an_error_in_one_of_the_calls_ends_the_planning_and_keeps_the_others(
    planner: Planner, staged: Staged, error: Exception
) -> None:
    def failing(request: Request) -> str | None:
        if "WO-05" in asked_for(request):
            raise error
        return None

    with pytest.raises(type(error)):
        staged(failing)
    assert (staged().ok, len(planner.prompts)) == (True, 1)


def test_a_plan_in_stages_is_reviewed_and_revised(planner: Planner, staged: Staged) -> None:
    claim = {"work_order": "WO-03", "claim": "Wrong", "evidence": "value_9 returns 63."}
    rounds = iter([{"findings": [claim]}, {"findings": []}])

    def reviewed(request: Request) -> str | None:
        if str(request.place.role) == "reviewer":
            return json.dumps(next(rounds))
        if "A reviewer makes" in request.prompt:
            return json.dumps({"revised": [{"id": "WO-03", "notes": "Corrected."}]})
        return None

    result = staged(reviewed, reviewer=planner.options().model)
    assert (result.ok, result.attempts) == (True, 3)
    assert "planner WO-03 attempt 3" in calls(planner)
    assert written(planner)[2]["notes"].startswith("Corrected.\n\nThe spec")


def test_a_revision_for_the_reviewer_that_is_cut_leaves_the_plan_as_it_was(
    planner: Planner, staged: Staged
) -> None:
    claim = {"work_order": "WO-03", "claim": "Wrong", "evidence": "value_9 returns 63."}

    def reviewed(request: Request) -> str | None:
        if str(request.place.role) == "reviewer":
            return json.dumps({"findings": [claim]})
        if "A reviewer makes" in request.prompt:
            raise ReplyCutShort("the reply reached its limit")
        return None

    result = staged(reviewed, reviewer=planner.options().model, max_attempts=5)
    assert (result.ok, result.work_orders) == (True, 8)
    assert "stays as it was before the review" in planner.seen(Warned)[-1].message


@pytest.mark.parametrize(
    ("effort", "setting", "room"),
    [
        (None, 64_000, 16_000),
        ("none", None, 16_000),
        ("medium", 64_000, 24_192),
        (None, 8_000, 8_000),
        ("low", 200_000, 52_048),
    ],
)
def test_details_that_run_away_are_cut_early(
    planner: Planner, staged: Staged, effort: str | None, setting: int | None, room: int
) -> None:
    model = replace(planner.options().model, reasoning_effort=effort, max_output_tokens=setting)
    assert staged(model=model).ok
    outline, *details = planner.model.requests
    assert outline.max_output_tokens == setting
    assert {each.max_output_tokens for each in details} == {room}
    assert (outline.in_parts, {each.in_parts for each in details}) == (False, {True})


@pytest.mark.parametrize(
    ("spec", "options", "stages"),
    [
        (large_spec(16), {}, 1),
        (large_spec(250), {}, 2),
        (large_spec(250), {"staged": False}, 1),
        ("# One thing\n\n" + "```\n" + "x y z\n" * 2_000 + "```\n", {}, 2),
    ],
)
def test_stages_are_for_plans_that_one_reply_cannot_hold(
    planner: Planner, staged: Staged, spec: str, options: dict[str, Any], stages: int
) -> None:
    planner.spec.write_text(spec)
    planner.plan("prose", "prose", **options)
    assert ("# Stages" in planner.prompts[0]) is (stages == 2)
    assert planner.seen(Warned)


@pytest.fixture
def before(planner: Planner) -> Predecessor:
    """The plan of the first four requirements, which the plan of all others follows."""
    planner.spec.write_text(large_spec(4))
    folder = planner.plan(large_plan(1, 4)).output_dir
    assert folder is not None
    return read_predecessor(folder, ())


def following(plan: Document) -> Document:
    return {"work_orders": plan["work_orders"][1:]}


def test_a_large_plan_that_follows_another_one_is_made_in_stages(
    planner: Planner, before: Predecessor
) -> None:
    whole = large_plan(22, 4)
    planner.spec.write_text(large_spec(88))
    model = StagedModel({**following(whole), "system_overview": []})
    planner.events, planner.model = [], model  # type: ignore[assignment]
    source = ModelSource(Mode.LIVE, lambda emit: model)
    result = run_plan(planner.options(follows=before), source, planner.events.append)
    assert (result.ok, result.attempts, result.work_orders) == (True, 2, 22)
    assert sorted(calls(planner)) == [
        *(f"planner WO-{n:02}+{more} attempt 2" for n, more in ((2, 4), (7, 4), (12, 4), (17, 5))),
        "planner attempt 1",
    ]
    assert planner.prompts[0].count("WO-01") and "# What changed" in planner.prompts[0]
    assert [each["covers"] for each in written(planner)] == [
        each["covers"] for each in whole["work_orders"]
    ]
    assert result.change is not None and result.change.kept == ("WO-01",)
    assert len(result.change.added) == 21


@pytest.mark.parametrize(("staged", "first"), [(True, "# Stages"), (False, "")])
def test_a_person_decides_whether_a_plan_that_follows_is_made_in_stages(
    planner: Planner, before: Predecessor, *, staged: bool, first: str
) -> None:
    planner.spec.write_text(large_spec(8))
    plan = following(large_plan(2, 4))
    model = StagedModel({**plan, "system_overview": []})
    planner.model = model  # type: ignore[assignment]
    source = ModelSource(Mode.LIVE, lambda emit: model)
    asked = planner.options(follows=before, staged=staged)
    assert run_plan(asked, source, planner.events.append).ok
    assert (first in planner.prompts[0], len(planner.prompts)) == (True, 1 + staged)


def test_an_order_that_removes_something_is_detailed_and_proves_the_rest_again(
    planner: Planner, before: Predecessor, repo: Path
) -> None:
    first, order = large_plan(2, 4)["work_orders"]
    tests = {each["path"]: each["content"] for each in first["acceptance_files"]}
    landed = [*first["acceptance_commands"]]
    commit_all(repo, {**code_of(first), **tests})
    planner.spec.write_text(large_spec(3) + "- R5: value_5() returns 35.\n")
    order |= {"covers": ["R5", "R4"], "changes": ["value_4"]}
    order["allowed_files"] = ["values_1.py", "values_2.py"]
    model = StagedModel({"work_orders": [order], "system_overview": []})
    planner.model = model  # type: ignore[assignment]
    source = ModelSource(Mode.LIVE, lambda emit: model)
    follows = read_predecessor(before.folder, ("WO-01",))
    asked = planner.options(follows=follows, staged=True, repo=repo, max_attempts=1)
    result = run_plan(asked, source, planner.events.append)
    assert result.ok, result.report.render()
    assert "planner WO-02 attempt 2" in calls(planner)
    made = written(planner)[1]
    assert made["acceptance_commands"] == [*order["acceptance_commands"], *landed]
    assert made["regression"] == landed


def test_a_whole_plan_in_the_place_of_an_outline_is_taken(planner: Planner, staged: Staged) -> None:
    result = staged(lambda request: json.dumps(PLAN))
    assert (result.ok, result.attempts, result.work_orders) == (True, 1, 8)


def too_long_at_once(request: Request) -> str | None:
    if request.place.attempt == 1:
        raise ReplyCutShort("the reply reached its limit")
    return None


def test_a_plan_that_turns_out_too_long_for_one_reply_is_made_in_stages(
    planner: Planner, staged: Staged
) -> None:
    def interrupted(request: Request) -> str | None:
        if asked_for(request):
            raise KeyboardInterrupt
        return too_long_at_once(request)

    with pytest.raises(KeyboardInterrupt):
        staged(interrupted, staged=None)
    result = staged(staged=None)
    assert (result.ok, result.attempts) == (True, 3)
    assert {str(each.place) for each in planner.model.requests} == {
        "planner WO-01+3 attempt 3",
        "planner WO-05+3 attempt 3",
    }


def test_a_plan_that_is_wanted_in_one_reply_is_not_asked_for_again_where_that_is_cut(
    planner: Planner, staged: Staged
) -> None:
    result = staged(too_long_at_once, staged=False, max_attempts=5)
    assert (result.ok, result.attempts) == (False, 1)
    assert result.error is not None and "--staged" in result.error.hint
    assert "no further attempt is paid for" in planner.seen(Warned)[-1].message


@pytest.mark.parametrize(("names", "attempts"), [((), 1), (("WO-05",), 4)])
def test_a_stage_that_is_cut_ends_where_nothing_less_can_be_asked_for(
    planner: Planner, staged: Staged, names: tuple[str, ...], attempts: int
) -> None:
    def too_long(request: Request) -> str | None:
        asked = asked_for(request)
        if set(names) <= set(asked) and bool(names) is bool(asked):
            raise ReplyCutShort("the reply reached its limit")
        return None

    result = staged(too_long, max_attempts=10)
    assert (result.ok, result.attempts) == (False, attempts)
    assert "was cut and would be again" in planner.seen(Warned)[-1].message


def test_a_revision_that_is_cut_is_not_asked_for_again(planner: Planner) -> None:
    planner.spec.write_text(SPEC)
    wrong = large_plan(8, 4)
    wrong["work_orders"][5]["acceptance_commands"] = ["true | cat"]
    cut = ReplyCutShort("the reply reached its limit")
    result = planner.plan(wrong, cut, wrong, staged=False, max_attempts=10)
    assert (result.ok, result.attempts) == (False, 2)


def test_a_revision_of_details_that_is_cut_is_asked_for_in_halves(
    planner: Planner, staged: Staged
) -> None:
    wrong = {"acceptance_commands": ["true | cat"], "acceptance_files": []}

    def once(request: Request) -> str | None:
        names = asked_for(request)
        if request.place.order == "WO-05+1":
            raise ReplyCutShort("the reply reached its limit")
        return json.dumps(details_of(PLAN, *names, WO_05=wrong, WO_06=wrong)) if names else None

    result = staged(once)
    assert (result.ok, result.attempts) == (True, 4)
    assert sorted(calls(planner)[3:]) == [
        "planner WO-05 attempt 4",
        "planner WO-05+1 attempt 3",
        "planner WO-06 attempt 4",
    ]
