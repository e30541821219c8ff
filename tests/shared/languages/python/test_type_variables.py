from __future__ import annotations

import ast

from shared.languages.python.complaint_scene import without_type_variables
from shared.languages.python.module_views import Module, ModuleView

STACK = """
from __future__ import annotations
from collections.abc import Callable
from typing import AnyStr, Generic, ParamSpec, Protocol, TypeVar
T = TypeVar('T')
P = ParamSpec('P')
class Stack(Generic[T]):
    def push(self, item: T) -> list[T]: ...
class Source(Protocol[T]):
    def read(self) -> T: ...
def timed(function: Callable[P, T]) -> Callable[P, T]: ...
def joined(one: AnyStr) -> AnyStr: ...
async def fetch(url: str) -> int: ...
"""


def erased(**stubs: str) -> dict[str, str]:
    modules = {
        name: Module(f"{name}.py").declare(ast.parse(stub).body) for name, stub in stubs.items()
    }
    return dict(without_type_variables(ModuleView(modules, ("",))))


def test_anything_stands_in_the_place_of_a_type_variable() -> None:
    text = erased(stack=STACK)["stack.pyi"]
    compile(text, "stack.pyi", "exec")
    assert "class Stack:" in text
    assert "class Source(Protocol):" in text
    assert "def push(self, item: _Anything) -> list[_Anything]" in text
    assert "def joined(one: _Anything) -> _Anything" in text
    assert "async def fetch(url: str) -> int" in text


def test_a_type_variable_of_another_module_is_one_where_it_is_imported() -> None:
    found = erased(
        stack=STACK,
        user="from stack import T as Kind\ndef first(items: list[Kind]) -> Kind: ...",
        plain="class T: ...\ndef same(one: T) -> T: ...",
    )
    assert sorted(found) == ["stack.pyi", "user.pyi"]
    assert "def first(items: list[_Anything]) -> _Anything" in found["user.pyi"]


def test_a_module_without_type_variables_is_left_out() -> None:
    assert erased(plain="def number() -> int: ...") == {}
