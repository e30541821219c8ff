from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from planner.rules.rule_model import Finding
from shared.languages.python.type_checker import TypeChecker
from tests.planner.doctest_corpus import ALL, PACKAGE, SMALL, commands_of, source_of, stub_of
from tests.planner.plans import creating, order, plan
from tests.warm_checker import tools_with

# All modules take half a minute: set the variable to judge them too.
MODULES = ALL if os.environ.get("LLMCH_TEST_CORPUS") == "all" else SMALL
CONTRACT_CODES = ("E20", "E21", "E29")


@pytest.mark.rest
def test_the_standard_librarys_own_examples_raise_no_alarm(
    checker: TypeChecker, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its stubs are the contracts."""

    def judged(module: str, commands: list[str]) -> Iterator[Finding]:
        path = f"{PACKAGE}/{module}.py"
        interface = {"path": path, "stub": stub_of(module)}
        document = plan(
            creating(1, path, interfaces=[interface]), order(2, acceptance_commands=commands)
        )
        report = judge(parse_plan(document), tools=tools_with(checker))
        return (each for each in report.findings if each.position == 2)

    number, alarms = false_alarms(judged)
    tell(capsys, "with their stubs as contracts", number, alarms)
    assert number >= 40
    assert alarms == []


@pytest.mark.rest
def test_nor_do_they_on_the_librarys_untyped_sources(
    checker: TypeChecker, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its code is the repo's, and nothing is declared."""

    def judged(module: str, commands: list[str]) -> Iterator[Finding]:
        files = {f"{PACKAGE}/__init__.py": "", f"{PACKAGE}/{module}.py": source_of(module)}
        document = plan(order(1, acceptance_commands=commands))
        return iter(judge(parse_plan(document), files, files, tools=tools_with(checker)).findings)

    number, alarms = false_alarms(judged)
    tell(capsys, "with their sources in the repo", number, alarms)
    assert number >= 40
    assert alarms == []


@pytest.mark.rest
def test_nor_do_they_where_a_stub_lies_over_the_source(
    checker: TypeChecker, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its code is the repo's, and an order declares all of it."""

    def judged(module: str, commands: list[str]) -> Iterator[Finding]:
        path = f"{PACKAGE}/{module}.py"
        written_in = next(source for source, name in MODULES.items() if name == module)
        files = {f"{PACKAGE}/__init__.py": "", path: source_of(written_in)}
        interface = {"path": path, "stub": stub_of(module)}
        document = plan(
            order(1, allowed_files=[path], interfaces=[interface]),
            order(2, acceptance_commands=commands),
        )
        report = judge(parse_plan(document), files, files, tools=tools_with(checker))
        return (each for each in report.findings if each.position == 2)

    number, alarms = false_alarms(judged)
    tell(capsys, "with their stubs over their sources", number, alarms)
    assert number >= 40
    assert alarms == []


def false_alarms(
    judged: Callable[[str, list[str]], Iterator[Finding]],
) -> tuple[int, list[str]]:
    """Return how many commands there are, and what is said against them."""
    number = 0
    alarms: list[str] = []
    for source, module in MODULES.items():
        commands = [f"python -c {shlex.quote(each)}" for each in commands_of(source, module)]
        number += len(commands)
        alarms += [
            f"{module} {commands[int(each.field[20:-1])]} {each.code} {each.message}"
            for each in (judged(module, commands) if commands else ())
            if each.code.startswith(CONTRACT_CODES)
        ]
    return number, alarms


def tell(capsys: pytest.CaptureFixture[str], how: str, number: int, alarms: Sequence[str]) -> None:
    with capsys.disabled():
        sys.stdout.write(
            f"\nfalse alarms on the library's examples, {how}: {len(alarms)} of {number}\n"
        )
