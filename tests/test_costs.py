"""The table of costs counts each part of a call once, and only what a cache can serve."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import costs
from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import completed
from planner.rules.judge_plan import judge
from planner.spec.read_spec import read_spec
from tests.real_tools import needs

FOLDERS = sorted(each.parent for each in costs.SPECS.glob("*/spec.md"))
each_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)


@each_folder
def test_no_rule_objects_to_an_authored_plan(folder: Path) -> None:
    plan = completed(parse_plan(costs.Authored(folder).plan()))

    assert [each.render() for each in judge(plan).errors] == []


@each_folder
def test_an_authored_plan_covers_its_specification(folder: Path) -> None:
    known = {each.id for each in read_spec(folder / "spec.md").requirements}
    covered = {
        name for each in costs.Authored(folder).plan()["work_orders"] for name in each["covers"]
    }

    assert covered <= known
    assert 30 <= len(known) <= 70
    assert len(known - covered) <= 3, "an introduction may say what no order carries out"


def test_a_heading_within_a_fence_or_the_specification_begins_no_part() -> None:
    prompt = (
        "# Task\n```\n# comment\n```\n# Product specification\n"
        "<product_spec>\n# Tally\n</product_spec>\n# Output format\n"
    )

    found = [heading for heading, _ in costs._sections(prompt)]

    assert found == ["", "# Task", "# Product specification", "# Output format"]
    assert "".join(text for _, text in costs._sections(prompt)) == prompt


def test_a_prefix_counts_from_the_length_that_providers_serve_from_a_cache() -> None:
    head = "word " * costs.LEAST_PREFIX

    assert costs._cacheable([head + "one", head + "two"]) == costs.tokens(head)
    assert costs._cacheable(["word one", "word two"]) == 0


@pytest.mark.rest
@needs("node")
def test_an_authored_program_is_planned_and_lands() -> None:
    cost = costs.measure(costs.SPECS / "javascript")

    assert cost.calls == 5
    assert cost.sent <= 25_000
    assert cost.replied <= 14_000
