"""The shipped examples are what a good plan looks like, and their code keeps its interfaces."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from llmch.verbs.demo import find_example
from planner.compile.patches import Ask, put_together
from planner.plan.parse_plan import Plan, read_reply
from planner.rules.judge_plan import judge
from shared.languages.ecmascript.ecmascript_language import TYPESCRIPT
from shared.languages.language_tools import Tools
from shared.languages.python.conformance import check_conformance
from shared.languages.python.merge_stubs import contracts_in_force
from shared.languages.python.type_checker import TypeChecker
from shared.work_order.work_order import WorkOrder
from tests.shared.languages.ecmascript.plans import FETCHED, Runner, needs_tsc

DECLARED = pytest.mark.parametrize("name", ["hello", "maze", "wordgame"])


def accepted_plan(name: str) -> Plan:
    """Return the plan that an example's replies make: a revision is a patch."""
    paths = sorted((find_example(name).folder / "replies").glob("plan-*.json"))
    text, *patches = (each.read_text("utf-8") for each in paths)
    made = read_reply(text)
    for patch in patches:
        made = put_together(text, [(Ask(""), read_reply(patch))], renumber=True).reply
        text = made.source
    return made.plan


@pytest.mark.rest
@DECLARED
def test_an_examples_plan_has_no_finding(name: str) -> None:
    report = judge(accepted_plan(name))
    assert report.render() == ()


@needs_tsc
def test_the_code_of_the_example_in_typescript_keeps_what_its_plan_declares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LLMCH_TOOLS", str(FETCHED))
    plan = accepted_plan("wordgame-ts")
    orders: list[WorkOrder] = []
    sources: dict[str, str] = {}
    conformance = TYPESCRIPT.conformance
    assert conformance is not None
    with Tools(Runner()) as tools:
        assert judge(plan, tools=tools).render() == ()
        for draft in plan.drafts:
            assert draft.order is not None
            orders.append(draft.order)
            replies = find_example("wordgame-ts").folder / "replies"
            sources |= written(replies, draft.order.id, "*.ts")
            interfaces = conformance.contracts_in_force(orders)
            assert conformance.check_conformance(interfaces, sources, tools) == ()


@pytest.mark.rest
@DECLARED
def test_an_examples_code_keeps_what_its_plan_declares(name: str) -> None:
    orders: list[WorkOrder] = []
    sources: dict[str, str] = {}
    with TypeChecker() as checker:
        for draft in accepted_plan(name).drafts:
            assert draft.order is not None
            orders.append(draft.order)
            sources |= written(find_example(name).folder / "replies", draft.order.id)
            interfaces = contracts_in_force(orders)
            assert check_conformance(interfaces, sources, checker) == (), draft.order.id


def written(replies: Path, order: str, pattern: str = "*.py") -> dict[str, str]:
    """Return the source files of the last attempt at an order: the one that landed."""
    last = max(replies.glob(f"{order}-*"))
    reply: dict[str, Any] = tomllib.loads((last / "reply.toml").read_text("utf-8"))
    assert "stale" not in reply
    files = last / "files"
    return {
        path.relative_to(files).as_posix(): path.read_text("utf-8") for path in files.rglob(pattern)
    }
