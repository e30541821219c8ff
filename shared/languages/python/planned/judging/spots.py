"""Describes the place in a command's code that a diagnostic is about."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spot:
    """Hold the node that a diagnostic is about, with the nodes around it, innermost first.

    `column` counts from 1, in characters.
    """

    node: ast.AST
    around: tuple[ast.AST, ...]
    line: int
    column: int

    @property
    def near(self) -> tuple[ast.AST, ...]:
        """Return the node and its parents up to its statement."""
        near: list[ast.AST] = [self.node]
        for each in self.around:
            if isinstance(each, ast.stmt):
                break
            near.append(each)
        return tuple(near)

    @property
    def call(self) -> ast.Call | None:
        """Return the innermost call that the node is, or is a part of."""
        return next((each for each in self.near if isinstance(each, ast.Call)), None)

    @property
    def call_with_argument(self) -> ast.Call | None:
        """Return the innermost call that has the node as, or in, one of its arguments."""
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
        """Return whether the code around the node's call cannot influence the call's type.

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
        """Return whether the node is in a lambda whose parameter types depend on the code around.

        They do where an `and`, an `or` or a conditional expression encloses the lambda.
        """
        around = iter(self.around)
        return any(isinstance(each, ast.Lambda) for each in around) and any(
            isinstance(each, ast.BoolOp | ast.IfExp) for each in around
        )

    @property
    def statement(self) -> ast.stmt | None:
        """Return the statement that the node is, or is in."""
        path = (self.node, *self.around)
        return next((each for each in path if isinstance(each, ast.stmt)), None)


def mentions(node: ast.AST, names: frozenset[str] | set[str]) -> bool:
    """Say whether any of `names` occurs in `node`."""
    return not names.isdisjoint(names_read(node))


def names_read(node: ast.AST) -> set[str]:
    """Return the names that occur in `node`."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
