from __future__ import annotations

import ast

import pytest

from shared.languages.python.signatures import conflicts, normal


def contradicted(before: str, after: str) -> list[str]:
    return [each.name for each in conflicts(ast.parse(before).body, ast.parse(after).body)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a: int) -> str: ...", "def f(a: int) -> str: ..."),
        ("def f(a: int) -> str: ...", "def f(a) -> str:\n    '''Doc.'''"),
        ("def f(a, b=1): ...", "def f(a: int, b: int = ...) -> str: ..."),
        ("def f(a: Optional[List[int]]): ...", "def f(a: list[int] | None): ..."),
        ("def f(a: 'Maze') -> None: ...", "def f(a: Maze): ..."),
        ("def f(a: typing.Union[int, str]): ...", "def f(a: str | int): ..."),
        ("def f(*, a, b): ...", "def f(*, b, a): ..."),
        ("class C(Base):\n    x: int", "class C:\n    y: int"),
        ("class C:\n    def m(self) -> int: ...", "class C:\n    def m(this) -> int: ..."),
        ("@dataclass\nclass C:\n    x: int", "class C:\n    x: int"),
        ("@dataclass\nclass C: ...", "@dataclasses.dataclass(slots=True)\nclass C: ..."),
        (
            "@dataclass(frozen=True)\nclass C: ...",
            "@dataclass(repr=False, frozen=True)\nclass C: ...",
        ),
        ("class C:\n    x: int", "class C:\n    @property\n    def x(self) -> int: ..."),
        ("X: int", "X: Final = 5"),
        ("def f(a: typing.List[int]): ...", "def f(a: list[int]): ..."),
        (
            "def f(a: Callable[[int, str], bool]): ...",
            "def f(a: 'Callable[[int, str], bool]'): ...",
        ),
        ("def f(**k): ...", "def f(**options: int): ..."),
        ("X: Final[int] = ...", "X: int = 5"),
        ("from a import f", "def f(): ..."),
        ("def f(): ...", "def g(): ..."),
    ],
)
def test_saying_the_same_or_less_or_more_is_no_contradiction(before: str, after: str) -> None:
    assert contradicted(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("def f(a: int): ...", "def f(a: str): ...", "f"),
        ("def f(a): ...", "def f(b): ...", "f"),
        ("def f(a): ...", "def f(a, b): ...", "f"),
        ("def f(a): ...", "def f(a=1): ...", "f"),
        ("def f(a): ...", "def f(*, a): ...", "f"),
        ("def f(a): ...", "def f(a, /): ...", "f"),
        ("def f(a): ...", "def f(*a): ...", "f"),
        ("def f(a): ...", "def f(**a): ...", "f"),
        ("def f(**a: int): ...", "def f(**a: str): ...", "f"),
        ("def f(a: tuple[int, str]): ...", "def f(a: tuple[str, int]): ...", "f"),
        ("def f() -> int: ...", "def f() -> str: ...", "f"),
        ("def f(): ...", "async def f(): ...", "f"),
        ("def f(): ...", "class f: ...", "f"),
        ("def f(): ...", "f: int", "f"),
        ("class C(A): ...", "class C(B): ...", "C"),
        ("@dataclass\nclass C: ...", "@dataclass(frozen=True)\nclass C: ...", "C"),
        ("class C:\n    def m(self) -> int: ...", "class C:\n    def m(self) -> str: ...", "C.m"),
        (
            "class C:\n    def m(self): ...",
            "class C:\n    @staticmethod\n    def m(self): ...",
            "C.m",
        ),
        ("class C:\n    x: int", "class C:\n    x: str", "C.x"),
        ("class C:\n    x: int", "class C:\n    def x(self) -> int: ...", "C.x"),
        ("X: int", "X: str", "X"),
        ("X = 5", "X = 6", "X"),
        ("X: Literal['a']", "X: Literal['b']", "X"),
        ("@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...", "def f(a: int): ...", "f"),
    ],
)
def test_another_meaning_is_one(before: str, after: str, name: str) -> None:
    assert contradicted(before, after) == [name]


def test_both_declarations_are_told() -> None:
    (found,) = conflicts(
        ast.parse("def f(a: int) -> str: ...").body, ast.parse("\ndef f(a: str): ...").body
    )
    assert (found.line, found.before, found.after) == (
        2,
        "def f(a: int) -> str",
        "def f(a: str)",
    )


@pytest.mark.parametrize("text", ["''", "'a b'", "'" + "[" * 90 + "'", "'import x'"])
def test_a_quoted_type_that_is_none_is_taken_as_it_stands(text: str) -> None:
    assert normal(ast.parse(text, mode="eval").body) == text
