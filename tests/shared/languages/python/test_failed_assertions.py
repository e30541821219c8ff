"""Watching code changes nothing of what it does, and tells the values that made it fail."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.python import assertion_marker, observer, shown_values
from shared.languages.python.assertion_marker import RECORDER, Marker
from shared.languages.python.observer import MARK, Recorder
from shared.languages.python.python_reports import FailedTest, Operand, tell, values_of
from shared.languages.python.second_look import observed_command, read_observation


def observed(code: str, *arguments: str) -> tuple[str, ...]:
    """Run `python -c CODE` under the observer; return what it tells of an assertion."""
    argv = observed_command(("python", "-c", code, *arguments))
    assert argv is not None
    done = subprocess.run([sys.executable, *argv[1:]], capture_output=True, text=True, check=False)
    found = read_observation(done.stderr)
    return found.sentences or (f"{found.code}{found.with_names}",) if found else ()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import sys; assert sys.argv == []", "`sys.argv` is ['-c', 'a'], expected []"),
        ("assert __name__ == 'x'", "`__name__` is '__main__', expected 'x'"),
        ("assert {'b', 'a', 'c'} == {'d'}", "the value is {'a', 'b', 'c'}, expected {'d'}"),
        ("assert object() is None", "`object()` returned <object object at 0x...>, expected None"),
        ("x = 1\nassert x is None or x > 2", "`x` is 1, expected None"),
        ("class A:\n    def __repr__(self): raise OSError\nassert A() == 1",
         "`A()` returned <A, whose repr raised OSError>, expected 1"),
        ("assert list(range(99)) == list(range(98))",
         "`list(range(99))` returned [0, 1, 2, 3, 4, 5, 6, 7, 8, 9 ... 27, 28, 29, ...], expected "
         "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9 ... 27, 28, 29, ...] (`list(range(98))`); "
         "it has 99 items, expected 98"),
        ("a = 'x' * 80 + 'y'\nassert a == 'x' * 80 + 'z'",
         "`a` is 'xxxxxxxxxxxxxxxxxxxxxxxxxxxx ... xxxxxxxxxxxxxxy', expected "
         "'xxxxxxxxxxxxxxxxxxxxxxxxxxxx ... xxxxxxxxxxxxxxz' (`'x' * 80 + 'z'`); "
         "from position 80 on, after 'xxxxxxxxxx', it has 'y', expected 'z'"),
        ("a = {n: n for n in range(60)}\nassert a == {**a, 7: 8}",
         "`a` is {0: 0, 1: 1, 2: 2, 3: 3, 4: 4 ... 28, 29: 29, ...}, expected "
         "{0: 0, 1: 1, 2: 2, 3: 3, 4: 4 ... 28, 29: 29, ...} (`{**a, 7: 8}`); "
         "the key 7 has 7, expected 8"),
        ("def f(n):\n    assert n != 3\n    f(n + 1)\nf(0)", "`n` is 3, expected anything but 3"),
        ("import json\njson.loads('{')", "json.loads('{')"),
        ("y = 0\n1 / y", "1 / y"),
        ("def g(n):\n    raise ValueError\nz = 4\nassert g(z) == 1", "raise ValueError"),
        ("z = 'a'\nassert int(z) == 1", "int(z) (`z` is 'a')"),
    ],
)  # fmt: skip
def test_what_made_code_fail_is_told(code: str, told: str) -> None:
    assert observed(code, "a")[0] == told


@pytest.mark.parametrize(
    "code",
    [
        "assert 1 == 1",
        "raise SystemExit('assert')",
        "import os; os._exit(1)",
        "import os; os.close(2); assert 0",
        "def f(:",
    ],
)
def test_code_that_ends_otherwise_has_no_report(code: str) -> None:
    assert observed(code) == ()


@pytest.mark.parametrize(
    "argv",
    [
        ("python", "-c", "CODE", "a"),
        ("python3.12", "-I", "-W", "error", "-c", "CODE"),
        ("/usr/bin/python3", "-B", "-c", "CODE"),
        ("env", "A=1", "python", "-c", "CODE"),
        ("timeout", "5", "python", "-c", "CODE"),
    ],
)
def test_the_command_around_the_code_stays_as_it_is(argv: tuple[str, ...]) -> None:
    again = observed_command(argv)
    assert again is not None
    program = again[argv.index("CODE")]
    assert tuple(each for each in again if each != program) == argv


@pytest.mark.parametrize(
    "argv",
    [
        ("python", "script.py", "-c", "CODE"),
        ("python", "-m", "pytest", "-c", "pytest.ini"),
        ("bash", "-c", "python -c CODE"),
        ("grep", "python", "-c", "CODE"),
        ("python", "-c"),
        ("python",),
        ("python", "-c", "x" * 200_000),
        (),
    ],
)
def test_other_commands_are_not_observed(argv: tuple[str, ...]) -> None:
    assert observed_command(argv) is None


@pytest.mark.parametrize("module", [assertion_marker, observer, shown_values])
def test_the_observer_is_written_for_python_3_9(module: Any) -> None:
    source = Path(module.__file__).read_text("utf-8")
    ast.parse(source, feature_version=(3, 9))
    assert " match " not in source


@pytest.mark.rest
@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_a_forged_report_is_read_or_is_none(text: str) -> None:
    found = read_observation(f"noise\n{MARK}{text}")
    assert found is None or isinstance(found.code, str)


def test_a_forged_report_cannot_hold_what_no_file_can() -> None:
    assert read_observation(MARK + '{"code": "x"}') is not None
    assert read_observation(MARK + '{"code": "\\ud800"}') is None
    assert read_observation(MARK + '{"code": "' + "x" * 5000 + '"}') is None


def expressions() -> st.SearchStrategy[str]:
    """Return tests made of calls that leave a trace, of names and of constants."""
    atoms = st.sampled_from(["f(0)", "f(1)", "f(f(2))", "x", "f('a')", "f(x)", "len('ab')"])
    operator = st.sampled_from(["==", "!=", "<", ">="])
    junction = st.sampled_from(["and", "or"])
    leaves = (
        atoms
        | st.tuples(atoms, operator, atoms, operator, atoms).map(" ".join)
        | atoms.map(lambda atom: f"isinstance({atom}, int)")
        | atoms.map(lambda atom: f"all({atom} != y and f(y) for y in [1, 2])")
        | atoms.map(lambda atom: f"{atom} in [f(3), 1]")
        | atoms.map(lambda atom: f"{atom} is not x")
    ).map(lambda leaf: f"({leaf})")
    return st.recursive(
        leaves,
        lambda inner: (
            st.tuples(inner, junction, inner).map(lambda parts: f"({' '.join(parts)})")
            | inner.map(lambda test: f"(not {test})")
        ),
        max_leaves=5,
    )


def outcome(code: str, *, marked: bool) -> tuple[list[object], str]:
    """Run code; return the calls that it made, and how it ended."""
    calls: list[object] = []

    def f(value: object) -> object:
        calls.append(value)
        return value

    tree = ast.parse(code)
    if marked:
        tree.body = Marker(code).mark_block(tree.body, "<module>")
    space = {"f": f, "x": 1, RECORDER: Recorder()}
    try:
        exec(compile(ast.fix_missing_locations(tree), "<code>", "exec"), space)
    except Exception as error:
        return calls, type(error).__name__
    return calls, ""


@given(expressions())
def test_watched_code_does_what_it_would_have_done(test: str) -> None:
    code = f"for n in range(2):\n    assert {test}\n"
    assert outcome(code, marked=True) == outcome(code, marked=False)


@pytest.mark.parametrize(
    ("source", "said", "told"),
    [
        ("f([]) == ''", "None == ''", "`f([])` returned None, expected ''"),
        ("'' == f([])", "'' == None", "`f([])` returned None, expected ''"),
        ("f(x) == y", "1 == 2", "`f(x)` returned 1, expected 2 (`y`)"),
        ("f(x) == y, 'why'", "1 == 2", "`f(x)` returned 1, expected 2 (`y`)"),
        ("f(1) == ' == '", "'a' == ' == '", "`f(1)` returned 'a', expected ' == '"),
        ("f(1) == y", "' == ' == 'a'", ""),
        ("not f(1)", "not True", "`f(1)` returned True, expected a false value"),
        ("f(1)", "False", "`f(1)` returned False, expected a true value"),
        ("f(1) in (1, 2)", "3 in (1, 2)", "`f(1)` returned 3, expected one of (1, 2)"),
        ("1 not in f()", "1 not in [1]", "`f()` returned [1], expected it not to contain 1"),
        ("x.n >= 3", "2 >= 3", "`x.n` is 2, expected a value of at least 3"),
        ("1 + 1 == 3", "(1 + 1) == 3", ""),
        ("[1] == [2]", "[1] == [2]", ""),
        ("f(", "False", ""),
        ("a and b", "(True and False)", ""),
    ],
)  # fmt: skip
def test_values_that_pytest_shows_are_told(source: str, said: str, told: str) -> None:
    found = values_of(source, said)
    assert (tell(found) if found else "") == told


def test_equal_looks_are_told_apart_by_type() -> None:
    left = Operand("f()", "1", is_call=True, type_name="Number")
    right = Operand("1", "1", is_literal=True, type_name="int")
    told = "`f()` returned 1 of type Number, expected 1 of type int"
    assert tell(FailedTest("==", (left, right))) == told
    assert tell(FailedTest("???", (left, right))) == ""
