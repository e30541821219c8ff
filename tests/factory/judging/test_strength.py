"""How strong the tests of an order are, measured by mutants in the sandbox."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from factory.orders.documents import NO_FAULTS, Strength
from factory.sandbox.policy import Backend
from shared.languages.capabilities import Batch
from shared.languages.python import python_mutations
from tests.factory.judging.measuring import PYTEST, STACK, STACK_TEST, Commit, survivors
from tests.harness import Factory
from tests.real_tools import add_real_rust, needs
from tests.scale import large

FILES = {"stack.py": STACK, "tests/test_stack.py": STACK_TEST}
# The values at the bounds are the bounds, so these two change nothing that a test could see.
AT_BOUNDS = ["stack.py:2 `<` to `<=`", "stack.py:4 `>` to `>=`"]
CHECK = "python -c 'from stack import clamp; assert clamp(0, 1, 9) == 1'"


@pytest.mark.rest
def test_the_commands_are_as_strong_as_the_mutants_that_they_notice(factory: Factory) -> None:
    found = Commit.of(factory, FILES, PYTEST).strength(seed=3, jobs=2)
    assert (found.killed, found.of, survivors(found)) == (9, 11, AT_BOUNDS)


@pytest.mark.rest
def test_mutants_in_one_start_end_as_they_do_one_by_one(factory: Factory) -> None:
    commit = Commit.of(factory, FILES, CHECK, "python -c 'import stack'")
    with commit.pool() as pool:
        found = commit.measure(pool, seed=3)
        assert 0 < found.killed < found.of == 11
        assert commit.measure(pool, seed=3, batched=False, jobs=2) == found


def test_a_weak_command_lets_most_of_them_live(factory: Factory) -> None:
    found = Commit.of(factory, FILES, CHECK).strength()
    assert found.of == 11
    assert "stack.py:12 removed `result += each`" in found.survivors
    assert found.killed == 2, found.survivors


@large
def test_equal_seeds_choose_equal_mutants(factory: Factory) -> None:
    commit = Commit.of(factory, FILES, CHECK)
    with commit.pool() as pool:
        few = [commit.measure(pool, mutants=4, seed=seed) for seed in (1, 1, 2)]
    assert few[0] == few[1] != few[2]
    assert [each.of for each in few] == [4, 4, 4]
    assert few[0].seed == 1


def test_only_lines_of_the_commit_are_changed(factory: Factory) -> None:
    before, after = {"stack.py": STACK}, {"stack.py": STACK + "\n\nLIMIT = 3\n"}
    found = Commit.of(factory, after, CHECK, before=before).strength()
    assert list(found.survivors) == ["stack.py:16 `3` to `4`"]


@pytest.mark.parametrize("backend", [Backend.LANDLOCK, Backend.OFF])
def test_every_sandbox_measures_the_same(factory: Factory, backend: Backend) -> None:
    found = Commit.of(factory, FILES, CHECK).strength(backend, mutants=5, seed=1)
    assert found.of == 5


def test_what_cannot_be_measured_is_said(factory: Factory) -> None:
    files = {"readme.md": "more\n", "data.json": "{}", "tests/test_a.py": "x = 1\n"}
    found = Commit.of(factory, files, "true").strength()
    assert (found.why_not, found.of) == (NO_FAULTS, 0)
    assert found.reaches(1.0)


def test_a_commit_that_fails_its_own_commands_has_no_strength(factory: Factory) -> None:
    found = Commit.of(factory, FILES, "python -c 'import absent'").strength()
    assert "fails on the commit as it is" in found.why_not
    assert not found.reaches(0.1)


def test_files_that_are_not_looked_into_are_named(factory: Factory) -> None:
    files: dict[str, str | bytes] = {
        "a.rb": "puts 1\n",
        "broken.py": "x = (\n",
        "latin.py": "# \udce9\n".encode("utf-8", "surrogateescape"),
        "big.py": "x = 1\n" * 40_000,
        "stack.py": STACK,
    }
    found = Commit.of(factory, files, CHECK).strength(mutants=1)
    assert list(found.unmeasured) == ["a.rb", "big.py", "broken.py", "latin.py"]
    assert "(not measured: a.rb, big.py, broken.py, latin.py)" in found.describe()


@pytest.mark.rest
@pytest.mark.parametrize("batched", [True, pytest.param(False, marks=large)])
def test_a_mutant_that_does_not_end_is_killed_by_time(factory: Factory, batched: bool) -> None:
    code = "def count(n):\n    at = 0\n    while at < n:\n        at += 1\n    return at\n"
    check = "python -c 'from loop import count; assert count(3) == 3'"
    commit = Commit.of(factory, {"loop.py": code}, check)
    with commit.pool() as pool:
        found = commit.measure(pool, batched=batched)
    assert (found.killed, found.of) == (6, 7)
    assert list(found.survivors) == ["loop.py:2 `0` to `1`"]


def test_a_time_that_is_over_leaves_mutants_untried(factory: Factory) -> None:
    found = Commit.of(factory, FILES, CHECK).strength(measure_seconds=0.0)
    assert (found.of, found.untried) == (0, 11)
    assert not found.reaches(0.1), "what was never tried proves nothing"


def test_a_tree_that_replaces_modules_of_runners_is_tried_one_by_one(factory: Factory) -> None:
    files = {"stack.py": STACK, "json.py": "import stack\n"}
    found = Commit.of(factory, files, CHECK).strength(mutants=3)
    assert found.of == 3


def test_a_description_is_one_line(factory: Factory) -> None:
    found = Strength(killed=1, of=3, survivors=("a.py:1 `<` to `<=`", "a.py:2 removed `f()`"))
    assert found.describe() == (
        "strength 1 of 3, survivors: a.py:1 `<` to `<=`; a.py:2 removed `f()`"
    )
    assert Strength(killed=3, of=3).describe() == "strength 3 of 3"
    assert [found.reaches(each) for each in (0.33, 0.34)] == [True, False]


def test_commands_of_one_interpreter_are_tried_together() -> None:
    def batched(*commands: tuple[str, ...], files: tuple[str, ...] = ()) -> bool:
        batch = Batch(commands, "a.py", ((0, 0, ""),), 1.0, 32, files=files)
        return bool(python_mutations.batched(batch))

    pytest_command = ("python", "-m", "pytest", "-q")
    assert batched(pytest_command, ("python", "-c", "import a"), files=("conftest.py",))
    assert not batched(pytest_command, ("sh", "check.sh"))
    assert not batched(pytest_command, ("python3", "a.py"))
    assert not batched(pytest_command, files=("src/sitecustomize.py",))


GO = {
    "go.mod": "module example.org/clamp\n\ngo 1.19\n",
    "clamp_test.go": (
        'package clamp\n\nimport "testing"\n\nfunc TestClamp(t *testing.T) {\n'
        "\tif Clamp(5, 9) != 5 || Clamp(10, 9) != 9 {\n\t\tt.Fatal()\n\t}\n}\n"
    ),
    "clamp.go": (
        "package clamp\n\nfunc Clamp(value, high int) int {\n"
        "\tif value > high {\n\t\treturn high\n\t}\n\treturn value\n}\n"
    ),
}
RUST = {
    "Cargo.toml": '[package]\nname = "clamp"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "clamp"\nversion = "0.1.0"\n',
    "tests/clamp.rs": (
        "#[test]\nfn clamps() {\n    assert_eq!(clamp::clamp(5, 9), 5);\n"
        "    assert_eq!(clamp::clamp(10, 9), 9);\n}\n"
    ),
    "src/lib.rs": (
        "pub fn clamp(value: u8, high: u8) -> u8 {\n"
        "    if value > high {\n        return high;\n    }\n    value\n}\n"
    ),
}
NODE = {
    "clamp.test.mjs": (
        "import assert from 'node:assert';\nimport { test } from 'node:test';\n"
        "import { clamp } from './clamp.mjs';\n\n"
        "test('clamp', () => assert.deepEqual([clamp(5, 9), clamp(10, 9)], [5, 9]));\n"
    ),
    "clamp.mjs": (
        "export function clamp(value, high) {\n"
        "  if (value > high) {\n    return high;\n  }\n  return value;\n}\n"
    ),
}


@pytest.mark.rest
@pytest.mark.parametrize(
    ("files", "command", "survivor"),
    [
        pytest.param(GO, "go test ./...", "clamp.go:4 `>` to `>=`", marks=needs("go")),
        pytest.param(RUST, "cargo test", "src/lib.rs:2 `>` to `>=`", marks=needs("cargo")),
        pytest.param(NODE, "node --test", "clamp.mjs:2 `>` to `>=`", marks=needs("node")),
    ],
)
def test_every_language_is_measured_with_its_own_tools(
    factory: Factory,
    files: dict[str, str],
    command: str,
    survivor: str,
    own_surroundings: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if files is RUST:
        proxies = add_real_rust(own_surroundings)
        monkeypatch.setenv("PATH", f"{proxies}:{os.environ['PATH']}")
    found = Commit.of(factory, files, command).strength(measure_seconds=600.0)
    assert found.why_not == ""
    assert (found.killed, found.of, list(found.survivors)) == (3, 4, [survivor])


@needs("go")
@pytest.mark.rest
def test_what_does_not_compile_does_not_count(factory: Factory) -> None:
    code = GO["clamp.go"].replace("value, high int) int", "value, high string) string")
    tests = GO["clamp_test.go"].replace("5, 9) != 5 || Clamp(10, 9) != 9", '"a", "b") != "a"')
    code = code.replace("return value", 'return value + ""')
    files = GO | {"clamp.go": code, "clamp_test.go": tests}
    found = Commit.of(factory, files, "go test ./...").strength(measure_seconds=600.0)
    assert found.invalid == 1, "Go cannot subtract strings"
