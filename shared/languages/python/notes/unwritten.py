"""Finds functions whose bodies were never written."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from shared.languages.capabilities.notes import Unwritten
from shared.languages.python.stubs.declarations import Declaration, declarations
from shared.languages.python.views.sources import Source

_NOT_MEANT_TO_HAVE_A_BODY = frozenset({"abstractmethod", "overload", "abstractproperty"})
_WRITE = "Write the statements that do the work."
_MAX_SHOWN = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_unwritten(path: str, before: str, after: str) -> tuple[Unwritten, ...]:
    """Return the functions and methods of `after` that have nothing in them, in their order.

    `before` is the text of the same file until now. Nothing is found in a stub file, in a protocol,
    in what is abstract, and in code that does not parse.
    """
    if path.endswith(".pyi"):
        return ()
    earlier = dict(_unwritten(before))
    return tuple(
        Unwritten(
            path=path,
            name=name,
            message=f"The function `{name}` in {path} {problem}. {_WRITE}",
            was_so=name in earlier,
            is_certain=is_certain,
        )
        for name, (problem, is_certain) in _unwritten(after)
    )


def _unwritten(text: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    tree = Source(text).parsed
    if isinstance(tree, ast.Module):
        yield from _unwritten_in(declarations(tree.body), "")


def _unwritten_in(
    declared: Mapping[str, Declaration], owner: str
) -> Iterator[tuple[str, tuple[str, bool]]]:
    for name, each in declared.items():
        last = each.nodes[-1]
        if isinstance(last, Function):
            problem = _problem(last)
            if problem:
                yield f"{owner}{name}", (problem, _is_certain(last, problem))
        elif isinstance(last, ast.ClassDef) and not _is_protocol(last):
            yield from _unwritten_in(each.members, f"{owner}{name}.")


def _problem(function: Function) -> str:
    """Return what is wrong with the body of a function as a predicate; empty if nothing is."""
    is_special = function.name.startswith("__") and function.name.endswith("__")
    if is_special or any(map(_needs_no_body, function.decorator_list)):
        return ""
    documented = ast.get_docstring(function, clean=False) is not None
    match function.body[1:] if documented else function.body:
        case []:
            return "has no body: after its docstring there is no statement, so it returns None"
        case [ast.Pass()]:
            return "has only `pass` for a body, so it returns None"
        case [ast.Expr(value=ast.Constant(value=value))] if value is ...:
            return "has only `...` for a body, so it returns None"
        case [ast.Raise(exc=ast.Name(id="NotImplementedError"))]:
            return "only raises NotImplementedError"
        case [ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError")))]:
            return "only raises NotImplementedError"
        case [ast.Return(value=value)] if _parameters(function) and _is_constant(value):
            shown = ast.unparse(value) if value else "None"
            return f"returns {shown[:_MAX_SHOWN]}, whatever it is given"
        case _:
            return ""


def _is_certain(function: Function, problem: str) -> bool:
    """Return whether nobody would write such a function on purpose.

    A function that returns nothing may have nothing to do, and one may return a constant.
    """
    returns = function.returns
    returns_nothing = isinstance(returns, ast.Constant) and returns.value is None
    return not returns_nothing and not problem.startswith("returns ")


def _parameters(function: Function) -> Sequence[ast.arg]:
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [each for each in parameters if each.arg not in ("self", "cls")]


def _is_constant(value: ast.expr | None) -> bool:
    if value is None:
        return True
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _needs_no_body(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _NOT_MEANT_TO_HAVE_A_BODY
        case _:
            return False


def _is_protocol(node: ast.ClassDef) -> bool:
    bases = (each.value if isinstance(each, ast.Subscript) else each for each in node.bases)
    return any(
        isinstance(each, ast.Name | ast.Attribute) and ast.unparse(each).endswith("Protocol")
        for each in bases
    )
