"""How the plan of a run was made: attempts, findings, reviews, prompts and replies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from llmch.page.run_page import render_page
from llmch.runs.read_run import read_report
from llmch.runs.recorded_planning import read_planning, usage_by_role
from llmch.runs.run_model import Judged, PlanningView, RunView, SpanKind
from planner.run_plan import run_plan
from shared.events.events import ignore
from shared.events.run_record import read_events
from shared.llm.stack import Mode, ModelSource
from tests.fakes import proposal
from tests.harness import Factory, commit_all
from tests.planner.large_plan import StagedModel, large_plan, large_spec
from tests.planner.planning import Planner
from tests.planner.plans import creating, plan

WRONG = plan(creating(1, "1.txt"), creating(1, "2.txt"), creating(7, "x.txt", depends_on=["WO-09"]))
RIGHT = plan(creating(1, "1.txt"), creating(2, "2.txt"))
NO_CLAIM = json.dumps({"findings": []})


@pytest.fixture
def built(factory: Factory) -> Factory:
    """A run of a plan that the planner made in two attempts, and that was reviewed."""
    planner = Planner(factory.scratch)
    result = planner.plan(plan(), RIGHT, reviews=[NO_CLAIM])
    assert result.ok
    replies = {f"WO-{n:02d}": [proposal({f"{n}.txt": f"{n}\n"})] for n in (1, 2)}
    factory.run_all(planner.run_folder / "output", replies)
    return factory


def view(factory: Factory) -> RunView:
    return read_report(None, factory.repo, factory.artifacts)


def planning_of(factory: Factory) -> PlanningView:
    found = view(factory).planning
    assert found is not None
    return found


@pytest.mark.parametrize(("orders", "calls"), [(1, 2), (2, 1)])
def test_the_planning_is_part_of_a_run_of_one_order_where_the_plan_has_no_other(
    factory: Factory, orders: int, calls: int
) -> None:
    planner = Planner(factory.scratch)
    made = plan(*(creating(number, f"{number}.txt") for number in range(1, orders + 1)))
    assert planner.plan(made).ok
    file = planner.run_folder / "output" / "WO-01.json"
    factory.run(file, [proposal({"1.txt": "1\n"})])
    found = view(factory)
    assert (found.usage.calls, found.planning is not None) == (calls, orders == 1)
    assert [each.id for each in found.orders] == ["WO-01"]
    shutil.rmtree(file.parent)
    assert (view(factory).usage.calls, view(factory).gaps) == (1, ())


@pytest.mark.rest
def test_attempts_have_their_findings_and_what_was_asked_and_said(built: Factory) -> None:
    found = planning_of(built)
    rejected, passed = found.attempts
    assert (rejected.judged, passed.judged) == (Judged.FAILED, Judged.PASSED)
    assert rejected.errors and rejected.findings and passed.work_orders == 2
    (call,) = passed.calls
    assert call.reply is not None and "2.txt" in call.reply.head
    assert call.prompt.path == "compile/prompt_attempt_2.txt"
    assert found.usage.calls == 3
    (review,) = found.reviews
    assert (review.claims, review.failure) == ((), "") and review.calls


def test_an_attempt_in_stages_has_all_its_calls(factory: Factory) -> None:
    large = large_plan(8, 4)
    planner = Planner(factory.scratch)
    planner.spec.write_text(large_spec(32))
    source = ModelSource(Mode.LIVE, lambda emit: StagedModel(large))
    assert run_plan(planner.options(staged=True), source, ignore).ok
    found = read_planning(planner.run_folder)
    assert found is not None
    assert [[call.prompt.path for call in each.calls] for each in found.attempts] == [
        ["compile/prompt_attempt_1.txt"],
        ["compile/prompt_attempt_2_WO-01.txt", "compile/prompt_attempt_2_WO-05.txt"],
    ]


def test_looks_come_before_the_plan_and_are_counted_apart(factory: Factory) -> None:
    planner, look = Planner(factory.scratch), {"look": ["a.py"]}
    commit_all(factory.repo, {"a.py": "A = 1\n"})
    assert planner.plan(look, looks=[look, RIGHT], repo=factory.repo).ok
    found = read_planning(planner.run_folder)
    assert found is not None
    names = ("prompt_attempt_1_look_1", "prompt_attempt_1_look_2", "prompt_attempt_1")
    assert [call.prompt.path for call in found.attempts[0].calls] == [
        f"compile/{name}.txt" for name in names
    ]
    roles = usage_by_role(read_events(planner.run_folder / "events.jsonl"))
    assert {each.role: each.usage.calls for each in roles} == {"look": 2, "planner": 1}


@pytest.mark.rest
def test_the_time_line_of_the_planning_has_attempts_and_calls(built: Factory) -> None:
    found = planning_of(built)
    kinds = [each.activity for each in found.spans]
    assert kinds.count(SpanKind.ATTEMPT) == 2 and kinds.count(SpanKind.MODEL) == 3
    assert all(0 <= each.start <= each.end for each in found.spans)
    page = render_page(view(built))
    assert "planning, before the run" in page and "passed the rules" in page


@pytest.mark.rest
def test_attempts_at_orders_have_their_prompts_and_replies(built: Factory) -> None:
    first = view(built).orders[0].attempts[0]
    (call,) = first.calls
    assert "1.txt" in call.prompt.head and call.reply is not None and "1.txt" in call.reply.head
    assert call.prompt.path == "WO-01/attempt_1/se_prompt.txt"


@pytest.mark.rest
def test_an_exported_plan_leads_to_the_planners_records_beside_the_run(built: Factory) -> None:
    run_json = built.run_folder / "run.json"
    head = json.loads(run_json.read_text())
    elsewhere = Path(shutil.copytree(head["workdir"], built.scratch / "exported"))
    run_json.write_text(json.dumps({**head, "workdir": str(elsewhere)}))
    assert len(planning_of(built).attempts) == 2


@pytest.mark.rest
def test_without_the_planners_records_there_is_no_planning(built: Factory) -> None:
    run_json = built.run_folder / "run.json"
    head = json.loads(run_json.read_text())
    elsewhere = Path(shutil.copytree(head["workdir"], built.scratch / "exported"))
    run_json.write_text(json.dumps({**head, "workdir": str(elsewhere)}))
    shutil.rmtree(built.artifacts / "planner")
    assert view(built).planning is None
    assert "</html>" in render_page(view(built))


def planners(built: Factory) -> Path:
    return max((built.artifacts / "planner").glob("*/"))


@pytest.mark.rest
def test_a_planning_that_was_killed_is_shown_as_far_as_it_came(built: Factory) -> None:
    events = planners(built) / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    begun = next(n for n, line in enumerate(lines) if b'"attempt": 2' in line)
    events.write_bytes(b"".join(lines[: begun + 1]) + b'{"torn')
    (planners(built) / "run.json").unlink()
    found = read_planning(planners(built))
    assert found is not None
    assert [each.judged for each in found.attempts] == [Judged.FAILED, Judged.OPEN]
    assert found.reviews == ()


@pytest.mark.rest
def test_ten_thousand_findings_are_counted_and_not_all_shown(built: Factory) -> None:
    events = planners(built) / "events.jsonl"
    many = {
        "event": "plan_judged", "at": 1.0, "attempt": 1, "work_orders": 3, "errors": 10_000,
        "warnings": 0, "findings": [f"E101 WO-01 finding {n}" for n in range(10_000)],
    }  # fmt: skip
    lines = [each for each in events.read_text().splitlines() if '"plan_judged"' not in each]
    events.write_text("\n".join([*lines, json.dumps(many), ""]))
    assert len(planning_of(built).attempts[0].findings) == 100
    page = render_page(view(built))
    assert "and 9,900 more, in" in page and len(page) < 1_000_000


@pytest.mark.rest
def test_a_prompt_of_any_length_is_read_at_both_ends(built: Factory) -> None:
    prompt = built.run_folder / "WO-01" / "attempt_1" / "se_prompt.txt"
    prompt.write_bytes(b"begin " + b"\0\xff<script>" * 4_000_000 + b" end")
    excerpt = view(built).orders[0].attempts[0].calls[0].prompt
    assert excerpt.head.startswith("begin ") and excerpt.tail.endswith(" end")
    assert excerpt.left_out == prompt.stat().st_size - 24_000
    page = render_page(view(built))
    assert page.count("<script") == 1 and len(page) < 1_000_000
