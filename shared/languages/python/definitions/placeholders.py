"""Finds code that stands for other code: an ellipsis where statements should be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shared.languages.python.definitions.module import Definition, is_docstring, is_ellipsis
from shared.languages.python.definitions.refused import Refused

_BODILESS = frozenset({"overload", "abstractmethod"})


def refuse_placeholders(new: Definition, old: Definition | None) -> None:
    """Raise `Refused` where a function has an ellipsis among its statements, or instead of them.

    A function may have no body if it is new, had none before, or is an overload or abstract. In the
    body of a class an ellipsis does nothing, and is allowed.
    """
    for function in _functions(new):
        kept = [each for each in function.body if not is_docstring(each)]
        elided = [each for each in kept if is_ellipsis(each)]
        if elided and len(kept) > 1:
            raise Refused(
                f"`{function.name}` has `...` among its statements: write all of them, a program "
                "puts the code into the file as it is"
            )
    if isinstance(new, ast.ClassDef) or old is None or isinstance(old, ast.ClassDef):
        return
    if _is_empty(new) and not _is_empty(old) and not _is_bodiless(new):
        raise Refused(f"`{new.name}` has no body: write the statements that do the work")


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each


def _is_empty(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    kept = [each for each in node.body if not is_docstring(each)]
    return all(map(is_ellipsis, kept))


def _is_bodiless(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    return not names.isdisjoint(_BODILESS)
