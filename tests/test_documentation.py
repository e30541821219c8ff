"""What the documents say of rules, verbs, stages, rooms and exit codes is what the program says."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from factory.orders.stages import AttemptStage, Stage
from llmch.entry.verb_table import VERBS
from shared.errors import ExitCode
from tests import commands_page, rules_page, stages_page, work_orders_page

ROOT = Path(__file__).parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def table_rows(text: str) -> list[tuple[str, ...]]:
    """Return the cells of each row of the tables in a Markdown text, headings left out."""
    cells = [
        tuple(cell.strip() for cell in line.strip("|").split(" | "))
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return [row for row in cells if row[0].startswith("`") or row[0].isdigit()]


def section(text: str, heading: str) -> str:
    """Return what stands below a heading, up to the next heading of its level or a higher one."""
    level = heading.split(" ")[0]
    _, found, rest = text.partition(f"{heading}\n")
    assert found, f"there is no heading {heading!r}"
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def test_the_page_of_rules_is_made_from_the_catalogue() -> None:
    page = rules_page.PAGE.read_text("utf-8")
    assert page == rules_page.render_page(), "run `python -m tests.rules_page`"


def test_the_page_of_work_orders_is_made_from_the_schema() -> None:
    page = work_orders_page.PAGE.read_text("utf-8")
    assert page == work_orders_page.render_page(page), "run `python -m tests.work_orders_page`"
    shown = set(re.findall(r"^<!-- fields of (\w+) -->$", page, re.MULTILINE))
    assert shown == work_orders_page.MEANINGS.keys()


def test_the_readme_shows_a_whole_work_order() -> None:
    readme = work_orders_page.README.read_text("utf-8")
    assert work_orders_page.EXAMPLE.read_text("utf-8") in readme
    assert readme == work_orders_page.render_example(readme), (
        "run `python -m tests.work_orders_page`"
    )


def test_the_commands_page_says_what_the_program_says_of_exit_codes() -> None:
    page = commands_page.PAGE.read_text("utf-8")
    assert page == commands_page.render_page(page), "run `python -m tests.commands_page`"


def test_the_commands_page_lists_the_exit_codes() -> None:
    rows = table_rows(section(read("docs/commands.md"), "## Exit codes"))
    assert [row[:2] for row in rows] == [(str(code.value), code.name) for code in ExitCode]


def test_the_commands_page_lists_the_verbs() -> None:
    rows = re.findall(r"^\| `llmch ([\w-]+)` \| .+ \|$", read("docs/commands.md"), re.MULTILINE)
    assert sorted(rows) == sorted(VERBS)


def test_the_stages_page_says_what_explain_says() -> None:
    page = stages_page.PAGE.read_text("utf-8")
    assert page == stages_page.render_page(page), "run `python -m tests.stages_page`"


def test_the_stages_page_lists_the_stages_of_a_failure_and_whether_they_are_tried_again() -> None:
    rows = table_rows(section(read("docs/stages.md"), "## Stages of a failure"))
    said = {row[0].strip("`"): row[-1].rstrip(" |") for row in rows}
    assert len(rows) == len(said)
    assert said == {str(stage): "yes" if stage.retryable else "no" for stage in Stage}


def test_the_stages_page_lists_the_stages_of_an_attempt_in_their_order() -> None:
    rows = table_rows(section(read("docs/stages.md"), "## Stages of an attempt"))
    assert [row[0].strip("`") for row in rows] == list(map(str, AttemptStage))


CONTRACTS: Mapping[str, Any] = {
    contract["name"]: contract
    for contract in tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
}
FLOORS = ("llmch", "planner", "factory", "shared")
ROOMS = [
    name for name, contract in CONTRACTS.items() if contract.get("containers", [""])[0] in FLOORS
]


def layers_of(contract: Mapping[str, Any]) -> list[set[str]]:
    return [set(layer.split(" | ")) for layer in contract["layers"]]


def rooms_in_layers(rows: list[tuple[str, ...]]) -> list[set[str]]:
    """Return the rooms of a table, those with the same number together, in the table's order."""
    layers: list[set[str]] = []
    for number, room, *_ in rows:
        if int(number) > len(layers):
            layers.append(set())
        assert int(number) == len(layers), f"{room}: the numbers of a table rise one by one"
        layers[-1].add(room.strip("`").removesuffix(".py").replace("/", "."))
    return layers


def test_the_map_shows_the_floors_as_the_contract_has_them() -> None:
    (floors,) = (each for name, each in CONTRACTS.items() if name.startswith("floors:"))
    rows = table_rows(section(read("docs/architecture.md"), "## Floors"))
    assert rooms_in_layers(rows) == layers_of(floors)


@pytest.mark.parametrize("name", ROOMS)
def test_the_map_shows_the_rooms_as_the_contracts_have_them(name: str) -> None:
    contract = CONTRACTS[name]
    (container,) = contract["containers"]
    heading = f"### {name[0].upper()}{name[1:]}"
    rows = table_rows(section(read("docs/architecture.md"), heading))
    expected = [{f"{container}.{room}" for room in layer} for layer in layers_of(contract)]
    assert rooms_in_layers(rows) == expected


def test_a_newcomer_has_to_learn_at_most_47_rooms() -> None:
    rooms = [room for name in ROOMS for layer in layers_of(CONTRACTS[name]) for room in layer]
    assert len([room for room in rooms if room != "__main__"]) <= 47


def test_the_map_has_no_room_without_a_contract() -> None:
    headings = re.findall(r"^### (.+)$", section(read("docs/architecture.md"), "## Rooms"), re.M)
    assert [f"{each[0].lower()}{each[1:]}" for each in headings] == ROOMS


CHANGES = re.findall(r"^### (.+)$", read("CONTRIBUTING.md"), re.MULTILINE)


def test_eight_typical_changes_are_walked_through() -> None:
    assert len(CHANGES) == 8


@pytest.mark.parametrize("change", CHANGES)
def test_a_typical_change_has_at_most_three_places(change: str) -> None:
    steps = re.findall(
        r"^\d+\. (.+)$", section(read("CONTRIBUTING.md"), f"### {change}"), re.MULTILINE
    )
    assert 1 <= len(steps) <= 3
    assert [step for step in steps if "`" not in step] == []


def test_contributing_explains_every_target_of_make() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)
    explained = [
        row[0].strip("`") for row in table_rows(section(read("CONTRIBUTING.md"), "## Test"))
    ]
    assert sorted(explained) == sorted(f"make {target}" for target in phony.split())


def records() -> Iterator[Path]:
    yield from sorted((ROOT / "docs" / "adr").glob("*.md"))


def test_the_decisions_are_numbered_without_a_gap_and_say_their_number() -> None:
    for number, path in enumerate(records(), 1):
        assert path.name.startswith(f"{number:04d}-")
        assert path.read_text("utf-8").startswith(f"# {number}. ")


def test_each_guarantee_names_a_test_that_attacks_it() -> None:
    rows = [line for line in read("docs/guarantees.md").splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith("| guarantee ")]
    named = [re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row) for row in rows]
    assert [row for row, tests in zip(rows, named, strict=True) if not tests] == []
    missing = [
        f"{file}::{test}"
        for tests in named
        for file, test in tests
        if not (ROOT / file).is_file() or f"def {test}" not in (ROOT / file).read_text("utf-8")
    ]
    assert missing == []
    attacks = {f"tests/attacks/{each.name}" for each in (ROOT / "tests/attacks").glob("test_*.py")}
    assert attacks <= {file for tests in named for file, _ in tests}
