from __future__ import annotations

import ast

import pytest

from shared.languages.python.merge_stubs import with_outer_types
from shared.languages.python.module_views import Module
from shared.languages.python.type_checker import TypeChecker

HIDDEN = """
from __future__ import annotations
from datetime import date
class Shelf:
    date: date
    def list(self) -> list[str]: ...
    def rows(self) -> "list[int]": ...
    def move(self, to: date) -> date: ...
"""


def parsed(stub: str) -> list[ast.stmt]:
    return ast.parse(stub).body


@pytest.mark.parametrize(
    "stub",
    [
        "def f(x: list[str]) -> set[int]: ...",
        "Rows = list[str]\nlist = Rows\ndef f(x: list) -> Rows: ...",
        "class list: ...\ndef f() -> list: ...",
        "class A:\n    class set: ...\n    def f(self) -> set: ...",
        "from typing import Literal\nclass A:\n    def a(self) -> Literal['a']: ...",
        "class A:\n    def run(self) -> run: ...",
    ],
)
def test_what_hides_no_type_stays_as_it_is(stub: str) -> None:
    body = parsed(stub)
    assert with_outer_types(body) == body


def test_the_statements_given_are_not_changed() -> None:
    body = parsed(HIDDEN)
    before = [ast.dump(each) for each in body]
    with_outer_types(body)
    assert [ast.dump(each) for each in body] == before


@pytest.mark.parametrize("path", ["m.py", "m.pyi"])
@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("list()", "list[str]"),
        ("rows()", "list[int]"),
        ("date", "date"),
        ("move", "Callable[[date], date]"),
    ],
)
def test_a_checker_knows_the_types_behind_them(
    checker: TypeChecker, path: str, expression: str, shown: str
) -> None:
    module = Module("m.py").declare(parsed(HIDDEN))
    use = f"from m import Shelf\nShelf().{expression}.nothing"
    found = checker.check({path: module.text, "c.py": use}, ["c.py"])
    assert [each.message for each in found] == [f'"{shown}" has no attribute "nothing"']
