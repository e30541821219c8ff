"""Writes the public names of a module as lines of code."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

from shared.languages.python.stubs import FunctionNode, parameters_of

MAX_VALUE = 40  # characters of a default or a constant; a longer one is shown as `...`
MAX_ANNOTATION = 120

# Special methods that say how an object is made and used as a function.
_SHOWN_METHODS = frozenset({"__init__", "__new__", "__call__"})


def public_names(path: str, text: str) -> tuple[str, ...] | None:
    """Return the public names of a module, and what a package passes on."""
    return module_outline(text, reexports=path.endswith("__init__.py"))


def module_outline(source: str, *, reexports: bool = False) -> tuple[str, ...] | None:
    """Return one line for each public class, function, method and constant, bodies as `...`.

    With `reexports`, the names that a package's `__init__.py` imports from its own modules are
    shown too. Return `None` if the source is not Python, or is nested too deeply to be parsed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape, say, is not ours to report
            tree = ast.parse(source)
        return tuple(_module_lines(tree, reexports=reexports))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The parser raises MemoryError where its stack overflows, and ValueError for a NUL.
        return None


def _module_lines(tree: ast.Module, *, reexports: bool) -> Iterator[str]:
    exported = _declared_exports(tree)
    for statement in _flat(tree.body):
        if isinstance(statement, ast.ImportFrom):
            if reexports and statement.level:
                yield from _reexport(statement, exported)
        else:
            yield from _statement_lines(statement, exported, frozenset())


def _statement_lines(
    statement: ast.stmt, exported: frozenset[str] | None, special: frozenset[str]
) -> Iterator[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if _is_public(statement.name, exported) or statement.name in special:
                yield from _function_lines(statement)
        case ast.ClassDef():
            if _is_public(statement.name, exported):
                yield from _class_lines(statement)
        case ast.AnnAssign(target=ast.Name(id=name)) if _is_public(name, exported):
            value = _value(statement.value) if statement.value else None
            yield f"{name}: {_annotation(statement.annotation)}" + (f" = {value}" if value else "")
        case ast.Assign(targets=[ast.Name(id=name)]) if _is_public(name, exported):
            yield f"{name} = {_value(statement.value)}"
        case _:
            pass


def _class_lines(node: ast.ClassDef) -> Iterator[str]:
    yield from _decorators(node.decorator_list)
    bases = [_value(each, MAX_ANNOTATION) for each in node.bases]
    bases += [f"{each.arg or '**'}={_value(each.value)}" for each in node.keywords]
    head = f"class {node.name}{_type_parameters(node)}" + (f"({', '.join(bases)})" if bases else "")
    body = [
        f"    {line}"
        for statement in _flat(node.body)
        for line in _statement_lines(statement, None, _SHOWN_METHODS)
    ]
    yield f"{head}:" if body else f"{head}: ..."
    yield from body


def _function_lines(node: FunctionNode) -> Iterator[str]:
    yield from _decorators(node.decorator_list)
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {_annotation(node.returns)}" if node.returns else ""
    parameters = ast.unparse(_shortened(node.args))
    yield f"{keyword} {node.name}{_type_parameters(node)}({parameters}){returns}: ..."


def _shortened(arguments: ast.arguments) -> ast.arguments:
    """Return `arguments` with `...` in place of long defaults and annotations."""
    for each in parameters_of(arguments):
        if each.annotation and len(ast.unparse(each.annotation)) > MAX_ANNOTATION:
            each.annotation = ast.Constant(...)
    arguments.defaults = [_short_default(each) for each in arguments.defaults]
    arguments.kw_defaults = [each and _short_default(each) for each in arguments.kw_defaults]
    return arguments


def _short_default(node: ast.expr) -> ast.expr:
    return ast.Constant(...) if len(ast.unparse(node)) > MAX_VALUE else node


def _decorators(nodes: Sequence[ast.expr]) -> Iterator[str]:
    for node in nodes:
        text = ast.unparse(node)
        if len(text) > MAX_ANNOTATION and isinstance(node, ast.Call):
            text = f"{_value(node.func, MAX_ANNOTATION)}(...)"
        if len(text) <= MAX_ANNOTATION:
            yield f"@{text}"


def _reexport(statement: ast.ImportFrom, exported: frozenset[str] | None) -> Iterator[str]:
    names = [
        f"{each.name} as {each.asname}" if each.asname else each.name
        for each in statement.names
        if _is_public(each.asname or each.name, exported)
    ]
    if names:
        yield f"from {'.' * statement.level}{statement.module or ''} import {', '.join(names)}"


def _flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        match statement:
            case ast.If():
                yield from _flat(statement.body)
                yield from _flat(statement.orelse)
            case ast.Try():
                yield from _flat(statement.body)
                for handler in statement.handlers:
                    yield from _flat(handler.body)
                yield from _flat(statement.orelse)
            case _:
                yield statement


def _declared_exports(tree: ast.Module) -> frozenset[str] | None:
    """Return the names in `__all__`, or `None` if the module has no plain list of that name."""
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=value)
            ) if isinstance(value, ast.List | ast.Tuple):
                return frozenset(
                    each.value
                    for each in value.elts
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
            case _:
                pass
    return None


def _is_public(name: str, exported: frozenset[str] | None) -> bool:
    return not name.startswith("_") if exported is None else name in exported


def _type_parameters(node: FunctionNode | ast.ClassDef) -> str:
    found: list[ast.AST] = getattr(node, "type_params", [])  # since Python 3.12
    return f"[{', '.join(ast.unparse(each) for each in found)}]" if found else ""


def _annotation(node: ast.expr) -> str:
    return _value(node, MAX_ANNOTATION)


def _value(node: ast.expr, limit: int = MAX_VALUE) -> str:
    text = ast.unparse(node)
    return text if len(text) <= limit else "..."
