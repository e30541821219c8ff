"""Reads a block that is to be brought into a file, merges its classes, and places its imports.

Languages with braces share `declared_edits`. Python has its own way, because its classes are merged
member by member, overloads and accessors share one name, and indentation is a part of the code.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import Splice
from shared.languages.declared.declared_edits import Refused
from shared.languages.python.python_code import last_part
from shared.languages.python.python_source import (
    OVERLOAD,
    PythonDeclared,
    first_line,
    indentation_of,
    is_docstring,
    is_ellipsis,
    last_line,
    multiline_strings,
    read_once,
    role_of,
)
from shared.languages.python.stubs import Definition, FunctionNode

if TYPE_CHECKING:
    from shared.languages.declared.declarations import Imported


class EditedFile:
    """Hold the lines of a file that is edited. Lines count from 0 here."""

    def __init__(self, text: str) -> None:
        """Raise `Refused` if the lines of `text` cannot be counted."""
        if lone := re.search(r"\r(?!\n)", text):
            line = text.count("\n", 0, lone.start()) + 1
            raise Refused("the file has line ends of a single CR, which are not supported", line)
        self.text = text
        self.lines: Final = text.split("\n")
        self._newline: Final = "\r\n" if self.lines[0].endswith("\r") else "\n"
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    @cached_property
    def unit(self) -> str:
        """Return the step by which the file is indented: a tab, or some spaces."""
        indented = [each for line in self.lines if line.strip() and (each := indentation_of(line))]
        if sum("\t" in each for each in indented) * 2 > len(indented):
            return "\t"
        lengths = Counter(map(len, indented))
        return " " * max((4, 2, 3, 8), key=lambda step: lengths[step])

    def _offset(self, line: int) -> int:
        first = self.text.startswith("\ufeff")  # which is before all else
        return max(min(self._starts[line], len(self.text)), first)

    def replacing(self, start: int, end: int, lines: Sequence[str]) -> Splice:
        """Return the splice that puts `lines` in the place of those from `start` up to `end`."""
        first, last = self._offset(start), self._offset(end)
        text = self._newline.join(lines)
        if self.text[first:last].endswith("\n"):
            text += self._newline
        return Splice(first, last, text)

    def above_comments(self, line: int) -> int:
        """Return the first of the lines of comments that are directly above a line."""
        while line and self.lines[line - 1].lstrip().startswith("#"):
            line -= 1
        return line

    def inserting(self, line: int, lines: Sequence[str], indent: str = "") -> Splice:
        """Return the splice that puts `lines` before a line, which may be the end of the text.

        `indent` is the indentation of what is inserted.
        """
        at = self._offset(line)
        text = "".join(f"{each}{self._newline}" for each in lines)
        if at and self.text[at - 1] != "\n":
            text = self._newline + text.removesuffix(self._newline)
        return Splice(at, at, text, len(indent))


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Hold the statements of a block; the lines of its nodes count from 1 in `lines`.

    `in_strings` are the lines, from 0, that begin within a string other than a docstring, so that
    their indentation is a part of a value.
    """

    lines: tuple[str, ...]
    imports: tuple[Imported, ...]
    body: tuple[ast.stmt, ...]
    in_strings: frozenset[int]


def read_block(code: str) -> CodeBlock:
    """Return the block in `code`, which may be indented. Raises `Refused` if it does not parse."""
    code = code.replace("\r\n", "\n").rstrip()
    first = next((e for e in code.split("\n") if e.strip() and e.lstrip()[0] != "#"), "")
    is_indented = bool(indentation_of(first))
    # Below an `if`, indented code parses with its own columns and strings.
    code = f"if True:\n{code}" if is_indented else code
    read = read_once(code)
    if read.fault is not None:
        line = max(read.fault.line - is_indented, 1)
        reason = f"the code of the block does not parse: its line {line}: {read.fault.message}"
        raise Refused(reason)
    body: Sequence[ast.stmt] = read.body
    if is_indented and isinstance(body[0], ast.If):
        body = body[0].body
    return CodeBlock(
        lines=tuple(code.split("\n")),
        imports=read.imports,
        body=tuple(body),
        in_strings=_lines_in_strings(code) - _lines_of_docstrings(body),
    )


