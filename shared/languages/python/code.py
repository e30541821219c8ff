"""Reads a piece of Python without running it: whether it compiles, and what it imports."""

from __future__ import annotations

import ast
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TypeVar

from shared.languages.capabilities.commands import Code, CodeProblem, Import
from shared.languages.python.grammar import OLDEST, f_string_fault
from shared.shell_words import MAX_ARGUMENT_BYTES, is_too_long

_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_DOTTED = rf"{_NAME}(?:\.{_NAME})*+"
_AS = rf"(?: as {_NAME})?"
_LEADING_IMPORT = re.compile(
    rf"(?:from (?P<module>{_DOTTED}) import (?P<names>{_NAME}{_AS}(?:, ?{_NAME}{_AS})*+)"
    rf"|import (?P<modules>{_DOTTED}{_AS}(?:, ?{_DOTTED}{_AS})*+))"
    r"[ \t]*+(?:[;\n][ \t\n]*+|\Z)"
)
_CATCHES_IMPORT_ERROR = frozenset(
    {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
)
_warnings_lock = threading.Lock()

T = TypeVar("T")


def read_code(source: str) -> Code:
    """Return `source` with its problem or its imports, without running any of it.

    Never raises and never warns. Code that needs a newer Python than `OLDEST` has a problem,
    whichever Python compiles it.
    """
    if problem := _too_long(source) or _newer_f_string(source):
        return Code(source, problem, ())
    read = _attempt(source, _compiled_imports)
    if isinstance(read, CodeProblem):
        return Code(source, read, ())
    return Code(source, None, read)


def parse_code(source: str) -> ast.Module | CodeProblem:
    """Return the syntax tree of `source`, or why there is none. Never raises and never warns.

    Code that needs a newer Python than `OLDEST` has no tree, whichever Python parses it.
    """
    problem = _newer_f_string(source)
    return _attempt(source, _parse_as_oldest) if problem is None else problem


def parse_as_here(source: str) -> ast.Module | CodeProblem:
    """Return the syntax tree that the running Python makes of `source`, or why there is none."""
    return _attempt(source, ast.parse)


def _parse_as_oldest(source: str) -> ast.Module:
    return ast.parse(source, feature_version=OLDEST)


def _newer_f_string(source: str) -> CodeProblem | None:
    if "\0" in source or not (fault := f_string_fault(source)):
        return None
    oldest = ".".join(map(str, OLDEST))
    return CodeProblem(f"{fault.reason}, as Python {oldest} reads it", True, fault.line)


def _compiled_imports(source: str) -> tuple[Import, ...]:
    compile(source, "<code>", "exec", dont_inherit=True)
    if sys.version_info[:2] > OLDEST:
        _parse_as_oldest(source)
    return _imports(source)


def _attempt(source: str, read: Callable[[str], T]) -> T | CodeProblem:
    if "\0" in source:
        return CodeProblem("it holds a NUL", False)
    try:
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(source)
    except SyntaxError as error:
        return CodeProblem(error.msg, True, error.lineno or 0, error.offset or 0)
    except (RecursionError, MemoryError):
        return CodeProblem("it is nested too deep", False)
    except (ValueError, OverflowError, SystemError) as error:
        return CodeProblem(f"the compiler refuses it: {error}", False)


def _too_long(source: str) -> CodeProblem | None:
    if is_too_long(source):
        return CodeProblem(f"it is over {MAX_ARGUMENT_BYTES} bytes, too long an argument", False)
    return None


def _imports(source: str) -> tuple[Import, ...]:
    """Return the imports of code that compiles.

    Nearly all code has plain imports at its start and none after them. Matching those by a pattern
    takes a fifth of the time of a syntax tree. The tree is built only for other code.
    """
    found: list[Import] = []
    position = 0
    while match := _LEADING_IMPORT.match(source, position):
        line = source.count("\n", 0, position) + 1
        if modules := match["modules"]:
            found += [Import(name, (), line) for name in _without_aliases(modules)]
        else:
            found.append(Import(match["module"], _without_aliases(match["names"]), line))
        position = match.end()
    if source.find("import", position) < 0:
        return tuple(found)
    return tuple(_imports_of(ast.parse(source)))


def _without_aliases(names: str) -> tuple[str, ...]:
    if " as " not in names:
        return tuple(names.replace(" ", "").split(","))
    return tuple(name.split(" as ")[0].strip() for name in names.split(","))


def _imports_of(tree: ast.AST) -> Iterator[Import]:
    pending: list[ast.AST] = [tree]
    while pending:
        match pending.pop():
            case ast.Import(names=names, lineno=line):
                for each in names:
                    yield Import(each.name, (), line)
            case ast.ImportFrom(module=str(module), level=0, names=names, lineno=line):
                yield Import(module, tuple(each.name for each in names), line)
            case ast.Try() | ast.TryStar() as node if any(map(_catches, node.handlers)):
                pending += reversed(node.orelse + node.finalbody)
            case ast.With() as node if any(map(_suppresses, node.items)):
                pass
            case node:
                pending += reversed(list(ast.iter_child_nodes(node)))


def _catches(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or _names_import_error(handler.type)


def _suppresses(item: ast.withitem) -> bool:
    """Return whether this is `suppress(ImportError)`, `pytest.raises(ImportError)` or the like."""
    call = item.context_expr
    return isinstance(call, ast.Call) and any(map(_names_import_error, call.args))


def _names_import_error(expression: ast.expr) -> bool:
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _CATCHES_IMPORT_ERROR
        case ast.Tuple(elts=elements):
            return any(map(_names_import_error, elements))
        case _:
            return False
