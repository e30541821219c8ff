"""Every example that a language gives of a rule: the bad one breaks it, and the good one none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pytest

from llmch.entry.answers import examples_of, rule_codes
from planner.rules.judge_plan import RULES
from shared.errors import Example
from shared.languages.language_tools import Tools
from shared.languages.python.type_checker import TypeChecker
from shared.languages.registry import LANGUAGES, language_named
from shared.processes.pinned_tools import TSC, installed_program
from tests.planner.rule_examples import judged_example
from tests.shared.languages.ecmascript.plans import FETCHED, Runner
from tests.shared.languages.tool_runner import SandboxRunner, runner_for
from tests.warm_checker import tools_with

EXAMPLES: Final = [
    pytest.param(each.name, code, id=f"{each.name} {code}")
    for each in LANGUAGES
    if each.examples is not None
    for code in each.examples.read()
]
# What every language reports that has contracts and tests of its own.
EVERYWHERE: Final = frozenset(
    {"E201", "E210", "E211", "E212", "E213", "E214", "E216", "E217", "E241"}
    | {"W221", "W223", "W231", "W232"}
)
PROGRAMS: Final[Mapping[str, str]] = {"Go": "go", "Rust": "cargo"}


@pytest.fixture(scope="module")
def runners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], SandboxRunner]]:
    """Return what makes a sandbox for a program, once."""
    made: dict[str, SandboxRunner] = {}

    def runner(program: str) -> SandboxRunner:
        if program not in made:
            made[program] = runner_for(tmp_path_factory, program)
        return made[program]

    yield runner
    for each in made.values():
        each.close()


@pytest.fixture
def tools(
    request: pytest.FixtureRequest,
    runners: Callable[[str], SandboxRunner],
    checker: TypeChecker,
    monkeypatch: pytest.MonkeyPatch,
) -> Tools:
    """Return the tools of the test's language; the test is skipped where they are missing."""
    name: str = request.node.callspec.params["language"]
    if program := PROGRAMS.get(name):
        return Tools(runners(program))
    if name in ("JavaScript", "TypeScript"):
        monkeypatch.setenv("LLMCH_TOOLS", str(FETCHED))
        if installed_program(TSC) is None:
            pytest.skip("tsc is not there: `llmch doctor --fetch tsc`")
        return Tools(Runner())
    return tools_with(checker)


def example(language: str, code: str) -> Example:
    found = language_named(language)
    assert found is not None
    assert found.examples is not None
    return found.examples.read()[code]


def found_in(text: str, tools: Tools) -> list[str]:
    return [each.render() for each in judged_example(text, tools=tools).findings]


@pytest.mark.parametrize(("language", "code"), EXAMPLES)
def test_the_bad_example_is_one_finding_and_the_good_one_is_none(
    language: str, code: str, tools: Tools
) -> None:
    shown = example(language, code)
    bad, good = found_in(shown.bad, tools), found_in(shown.good, tools)
    # A file that the type checker stops at is named like a module of the standard library.
    beside = "W235" if code == "E299" else ""
    assert [each[1:5] for each in bad if each[1:5] != beside] == [code], bad
    assert good == []


def test_only_rules_that_languages_decide_have_examples_of_languages() -> None:
    decided = {each.code for each in RULES if not each.bad}
    shown = {each.values[1] for each in EXAMPLES}
    assert shown == decided


@pytest.mark.parametrize("code", sorted(EVERYWHERE))
def test_what_all_languages_report_has_an_example_of_each(code: str) -> None:
    shown = set(examples_of(rule_codes()[code]))
    assert {"Python", "Go", "Rust"} <= shown
    assert shown & {"TypeScript", "JavaScript"}