def source_of(block: CodeBlock, node: ast.stmt, indent: str, unit: str) -> list[str]:
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


def _unit_of(block: CodeBlock, indent: str, start: int, end: int) -> str:
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


def _lines_in_strings(code: str) -> frozenset[int]:
    inside: set[int] = set()
    for start, end in multiline_strings(code):
        inside.update(range(code.count("\n", 0, start) + 1, code.count("\n", 0, end) + 1))
    return frozenset(inside)


def _lines_of_docstrings(body: Sequence[ast.stmt]) -> frozenset[int]:
    lines: set[int] = set()
    for node in (each for statement in body for each in ast.walk(statement)):
        if isinstance(node, Definition) and is_docstring(node.body[0]):
            lines.update(range(node.body[0].lineno, last_line(node.body[0])))
    return frozenset(lines)


def merge_header(
    file: EditedFile, old: ast.ClassDef, block: CodeBlock, node: ast.ClassDef
) -> Iterator[Splice]:
    """Yield the splice that gives a class the bases and decorators of the block's class, if any.

    A class of the block that has neither keeps those of the file.
    """
    if _header(node) == _header(old) or (node.name == old.name and not any(_header(node)[1:])):
        return
    new_end, old_end = _header_end(node, block.lines), _header_end(old, file.lines)
    start = first_line(node) - 1
    own = indentation_of(block.lines[node.lineno - 1])
    indent = indentation_of(file.lines[old.lineno - 1])
    lines = [indent + line.removeprefix(own) for line in block.lines[start:new_end]]
    yield file.replacing(first_line(old) - 1, old_end, lines)


def merge_statements(
    file: EditedFile,
    body: Sequence[ast.stmt],
    block: CodeBlock,
    given: Sequence[ast.stmt],
    indent: str,
    adding: Callable[[str, list[str]], Splice],
) -> Iterator[Splice]:
    """Yield the splices for what is neither a function nor a class: docstring and variables.

    `body` are the statements of the module or the class, and `given` those of the block for it.
    `adding` makes the splice for a name without a neighbour. Raises `Refused` for a statement of
    another kind.
    """
    for statement in given:
        name = name_of(statement)
        if isinstance(statement, Definition | ast.Import | ast.ImportFrom) or (
            not name and _is_filler(statement)
        ):
            continue
        if not name:
            raise Refused(
                f"the block has `{ast.unparse(statement).splitlines()[0][:60]}`, "
                "which has no name in the file: use a search text for it"
            )
        lines = source_of(block, statement, indent, file.unit)
        same = [each for each in body if name_of(each) == name]
        if len(same) > 1 or any(_shares_a_line(each, body) for each in same):
            raise Refused(f"`{name}` is not alone on its lines in the file: use a search text")
        if same:
            first = first_line(same[0]) - 1
            lines = without_comments_above(file, lines, first)
            yield file.replacing(first, last_line(same[0]), lines)
        else:
            beside = insert_beside(file, body, block, given, [statement], lines, indent)
            yield beside or adding(name, lines)


def without_comments_above(file: EditedFile, lines: list[str], first: int) -> list[str]:
    """Return lines without leading comments that the file has above the line `first` already."""
    count = next(number for number, line in enumerate(lines) if not line.lstrip().startswith("#"))
    above = [line.rstrip() for line in file.lines[max(first - count, 0) : first]]
    return lines[count:] if count and above == [each.rstrip() for each in lines[:count]] else lines


