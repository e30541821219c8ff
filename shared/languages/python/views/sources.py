"""Reads a source file without running it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from shared.languages.capabilities.commands import CodeProblem
from shared.languages.python.code import parse_as_here, parse_code
from shared.languages.python.stubs.stubs import depth_exceeds

# This is deeper than any code that a person writes, and shallow enough for recursive visitors.
_MAX_DEPTH: Final = 200
_DYNAMIC_CALLS: Final = frozenset({"globals", "vars", "locals", "exec"})


@dataclass(frozen=True)
class Source:
    """Represent the text of an existing Python file.

    Where it is `portable`, every Python reads it alike, as the oldest supported one does. Else it
    is read as the running Python reads it.
    """

    text: str
    portable: bool = False

    @cached_property
    def parsed(self) -> ast.Module | CodeProblem:
        """Return the syntax tree, or why there is none."""
        tree = parse_code(self.text) if self.portable else parse_as_here(self.text)
        if isinstance(tree, ast.Module) and depth_exceeds(tree, _MAX_DEPTH):
            return CodeProblem("it is nested too deep", False)
        return tree

    @cached_property
    def is_dynamic(self) -> bool:
        """Return whether the file may have names that its syntax tree does not show."""
        parsed = self.parsed
        return isinstance(parsed, CodeProblem) or any(map(_makes_names, ast.walk(parsed)))


def _makes_names(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name="__getattr__"):
            return True
        case ast.Call(func=ast.Name(id=name), args=arguments):
            # `vars(thing)` is about the names of `thing`, not about those of the module.
            return name in _DYNAMIC_CALLS and (name == "exec" or not arguments)
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
            return True
        case ast.Name(id="__path__"):
            return True
        case _:
            return False
