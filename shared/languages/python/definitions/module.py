"""Finds definitions in the text of a module by their names."""

from __future__ import annotations

import ast
import difflib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from shared.languages.capabilities.commands import CodeProblem
from shared.languages.capabilities.conformance import DOES_NOT_PARSE
from shared.languages.definitions import Splice
from shared.languages.python.code import parse_as_here
from shared.languages.python.definitions.chunks import Chunk, split_chunks
from shared.languages.python.definitions.refused import Refused
from shared.languages.python.stubs.declarations import flat

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_DEFINITION: Final = re.compile(r"\n[ \t\f]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_CLOSE_NAMES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Hold a definition and where it stands in a module.

    `above` is the number of lines of the module above the code that `node` was parsed in. `parent`
    identifies the statements that the definition is one of; those of the module are 0.
    """

    name: str
    node: Definition
    above: int
    indent: str
    parent: int

    @property
    def line(self) -> int:
        """Return the line of `def` or `class`, from 1."""
        return self.node.lineno + self.above

    @property
    def start(self) -> int:
        """Return the first line, from 0, which is the first decorator's if there is one."""
        return first_line(self.node) - 1 + self.above

    @property
    def end(self) -> int:
        """Return the line after the last, from 0."""
        return last_line(self.node) + self.above


def first_line(node: ast.stmt) -> int:
    """Return the first line of a statement, from 1, with its decorators."""
    decorators = node.decorator_list if isinstance(node, Definition) else ()
    return min([node.lineno, *(each.lineno for each in decorators)])


def last_line(node: ast.stmt) -> int:
    """Return the last line of a statement, from 1."""
    return node.end_lineno or node.lineno


def is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a string alone, as docstrings are."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case _:
            return False


def is_ellipsis(statement: ast.stmt) -> bool:
    """Return whether a statement is `...`."""
    match statement:
        case ast.Expr(value=ast.Constant(value=value)):
            return value is ...
        case _:
            return False


def indentation_of(line: str) -> str:
    """Return the blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


class Module:
    """Hold the text of a module, and parse those parts of it that are asked for."""

    def __init__(self, source: str) -> None:
        """Raise `Refused` where the lines of `source` cannot be counted."""
        if lone := re.search(r"\r(?!\n)", source):
            line = source.count("\n", 0, lone.start()) + 1
            raise Refused("the file has line ends of a single CR, which are not supported", line)
        self.source = source
        self.lines: Final = source.split("\n")
        self.newline: Final = "\r\n" if self.lines[0].endswith("\r") else "\n"
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self._chunks: Final[Sequence[Chunk]] = split_chunks(source)
        self._places: dict[int, tuple[Place, ...]] = {}
        self._trees: dict[int, ast.Module] = {}
        self._candidates: dict[str, list[int]] = {}
        for found in _DEFINITION.finditer(f"\n{source}"):
            self._candidates.setdefault(found[1], []).append(found.start())

    @cached_property
    def unit(self) -> str:
        """Return the step by which the file is indented: a tab, or some spaces."""
        indented = [each for line in self.lines if line.strip() and (each := indentation_of(line))]
        if sum("\t" in each for each in indented) * 2 > len(indented):
            return "\t"
        lengths = Counter(map(len, indented))
        return " " * max((4, 2, 3, 8), key=lambda step: lengths[step])

    def offset(self, line: int) -> int:
        """Return the offset at which a line begins, or the text's end for a line after the last."""
        return min(self._starts[line], len(self.source))

    def text_of(self, start: int, end: int) -> str:
        """Return the text of the lines from `start` up to `end`, which is excluded."""
        return self.source[self.offset(start) : self.offset(end)]

    def replacing(self, start: int, end: int, lines: Sequence[str]) -> Splice:
        """Return the splice that puts `lines` in the place of those from `start` up to `end`."""
        text = self.newline.join(lines)
        if self.text_of(start, end).endswith("\n"):
            text += self.newline
        return Splice(self.offset(start), self.offset(end), text)

    def inserting(self, line: int, lines: Sequence[str], indent: str = "") -> Splice:
        """Return the splice that puts `lines` before a line, which may be the end of the text.

        `indent` is the indentation of what is inserted.
        """
        at = self.offset(line)
        text = "".join(f"{each}{self.newline}" for each in lines)
        if at and self.source[at - 1] != "\n":
            text = self.newline + text.removesuffix(self.newline)
        return Splice(at, at, text, len(indent))

    def ending_in(self, name: str) -> tuple[Place, ...]:
        """Return the definitions whose qualified names are `name` or end in it.

        Raises `Refused` where the file does not parse.
        """
        found = [each for index in self._chunks_with(name) for each in self._places_in(index)]
        return tuple(each for each in found if f".{each.name}".endswith(f".{name}"))

    def classes(self) -> tuple[Place, ...]:
        """Return the top-level classes. Raises `Refused` where the file does not parse."""
        named = [name for name in self._candidates if self._may_be_class(name)]
        found = [each for name in named for each in self.ending_in(name)]
        return tuple(
            each for each in found if isinstance(each.node, ast.ClassDef) and "." not in each.name
        )

    def head(self) -> tuple[ast.stmt, ...]:
        """Return the statements before the first function or class at the top level."""
        return tuple(self._tree(0).body)

    def main_guard(self) -> int | None:
        """Return the line of `if __name__ == "__main__":` among the last statements, if it is."""
        last = len(self._chunks) - 1
        above = self._chunks[last].lines_above
        for statement in self._tree(last).body:
            match statement:
                case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                    return above + statement.lineno - 1
                case _:
                    pass
        return None

    def close_to(self, name: str) -> tuple[str, ...]:
        """Return names that the module defines and that resemble the last part of `name`."""
        last = name.rpartition(".")[2]
        return tuple(difflib.get_close_matches(last, self._candidates, _CLOSE_NAMES_SHOWN))

    def _may_be_class(self, name: str) -> bool:
        return re.search(rf"^class[ \t]+{name}\b", self.source, re.MULTILINE) is not None

    def _chunks_with(self, name: str) -> list[int]:
        """Return the chunks in which each part of a qualified name is defined."""
        holders = [
            {self._chunk_at(offset) for offset in self._candidates.get(part, ())}
            for part in name.split(".")
        ]
        return sorted(set.intersection(*holders))

    def _chunk_at(self, offset: int) -> int:
        return bisect_right(self._chunks, offset, key=lambda chunk: chunk.offset) - 1

    def _places_in(self, index: int) -> tuple[Place, ...]:
        if index not in self._places:
            above = self._chunks[index].lines_above
            self._places[index] = tuple(self._walk(self._tree(index).body, "", above))
        return self._places[index]

    def _walk(self, body: Sequence[ast.stmt], prefix: str, above: int) -> Iterator[Place]:
        for node in flat(body):
            if not isinstance(node, Definition):
                continue
            line = self.lines[node.lineno - 1 + above]
            name = f"{prefix}{node.name}"
            yield Place(name, node, above, indentation_of(line), id(body) if prefix else 0)
            yield from self._walk(node.body, f"{name}.", above)

    def _tree(self, index: int) -> ast.Module:
        if index not in self._trees:
            parsed = parse_as_here(self._chunks[index].text)
            if isinstance(parsed, CodeProblem):
                raise self._unreadable(parsed, self._chunks[index].lines_above)
            self._trees[index] = parsed
        return self._trees[index]

    def _unreadable(self, problem: CodeProblem, above: int) -> Refused:
        # The whole file is parsed for a line and words that other tools give as well.
        whole = parse_as_here(self.source)
        problem, above = (whole, 0) if isinstance(whole, CodeProblem) else (problem, above)
        line = problem.line + above
        return Refused(f"the file {DOES_NOT_PARSE}: line {line}: {problem.message}", line)
