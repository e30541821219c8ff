"""The examples in the rules, filled in to whole plans.

An example may have a `repo`, texts by path: what the plan is for. Where it is a reply to a plan
before, `follows` has that plan, with the ids of the orders that `landed`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Final

from factory.run.reproduce import DryRunner
from planner.compile.dry_run import DryRun
from planner.plan.file_projection import TargetRepo
from planner.plan.parse_plan import Plan, parse_plan, with_history
from planner.replan.merge_plans import Answer, merge
from planner.replan.predecessor import FollowUp, Predecessor
from planner.repo.machine import Machine
from planner.rules.judge_plan import Report, judge, judge_answer
from planner.spec.spec_difference import compare_requirements
from shared.events.events import ignore
from shared.files.strict_documents import JsonValue, parse_json
from shared.settings.settings import Settings
from shared.work_order.plan_folder import PlanFacts
from shared.work_order.work_order import order_id

_OF_THE_CASE: Final = frozenset({"repo", "follows"})


def example_plan(example: str) -> JsonValue:
    """Return the plan document for a rule's `bad` or `good` example.

    An example without `work_orders` is one order of a plan; what an order leaves out is filled in
    with values that no rule objects to.
    """
    fragment = parse_json(example)
    if not isinstance(fragment, dict):
        return fragment
    return _filled({key: each for key, each in fragment.items() if key not in _OF_THE_CASE})


def judged_example(example: str, **more: Any) -> Report:
    """Return the report on an example, judged for its repo, or as a reply to the plan before."""
    repo = example_repo(example)
    plan = parse_plan(example_plan(example))
    match parse_json(example):
        case {"follows": {"work_orders": orders, "requirements": required, **rest}}:
            pass
        case _:
            return judge(plan, repo, repo, **more)
    landed = rest.get("landed", [])
    assert isinstance(landed, list)
    old = parse_plan(_filled({"work_orders": orders, "requirements": required}))
    follows = Predecessor(Path(), PlanFacts("", ""), with_history(old, [str(e) for e in landed]))
    difference = compare_requirements(old.requirements, plan.requirements, ids_given=True)
    merged = merge(plan, FollowUp(follows, difference))

    def judge_all(each: Plan, answer: Answer | None = merged.answer) -> Report:
        return judge(each, repo, repo, history=follows.landed, answer=answer, **more)

    return judge_answer(merged.plan, merged.answer, judge_all, judge_all(old, None))


def tried_example(example: str) -> list[str]:
    """Return the codes that a dry run of an example finds."""
    repo = example_repo(example)
    runner = DryRunner(Settings(), None, None, None)
    with contextlib.closing(runner):
        target = TargetRepo(frozenset(repo), repo)
        tried = DryRun(Machine(runner), target, ignore)
        found = tried.findings(parse_plan(example_plan(example)), None)
        return [each.code for each in found]


def _filled(fragment: dict[str, JsonValue]) -> JsonValue:
    orders = fragment.get("work_orders", [fragment])
    if not isinstance(orders, list):
        return fragment
    plan: dict[str, JsonValue] = fragment if "work_orders" in fragment else {}
    filled: list[JsonValue] = [
        _harmless_order(number) | each if isinstance(each, dict) else each
        for number, each in enumerate(orders, 1)
    ]
    return {**plan, "work_orders": filled}


def example_repo(example: str) -> dict[str, str]:
    """Return the files of the repo that an example is for, by path."""
    fragment = parse_json(example)
    repo = fragment.get("repo") if isinstance(fragment, dict) else None
    files = repo if isinstance(repo, dict) else {}
    return {path: text for path, text in files.items() if isinstance(text, str)}


def _harmless_order(number: int) -> dict[str, JsonValue]:
    return {
        "id": order_id(number),
        "title": "Check the sources",
        "intent": "Make sure that all sources compile.",
        "allowed_files": ["notes.txt"],
        "forbidden": [],
        "context_files": [],
        "acceptance_commands": ["python -m compileall -q ."],
    }
