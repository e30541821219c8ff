"""A source file, read as far as it can be without running it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from shared.languages.python.code import CodeProblem, parse_as_here, parse_code
from shared.languages.python.stubs.stubs import depth_exceeds

# Deeper than any code a person writes, and shallow enough for recursive visitors.
_MAX_DEPTH: Final = 200
_DYNAMIC_CALLS: Final = frozenset({"globals", "vars", "locals", "exec"})


@dataclass(frozen=True)
class Source:
    """The text of a Python file that is there already.

    One that is `portable` is read alike by every Python; others as the running Python reads them.
    """

    text: str
    portable: bool = False

    @cached_property
    def parsed(self) -> ast.Module | CodeProblem:
        """The syntax tree, or why there is none."""
        tree = parse_code(self.text) if self.portable else parse_as_here(self.text)
        if isinstance(tree, ast.Module) and depth_exceeds(tree, _MAX_DEPTH):
            return CodeProblem("it is nested too deep", False)
        return tree

    @cached_property
    def is_dynamic(self) -> bool:
        """Say whether it may have names that cannot be read off it."""
        parsed = self.parsed
        return isinstance(parsed, CodeProblem) or any(map(_makes_names, ast.walk(parsed)))


def _makes_names(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name="__getattr__"):
            return True
        case ast.Call(func=ast.Name(id=name), args=arguments):
            # `vars(thing)` is that thing's own.
            return name in _DYNAMIC_CALLS and (name == "exec" or not arguments)
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
            return True
        case ast.Name(id="__path__"):
            return True
        case _:
            return False
