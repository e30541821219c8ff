from __future__ import annotations

import os
import shlex
import sys

import pytest

from planner.plan import parse_plan
from planner.validation import judge
from shared.interfaces.checker import TypeChecker
from tests.planner.doctest_corpus import ALL, PACKAGE, SMALL, commands_of, stub_of
from tests.planner.plans import creating, order, plan

# All modules take half a minute: set the variable to judge them too.
MODULES = ALL if os.environ.get("LLMCH_TEST_CORPUS") == "all" else SMALL
CONTRACT_CODES = ("E20", "E21", "E29")


def test_the_standard_librarys_own_examples_raise_no_alarm(
    checker: TypeChecker, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = 0
    alarms: list[str] = []
    for source, module in MODULES.items():
        commands = [f"python -c {shlex.quote(each)}" for each in commands_of(source, module)]
        if not commands:
            continue
        path = f"{PACKAGE}/{module}.py"
        interface = {"path": path, "stub": stub_of(module)}
        document = plan(
            creating(1, path, interfaces=[interface]), order(2, acceptance_commands=commands)
        )
        report = judge(parse_plan(document), checker=checker)
        judged += len(commands)
        alarms += [
            f"{module} {commands[int(each.field[20:-1])]} {each.code} {each.message}"
            for each in report.findings
            if each.code.startswith(CONTRACT_CODES) and each.position == 2
        ]
    with capsys.disabled():
        sys.stdout.write(f"\nfalse alarms on the library's examples: {len(alarms)} of {judged}\n")
    assert judged >= 40
    assert alarms == []
