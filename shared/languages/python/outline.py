"""Lists the functions and classes of a Python file with their lines. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shared.languages.capabilities.commands import CodeProblem
from shared.languages.capabilities.edits import OutlineEntry
from shared.languages.python.code import parse_as_here


def read_outline(text: str) -> tuple[OutlineEntry, ...]:
    """Return the definitions outside functions, decorators included; none if it does not parse."""
    tree = parse_as_here(text)
    return () if isinstance(tree, CodeProblem) else tuple(_entries(tree.body, ""))


def _entries(body: Sequence[ast.stmt], prefix: str) -> Iterator[OutlineEntry]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield _entry(node, prefix)
            case ast.ClassDef():
                yield _entry(node, prefix)
                yield from _entries(node.body, f"{prefix}{node.name}.")
            case ast.If() | ast.Try() | ast.With():
                yield from _entries(node.body, prefix)
                yield from _entries(getattr(node, "orelse", ()), prefix)
            case _:
                pass


def _entry(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, prefix: str
) -> OutlineEntry:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return OutlineEntry(prefix + node.name, first, node.end_lineno or node.lineno)
