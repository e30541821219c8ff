"""The sentences of mypy as it is installed: a new release that words one differently fails here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.languages.language_tools import Diagnostic
from shared.languages.python.mypy_messages import (
    Callee,
    Mistake,
    MypyComplaint,
    checkers_column,
    read_complaint,
)
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


def pair(
    mistake: Mistake,
    actual: TypeText,
    expected: TypeText,
    *,
    callee: Callee | None = None,
    pairs: tuple[tuple[TypeText, TypeText], ...] = (),
    shown: str = "",
) -> MypyComplaint:
    """Return a complaint about a type that another one was expected for."""
    return MypyComplaint(
        mistake, callee=callee, actual=actual, expected=expected, pairs=pairs, shown=shown
    )


def no_variant(callee: Callee, *arguments: TypeText) -> MypyComplaint:
    return MypyComplaint(Mistake.NO_VARIANT, callee=callee, arguments=arguments)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import m; m.nothing", MypyComplaint(Mistake.MODULE_LACKS, "nothing")),
        ("from m import nothing", MypyComplaint(Mistake.MODULE_LACKS, "nothing", "m")),
        ("number().nothing", MypyComplaint(Mistake.VALUE_LACKS, "nothing", of=INT)),
        ("Plain().ad", MypyComplaint(Mistake.VALUE_LACKS, "ad", of=TypeText("Plain"))),
        ("number(1)", MypyComplaint(Mistake.ARITY, callee=Callee("number"))),
        ("Plain().add()", MypyComplaint(Mistake.ARITY, callee=Callee("add", TypeText("Plain")))),
        ("take(['a'], rows=['a'])", MypyComplaint(Mistake.ARITY, callee=Callee("take"))),
        ("(lambda: 1)(2)", MypyComplaint(Mistake.ARITY)),
        ("Base()", MypyComplaint(Mistake.ABSTRACT, "Base")),
        (
            "take(5)",
            pair(Mistake.ARGUMENT, INT, parse_type("list[str]"), callee=Callee("take")),
        ),
        (
            "Plain().add('a')",
            pair(Mistake.ARGUMENT, STR, INT, callee=Callee("add", TypeText("Plain"))),
        ),
        ("take([5])", pair(Mistake.ELEMENT, INT, STR, pairs=((INT, STR),))),
        (
            "x: dict[str, int] = {'a': 'b'}",
            MypyComplaint(Mistake.ELEMENT, pairs=((STR, STR), (STR, INT))),
        ),
        ("double([1])", no_variant(Callee("double"), parse_type("list[int]"))),
        ("round('a', 2)", no_variant(Callee("round"), STR, INT)),
        ("texts() + 'a'", no_variant(Callee("__add__", TypeText("list")), STR)),
        ("number() + 'a'", MypyComplaint(Mistake.OPERANDS, operator="+", left=INT, right=STR)),
        (
            "(1 if number() else 'a') + 1",
            MypyComplaint(Mistake.OPERANDS, operator="+", left=STR, right=INT, of_union=True),
        ),
        ("-texts()", MypyComplaint(Mistake.OPERAND, of=parse_type("list[str]"), operator="unary")),
        ("number()[0] = 1", MypyComplaint(Mistake.OPERAND, of=INT)),
        (
            "'%d' % texts()[0]",
            pair(Mistake.FORMAT, STR, parse_type("int | float | SupportsInt")),
        ),
        ("words()[0]", MypyComplaint(Mistake.NOT_INDEXABLE, of=parse_type("Iterator[str]"))),
        ("{'a': 1}[5]", pair(Mistake.INDEX, INT, STR)),
        ("number()()", MypyComplaint(Mistake.NOT_CALLABLE, of=INT)),
        ("a, b = Point(1)", MypyComplaint(Mistake.UNPACKING)),
        ("a, b = number()", MypyComplaint(Mistake.NOT_ITERABLE, of=INT)),
        ("Point(1)[1]", MypyComplaint(Mistake.UNPACKING)),
        ("[*number()]", MypyComplaint(Mistake.NOT_UNPACKABLE)),
        ("async def f():\n    await number()", MypyComplaint(Mistake.NOT_AWAITABLE, of=INT)),
        ("Point(1).x = 2", MypyComplaint(Mistake.READ_ONLY, "Point")),
        ("n: int = 0; n = 'a'", pair(Mistake.STORE, STR, INT)),
        ("d = {'a': 1}; d['a'] = 'b'", pair(Mistake.STORE, STR, INT)),
        ("def f() -> int: return 'a'", pair(Mistake.RETURN, STR, INT, shown="str")),
        ("def f(a: int) -> int:\n    if a: return 1", MypyComplaint(Mistake.NO_RETURN)),
        ("x = take([])", MypyComplaint(Mistake.NO_RESULT)),
        ("nothing", MypyComplaint(Mistake.BESIDE)),
        ("(1 if number() else 'a').nothing", MypyComplaint(Mistake.UNCLEAR)),
    ],
)
def test_each_sentence_is_read_as_what_it_says(
    checker: TypeChecker, code: str, expected: MypyComplaint
) -> None:
    source = f"from m import *\n{code}\n"
    found = checker.check({"m.pyi": STUB, "code.py": source}, ["code.py"])
    assert expected in [without_text(read_complaint(each)) for each in found]


def without_text(complaint: MypyComplaint) -> MypyComplaint:
    """Return a complaint without mypy's own words for a type; what is returned keeps them."""
    return complaint if complaint.mistake is Mistake.RETURN else replace(complaint, shown="")


def test_a_sentence_that_nobody_knows_is_unclear() -> None:
    unknown = Diagnostic("a.py", 1, 0, 1, 1, "no-such-code", "Something new", "")
    assert read_complaint(unknown) == MypyComplaint(Mistake.UNCLEAR)


@pytest.mark.parametrize(
    ("line", "offset", "column"), [("abc = 1", 4, 4), ("é = 1", 3, 1), ("'日本' + x", 11, 3)]
)
def test_a_column_behind_other_characters_is_mypys(line: str, offset: int, column: int) -> None:
    assert checkers_column(line, offset) == column


def test_a_type_of_any_depth_is_no_verdict() -> None:
    deep = "list[" * 2000 + "int" + "]" * 2000
    message = f'Incompatible return value type (got "{deep}", expected "int")'
    found = read_complaint(Diagnostic("a.py", 1, 0, 1, 0, "return-value", message, ""))
    assert found.mistake is not Mistake.RETURN