def insert_beside(
    file: EditedFile,
    body: Sequence[ast.stmt],
    block: CodeBlock,
    given: Sequence[ast.stmt],
    nodes: Sequence[ast.stmt],
    lines: Sequence[str],
    indent: str,
) -> Splice | None:
    """Return the splice that adds the `nodes` where the block has them among those `given`.

    That is after the last statement above them that the `body` of the file has, or before the
    first below them; `None` where it has neither. `lines` are the lines of the nodes.
    """
    first, last = given.index(nodes[0]), given.index(nodes[-1])
    above = _first_known(body, reversed(given[:first]))
    below = _first_known(body, given[last + 1 :])
    least = 2 if isinstance(nodes[0], Definition) and not indent else 0
    before = max(_gap_above(block.lines, first_line(nodes[0]) - 1), least)
    if below and (not above or _gap_above(file.lines, below[1]) == before):
        after = max(_gap_above(block.lines, first_line(below[0]) - 1), least)
        return file.inserting(file.above_comments(below[1]), [*lines, *[""] * after], indent)
    return file.inserting(above[2], [*[""] * before, *lines], indent) if above else None


def _first_known(
    body: Sequence[ast.stmt], given: Iterable[ast.stmt]
) -> tuple[ast.stmt, int, int] | None:
    """Return the first statement given that `body` has, its first line there, and that after it."""
    for each in given:
        same = [one for one in body if name_of(one) and name_of(one) == name_of(each)]
        if same:
            return each, first_line(same[0]) - 1, last_line(same[-1])
    return None


def _gap_above(lines: Sequence[str], at: int) -> int:
    """Return the number of blank lines above the line `at` and its comments."""
    while at and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    end = at
    while at and not lines[at - 1].strip():
        at -= 1
    return end - at


def add_members(file: EditedFile, name: str, node: ast.ClassDef, members: Sequence[str]) -> Splice:
    """Return the splice that adds lines after the last function or class of the class `name`.

    Raises `Refused` if the body of the class is on the line of its header.
    """
    last = node.body[-1]
    if _is_in_header(node, file.lines[last.lineno - 1]):
        return _instead_of_short_body(file, name, node, members)
    definitions = [each for each in node.body if isinstance(each, Definition)]
    after = last_line(definitions[-1] if definitions else last)
    if len(node.body) == 1 and _is_filler(last):
        return file.replacing(first_line(last) - 1, after, members)
    lines = ["", *members]
    if after < len(file.lines) and file.lines[after].strip():
        lines.append("")
    return file.inserting(after, lines, member_indent(file, node))


def member_indent(file: EditedFile, node: ast.ClassDef) -> str:
    line = file.lines[node.body[0].lineno - 1]
    if _is_in_header(node, line):
        return indentation_of(file.lines[node.lineno - 1]) + file.unit
    return indentation_of(line)


def _instead_of_short_body(
    file: EditedFile, name: str, node: ast.ClassDef, members: Sequence[str]
) -> Splice:
    """Return the splice for a class such as `class Lost(Exception): pass`."""
    body = node.body
    line = body[0].lineno - 1
    if len(body) > 1 or not _is_filler(body[0]):
        raise Refused(
            f"the class `{name}` has its body on the line of its header: use a search text",
            line + 1,
        )
    text = file.lines[line]
    header = text.encode()[: body[0].col_offset].decode().rstrip()
    return file.replacing(line, line + 1, [header, *members])


def _header(node: ast.ClassDef) -> tuple[str, str, str]:
    bases = [ast.dump(each) for each in (*node.bases, *node.keywords)]
    decorators = [ast.dump(each) for each in node.decorator_list]
    return node.name, "\n".join(bases), "\n".join(decorators)


def _header_end(node: ast.ClassDef, lines: Sequence[str]) -> int:
    """Return the line after the header, from 0; comments below the header are not part of it."""
    end = first_line(node.body[0]) - 1
    if _is_in_header(node, lines[end]):
        raise Refused(f"the class `{node.name}` has its body on the line of its header")
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):
        end -= 1
    return end


