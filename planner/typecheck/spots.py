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
    def is_alone(self) -> bool:
        """True where nothing around the call that the node is passed to says what it results in.

        A checker infers the types of a generic call from the other operand of an `and`, from the
        parameter that its result is passed to, or from the variable that it is assigned to.
        """
        call = self.call_with_argument
        outside = self.around[self.around.index(call) + 1 :] if call is not None else self.around
        for each in outside:
            if isinstance(each, ast.stmt):
                return isinstance(each, ast.Assert | ast.Expr | ast.Assign)
            if not isinstance(each, ast.Compare | ast.Attribute | ast.UnaryOp):
                return False
        return False

    @property
    def is_in_inferred_lambda(self) -> bool:
        """True in a lambda whose parameters have types that depend on what is around its call."""
        around = iter(self.around)
        return any(isinstance(each, ast.Lambda) for each in around) and any(
            isinstance(each, ast.BoolOp | ast.IfExp) for each in around
        )

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
