"""The sentences of mypy as it is installed: a new release that words one differently fails here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.languages.language_tools import Diagnostic
from shared.languages.python import mypy_messages as says
from shared.languages.python.mypy_messages import Callee, Complaint, checkers_column, read_complaint
from shared.languages.python.type_checker import TypeChecker
from shared.languages.python.type_text import TypeText, parse_type

INT, STR = TypeText("int"), TypeText("str")
STUB = """
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple, overload
class Point(NamedTuple):
    x: int
class Plain:
    def add(self, count: int) -> int: ...
class Base(ABC):
    @abstractmethod
    def run(self) -> int: ...
def number() -> int: ...
def texts() -> list[str]: ...
def words() -> Iterator[str]: ...
def take(rows: list[str]) -> None: ...
@overload
def double(value: int) -> int: ...
@overload
def double(value: str) -> str: ...
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import m; m.nothing", says.ModuleLacks(None, "nothing")),
        ("from m import nothing", says.ModuleLacks("m", "nothing")),
        ("number().nothing", says.ValueLacks(INT, "nothing")),
        ("Plain().ad", says.ValueLacks(TypeText("Plain"), "ad")),
        ("number(1)", says.WrongArity(Callee("number"))),
        ("Plain().add()", says.WrongArity(Callee("add", TypeText("Plain")))),
        ("take(['a'], rows=['a'])", says.WrongArity(Callee("take"))),
        ("(lambda: 1)(2)", says.WrongArity(None)),
        ("Base()", says.MadeAbstract("Base")),
        ("take(5)", says.WrongArgument(Callee("take"), INT, parse_type("list[str]"))),
        (
            "Plain().add('a')",
            says.WrongArgument(Callee("add", TypeText("Plain")), STR, INT),
        ),
        ("take([5])", says.WrongElement(((INT, STR),), "")),
        ("x: dict[str, int] = {'a': 'b'}", says.WrongElement(((STR, STR), (STR, INT)), "")),
        ("double([1])", says.NoVariant(Callee("double"), (parse_type("list[int]"),))),
        ("round('a', 2)", says.NoVariant(Callee("round"), (STR, INT))),
        (
            "texts() + 'a'",
            says.NoVariant(Callee("__add__", TypeText("list")), (STR,)),
        ),
        ("number() + 'a'", says.WrongOperands("+", INT, STR, of_union=False)),
        ("(1 if number() else 'a') + 1", says.WrongOperands("+", STR, INT, of_union=True)),
        ("-texts()", says.WrongOperand(parse_type("list[str]"))),
        ("number()[0] = 1", says.WrongOperand(INT)),
        ("'%d' % texts()[0]", says.WrongFormat(STR, parse_type("int | float | SupportsInt"))),
        ("words()[0]", says.NotIndexable(parse_type("Iterator[str]"))),
        ("{'a': 1}[5]", says.WrongIndex(INT, STR)),
        ("number()()", says.NotCallable(INT)),
        ("a, b = Point(1)", says.WrongUnpacking()),
        ("a, b = number()", says.NotIterable(INT)),
        ("Point(1)[1]", says.WrongUnpacking()),
        ("[*number()]", says.NotUnpackable()),
        ("async def f():\n    await number()", says.NotAwaitable(INT)),
        ("Point(1).x = 2", says.ReadOnly("x", "Point")),
        ("n: int = 0; n = 'a'", says.WrongStore(STR, INT)),
        ("d = {'a': 1}; d['a'] = 'b'", says.WrongStore(STR, INT)),
        ("def f() -> int: return 'a'", says.WrongReturn(STR, INT, "str")),
        ("def f(a: int) -> int:\n    if a: return 1", says.NoReturn()),
        ("x = take([])", says.NoResult()),
        ("nothing", says.Beside()),
        ("(1 if number() else 'a').nothing", says.Unclear()),
    ],
)
def test_each_sentence_is_read_as_what_it_says(
    checker: TypeChecker, code: str, expected: Complaint
) -> None:
    source = f"from m import *\n{code}\n"
    found = checker.check({"m.pyi": STUB, "code.py": source}, ["code.py"])
    assert expected in [without_text(read_complaint(each)) for each in found]


def without_text(complaint: Complaint) -> Complaint:
    """Return a complaint about an element without the words that the message has for its type."""
    return replace(complaint, shown="") if isinstance(complaint, says.WrongElement) else complaint


def test_a_sentence_that_nobody_knows_is_unclear() -> None:
    unknown = Diagnostic("a.py", 1, 0, 1, 1, "no-such-code", "Something new", "")
    assert read_complaint(unknown) == says.Unclear()


@pytest.mark.parametrize(
    ("line", "offset", "column"), [("abc = 1", 4, 4), ("é = 1", 3, 1), ("'日本' + x", 11, 3)]
)
def test_a_column_behind_other_characters_is_mypys(line: str, offset: int, column: int) -> None:
    assert checkers_column(line, offset) == column
