"""Adds the imports that a block needs to those at the head of a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from shared.languages.definitions import Splice
from shared.languages.python.definitions.block import Import
from shared.languages.python.definitions.module import Module, is_docstring
from shared.languages.python.definitions.refused import Refused
from shared.languages.python.stubs.declarations import bindings, flat

_FIRST_LINES: Final = re.compile(r"#!|#.*coding[:=]")


def missing_imports(module: Module, imports: Sequence[Import]) -> tuple[str, ...]:
    """Return a line for each import that the head of the module lacks.

    Raises `Refused` where the head binds the same name to something else: an added import would
    change what the rest of the file means by it.
    """
    head = list(flat(module.head()))
    there = {each for statement in head for each in _lines(statement)}
    taken = {name: statement.lineno for statement in head for name, _ in bindings(statement)}
    packages = {name for name, line in there if re.match(rf"import {name}(?:\.|$)", line)}
    missing: dict[str, None] = {}
    for name, line in (each for statement in imports for each in _lines(statement)):
        if (name, line) in there:
            continue
        # `import a.b` adds to what `import a` made of `a`, and changes nothing of it.
        extends = name in packages and re.match(rf"import {name}(?:\.|$)", line)
        if name in taken and not extends:
            reason = f"the block has `{line}`, but `{name}` is something else in the file"
            raise Refused(reason, taken[name])
        missing[line] = None
    return tuple(missing)


def add_imports(module: Module, lines: Sequence[str]) -> tuple[Splice, ...]:
    """Return the splices that add lines to the imports at the module's head."""
    future = [line for line in lines if line.startswith("from __future__ ")]
    others = [line for line in lines if line not in future]
    wanted = ((future, _is_future), (others, _is_import))
    splices = [_after_last(module, lines, kind) for lines, kind in wanted if lines]
    return tuple(splices)


def _after_last(module: Module, lines: list[str], is_kind: Callable[[ast.stmt], bool]) -> Splice:
    """Return the splice that adds lines after the last such statement of the head."""
    head = module.head()
    same = [each for each in head if is_kind(each)]
    if same:
        return module.inserting(same[-1].end_lineno or 0, lines)
    if head and is_docstring(head[0]):
        return module.inserting(head[0].end_lineno or 0, ["", *lines])
    if head:
        return module.inserting(head[0].lineno - 1, [*lines, ""])
    first = 0
    while _FIRST_LINES.match(module.lines[first]):
        first += 1
    return module.inserting(first, [*lines, "", ""])


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, Import)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _lines(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with an import of this name alone."""
    match statement:
        case ast.Import(names=names):
            for each in names:
                yield each.asname or each.name.split(".")[0], f"import {_alias(each)}"
        case ast.ImportFrom(module=source, names=names, level=level):
            for each in names:
                line = f"from {'.' * level}{source or ''} import {_alias(each)}"
                yield each.asname or each.name, line
        case _:
            return


def _alias(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name
