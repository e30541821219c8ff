"""Adds a test of a plan to a test file that is there, exactly as the plan has it.

Planner and factory make the file by the same function, so that what the rules judge is what is
committed. Imports that begin the test go to those of the file: some languages have them nowhere
else, and linters ask for it in the others.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from shared.files.text_sources import MAX_SOURCE_BYTES
from shared.languages.capabilities import DefinitionEdit, NamedCode, PlaceForTests, Splice
from shared.languages.declared.declared_edits import IMPORTS, Refused
from shared.languages.registry import language_of

if TYPE_CHECKING:
    from shared.languages.capabilities import CaseTable, Edits
    from shared.work_order.work_order import AcceptanceFile, WorkOrder

# The braces of `use` may be within each other: `use std::{collections::{HashMap, HashSet}, io};`
_BRACES: Final = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
# One that tools read stays where it is, with the import below it.
_COMMENT: Final = (
    r"[ \t]*(?:#(?!!?\[)|//(?!/))(?![^\n]*(?:@ts-|@jest|@vitest|eslint|type:|go:|\+build))[^\n]*\n"
)
_COMMENTS: Final = rf"(?:{_COMMENT}(?:[ \t]*\n)*+)*+"  # they belong to the import below
_LISTED: Final = r"(?:[^)#/]++|#[^\n]*+|//[^\n]*+|/)*+"  # what brackets list, with comments
_IMPORTS: Final = re.compile(
    rf"(?:[ \t]*\n|{_COMMENTS}(?:import|from|use)\b"
    rf"[^\n({{#/]*(?:\({_LISTED}\)|{_BRACES})?[^\n]*(?:\n|\Z))*"
)
_PACKAGE: Final = re.compile(r"\s*(package[ \t]+[\w.]+)[ \t]*;?[ \t]*(?:\n|\Z)")
_LONG_TEXT: Final = re.compile(r"\"\"\"|'''|`")
_QUOTE: Final = re.compile(r'(?<!\\)"')
_NEW_FILE: Final = "give the test a new file of its own"


class CannotAppend(Exception):
    """Say why a test cannot be added to the file at `path`; the text can follow `it`."""

    path: str = ""

    def __init__(self, reason: str, remedy: str = _NEW_FILE) -> None:
        super().__init__(f"{reason}: {remedy}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WholeTest:
    """Hold a test file as it will be; `before` is the repo's own file that a test is added to."""

    path: str
    content: str
    before: str | None = None

    @property
    def is_appended(self) -> bool:
        return self.before is not None


