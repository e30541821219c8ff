"""Finds definitions in a module by their names.

A syntax tree of 20,000 lines takes a quarter of a second. To edit one definition, only the tree of
its chunk is needed, and finding the chunks takes a tenth of that time.
"""

from __future__ import annotations

import ast
import difflib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from shared.languages.capabilities import DOES_NOT_PARSE, Splice
from shared.languages.python.python_code import parse_as_here
from shared.languages.python.stubs import flat
from shared.languages.read_commands import CodeProblem

# A comment or a string. Possessive repetitions keep the time linear; a string that never closes
# ends with its line, or with the text if its quotes are triple.
_STRING_OR_COMMENT: Final = re.compile(
    r"#[^\n]*+"
    r'|"""(?:[^\\"]++|\\.|"(?!""))*+(?:""")?'
    r"|'''(?:[^\\']++|\\.|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'(?:[^'\\\n]++|\\.)*+'?",
    re.DOTALL,
)
_AT_MARGIN: Final = re.compile(r"\n(?:(?P<decorator>@)|(?:async[ \t]+)?(?:def|class)[ \t])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Hold some top-level statements of a module, their offset, and the number of lines above."""

    text: str
    offset: int
    lines_above: int


def split_chunks(source: str) -> tuple[Chunk, ...]:
    """Return the chunks of a module in sequence: together they are the module.

    Each chunk but the first begins with a function or a class, its decorators included. The chunks
    of a module that parses do so each by itself, unless a line begins with the operator `@`.
    """
    strings = multiline_strings(source)
    starts = [0]
    decorator: int | None = None
    for found in _AT_MARGIN.finditer(f"\n{source}"):
        start = found.start()  # in `source`, which lacks the first line end
        if _is_within(start, strings):
            continue
        if found["decorator"]:
            decorator = start if decorator is None else decorator
            continue
        starts.append(start if decorator is None else decorator)
        decorator = None
    chunks: list[Chunk] = []
    line = 0
    for start, end in zip(starts, (*starts[1:], len(source)), strict=True):
        text = source[start:end]
        chunks.append(Chunk(text, start, line))
        line += text.count("\n")
    return tuple(chunks)


def multiline_strings(source: str) -> tuple[tuple[int, int], ...]:
    """Return the start and the end of each string of several lines in `source`, in sequence."""
    return tuple(found.span() for found in _STRING_OR_COMMENT.finditer(source) if "\n" in found[0])


def _is_within(position: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(spans, (position, -1)) - 1
    return index >= 0 and spans[index][0] < position < spans[index][1]


class Refused(Exception):
    """Raised where an edit is impossible; `lines` are lines of the file, from 1."""

    def __init__(self, reason: str, *lines: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lines = lines


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


_ACCESSORS: Final = frozenset({"setter", "getter", "deleter"})
_OVERLOAD: Final = "overload"

Role = tuple[str, int]
"""What a definition is among those of its name; overloads are numbered."""


def group_places(places: Sequence[Place]) -> Mapping[Role, Place]:
    """Return the definitions of one qualified name by what each of them is.

    Raises `Refused` where they do not belong together: the name is defined twice.
    """
    roles = _roles([place.node for place in places])
    if len(set(roles)) < len(roles) or len({place.parent for place in places}) > 1:
        lines = [place.line for place in places]
        raise Refused(
            f"`{places[0].name}` is defined {len(places)} times, on lines "
            f"{' and '.join(map(str, lines))}: no name says which one is meant",
            *lines,
        )
    return dict(zip(roles, places, strict=True))


def group_nodes(nodes: Sequence[Definition]) -> Mapping[Role, Definition]:
    """Return the definitions of one name in a block by what each of them is.

    Raises `Refused` where the block defines the name twice.
    """
    roles = _roles(nodes)
    if len(set(roles)) < len(roles):
        raise Refused(f"the block defines `{nodes[0].name}` twice")
    return dict(zip(roles, nodes, strict=True))


def count_overloads(roles: Mapping[Role, object]) -> int:
    """Return how many of the definitions are overloads."""
    return sum(kind == _OVERLOAD for kind, _ in roles)


def _roles(nodes: Sequence[Definition]) -> list[Role]:
    roles: list[Role] = []
    for node in nodes:
        kind = _kind(node)
        roles.append((kind, sum(each[0] == kind for each in roles) if kind == _OVERLOAD else 0))
    return roles


def _kind(node: Definition) -> str:
    for decorator in node.decorator_list:
        match decorator:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name == _OVERLOAD:
                return _OVERLOAD
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                owner == node.name and name in _ACCESSORS
            ):
                return name
            case _:
                pass
    return ""


_FRAGMENTS_DEFINITION: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:async[ \t]+)?(?P<function>def)|class)[ \t]+(?P<name>\w+)",
    re.MULTILINE,
)


def defined_names(fragment: str) -> tuple[str, ...]:
    """Return the names of the functions and classes that begin in `fragment`, in sequence.

    Functions and classes within a function are left out: they are its own affair.
    """
    names: list[str] = []
    within: int | None = None
    for found in _FRAGMENTS_DEFINITION.finditer(fragment):
        depth = len(found["indent"])
        if within is not None and depth > within:
            continue
        within = depth if found["function"] else None
        names.append(found["name"])
    return tuple(names)
