"""Orders too small to be asked for alone: which they are, and that joining loses nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.plan.parse_plan import Plan, parse_plan
from planner.plan.plan_edits import completed
from planner.rules import judge_plan
from planner.rules.judge_plan import Report
from planner.rules.repair import repair_plan
from shared.events.events import PlanRepaired
from shared.languages.language_tools import Tools
from shared.languages.python.type_checker import TypeChecker
from tests.planner.planning import Planner
from tests.warm_checker import tools_with


def order_of(number: int, name: str, stub: str, **fields: Any) -> dict[str, Any]:
    """Return an order that writes a module with its test."""
    test = f"tests/test_{name}.py"
    code = f"import {name}\n\n\ndef test_{name}():\n    assert {name}.value() == {number}\n"
    return {
        "id": f"WO-{number:02d}",
        "title": f"Write {name}",
        "intent": f"{name} is there.",
        "allowed_files": [f"{name}.py"],
        "interfaces": [{"path": f"{name}.py", "stub": stub}],
        "acceptance_files": [{"path": test, "content": code}],
        "acceptance_commands": [f"python -m pytest -q {test}"],
        "notes": f"value returns {number}.",
        **fields,
    }


SMALL = "def value() -> int: ...\n"
LARGE = SMALL + "".join(f"def value_{each}(text: str) -> list[int]: ...\n" for each in range(6))


def chain(**more: Any) -> dict[str, Any]:
    """Return a plan of three orders, of which the second is tiny and serves the third alone."""
    return {
        "system_overview": ["Numbers."],
        "work_orders": [
            order_of(1, "one", LARGE, covers=["R1"]),
            order_of(2, "two", SMALL, covers=["R2"], **more),
            order_of(3, "three", LARGE, context_files=["two.py"], covers=["R2", "R3"]),
        ],
    }


@pytest.fixture(autouse=True)
def warm(checker: TypeChecker) -> None:
    """Let the rules ask a type checker that is warm."""
    TOOLS.append(tools_with(checker))


TOOLS: list[Tools] = []


def judge(plan: Plan) -> Report:
    return judge_plan.judge(plan, tools=TOOLS[-1])


def repaired(document: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]], set[str]]:
    """Return the fixes, the orders afterwards, and the codes of the findings that are left."""
    plan = completed(parse_plan(document))
    assert judge(plan).ok, judge(plan).render()
    result = repair_plan(plan, judge, joins=True)
    assert isinstance(result.plan.document, dict)
    orders: Any = result.plan.document["work_orders"]
    return (
        [each.render() for each in result.fixes],
        orders,
        {e.code for e in result.report.findings},
    )


def test_a_tiny_order_is_joined_with_the_one_that_alone_uses_it() -> None:
    fixes, (first, both), _ = repaired(chain())

    assert fixes == ['[W304] WO-02 id: "WO-02 and WO-03" -> "WO-02"']
    assert first["id"] == "WO-01"
    assert both["title"] == "Write two; Write three"
    assert both["intent"] == "two is there. three is there."
    assert both["notes"] == "value returns 2.\n\nvalue returns 3."
    assert both["covers"] == ["R2", "R3"]
    assert both["allowed_files"] == ["two.py", "three.py"]
    assert both["context_files"] == []
    assert [each["path"] for each in both["interfaces"]] == ["two.py", "three.py"]
    assert [each["path"] for each in both["acceptance_files"]] == [
        "tests/test_two.py",
        "tests/test_three.py",
    ]
    assert len(both["acceptance_commands"]) == 2


def test_what_rests_on_joined_orders_rests_on_the_one_after() -> None:
    document = chain()
    said = {"kind": "question", "text": "Which?", "reading": "This.", "requirements": []}
    document["assumptions"] = [
        {**said, "work_orders": ["WO-02", "WO-03"]},
        {**said, "text": "And?", "work_orders": ["WO-01"]},
    ]
    plan = repair_plan(completed(parse_plan(document)), judge, joins=True).plan
    assert [each.work_orders for each in plan.assumptions] == [("WO-02",), ("WO-01",)]


def test_an_order_that_depends_on_a_joined_one_depends_on_the_one_after() -> None:
    document = chain()
    document["work_orders"] += [
        order_of(4, "four", LARGE, depends_on=["WO-03"], context_files=["three.py"])
    ]
    _, orders, codes = repaired(document)
    assert [each["id"] for each in orders] == ["WO-01", "WO-02", "WO-03"]
    assert orders[-1]["depends_on"] == ["WO-02"]
    assert "W304" not in codes


@pytest.mark.parametrize(
    "kept",
    [
        {"interfaces": []},
        {"interfaces": [{"path": "two.py", "stub": LARGE}]},
        {"allowed_files": ["two.py", "scripts/verify.sh"]},
        {"notes": "value returns 2, as WO-01 says."},
    ],
    ids=["size unknown", "large", "makes verification", "a text names an order"],
)
def test_other_orders_stay_alone(kept: dict[str, Any]) -> None:
    assert repaired(chain(**kept))[0] == []


def test_an_order_that_two_others_use_stays_alone() -> None:
    document = chain()
    document["work_orders"] += [order_of(4, "four", LARGE, context_files=["two.py"])]
    assert repaired(document)[0] == []


def test_two_orders_in_a_row_that_write_the_same_file_are_one() -> None:
    document = chain()
    document["work_orders"][1] |= {"allowed_files": ["one.py"], "context_files": ["one.py"]}
    document["work_orders"][1]["interfaces"] = [
        {"path": "one.py", "stub": "def more() -> str: ...\n"}
    ]
    document["work_orders"][1]["acceptance_files"] = []
    command = "python -c \"from one import more; assert more() == 'b'\""
    document["work_orders"][1]["acceptance_commands"] = [command]
    document["work_orders"][2]["context_files"] = []

    fixes, (both, _), _ = repaired(document)

    assert fixes == ['[W304] WO-01 id: "WO-01 and WO-02" -> "WO-01"']
    assert both["allowed_files"] == ["one.py"]
    (stub,) = [each["stub"] for each in both["interfaces"]]
    assert "def more() -> str" in stub
    assert "def value_5" in stub


def test_a_plan_with_an_error_is_not_joined() -> None:
    document = chain()
    document["work_orders"][0]["acceptance_commands"] += ["cat a | wc"]
    result = repair_plan(completed(parse_plan(document)), judge, joins=True)
    assert not result.report.ok
    assert result.fixes == ()


def test_what_is_not_joined_is_a_warning() -> None:
    report = judge(completed(parse_plan(chain())))
    found = [each.render() for each in report.findings if each.code == "W304"]
    assert found == [
        "[W304] WO-02 allowed_files: is too small to be asked for alone; WO-03 needs all of it"
    ]


def test_a_planning_joins_and_says_so(planner: Planner) -> None:
    document = chain()
    for each in document["work_orders"]:
        each.pop("covers")
    result = planner.plan(document, max_attempts=1)
    assert result.work_orders == 2
    (event,) = [each for each in planner.events if isinstance(each, PlanRepaired)]
    assert event.fixes == ('[W304] WO-02 id: "WO-02 and WO-03" -> "WO-02"',)


@pytest.mark.rest
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=6))
def test_joining_keeps_every_file_test_and_requirement_and_comes_to_an_end(
    shape: list[tuple[bool, int]],
) -> None:
    orders = []
    for number, (small, used) in enumerate(shape, 1):
        read = [f"m{used}.py"] if 0 < used < number else []
        stub = SMALL if small else LARGE
        orders.append(
            order_of(number, f"m{number}", stub, context_files=read, covers=[f"R{number}"])
        )
    document = {"work_orders": orders}

    _, after, _ = repaired(document)

    for key in ("allowed_files", "covers", "acceptance_commands"):
        assert sorted(e for o in after for e in o[key]) == sorted(e for o in orders for e in o[key])
    tests = [e["path"] for o in after for e in o["acceptance_files"]]
    assert sorted(tests) == sorted(e["path"] for o in orders for e in o["acceptance_files"])
    assert [each["id"] for each in after] == [f"WO-{n:02d}" for n in range(1, len(after) + 1)]
    assert all(len(each["allowed_files"]) <= 4 for each in after)
    again = repaired({"work_orders": after})
    assert again[0] == []
