"""A plan on disk, a specification that changes, and what comes of the next plan."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from planner.plan.manifest import PlanOrigin, build_manifest
from planner.plan.parse_plan import Plan, parse_plan, with_history
from planner.replan.merge_plans import Answer, Merged, merge
from planner.replan.predecessor import FollowUp, Predecessor, read_predecessor
from planner.rules.judge_plan import Report, judge, judge_answer
from planner.spec.requirements import Requirement
from planner.spec.spec_difference import compare_requirements
from shared.work_order.plan_folder import StoredManifest, replace_plan
from shared.work_order.work_order import Manifest
from tests.planner.plans import Document, exists, order, plan

Texts = Mapping[str, str]

NO_FILES: Texts = MappingProxyType({})
ORIGIN = PlanOrigin("01FIRST", "c" * 64)


def spec_file(folder: Path, requirements: Texts) -> Path:
    """Write a structured specification with these requirements, and return its path."""
    path = folder / "spec.json"
    listed = [{"id": name, "text": text} for name, text in requirements.items()]
    path.write_text(
        json.dumps({"name": "Words", "summary": "A game in Python.", "requirements": listed})
    )
    return path


def requirements(texts: Texts) -> tuple[Requirement, ...]:
    return tuple(Requirement(name, text) for name, text in texts.items())


def writing(number: int, *covers: str, **fields: Any) -> Document:
    """Return an order that writes a text file of its own, and a command that looks into it."""
    path = f"part_{number:02d}.txt"
    defaults: Document = {
        "title": f"Part {number}",
        "allowed_files": [path],
        "postconditions": exists(path),
        "acceptance_commands": [f"grep -q done {path}"],
        "covers": list(covers),
    }
    return order(number, **(defaults | fields))


def manifest_of(texts: Texts, *orders: Document, **top: Any) -> Manifest:
    """Return the plan of these orders, as `llmch plan` seals it."""
    parsed = replace(parse_plan(plan(*orders, **top)), requirements=requirements(texts))
    return build_manifest(parsed, (), ORIGIN)


def stored_plan(folder: Path, texts: Texts, *orders: Document, **top: Any) -> Path:
    """Write the plan of these orders to `folder`, as `llmch plan` does."""
    replace_plan(folder, manifest_of(texts, *orders, **top))
    return folder


def predecessor(
    folder: Path, texts: Texts, *orders: Document, landed: Collection[str] = ()
) -> Predecessor:
    return read_predecessor(stored_plan(folder, texts, *orders), landed)


def unstored_predecessor(
    texts: Texts, *orders: Document, landed: Collection[str] = ()
) -> Predecessor:
    """Return the same without a folder, for many plans."""
    document = manifest_of(texts, *orders).model_dump(mode="json")
    facts = StoredManifest(document).facts
    assert facts is not None, "the plan was just sealed"
    return Predecessor(Path("nowhere"), facts, with_history(parse_plan(document), landed))


def follow_up(before: Predecessor, texts: Texts) -> FollowUp:
    old = before.plan.requirements
    return FollowUp(before, compare_requirements(old, requirements(texts), ids_given=True))


def judged(task: FollowUp, reply: Any, repo: Texts = NO_FILES) -> list[str]:
    """Return `CODE WO-01 field` for each error of a reply; the order of the plan is `plan`."""
    report = judged_report(task, merge(parse_plan(reply), task), repo)
    return [
        " ".join(filter(None, (each.code, each.order or "plan", each.field)))
        for each in report.errors
    ]


def judged_report(task: FollowUp, merged: Merged, repo: Texts = NO_FILES) -> Report:
    """Return the report on a merged plan, as the compile loop makes it."""

    def judge_all(each: Plan, answer: Answer | None = merged.answer) -> Report:
        return judge(each, repo, repo, history=task.predecessor.landed, answer=answer)

    before = judge_all(task.predecessor.plan, None)
    return judge_answer(merged.plan, merged.answer, judge_all, before)