def whole_tests(
    files: Iterable[AcceptanceFile],
    read: Callable[[str], str | None],
    proposed: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[WholeTest]:
    """Yield the acceptance files of an order as they will be.

    `read` returns the text of a file as it is before the order, `None` if there is no such text; it
    is asked only for files that are added to. Where `proposed` has the file, the test is added to
    that text. Raises `CannotAppend`.
    """
    for each in files:
        if each.append is None:
            yield WholeTest(each.path, each.content)
            continue
        try:
            before = read(each.path)
            text = before if before is None else proposed.get(each.path, before)
            whole = append_test(each.path, text, each.append, each.table)
            if text != before and tests_in(each.path, text) != tests_in(each.path, before):
                raise CannotAppend("has other tests than before")
            yield WholeTest(each.path, whole, text)
        except CannotAppend as refused:
            refused.path = each.path
            raise


def append_test(path: str, text: str | None, code: str, table: str = "") -> str:
    """Return the text of the file at `path` with a test added. Raises `CannotAppend`.

    With a `table`, the code is cases of that test or variable.
    """
    if text is None:
        size = f"{MAX_SOURCE_BYTES:,}"
        raise CannotAppend(f"is no text of at most {size} bytes that is there before the order")
    if "\r" in text:
        raise CannotAppend("has CRLF line ends")
    place, language = _place(path, text), language_of(path)
    if table:
        grown, there, added = _with_cases(path, text, code, table)
        if not there.isdisjoint(added):
            raise CannotAppend(f"has a case in `{table}` already", "leave it out")
        return grown
    if language is None or language.edits is None:
        return _spliced(text, [_added(text, code, place)])
    clause = _PACKAGE.match(code)
    if clause and not re.search(rf"^{re.escape(clause[1])}\b", text, re.MULTILINE):
        raise CannotAppend(f"does not have the test's line `{clause[1]}`", "leave it out")
    imports, body = ("", code) if place.indent else split_imports(code)
    if taken := _taken(language.edits, text, body, place):
        raise CannotAppend(f"has `{taken}` already", "give the test another name")
    splices = [_added(text, body, place)]
    if imports.strip():
        splices += _hoisted(language.edits, path, text, imports)
    return _spliced(text, splices)


def tests_in(path: str, text: str | None) -> str:
    """Return what of a file of code belongs to its tests; "" for other files. As `append_test`."""
    return "" if text is None else _place(path, text).around


def tests_beside_code(order: WorkOrder) -> dict[str, str]:
    """Return the tests that are added to files of code which the order itself writes, by path.

    Only a file of code has no place for a test unless it has tests already.
    """
    writable = frozenset(order.allowed_files)
    found = {e.path: e.append for e in order.acceptance_files if e.append and e.path in writable}
    return {path: code for path, code in found.items() if _is_code(path)}


def files_of_tests(order: WorkOrder) -> frozenset[str]:
    """Return the acceptance files that the harness alone writes."""
    return frozenset(each.path for each in order.acceptance_files) - {*tests_beside_code(order)}


def _is_code(path: str) -> bool:
    try:
        _place(path, "")
    except CannotAppend:
        return True
    return False


def _place(path: str, text: str) -> PlaceForTests:
    language = language_of(path)
    if language is None or language.edits is None:
        return PlaceForTests(len(text))
    try:
        return language.edits.place_for_tests(path, text)
    except Refused as refused:
        raise CannotAppend(refused.reason) from None


def split_imports(code: str) -> tuple[str, str]:
    """Return the imports that begin a test, without comments on lines of their own, and the rest.

    A package clause is the file's.
    """
    clause = _PACKAGE.match(code)
    code = code[clause.end() :] if clause else code
    found = _IMPORTS.match(code)
    end = found.end() if found else 0
    return re.sub(rf"^{_COMMENT}", "", code[:end], flags=re.MULTILINE), code[end:]


def holds_test(path: str, text: str, code: str, table: str = "") -> bool:
    """Return whether a file holds a test but for its imports, at whatever depth, or its cases."""
    if table:
        with contextlib.suppress(CannotAppend):
            _, there, added = _with_cases(path, text, code, table)
            return added <= there
        return False
    wanted = [each.strip() for each in split_imports(code)[1].strip().split("\n")]
    lines = [each.strip() for each in text.split("\n")]
    return any(lines[at : at + len(wanted)] == wanted for at in range(len(lines)))


def _with_cases(
    path: str, text: str, code: str, name: str
) -> tuple[str, frozenset[str], frozenset[str]]:
    """Return a file whose table has cases more, the cases that it had, and those that it got.

    The rest of the file, and all cases that were there, stay as they are. Raises `CannotAppend`.
    """
    table = _table_of(path, text, name)
    for added in _forms_of_cases(text, table, code):
        grown = _spliced(text, added)
        with contextlib.suppress(CannotAppend):
            after = _table_of(path, grown, name)
            had = len(table.cases)
            kept = (after.start, after.cases[:had]) == (table.start, table.cases)
            if kept and len(after.cases) > had and grown[after.end :] == text[table.end :]:
                return grown, frozenset(table.cases), frozenset(after.cases[had:])
    raise CannotAppend(
        f"would not be as before with these cases at the end of `{name}`",
        "`append` holds whole cases alone, written as those that are there",
    )


def _table_of(path: str, text: str, name: str) -> CaseTable:
    language = language_of(path)
    tables = language.edits.find_tables(path, text) if language and language.edits else ()
    found = [each for each in tables if name in each.names]
    if len(found) != 1:
        raise CannotAppend(
            f"has {f'{len(found)} tables' if found else 'no table'} of cases for `{name}`",
            "`table` names the test, or the variable, of exactly one; or add a test instead",
        )
    return found[0]


def _forms_of_cases(text: str, table: CaseTable, code: str) -> Iterator[list[Splice]]:
    """Yield the ways to write cases below those of a table: with a comma of their own, without."""
    after = table.places[-1][1] if table.places else table.start
    rest = text[after : table.end]
    comma = "" if not table.places or rest.lstrip().startswith(",") else ","
    bare = code.strip().removesuffix(",").rstrip()
    line = text.rfind("\n", 0, table.end) + 1
    if text[line : table.end].strip() or line < table.start:  # the bracket follows a case
        gap = " " if table.places else ""
        yield [Splice(after, table.end, f"{comma}{rest.rstrip()}{gap}{bare}")]
        return
    first = table.places[0][0] if table.places else line
    indent = _indent_at(text, first) or f"{_indent_at(text, line)}    "
    if not _LONG_TEXT.search(code):  # else other white space would be another value
        bare = indent + textwrap.dedent(code.strip("\n")).strip().replace("\n", f"\n{indent}")
    bare = bare.removesuffix(",")
    for end in (",\n", "\n"):
        yield [Splice(after, after, comma), Splice(line, line, bare + end)]


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _taken(edits: Edits, text: str, code: str, place: PlaceForTests) -> str:
    """Return the first name that a test defines and the file has; "" if there is none."""
    if place.indent:
        there = {*edits.defined_names(text)}
        return next((each for each in edits.defined_names(code) if each in there), "")
    there = {each.name for each in edits.outline(text)}
    return next((each.name for each in edits.outline(code) if each.name in there), "")


def _hoisted(edits: Edits, path: str, text: str, imports: str) -> Sequence[Splice]:
    (made,) = edits.edit_definitions(path, text, [NamedCode(IMPORTS, imports)], ())
    if isinstance(made, DefinitionEdit):
        return made.splices
    if "changes nothing" in made.reason:
        return ()
    raise CannotAppend(f"cannot have the imports of the test, because {made.reason}")


def _added(text: str, code: str, place: PlaceForTests) -> Splice:
    """Return the splice that puts code on lines of its own, below blank lines."""
    before = text[: place.at]
    gap = "" if before.endswith("\n") or not before else "\n"
    if before.strip():
        there = len(before) - len(before.rstrip("\n")) - 1
        gap += "\n" * max(place.blanks - max(there, 0), 0)
    lines = code.strip("\n").split("\n")
    # A line that is a part of a string would be another value with other blanks.
    indent = "" if any(len(_QUOTE.findall(each)) % 2 for each in lines) else place.indent
    added = "".join(f"{indent if each.strip() else ''}{each}\n" for each in lines)
    return Splice(place.at, place.at, gap + added)


def _spliced(text: str, splices: Sequence[Splice]) -> str:
    for each in sorted(splices, key=lambda each: (each.start, each.end, -each.depth), reverse=True):
        text = text[: each.start] + each.text + text[each.end :]
    return text
