"""What a planner's model is told of languages: only of those that matter, and only what holds."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.prompts.prompt_templates import load_template, render, render_languages
from planner.rules.judge_plan import judge
from shared.languages.capabilities import Language
from shared.languages.registry import LANGUAGES
from tests.planner.plans import creating, plan

ADVISED = [each for each in LANGUAGES if each.advice is not None]
REPOS = {
    "JavaScript": {"package.json": '{"name": "game", "type": "module"}\n'},
    "TypeScript": {"package.json": '{"name": "game", "type": "module"}\n'},
    "Go": {"go.mod": "module example.org/game\n\ngo 1.21\n"},
    "Rust": {"Cargo.toml": '[package]\nname = "game"\nversion = "0.1.0"\nedition = "2021"\n'},
}
# Without a compiler, types are not judged, and a plan of one order can have weak spots.
UNJUDGED = frozenset({"W224"})
each_language = pytest.mark.parametrize("language", ADVISED, ids=lambda each: each.name)


def rules_of(language: Language) -> str:
    assert language.advice is not None
    return language.advice.read()


def example_of(language: Language) -> dict[str, Any]:
    (fenced,) = re.findall(r"^```json\n(.*?)^```$", rules_of(language), re.DOTALL | re.MULTILINE)
    found: dict[str, Any] = json.loads(fenced)
    return found


def test_a_plan_in_python_is_told_nothing_more() -> None:
    spec = "A game in Python. Players Go to the next Node; a .google file is read."
    assert render_languages(spec, ["game.py", "README.md", "data.json"]) == ""


@each_language
def test_a_file_of_the_repo_brings_the_rules_of_its_language(language: Language) -> None:
    path = f"src/game{language.suffixes[0]}"
    assert render_languages("A game.", ["README.md", path]) == rules_of(language)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("Written in TypeScript.", "TypeScript"),
        ("A library for Node.js", "JavaScript"),
        ("a command-line program in Go, without dependencies", "Go"),
        ("## Rust\nNo unsafe code.", "Rust"),
    ],
)
def test_so_does_a_specification_that_names_it(spec: str, name: str) -> None:
    (language,) = [each for each in LANGUAGES if each.name == name]
    assert render_languages(spec, []) == rules_of(language)


def test_several_languages_come_in_the_same_order_always() -> None:
    paths = ["b.rs", "a.go", "c.ts"]
    told = render_languages("", paths)
    assert told == render_languages("", paths[::-1])
    assert re.findall(r"^## (\w+)", told, re.MULTILINE) == ["TypeScript", "Go", "Rust"]


@each_language
def test_the_example_of_a_language_passes_all_rules(language: Language) -> None:
    example = example_of(language)
    order = creating(1, *example.pop("allowed_files"), **example)
    repo = REPOS[language.name]
    report = judge(parse_plan(plan(order)), repo, repo)
    assert [each.render() for each in report.findings if each.code not in UNJUDGED] == []


@each_language
def test_a_wrong_path_in_an_example_would_be_found(language: Language) -> None:
    example = example_of(language)
    example["acceptance_commands"] = ["true"]
    order = creating(1, *example.pop("allowed_files"), **example)
    repo = REPOS[language.name]
    assert "E109" in {each.code for each in judge(parse_plan(plan(order)), repo, repo).findings}


def test_the_rules_stand_between_those_on_tests_and_those_on_verification() -> None:
    template = load_template()
    without, told = (
        render(template, "A game.", languages=each) for each in ("", "## Go\n\nRules.")
    )
    assert told.replace("\n## Go\n\nRules.\n", "") == without
    assert "\n\n## Go\n\nRules.\n\n## Verification\n" in told
