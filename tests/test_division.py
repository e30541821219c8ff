"""`make test` shows each verb, flag, exit code, stage and journalled step at work at least once.

A test passes what it names to the program, or expects it in the answer; those marked `rest` do not
count here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from factory.orders.stages import Stage
from factory.record.journal_entries import JournalStep
from llmch.verbs.completion import read_grammar
from shared.errors import ExitCode

TESTS = Path(__file__).parent
_LISTS_ALL = {"test_division.py", "test_help_command.py"}

# A setting has its flag tried by a name that is put together.
_BY_ITS_SETTING = {"--sandbox-write"}
# A run of minutes or a service shows these, in `make test-rest`.
_IN_THE_REST: set[str] = set()
_EXCEPT = _BY_ITS_SETTING | _IN_THE_REST


@cache
def quick_code() -> tuple[ast.AST, ...]:
    """Return the statements of all test files that are not marked `rest`."""
    files = (each for each in TESTS.rglob("test_*.py") if each.name not in _LISTS_ALL)
    return tuple(found for file in files for found in statements_of(file.read_text("utf-8")))


def statements_of(text: str) -> Iterator[ast.stmt]:
    """Yield the statements of a file of tests, those marked `rest` left out."""
    body = ast.parse(text).body
    if not any(_marks_all(each) for each in body):
        yield from (each for each in body if not _is_rest(each))


def _marks_all(statement: ast.stmt) -> bool:
    text = ast.unparse(statement) if isinstance(statement, ast.Assign) else ""
    return text.startswith("pytestmark = ") and "mark.rest" in text


def _is_rest(statement: ast.stmt) -> bool:
    marks = getattr(statement, "decorator_list", [])
    return any(ast.unparse(each) == "pytest.mark.rest" for each in marks)


@cache
def words() -> frozenset[str]:
    """Return each word of a string, the part before `=` alone, and each name behind a dot."""
    found = set[str]()
    for node in (each for statement in quick_code() for each in ast.walk(statement)):
        match node:
            case ast.Constant(value=str(value)):
                found.update(word.partition("=")[0] for word in value.split())
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                found.add(f"{owner}.{name}")
            case _:
                pass
    return frozenset(found)


@cache
def codes() -> frozenset[int]:
    """Return the numbers that something called a code is compared with."""
    compared = (
        each
        for statement in quick_code()
        for each in ast.walk(statement)
        if isinstance(each, ast.Compare) and "code" in ast.unparse(each)
    )
    return frozenset(
        each.value
        for node in compared
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and type(each.value) is int
    )


@pytest.mark.parametrize("verb", [each.name for each in read_grammar()])
def test_each_verb_and_each_of_its_flags(verb: str) -> None:
    (grammar,) = (each for each in read_grammar() if each.name == verb)
    assert verb in words()
    flags = [each.spellings for each in grammar.options]
    unseen = {each[-1] for each in flags if words().isdisjoint(each)}
    assert unseen - _EXCEPT == set()


def test_no_flag_is_excepted_that_is_seen() -> None:
    assert words() & _EXCEPT == set()


def test_each_exit_code() -> None:
    named = {each for each in ExitCode if f"ExitCode.{each.name}" in words()}
    assert set(ExitCode) - named - codes() == set()


def test_each_stage_of_a_failure() -> None:
    named = {each for each in Stage if {f"Stage.{each.name}", str(each)} & words()}
    assert set(Stage) - named == set()


def test_each_step_of_the_journal() -> None:
    named = {each for each in JournalStep if f"JournalStep.{each.name}" in words()}
    assert set(JournalStep) - named == set()


def test_what_is_marked_does_not_count() -> None:
    kept = "def test_a() -> None:\n    run('--kept')\n"
    left = "@pytest.mark.rest\ndef test_b() -> None:\n    run('--left')\n"
    assert [ast.unparse(each) for each in statements_of(kept + left)] == [kept.rstrip()]
    assert list(statements_of("pytestmark = pytest.mark.rest\n" + kept)) == []