def _is_in_header(node: Definition, line: str) -> bool:
    """Return whether the body of a class begins on a `line` of its header."""
    before = line.encode()[: node.body[0].col_offset].decode()
    return bool(before.strip()) and not isinstance(node.body[0], Definition)


def name_of(statement: ast.stmt) -> str:
    """Return what a statement defines or sets; the docstring has a name, too."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case _:
            return "the docstring" if is_docstring(statement) else ""


def _is_filler(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or is_ellipsis(statement)


def _shares_a_line(statement: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    lines = range(first_line(statement), last_line(statement) + 1)
    others = [each for each in body if each is not statement]
    return any(first_line(each) in lines or last_line(each) in lines for each in others)


def after_variables(node: ast.ClassDef, name: str) -> int:
    """Return the line, from 0, at which a new variable or docstring goes into a class."""
    above = first_line(node.body[0]) - 1
    if name == "the docstring":
        return above
    for statement in node.body:
        if isinstance(statement, Definition):
            break
        above = last_line(statement)
    return above


_BODILESS = frozenset({"overload", "abstractmethod"})


def refuse_placeholders(new: Definition, old: Definition | None) -> None:
    """Raise `Refused` if a function has an ellipsis among its statements, or instead of them.

    A function may have no body if it is new, had none before, or is an overload or abstract. In the
    body of a class an ellipsis does nothing, and is allowed.
    """
    for function in (each for each in ast.walk(new) if isinstance(each, FunctionNode)):
        kept = [each for each in function.body if not is_docstring(each)]
        elided = [each for each in kept if is_ellipsis(each)]
        if elided and len(kept) > 1:
            raise Refused(
                f"`{function.name}` has `...` among its statements: write all of them, a program "
                "puts the code into the file as it is"
            )
    if isinstance(new, ast.ClassDef) or old is None or isinstance(old, ast.ClassDef):
        return
    may_be_empty = {last_part(each) for each in new.decorator_list} & _BODILESS
    if _is_empty(new) and not _is_empty(old) and not may_be_empty:
        raise Refused(f"`{new.name}` has no body: write the statements that do the work")


def _is_empty(node: FunctionNode) -> bool:
    kept = [each for each in node.body if not is_docstring(each)]
    return all(map(is_ellipsis, kept))


Role = tuple[str, int]
"""The part of a definition among those of its name; overloads are numbered."""


def roles_in_file(places: Sequence[PythonDeclared]) -> Mapping[Role, PythonDeclared]:
    """Return the definitions of one qualified name by what each of them is.

    Raises `Refused` if they do not belong together: the name is defined twice.
    """
    roles = _numbered([place.key for place in places])
    if len(set(roles)) < len(roles) or len({place.owner_line for place in places}) > 1:
        lines = [place.line for place in places]
        raise Refused(
            f"`{places[0].name}` is defined {len(places)} times, on lines "
            f"{' and '.join(map(str, lines))}: no name says which one is meant",
            *lines,
        )
    return dict(zip(roles, places, strict=True))


def roles_in_block(nodes: Sequence[Definition]) -> Mapping[Role, Definition]:
    """Return the same for a block. Raises `Refused` if it defines the name twice."""
    roles = _numbered([role_of(node) for node in nodes])
    if len(set(roles)) < len(roles):
        raise Refused(f"the block defines `{nodes[0].name}` twice")
    return dict(zip(roles, nodes, strict=True))


def _numbered(kinds: Sequence[str]) -> list[Role]:
    return [
        (kind, kinds[:number].count(kind) if kind == OVERLOAD else 0)
        for number, kind in enumerate(kinds)
    ]


def count_overloads(roles: Mapping[Role, object]) -> int:
    return sum(kind == OVERLOAD for kind, _ in roles)


_FIRST_LINES: Final = re.compile(r"#!|#.*coding[:=]")


def first_line_of_code(file: EditedFile) -> int:
    return sum(1 for _ in takewhile(_FIRST_LINES.match, file.lines))


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
