"""Which commands verify the tree that an order makes: what its base says, and what it says."""

from __future__ import annotations

import json

import pytest

from factory.judging.run_checks import BaseVerification
from factory.orders.read_orders import NOT_EXEMPT, Exemption
from shared.projects.build_tools import find_verification
from tests.shared.projects.given_files import GivenFiles

PYTHON = ["python -m compileall -q .", "python -m pip --version", "python -m pytest -q"]
TESTED: dict[str, str | None] = {"test_a.py": "def test_a(): pass\n"}


def running(script: str, **others: str) -> str:
    return json.dumps({"scripts": {"test": script, **others}})


NODE: dict[str, str | None] = {"package.json": running("node --test")}


def on(base: dict[str, str | None], *chosen: str, by: Exemption = NOT_EXEMPT) -> BaseVerification:
    files = GivenFiles(base)
    return BaseVerification(files, find_verification(files, chosen), chosen, by)


def commands(base: BaseVerification, **written: str) -> list[str]:
    return [each.text for each in base.checks_with(written).commands]


def writing(base: dict[str, str | None], path: str, text: str) -> list[str]:
    return [each.text for each in on(base).checks_with({path: text}).commands]


def test_a_first_order_is_verified_by_the_tests_that_it_brings() -> None:
    assert writing({}, "package.json", running("node --test")) == ["npm test"]
    assert writing({}, "test_a.py", "") == PYTHON
    assert writing({}, "scripts/verify.sh", "") == ["bash scripts/verify.sh"]


def test_without_any_tests_the_commands_stay_those_of_the_prompt() -> None:
    assert writing({}, "package.json", "{}") == PYTHON


def test_what_a_base_says_stays_in_force() -> None:
    assert writing(NODE, "a.js", "") == ["npm test"]
    assert writing(NODE, "scripts/verify.sh", "exit 0\n") == ["npm test", "bash scripts/verify.sh"]
    after = [PYTHON[0], PYTHON[2], "bash scripts/verify.sh"]
    assert writing(TESTED, "scripts/verify.sh", "") == after
    assert writing({"Makefile": "test:\n"}, "go.mod", "module a\n") == [
        "make test",
        "go build -o /dev/null ./...",
        "go test -vet=off ./...",
    ]


def test_what_no_order_can_change_is_looked_at_on_the_base_alone() -> None:
    assert [each.text for each in on(TESTED).checks().commands] == PYTHON
    assert writing(TESTED, "a.py", "") == [PYTHON[0], PYTHON[2]]
    assert [each.text for each in on(TESTED, *PYTHON).checks_with({}).commands] == PYTHON


AS_BEFORE = """bash -c 'PATH="$PWD/node_modules/.bin:$PATH"; node --test'"""


def test_a_test_script_that_an_order_changes_runs_as_it_was_too() -> None:
    assert writing(NODE, "package.json", running("exit 0")) == [AS_BEFORE, "npm test"]


@pytest.mark.parametrize("text", ["{}", "{", running("jest --watch"), running("")])
def test_a_test_script_that_an_order_removes_runs_as_it_was(text: str) -> None:
    assert writing(NODE, "package.json", text) == [AS_BEFORE]


def test_another_package_manager_is_no_way_around_the_tests() -> None:
    assert writing(NODE, "pnpm-lock.yaml", "") == [AS_BEFORE, "pnpm test"]


def test_an_unchanged_script_runs_once_although_more_comes_beside_it() -> None:
    base = {"package.json": running("node --test", pretest="tsc")}
    changed = running("node --test", pretest="tsc", lint="eslint")
    assert writing(dict(base), "package.json", changed) == ["npm test"]


def test_the_users_own_commands_are_all_that_runs() -> None:
    base = on(NODE, "make lint")
    assert [each.text for each in base.checks_with({"scripts/verify.sh": ""}).commands] == [
        "make lint"
    ]


def test_no_tests_found_fails_a_command_that_the_user_chose() -> None:
    (chosen,) = on({}, "python -m pytest -q").checks().commands
    assert chosen.tolerated == ()
    assert on({}).checks().commands[-1].tolerated == ((5, "no tests were found"),)
    assert on({}).checks().commands[1].tolerated == ((1, "the Python of commands has no pip"),)


def test_an_order_that_a_person_exempts_is_compiled_alone() -> None:
    base = on(NODE, by=Exemption(granted="Ada"))
    assert commands(base) == commands(base, **{"test_a.py": ""}) == PYTHON[:1]
