"""Finds what of a planned test a file no longer has as the plan placed it. Pure.

Definitions and cases are compared one by one, by their code. So layout, comments, and whatever is
beside them do not count. Python's own parser decides for Python. In other languages a definition
is what begins at the margin of its block, and blocks that only hold tests are looked into.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from factory.drift.requirement_states import ChangedTest
from shared.languages.appended_tests import holds_test
from shared.languages.capabilities import CaseTable
from shared.languages.registry import language_of
from shared.projects.project_tools import code_tokens
from shared.work_order.work_order import AcceptanceFile

_NAME_CHARACTERS: Final = 80


def decode_test(path: str, data: bytes) -> str | None:
    """Return the text of a test file; `None` where its bytes are not text of the file's language.

    A file of Python may name its encoding on top.
    """
    try:
        encoding = "utf-8-sig"
        if _is_parsed(path):
            encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        return data.decode(encoding).replace("\r\n", "\n")
    except (UnicodeDecodeError, SyntaxError, LookupError):
        return None


def find_changes(path: str, piece: AcceptanceFile, data: bytes | None) -> tuple[ChangedTest, ...]:
    """Return what of a planned piece the file, whose bytes are `data`, does not have as planned."""
    if data is None:
        return (ChangedTest(path, 1, "is not there"),)
    text = decode_test(path, data)
    if text is None:
        return (ChangedTest(path, 1, "is not a text that can be read"),)
    if piece.table:
        if holds_test(path, text, piece.text, piece.table):
            return ()
        line = _line_of(piece.table, text)
        return (ChangedTest(path, line, f"does not have all planned cases of `{piece.table}`"),)
    planned = piece.content if piece.append is None else piece.append
    if planned == text:
        return ()
    found = [*_lost_cases(path, planned, text)]
    planned, text = _without_cases(path, planned), _without_cases(path, text)
    compare = _parsed_changes if _is_parsed(path) else _block_changes
    found += compare(path, planned, text)
    return tuple(dict.fromkeys(found))


def _is_parsed(path: str) -> bool:
    """Return whether a file is in the language that this program itself is written in."""
    language = language_of(path)
    return language is not None and language is language_of(__file__)


def _line_of(name: str, text: str) -> int:
    found = re.search(rf"\b{re.escape(name)}\b", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _tables(path: str, text: str) -> tuple[CaseTable, ...]:
    language = language_of(path)
    if language is None or language.edits is None:
        return ()
    return language.edits.find_tables(path, text)


def _lost_cases(path: str, planned: str, text: str) -> Iterator[ChangedTest]:
    """Yield the planned cases that the table of the same name lacks."""
    there = _tables(path, text)
    for table in _tables(path, planned):
        same = [each for each in there if each.names & table.names]
        if not same:
            continue  # its test is missing, which is found with the definitions
        left = Counter(case for each in same for case in each.cases)
        line = text.count("\n", 0, same[0].start) + 1
        for (start, end), case in zip(table.places, table.cases, strict=True):
            if left[case]:
                left[case] -= 1
                continue
            shown = " ".join(planned[start:end].split())[:_NAME_CHARACTERS]
            name = sorted(table.names)[0]
            yield ChangedTest(path, line, f"does not have the case {shown} of `{name}`")


def _without_cases(path: str, text: str) -> str:
    """Return a text whose tables are empty, with as many lines as before."""
    for table in sorted(_tables(path, text), key=lambda each: each.start, reverse=True):
        inner = text[table.start : table.end]
        text = text[: table.start] + "\n" * inner.count("\n") + text[table.end :]
    return text


# Python


@dataclass(frozen=True, slots=True)
class _Unit:
    """Hold one statement: its name, "" where it defines nothing, its line and its code."""

    name: str
    line: int
    code: str
    members: tuple[_Unit, ...] = ()


def _parsed_changes(path: str, planned: str, text: str) -> Iterator[ChangedTest]:
    try:
        wanted = _units(ast.parse(planned).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if planned.strip() not in text:
            yield ChangedTest(path, 1, "does not have the planned text")
        return
    try:
        there = _units(ast.parse(text).body)
    except SyntaxError as error:
        yield ChangedTest(path, error.lineno or 1, "cannot be parsed")
        return
    except (ValueError, RecursionError, MemoryError):
        yield ChangedTest(path, 1, "cannot be parsed")
        return
    yield from _missing_units(path, wanted, there, 1)


def _units(body: Iterable[ast.stmt]) -> tuple[_Unit, ...]:
    return tuple(unit for statement in body for unit in _units_of(statement))


def _units_of(statement: ast.stmt) -> Iterator[_Unit]:
    match statement:
        case ast.Import() | ast.ImportFrom():
            module = "." * getattr(statement, "level", 0) + (getattr(statement, "module", "") or "")
            for each in statement.names:
                bound = each.asname or each.name
                yield _Unit("", statement.lineno, f"import {module} {each.name} as {bound}")
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield _Unit(statement.name, _first_line(statement), _code(statement))
        case ast.ClassDef():
            head = [*map(_code, (*statement.decorator_list, *statement.bases))]
            head += [f"{each.arg}={_code(each.value)}" for each in statement.keywords]
            inner = _units(_without_text(statement.body))
            yield _Unit(statement.name, _first_line(statement), f"class {head}", inner)
        case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
            return
        case _:
            yield _Unit("", statement.lineno, _code(statement))


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min((node.lineno, *(each.lineno for each in node.decorator_list)))


def _without_text(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return a body without the text that documents it."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body


def _code(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.body = _without_text(node.body) or [ast.Pass()]
    return ast.dump(node)


def _missing_units(
    path: str, wanted: Sequence[_Unit], there: Sequence[_Unit], at: int
) -> Iterator[ChangedTest]:
    """Yield the planned statements that are not there; of two definitions the last one counts."""
    by_name = {each.name: each for each in there if each.name}
    codes = Counter(each.code for each in there if not each.name)
    for unit in wanted:
        if not unit.name:
            if not codes[unit.code]:
                shown = _shown_statement(unit.code)
                yield ChangedTest(path, at, f"does not have the planned {shown}")
            continue
        found = by_name.get(unit.name)
        if found is None:
            yield ChangedTest(path, at, f"does not have `{unit.name}`")
        elif found.code != unit.code:
            yield ChangedTest(path, found.line, f"has another `{unit.name}`")
        else:
            yield from _missing_units(path, unit.members, found.members, found.line)


def _shown_statement(code: str) -> str:
    if code.startswith("import "):
        module, name, *_ = code.removeprefix("import ").split(" ")
        return f"import of `{name}`" + (f" from `{module}`" if module else "")
    found = re.search(r"Name\(id='(\w+)', ctx=Store", code)
    return f"value of `{found[1]}`" if found else "statement"


# Other languages

_MARK: Final = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"""
    r"""|(?P<note>//[^\n]*|/\*.*?\*/)""",
    re.DOTALL,
)
_CLOSES: Final = re.compile(r"[)\]}]")
_ATTRIBUTE: Final = re.compile(r"(?:#\[|@)")
_HEAD_ENDS: Final = re.compile(r",\s*(?:async\b\s*)?(?:\(|function\b)|=>|\{")
_HOLDS_TESTS: Final = re.compile(
    r"(?:export\s+)?(?:describe|suite|context)(?:\.\w+)?\s*\(|(?:pub\s+)?mod\s+\w+\s*\{"
    r"|(?:export\s+)?(?:abstract\s+)?class\s"
)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Hold the lines of one definition; `line` is the first one in the file."""

    line: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def head(self) -> str:
        """Return the first line that is no attribute, as far as it names what it begins."""
        named = (each.strip() for each in self.lines if not _ATTRIBUTE.match(each.strip()))
        line = next(filter(None, named), "")
        return _HEAD_ENDS.split(line)[0].strip(" (,")[:_NAME_CHARACTERS]

    @property
    def holds_tests(self) -> bool:
        return len(self.lines) > 2 and bool(_HOLDS_TESTS.match(self.lines[0].strip()))

    def inner(self) -> _Chunk:
        """Return what is between the first line and the one that closes the block."""
        last = max(n for n, each in enumerate(self.lines) if each.strip())
        return _Chunk(self.line + 1, self.lines[1:last])


def _block_changes(path: str, planned: str, text: str) -> Iterator[ChangedTest]:
    wanted, there = (
        _Chunk(1, tuple(_without_comments(each).split("\n"))) for each in (planned, text)
    )
    yield from _missing_chunks(path, wanted, there)


def _without_comments(text: str) -> str:
    """Return a text without comments; the lines of long texts are no beginnings of anything."""

    def plain(found: re.Match[str]) -> str:
        if found.lastgroup == "note":
            return "\n" * found[0].count("\n")
        return found[0].replace("\n", "\\n")

    return _MARK.sub(plain, text)


def _missing_chunks(path: str, wanted: _Chunk, there: _Chunk) -> Iterator[ChangedTest]:
    chunks = [*_chunks(there)]
    codes = Counter(_tokens_of(path, each) for each in chunks)
    for chunk in _chunks(wanted):
        code = _tokens_of(path, chunk)
        if codes[code] or not code:
            continue
        same = [each for each in chunks if each.head == chunk.head]
        if not same:
            yield ChangedTest(path, there.line, f"does not have `{chunk.head}`")
        elif chunk.holds_tests and same[-1].holds_tests:
            yield from _missing_chunks(path, chunk.inner(), same[-1].inner())
        else:
            yield ChangedTest(path, same[-1].line, f"has another `{chunk.head}`")


def _tokens_of(path: str, chunk: _Chunk) -> tuple[str, ...]:
    return tuple(code_tokens(path, chunk.text))


def _chunks(block: _Chunk) -> Iterator[_Chunk]:
    """Yield the definitions of a block: each begins at its margin."""
    indents = [_indent(each) for each in block.lines if each.strip()]
    margin = min(indents, default=0)
    start, is_attribute = -1, False
    for number, line in enumerate(block.lines):
        begins = line.strip() and _indent(line) <= margin and not _CLOSES.match(line.strip())
        if not begins:
            continue
        if start >= 0 and not is_attribute:
            yield _Chunk(block.line + start, block.lines[start:number])
        if not is_attribute:
            start = number
        is_attribute = bool(_ATTRIBUTE.match(line.strip()))
    if start >= 0:
        yield _Chunk(block.line + start, block.lines[start:])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


# What a plan's tests are called, and how many they are at least

_TEST_NAME: Final = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)|^func[ \t]+(Test\w*)"
    r"|#\[test\]\s+(?:#\[[^\]\n]*\]\s+)*(?:async\s+)?fn[ \t]+(\w+)",
    re.MULTILINE,
)


def tests_named(pieces: Iterable[AcceptanceFile]) -> frozenset[str]:
    """Return the names of the tests that pieces of a file define, as far as they have any."""
    found = (match for each in pieces for match in _TEST_NAME.finditer(each.text))
    return frozenset(match[match.lastindex or 0] for match in found)
