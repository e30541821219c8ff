from __future__ import annotations

import shlex

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from tests.planner.plans import order, plan

WEAK = {"W230", "W231", "W232", "W233"}


def weakness(command: str) -> list[str]:
    report = judge(parse_plan(plan(order(acceptance_commands=[command]))))
    return [each.code for each in report.findings if each.code in WEAK]


def of_code(code: str, flags: str = "") -> list[str]:
    return weakness(f"python {flags} -c {shlex.quote(code)}")


@pytest.mark.parametrize(
    "code",
    [
        "import json",
        "from json import loads, dumps",
        "import json; print(json)",
        "import json; x = 1; print('ok', x)",
        "'''Doc.'''",
        "pass",
    ],
)
def test_w230_only_imports_or_prints(code: str) -> None:
    assert of_code(code) == ["W230"]


@pytest.mark.parametrize(
    "command", ["python -m pytest --version", "pytest --help", "grep --version"]
)
def test_w230_only_shows_something(command: str) -> None:
    assert weakness(command) == ["W230"]


def test_what_only_has_to_keep_passing_may_compile() -> None:
    commands = ["go vet ./...", "cargo clippy", "true"]
    kept = order(acceptance_commands=commands, regression=commands)
    report = judge(parse_plan(plan(kept)))
    assert [each.code for each in report.findings if each.code in WEAK] == ["W232"]
    assert weakness("go vet ./...") == ["W230"]


@pytest.mark.parametrize(
    "code",
    [
        "import json; json.loads('1')",
        "import json; x = json.loads('1')",
        "import json; print(json.loads('1'))",
        "import json\nfor x in json.loads('[1]'): print(x)",
    ],
)
def test_w231_calls_without_an_assertion(code: str) -> None:
    assert of_code(code) == ["W231"]


@pytest.mark.parametrize(
    "code",
    [
        "assert True",
        "assert 1, 'never'",
        "assert 'text'",
        "import json; assert (json.loads('1') == 2, 'always')",
        "import json; assert json.loads('1') == 2 or True",
        "import json; x = json.loads('1'); assert x == x",
        "import json; x = json.loads('[]'); assert len(x) >= 0",
        "assert not False",
        "import json\ntry:\n    assert json.loads('1') == 2\nexcept Exception:\n    pass",
        "import json\ntry:\n    assert json.loads('1') == 2\nexcept:\n    print('failed')",
        "try:\n    assert f() == 2\nexcept (ValueError, AssertionError):\n    pass",
        "from contextlib import suppress\nwith suppress(AssertionError):\n    assert f() == 1",
        "import sys\ntry:\n    sys.exit(f())\nexcept BaseException:\n    pass",
    ],
)
def test_w232_cannot_fail(code: str) -> None:
    assert of_code(code) == ["W232"]


@pytest.mark.parametrize("flags", ["-O", "-OO", "-BO", "-I -O"])
def test_w232_assertions_switched_off(flags: str) -> None:
    assert of_code("import json; assert json.loads('1') == 1", flags) == ["W232"]
    assert of_code("import json, sys; sys.exit(json.loads('1') != 1)", flags) == []


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "env PYTHONOPTIMIZE=1 python -c 'assert f() == 1'",
        "python -O -m pytest tests",
        "pytest --collect-only",
        "python -m pytest --co -q",
        "bash -c 'python x.py || true'",
        "bash -c 'python x.py; true'",
        "test a = a",
        "test x",
        "grep -q $(date) README.md",
        'grep -q "`date`" README.md',
    ],
)
def test_w232_a_program_that_proves_nothing(command: str) -> None:
    assert weakness(command) == ["W232"]


@pytest.mark.parametrize(
    "code",
    [
        "import json; assert hasattr(json, 'loads')",
        "from json import loads; assert callable(loads)",
        "from json import loads; assert loads",
        "from json import loads; assert loads is not None",
        "import json; assert json.loads",
        "import json; assert 'loads' in dir(json)",
        "import os; assert os.path.exists('a') and os.path.isfile('a')",
        "from pathlib import Path; assert Path('a').is_file()",
        "import json; assert hasattr(json, 'loads'); assert True",
    ],
)
def test_w233_asserts_existence_only(code: str) -> None:
    assert of_code(code) == ["W233"]


@pytest.mark.parametrize(
    "command", ["test -f a", "test ! -e a", "cat a", "ls a", "head -5 a", "wc -l a", "sort a"]
)
def test_w233_a_file_exists(command: str) -> None:
    assert weakness(command) == ["W233"]


@pytest.mark.parametrize(
    "code",
    [
        "import json; assert json.loads('1') == 1",
        "import json; assert hasattr(json, 'loads'); assert json.loads('1') == 1",
        "from json import loads; assert loads('1') == loads('1')",
        "from json import loads; x = loads('1'); assert x",
        "from json import loads; assert loads('1')",
        "from json import loads; x = loads('[1]'); assert len(x) > 0",
        "import sys; sys.exit(f() != 1)",
        "raise SystemExit(f())",
        "import subprocess; subprocess.run(['x'], check=True)",
        "import subprocess; subprocess.check_output(['x'])",
        "from unittest import TestCase; TestCase().assertEqual(f(), 1)",
        "import numpy.testing as t; t.assert_allclose(f(), 1)",
        "import pytest\nwith pytest.raises(ValueError):\n    f()",
        "import doctest, m; doctest.testmod(m, raise_on_error=True)",
        "try:\n    f()\nexcept ValueError:\n    pass\nelse:\n    raise SystemExit(1)",
        "try:\n    f()\n    assert False\nexcept ValueError:\n    pass",
        "ok = False\ntry:\n    f()\nexcept Exception:\n    ok = True\nassert ok",
        "try:\n    assert f() == 1\nexcept AssertionError:\n    raise",
        "try:\n    assert f() == 1\nfinally:\n    g()",
        "assert []",
        "assert (*f(),)",
    ],
)
def test_what_can_fail_for_a_reason_is_not_told(code: str) -> None:
    assert of_code(code) == []


@pytest.mark.parametrize(
    "command",
    [
        "bash -n scripts/verify.sh",
        "python -m compileall -q .",
        "python -m pytest -q tests",
        "pytest -k 'not slow'",
        "grep -q text README.md",
        "grep -F '`x`' README.md",
        r"grep \$\(x README.md",
        "bash -c 'test $(wc -l < a) = 3'",
        "test a = b",
        "diff a b",
        "python tool.py",
        "cat",
        "bash -c 'x || exit 1'",
    ],
)
def test_neither_are_commands_that_check_something(command: str) -> None:
    assert weakness(command) == []


def test_code_that_does_not_compile_and_commands_that_cannot_start_are_told_elsewhere() -> None:
    assert weakness("python -c 'assert ('") == []
    assert weakness("python -c") == []
