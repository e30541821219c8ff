"""Reads a block of code that is to be brought into a file: its imports and its definitions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from shared.languages.capabilities.commands import CodeProblem
from shared.languages.python.code import parse_as_here
from shared.languages.python.definitions.chunks import multiline_strings
from shared.languages.python.definitions.module import (
    Definition,
    first_line,
    indentation_of,
    is_docstring,
    last_line,
)
from shared.languages.python.definitions.refused import Refused

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class Block:
    """Hold the statements of a block; the lines of its nodes count from 1 in `lines`.

    `indent` stands before each definition. `in_strings` are the lines, from 0, that begin within a
    string other than a docstring, so that their indentation is a part of a value.
    """

    lines: tuple[str, ...]
    indent: str
    imports: tuple[Import, ...]
    definitions: tuple[Definition, ...]
    others: tuple[ast.stmt, ...]
    in_strings: frozenset[int]


def read_block(code: str) -> Block:
    """Return the block in `code`, which may be indented. Raises `Refused` if it does not parse."""
    code = code.replace("\r\n", "\n").rstrip()
    lines = code.split("\n")
    first = next((line for line in lines if _is_code(line)), "")
    indent = indentation_of(first)
    # Below an `if`, indented code parses with its own columns and strings.
    tree = parse_as_here(f"if True:\n{code}" if indent else code)
    if isinstance(tree, CodeProblem):
        line = max(tree.line - bool(indent), 1)
        raise Refused(f"the code of the block does not parse: its line {line}: {tree.message}")
    body: Sequence[ast.stmt] = tree.body
    if indent and isinstance(body[0], ast.If):
        ast.increment_lineno(body[0], -1)
        body = body[0].body
    return Block(
        lines=tuple(lines),
        indent=indent,
        imports=tuple(each for each in body if isinstance(each, Import)),
        definitions=tuple(each for each in body if isinstance(each, Definition)),
        others=tuple(each for each in body if not isinstance(each, Import | Definition)),
        in_strings=_lines_in_strings(code) - _lines_of_docstrings(body),
    )


def source_of(block: Block, node: ast.stmt, indent: str, unit: str) -> list[str]:
    """Return the lines of a statement, indented by `indent` instead of as they are.

    Comments directly above it come with it. `unit` is the step by which the file indents: where
    the file indents by tabs and the block does not, or the other way, the block's steps become the
    file's.
    """
    own = indentation_of(block.lines[node.lineno - 1])
    start = first_line(node) - 1
    while start and block.lines[start - 1].startswith(f"{own}#"):
        start -= 1
    own_unit = _unit_of(block, own, start, last_line(node))
    lines: list[str] = []
    for number in range(start, last_line(node)):
        line = block.lines[number]
        if number in block.in_strings or not line.startswith(own):
            lines.append(line)
        elif not line.strip():
            lines.append("")
        else:
            lines.append(indent + _in_steps(line[len(own) :], own_unit, unit))
    return lines


def _unit_of(block: Block, indent: str, start: int, end: int) -> str:
    """Return the indentation of the first line that is deeper than `indent`, or nothing."""
    for number in range(start, end):
        line = block.lines[number]
        deeper = indentation_of(line)[len(indent) :]
        if number not in block.in_strings and line.strip() and deeper and line.startswith(indent):
            return deeper
    return ""


def _in_steps(line: str, old: str, new: str) -> str:
    """Return the line with each step of its indentation replaced, if one of the two is a tab."""
    if not old or not new or ("\t" in old) == ("\t" in new):
        return line
    steps = 0
    while line.startswith(old, steps * len(old)):
        steps += 1
    return new * steps + line[steps * len(old) :]


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _lines_in_strings(code: str) -> frozenset[int]:
    inside: set[int] = set()
    for start, end in multiline_strings(code):
        first = code.count("\n", 0, start)
        inside.update(range(first + 1, first + 1 + code.count("\n", start, end)))
    return frozenset(inside)


def _lines_of_docstrings(body: Sequence[ast.stmt]) -> frozenset[int]:
    lines: set[int] = set()
    for node in (each for statement in body for each in ast.walk(statement)):
        if isinstance(node, Definition) and is_docstring(node.body[0]):
            lines.update(range(node.body[0].lineno, last_line(node.body[0])))
    return frozenset(lines)
