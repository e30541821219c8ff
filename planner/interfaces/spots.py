"""The place in a command's code that a diagnostic is about."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spot:
    """The node that a diagnostic is about, with what encloses it, innermost first.

    `column` counts from 1, in characters.
    """

    node: ast.AST
    around: tuple[ast.AST, ...]
    line: int
    column: int

    @property
    def near(self) -> tuple[ast.AST, ...]:
        """The node and its parents up to its statement."""
        near: list[ast.AST] = [self.node]
        for each in self.around:
            if isinstance(each, ast.stmt):
                break
            near.append(each)
        return tuple(near)

    @property
    def call(self) -> ast.Call | None:
        """The innermost call that the node is, or is an argument of."""
        return next((each for each in self.near if isinstance(each, ast.Call)), None)

    @property
    def call_with_argument(self) -> ast.Call | None:
        """The innermost call that the node is an argument of, or is in one of its arguments."""
        inner: ast.AST = self.node
        for each in self.around:
            if isinstance(each, ast.stmt):
                return None
            if isinstance(each, ast.Call) and inner is not each.func:
                return each
            inner = each
        return None

    @property
    def statement(self) -> ast.stmt | None:
        """The statement that the node is, or is in."""
        path = (self.node, *self.around)
        return next((each for each in path if isinstance(each, ast.stmt)), None)


def mentions(node: ast.AST, names: frozenset[str] | set[str]) -> bool:
    """Say whether any of `names` is read in `node`."""
    return not names.isdisjoint(names_read(node))


def names_read(node: ast.AST) -> set[str]:
    """Return the names that occur in `node`."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
