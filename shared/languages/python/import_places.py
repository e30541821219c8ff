"""Says where an import goes into a Python file: where isort would have it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from shared.languages.capabilities import Splice
from shared.languages.python.definition_blocks import EditedFile
from shared.languages.python.python_source import is_docstring

_FIRST_LINES: Final = re.compile(r"#!|#.*coding[:=]")


def first_line_of_code(file: EditedFile) -> int:
    first = 0
    while _FIRST_LINES.match(file.lines[first]):
        first += 1
    return first


def import_splices(
    file: EditedFile, head: Sequence[ast.stmt], lines: Sequence[str]
) -> Iterator[Splice]:
    """Yield the splices that add imports to the head of a module, each where isort would have it.

    Those of the standard library have a group of their own. Of the others nobody knows here which
    are the project's, so an import goes to those of its package, else below all.
    """
    imports = [each for each in head if isinstance(each, ast.Import | ast.ImportFrom)]
    places: dict[int, list[str]] = {}
    below: dict[int, int] = {}
    last: dict[int, int] = {}
    for line in sorted(lines, key=lambda line: _rank(_import_in(line))):
        node = _import_in(line)
        at, above, below_it = _place_of(file, head, imports, node)
        section = _section(node)[0]
        apart = above if at not in places else last[at] != section
        places.setdefault(at, []).extend([*[""] * apart, line])
        below[at], last[at] = below_it, section
    for at, added in places.items():
        spaced = [*added, *[""] * below[at]]
        yield replace(file.inserting(at, spaced), depth=1)  # before a variable at the same place


def _place_of(
    file: EditedFile,
    head: Sequence[ast.stmt],
    imports: Sequence[ast.Import | ast.ImportFrom],
    node: ast.Import | ast.ImportFrom,
) -> tuple[int, int, int]:
    """Return after how many lines an import goes, and the blank lines above and below it."""
    kin = [each for each in imports if _section(each) == _section(node)]
    if earlier := [each for each in kin if _rank(each) <= _rank(node)]:
        return earlier[-1].end_lineno or 0, 0, 0
    if kin:
        return file.above_comments(kin[0].lineno - 1), 0, 0
    future = [each for each in imports if _section(each) == (0, "")]
    section = _section(node)[0]
    if future and section == 1:
        return future[-1].end_lineno or 0, 1, 0
    if imports and section:
        if section == 1:
            return file.above_comments(imports[0].lineno - 1), 0, 1
        return imports[-1].end_lineno or 0, 0, 0
    if head and is_docstring(head[0]):
        return head[0].end_lineno or 0, 1, 0
    if head:
        return head[0].lineno - 1, 0, 1
    return first_line_of_code(file), 0, 2


def _import_in(line: str) -> ast.Import | ast.ImportFrom:
    (node,) = ast.parse(line).body
    assert isinstance(node, ast.Import | ast.ImportFrom), "it was read as an import"
    return node


def _module_of(node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.Import):
        return node.names[0].name
    return "." * node.level + (node.module or "")


def _section(node: ast.Import | ast.ImportFrom) -> tuple[int, str]:
    package = _module_of(node).partition(".")[0]
    if package == "__future__":
        return 0, ""
    return (1, "") if package in sys.stdlib_module_names else (2, package)


def _rank(node: ast.Import | ast.ImportFrom) -> tuple[int, bool, str]:
    return _section(node)[0], isinstance(node, ast.ImportFrom), _module_of(node).lower()
