"""What only removed requirements brought: what goes, what stays, and the order that takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.replan.merge_plans import merge
from planner.replan.removal import find_removal, with_removals
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.planner.plans import order
from tests.planner.replanning import follow_up, judged_report, predecessor

SHOP = "def price(n):\n    return n\n"
STATS = "def count(items):\n    return len(items)\n"
TEXTS = {
    "shop.py": SHOP,
    "stats.py": STATS,
    "tests/test_shop.py": "from shop import price\n",
    "tests/test_stats.py": "from stats import count\n",
}


def making(number: int, path: str, *covers: str, **fields: Any) -> dict[str, Any]:
    own = {
        "title": f"Make {path}",
        "allowed_files": [path],
        "covers": list(covers),
        "acceptance_commands": [f"python -m pytest -q tests/test_{path}"],
    }
    return order(number, **{**own, **fields})


FIRST = making(
    1, "shop.py", "FR-1", interfaces=[{"path": "shop.py", "stub": "def price(n: int) -> int: ..."}]
)
TEST = {
    "path": "tests/test_stats.py",
    "content": "from stats import count\n\n\ndef test_count():\n    assert count([1]) == 1\n",
}
SECOND = making(
    2, "stats.py", "FR-2", acceptance_files=[TEST],
    interfaces=[{"path": "stats.py", "stub": "def count(items: list[int]) -> int: ..."}],
)  # fmt: skip
IN_SHOP = {"path": "shop.py", "stub": "def count(items: list[int]) -> int: ..."}


def found(*orders: dict[str, Any], texts: dict[str, str] | None = None, **more: Any) -> Any:
    parsed = [parse_document(WorkOrder, each) for each in orders]
    return find_removal(parsed, {"FR-2"}, texts=texts, paths=tuple(texts or ()), **more)


def test_files_and_tests_that_nobody_else_has_go_whole() -> None:
    removal = found(FIRST, SECOND, texts=TEXTS)
    assert removal.files == ("stats.py", "tests/test_stats.py")
    assert (removal.names, removal.tests, removal.stays) == ((), (), ())
    assert removal.is_of_whole_files


@pytest.mark.parametrize(
    ("other", "texts", "why"),
    [
        ({}, {"shop.py": "from stats import count\n"}, "shop.py uses it"),
        ({"context_files": ["stats.py"]}, {}, "WO-01 uses it"),
        ({"allowed_files": ["shop.py", "stats.py"]}, {}, "WO-01 writes it too"),
        ({"acceptance_commands": ["python -m stats"]}, {}, "WO-01 uses it"),
    ],
)
def test_what_others_use_stays_and_its_reason_is_said(
    other: dict[str, Any], texts: dict[str, str], why: str
) -> None:
    removal = found({**FIRST, **other}, SECOND, texts=TEXTS | texts)
    assert f"stats.py: {why}" in removal.stays
    assert removal.files == ("tests/test_stats.py",)
    assert not removal.is_of_whole_files


def test_what_was_there_before_the_plan_stays_and_names_go_from_it() -> None:
    second = {**SECOND, "allowed_files": ["shop.py"], "interfaces": [IN_SHOP]}
    texts = {"shop.py": SHOP + STATS}
    removal = found(FIRST, second, texts=texts, base=("shop.py",))
    assert removal.names == ("shop.py: count",)
    assert "shop.py: was there before the plan" in removal.stays
    used = found(FIRST, second, texts=texts | {"main.py": "import shop\nshop.count([])\n"})
    assert used.names == ()
    assert "shop.py: count stays: main.py uses it" in used.stays
    both = {**FIRST, "interfaces": [IN_SHOP]}
    assert "shop.py: count stays: WO-01 declares it too" in found(both, second, texts=texts).stays


def test_an_appended_test_goes_alone_and_an_order_for_both_is_named() -> None:
    appended = {"path": "tests/test_shop.py", "append": "def test_count():\n    assert True\n"}
    kept = {"path": "tests/test_shop.py", "content": "def test_price():\n    assert True\n"}
    removal = found(
        {**FIRST, "acceptance_files": [kept]},
        {**SECOND, "acceptance_files": [appended]},
        making(3, "both.py", "FR-1", "FR-2"),
    )
    assert removal.tests == ("tests/test_shop.py: test_count",)
    assert removal.shared == ("WO-03",)
    assert not removal.is_of_whole_files


def test_a_forgotten_removal_of_whole_files_becomes_an_order(tmp_path: Path) -> None:
    texts = {"FR-1": "A price.", "FR-2": "A count."}
    before = predecessor(tmp_path / "before", texts, FIRST, SECOND, landed=["WO-01", "WO-02"])
    task = follow_up(before, {"FR-1": "A price."})
    reply = parse_plan({"work_orders": []})
    assert "E313" in {each.code for each in judged_report(task, merge(reply, task), TEXTS).errors}
    plan, added = with_removals(reply, task, TEXTS, tuple(TEXTS))
    assert added == (("WO-03", "removed_files", "stats.py, tests/test_stats.py"),)
    merged = merge(plan, task)
    assert judged_report(task, merged, TEXTS).errors == ()
    made = merged.plan.drafts[2].order
    assert made is not None and not made.asks_model
    assert (
        made.acceptance_commands == made.regression == ("python -m pytest -q tests/test_shop.py",)
    )


def test_nothing_is_added_where_somebody_has_to_write_or_says_why_it_stays(tmp_path: Path) -> None:
    texts = {"FR-1": "A price.", "FR-2": "A count."}
    second = {**SECOND, "allowed_files": ["shop.py"], "interfaces": [IN_SHOP]}
    before = predecessor(tmp_path / "a", texts, FIRST, second, landed=["WO-01", "WO-02"])
    task = follow_up(before, {"FR-1": "A price."})
    assert with_removals(parse_plan({"work_orders": []}), task, TEXTS, tuple(TEXTS))[1] == ()
    before = predecessor(tmp_path / "b", texts, FIRST, SECOND, landed=["WO-01", "WO-02"])
    task = follow_up(before, {"FR-1": "A price."})
    left = [{"requirement": "FR-2", "reason": "Others count with it."}]
    reply = parse_plan(json.loads(json.dumps({"work_orders": [], "not_removed": left})))
    assert with_removals(reply, task, TEXTS, tuple(TEXTS))[1] == ()


def test_an_order_that_removes_from_a_file_proves_the_others_again(tmp_path: Path) -> None:
    texts = {"FR-1": "A price.", "FR-2": "A count."}
    second = {**SECOND, "allowed_files": ["shop.py"], "interfaces": [IN_SHOP]}
    before = predecessor(tmp_path / "a", texts, FIRST, second, landed=["WO-01", "WO-02"])
    task = follow_up(before, {"FR-1": "A price."})
    drop = making(
        3, "shop.py", "FR-2", acceptance_commands=["test -f shop.py"], context_files=["shop.py"]
    )
    plan, added = with_removals(parse_plan({"work_orders": [drop]}), task, TEXTS, tuple(TEXTS))
    assert added == (("WO-03", "regression", "python -m pytest -q tests/test_shop.py"),)
    made = plan.drafts[0].order
    assert made is not None
    assert made.acceptance_commands == ("test -f shop.py", *made.regression)
