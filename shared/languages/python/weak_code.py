"""Judges, from its syntax tree alone, whether Python code proves anything."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from shared.languages.capabilities.commands import CodeProblem, Weakness
from shared.languages.python.code import parse_code
from shared.languages.python.node_names import last_part

# Calls, by their last name, that fail where they find something wrong.
_FAILING_CALLS: Final = frozenset(
    {"exit", "_exit", "abort", "fail", "check_call", "check_output", "check_returncode", "raises"}
)
_CATCH_ALL: Final = frozenset({"Exception", "BaseException", "AssertionError"})
_EXISTENCE_CALLS: Final = frozenset(
    {"hasattr", "callable", "exists", "is_file", "is_dir", "isfile", "isdir", "isfunction",
     "isclass", "ismodule", "find_spec"}
)  # fmt: skip


def weakness_of_code(source: str, *, optimised: bool) -> Weakness | None:
    """Return why code that compiles can hardly fail, if its text shows a reason."""
    tree = parse_code(source)
    if isinstance(tree, CodeProblem):
        return None
    nodes = list(ast.walk(tree))
    asserts = [each for each in nodes if isinstance(each, ast.Assert)]
    failing = [each for each in nodes if _can_fail(each)]
    if asserts and not failing and optimised:
        return Weakness("W232", "runs with assertions switched off")
    if (asserts or failing) and _swallowed(tree):
        return Weakness("W232", "swallows the failure of its own assertions")
    if failing:
        return None
    if asserts:
        return _weak_assertions(asserts, _imported(nodes))
    if any(_is_at_work(each) for each in nodes):
        return Weakness("W231", "calls without asserting anything of the result")
    return Weakness("W230", "only imports or prints")


def _can_fail(node: ast.AST) -> bool:
    match node:
        case ast.Raise():
            return True
        case ast.Call(func=function, keywords=keywords):
            name = last_part(function)
            checked = any(
                each.arg in {"check", "raise_on_error"} and _is_true(each.value)
                for each in keywords
            )
            return checked or name in _FAILING_CALLS or "assert" in name.lower()
        case _:
            return False


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _imported(nodes: Iterable[ast.AST]) -> frozenset[str]:
    return frozenset(
        each.asname or each.name.split(".", 1)[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
    )


def _is_at_work(node: ast.AST) -> bool:
    """Say whether a node calls something other than `print`."""
    return isinstance(node, ast.Call) and last_part(node.func) != "print"


def _swallowed(tree: ast.Module) -> bool:
    """Say whether the failure of every assertion is caught and dropped."""
    exposed = False
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, caught = pending.pop()
        if isinstance(node, ast.Assert) or _can_fail(node):
            exposed |= not caught
        children = ast.iter_child_nodes(node)
        pending += [(each, caught or _drops_failures(node, each)) for each in children]
    return not exposed


def _drops_failures(node: ast.AST, child: ast.AST) -> bool:
    match node:
        case ast.Try(body=body, handlers=handlers) if child in body:
            return any(_catches_all(each.type) and not _fails_again(each) for each in handlers)
        case ast.With(items=items) if child not in items:
            return any(
                isinstance(each.context_expr, ast.Call)
                and last_part(each.context_expr.func) == "suppress"
                and any(_catches_all(argument) for argument in each.context_expr.args)
                for each in items
            )
        case _:
            return False


def _catches_all(expression: ast.expr | None) -> bool:
    match expression:
        case None:
            return True
        case ast.Tuple(elts=elements):
            return any(map(_catches_all, elements))
        case _:
            return last_part(expression) in _CATCH_ALL


def _fails_again(handler: ast.ExceptHandler) -> bool:
    """Say whether a handler may pass the failure on: it raises, exits, asserts or stores it."""
    return any(
        isinstance(node, ast.Assert | ast.Assign | ast.AugAssign | ast.NamedExpr) or _can_fail(node)
        for statement in handler.body
        for node in ast.walk(statement)
    )


def _weak_assertions(asserts: list[ast.Assert], imported: frozenset[str]) -> Weakness | None:
    """Judge the assertions together: one that can fail for a reason makes up for the others."""
    if all(_always_holds(each.test) for each in asserts):
        return Weakness("W232", "asserts what always holds")
    left = [each.test for each in asserts if not _always_holds(each.test)]
    if all(_is_existence(each, imported) for each in left):
        return Weakness("W233", "asserts only that something exists")
    return None


def _always_holds(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements) and not any(isinstance(e, ast.Starred) for e in elements)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_always_holds, values))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(_always_holds, values))
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _holds_by_itself(left, op, right)
        case _:
            return False


def _holds_by_itself(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    same = ast.dump(left) == ast.dump(right)
    if same and isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE):
        # Calling twice and comparing tests that results repeat.
        return not any(isinstance(each, ast.Call) for each in ast.walk(left))
    is_zero = isinstance(right, ast.Constant) and right.value == 0 and right.value is not False
    is_length = isinstance(left, ast.Call) and last_part(left.func) == "len"
    return is_length and is_zero and isinstance(op, ast.GtE)


def _is_existence(test: ast.expr, imported: frozenset[str]) -> bool:
    match test:
        case ast.Name(id=name):
            return name in imported
        case ast.Attribute(value=ast.Name(id=name)):
            return name in imported
        case ast.Call(func=function):
            return last_part(function) in _EXISTENCE_CALLS
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_is_existence(each, imported) for each in values)
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return _is_existence(left, imported)
        case ast.Compare(ops=[ast.In()], comparators=[ast.Call(func=ast.Name(id="dir"))]):
            return True
        case _:
            return False
