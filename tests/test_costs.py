"""The table of costs counts each part of a call once, and only what a cache can serve."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks import costs
from benchmarks.setting import open_bench
from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import completed
from planner.rules.judge_plan import judge
from planner.spec.read_spec import read_spec
from tests.real_tools import needs, node_of

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


PAGE = Path(__file__).parents[1] / "docs" / "costs.md"


def columns(table: str) -> dict[str, dict[str, str]]:
    """Return the rows of a table by the heading of the column, without those that have a 0."""
    cells = [
        [each.strip() for each in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("|") and "---" not in line
    ]
    (_, *names), *rows = cells
    return {
        name: {row[0]: row[at] for row in rows if row[at] != "0"}
        for at, name in enumerate(names, 1)
    }


@pytest.mark.parametrize(
    ("row", "of", "words"),
    [
        ("**input**", "before", "Input is {}% and {}% of what it was"),
        ("**output**", "before", "output {}% and {}%."),
        ("plan out: acceptance files", "**output**", "{}% and {}% of it are tests of the plan"),
        ("orders out: code", "**output**", "{}% and {}% are code"),
    ],
)
def test_the_shares_below_the_table_are_those_of_the_table(row: str, of: str, words: str) -> None:
    text = PAGE.read_text()
    on_page = columns(text)

    def figure(column: str, row: str) -> int:
        return int(on_page[column][row].strip("*").replace(",", ""))

    shares = []
    for name in ("Python", "Go"):
        whole = figure(f"{name} before", row) if of == "before" else figure(f"{name} after", of)
        shares.append(round(100 * figure(f"{name} after", row) / whole))
    assert words.format(*shares) in text


MADE = {"python": "Python after", "go": "Go after", "typescript": "TypeScript"}


@pytest.mark.rest
@pytest.mark.parametrize(
    "name",
    [
        "python",
        pytest.param("go", marks=needs("go")),
        "typescript",
    ],
)
def test_an_authored_program_lands_and_the_page_has_what_that_costs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "typescript":  # older ones do not read it
        monkeypatch.setenv("PATH", f"{Path(node_of(22)).parent}:{os.environ['PATH']}")
    with open_bench(quick=True):
        cost = costs.measure(costs.SPECS / name)

    assert cost.sent <= 25_000
    assert cost.replied <= 14_000
    (made,) = columns(costs.render([cost])).values()
    assert columns(PAGE.read_text())[MADE[name]] == made, "make it: python -m benchmarks.costs"
