"""Finds the values of a failed assertion in the line that pytest shows for it. Pure.

pytest prints the assertion again with values in the place of code: `assert None == ''` for
`assert f([]) == ''`. Where the line can be read in two ways, nothing is found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shared.languages.python.code import parse_as_here
from shared.languages.python.reports.phrases import FailedTest, Operand
from shared.languages.python.reports.values.marker import OPERATORS


def values_of(source: str, shown: str) -> FailedTest | None:
    """Return the values of the test `source`, which pytest shows as `shown`; `None` if unclear."""
    test = _expression(source)
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            word = OPERATORS[type(operator)]
            halves = _halves(shown, word, _literal(right), _literal(left))
            if halves is None:
                return None
            sides = (_operand(source, left, halves[0]), _operand(source, right, halves[1]))
            return _telling(word, *sides)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if shown.startswith("not "):
            return _telling("not", _operand(source, operand, shown.removeprefix("not ")))
        case ast.Call() | ast.Name() | ast.Attribute() | ast.Subscript():
            return _telling("true", _operand(source, test, shown))
        case _:
            return None


def _expression(source: str) -> ast.expr | None:
    tree = parse_as_here(source)
    match tree:
        case ast.Module(body=[ast.Expr(value=ast.Tuple(elts=[test, _]))]):  # with a message
            return test
        case ast.Module(body=[ast.Expr(value=test)]):
            return test
        case _:
            return None


def _literal(node: ast.expr) -> str | None:
    """Return a literal as Python shows it; `None` for other code."""
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _halves(
    shown: str, operator: str, right: str | None, left: str | None
) -> tuple[str, str] | None:
    between = f" {operator} "
    if right is not None and shown.endswith(between + right):
        return shown.removesuffix(between + right), right
    if left is not None and shown.startswith(left + between):
        return left, shown.removeprefix(left + between)
    found = [*_splits(shown, between)]
    return found[0] if len(found) == 1 else None


def _splits(shown: str, between: str) -> Iterator[tuple[str, str]]:
    for place in re.finditer(re.escape(between), shown):
        yield shown[: place.start()], shown[place.end() :]


def _operand(source: str, node: ast.expr, value: str) -> Operand:
    code = " ".join((ast.get_source_segment(source, node) or ast.unparse(node)).split())
    literal = _literal(node) is not None
    return Operand(code, value, isinstance(node, ast.Call), literal)


def _telling(operator: str, *operands: Operand) -> FailedTest | None:
    """Return the test if a value is shown that the code itself does not show."""
    if all(each.is_literal or _bare(each.value) == _bare(each.code) for each in operands):
        return None
    return FailedTest(operator, operands)


def _bare(code: str) -> str:
    return re.sub(r"[\s()]", "", code)
