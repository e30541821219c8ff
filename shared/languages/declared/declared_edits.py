"""Brings named definitions into a file, and checks rewrites."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from shared.languages.capabilities import (
    ContractViolation,
    DefinitionEdit,
    EditRefused,
    NamedCode,
    OutlineEntry,
    PlaceForTests,
    Splice,
    Unwritten,
    check_shrinking,
)
from shared.languages.declared.declarations import (
    Declarations,
    Declared,
    cut,
    is_meant,
    normal_changes,
)
from shared.languages.planned_code import file_does_not_parse

_WRITE: Final = "Write the statements that do the work."
_MAX_NAMES: Final = 8
_COMMENTS: Final = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)

# Returns what is wrong with a body as a predicate, and whether nobody would mean it.
BodyProblem = Callable[[Declared, str], tuple[str, bool] | None]
# The name of a function, what is wrong with its body, and whether nobody would mean it.
EmptyFunction = tuple[str, str, bool]


def code_problem(read: Declarations) -> str:
    """Return why a file cannot be compiled; empty if its syntax is right."""
    fault = read.fault
    if fault is None:
        return ""
    where = f" in line {fault.line}, `{fault.excerpt}`" if fault.line else ""
    return f"{fault.message}{where}"


def find_unwritten(
    path: str, before: Iterable[EmptyFunction], after: Iterable[EmptyFunction]
) -> tuple[Unwritten, ...]:
    """Return the functions of the file `after` that have nothing in them, in their order."""
    earlier = {name for name, _, _ in before}
    return tuple(
        Unwritten(
            name=name,
            message=f"The function `{name}` in {path} {problem}. {_WRITE}",
            was_so=name in earlier,
            is_certain=is_certain,
        )
        for name, problem, is_certain in after
    )


def _unwritten(read: Declarations, problem_of: BodyProblem) -> Iterator[EmptyFunction]:
    if read.fault is not None:
        return
    for each in read.items:
        if each.kind == "function" and each.body is not None:
            found = problem_of(each, inner_text(read, each))
            if found is not None:
                yield each.name, *found


def inner_text(read: Declarations, item: Declared) -> str:
    """Return the text between a function's braces, without comments, on one line."""
    if item.body is None:
        return ""
    start, end = item.body
    return " ".join(_COMMENTS.sub("", read.text[start + 1 : end - 1]).split())


def offer(name: str, existing: Iterable[str], shown: Iterable[str] | None = None) -> str:
    """Return a sentence with the names that there are, the closest ones if any are close.

    Where none is close, those in `shown` are listed.
    """
    names = sorted(set(existing))
    close = difflib.get_close_matches(name, names, n=3)
    if close:
        return f"It has {', '.join(f'`{each}`' for each in close)}."
    listed = names if shown is None else sorted(set(shown))
    if not listed:
        return "It has no names."
    more = f" and {len(listed) - _MAX_NAMES} more" if len(listed) > _MAX_NAMES else ""
    return f"It has {', '.join(f'`{each}`' for each in listed[:_MAX_NAMES])}{more}."


IMPORTS: Final = "imports"
"""The name that a header has for imports, and for what else has no name."""
_EDITABLE: Final = ("function", "type", "value")
_RIVALS: Final = ("function", "value")
_CLASS: Final = re.compile(r"(?:export\s+(?:default\s+)?)?(?:abstract\s+)?class\b")
_LEFT_OUT: Final = re.compile(r"//[^\n]*(?:\.\.\.|existing|unchanged)", re.IGNORECASE)


class Refused(Exception):
    """Raised where an edit is impossible; `lines` are lines of the file, from 1."""

    def __init__(self, reason: str, *lines: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lines = lines


class Ways(Protocol):
    """Say how a language brings in what a file does not have yet."""

    def read(self, text: str) -> Declarations:
        """Return the declarations of a file or of a block of code."""

    def plain_name(self, written: str) -> str:
        """Return a name as declarations have it: `Game.play`. Raises `Refused` for any other."""

    def adding(self, file: Declarations, item: Declared, code: str) -> Splice:
        """Return the splice that adds a definition, with its code, to a file."""

    def importing(self, file: Declarations, block: Declarations) -> Iterator[Splice]:
        """Yield the splices that add the imports of a block to a file."""

    def lines_in_strings(self, code: str) -> frozenset[int]:
        """Return the lines of some code, from 0, that begin within a string."""


def outline(read: Declarations) -> tuple[OutlineEntry, ...]:
    """Return the definitions with their lines; none if the file does not parse."""
    if read.fault is not None:
        return ()
    starts = [at for at, character in enumerate(read.text) if character == "\n"]
    kept = [each for each in read.items if each.kind in ("function", "type")]
    lines = ([bisect_left(starts, at) + 1 for at in (e.start, e.end - 1)] for e in kept)
    return tuple(OutlineEntry(each.name, *place) for each, place in zip(kept, lines, strict=True))


def edit_definitions(
    ways: Ways,
    path: str,
    text: str,
    edits: Sequence[NamedCode],
    changes: Sequence[str],
    near: Near | None = None,
) -> tuple[DefinitionEdit | EditRefused, ...]:
    """Return for each edit how it changes the file at `path`, or why it cannot.

    A definition is replaced where it is. One that is not there is added where its block has it,
    else beside what the edits before and after it change, else where the language has it. All
    splices are for `text`. `near` are the names of the edits around a single one.
    """
    file = ways.read(text)
    if file.fault is not None:
        refused = EditRefused(f"{path} does not parse: {code_problem(file)}", (file.fault.line,))
        return tuple(refused for _ in edits)
    changed = normal_changes(changes)
    return tuple(
        _edit(ways, path, file, each, changed, near or names_near(edits, at))
        for at, each in enumerate(edits)
    )


# The names of the edits before and after one, the nearest of them last and first.
Near = tuple[Sequence[str], Sequence[str]]


def names_near(edits: Sequence[NamedCode], at: int) -> Near:
    """Return what the edits before and after the one at an index name."""
    names = [each.name for each in edits]
    return names[:at], names[at + 1 :]


def _edit(
    ways: Ways, path: str, file: Declarations, edit: NamedCode, changed: Collection[str], near: Near
) -> DefinitionEdit | EditRefused:
    try:
        return _Editing(ways, path, file, edit, changed, near).edit()
    except Refused as refused:
        return EditRefused(refused.reason, refused.lines)


@dataclass(slots=True)
class _Editing:
    ways: Ways
    path: str
    file: Declarations
    given: NamedCode
    changed: Collection[str]
    near: Near

    def edit(self) -> DefinitionEdit:
        """Return the edit that gives the named definition the code of the block."""
        name = self.ways.plain_name(self.given.name)
        block = self.ways.read(self.given.code)
        if block.fault is not None:
            raise Refused(f"the block does not parse: {code_problem(block)}")
        items = [self._owned(each, name) for each in block.items if _is_editable(each)]
        if not items and name != IMPORTS:
            raise Refused(
                "the block defines no function and no type; imports alone go under "
                f"{self.path}::{IMPORTS}"
            )
        repairs = [
            f"the block for `{name}` also holds `{each.name}`, which was put in"
            for each in items
            if each.last_name != name.rpartition(".")[2]
        ]
        if len(repairs) == len(items) and name != IMPORTS:
            repairs = []
            splices = [self._renamed(name, block, items, repairs)]
        else:
            splices = [self._put(block, each, items, repairs) for each in items]
        splices += self.ways.importing(self.file, block)
        if "\r\n" in self.file.text[: self.file.text.find("\n") + 1]:
            splices = [replace(e, text=re.sub(r"\r?\n", "\r\n", e.text)) for e in splices]
        kept = tuple(e for e in splices if self.file.text[e.start : e.end] != e.text)
        if not kept:
            raise Refused(f"the block changes nothing: `{name}` is in the file as it is given")
        return DefinitionEdit(kept, tuple(repairs))

    def _owned(self, item: Declared, name: str) -> Declared:
        """Return the item under its whole name, where only the header says whose it is."""
        owner, _, last = name.rpartition(".")
        if owner and not item.owner and item.kind == "function" and item.name == last:
            return replace(item, name=name)
        if not owner and not item.owner and not self.file.named(item.name):
            ending = [e for e in self.file.items if e.last_name == item.name and e.owner]
            is_method = re.search(r"\(\s*&?\s*(?:'\w+\s+)?(?:mut\s+)?self\b", item.opening)
            if is_method and len(ending) == 1:
                return replace(item, name=ending[0].name)
        return item

    def _renamed(
        self, name: str, block: Declarations, items: Sequence[Declared], repairs: list[str]
    ) -> Splice:
        """Replace a definition by the one that the block has instead, if the order says so."""
        old = self.file.named(name)
        if len(items) == 1 and len(old) == 1 and is_meant(name, self.path, self.changed):
            return self._replacing(block, items[0], old[0], repairs)
        listed = ", ".join(f"`{each.name}`" for each in items)
        raise Refused(f"the header names `{name}`, but the block defines {listed}")

    def _put(
        self, block: Declarations, item: Declared, items: Sequence[Declared], repairs: list[str]
    ) -> Splice:
        if item.body and not inner_text(block, item):
            start, end = item.body
            if _LEFT_OUT.search(block.text[start:end]):
                raise Refused(f"the body of `{item.name}` is left out: write it whole")
        old = self._there(item)
        if len(old) > 1:
            lines = [each.line for each in old]
            raise Refused(f"`{item.name}` is in the file {len(old)} times", *lines)
        if not old:
            return self._add(item, _whole(block, item), items, repairs)
        if self.file.is_shared(old[0]):
            reason = f"`{item.name}` is declared together with others: change it by a search text"
            raise Refused(reason, old[0].line)
        return self._replacing(block, item, old[0], repairs)

    def _there(self, item: Declared) -> list[Declared]:
        named = [e for e in self.file.named(item.name) if e.role ^ item.role != {"get", "set"}]
        old = [each for each in named if each.kind == item.kind]
        old = [each for each in old if each.role == item.role] or old
        if not old and _is_rival(item):  # `const add = ...` and a function `add` are no pair
            old = [each for each in named if _is_rival(each)]
        is_of_trait = " for " in item.around
        return [each for each in old if not is_of_trait or each.around == item.around]

    def _add(
        self, item: Declared, code: str, items: Sequence[Declared], repairs: list[str]
    ) -> Splice:
        """Return the splice that adds an item beside what is beside it in the reply."""
        at, (before, after) = items.index(item), self.near
        above = [*(self._there(e) for e in reversed(items[:at])), *map(self._named, before[::-1])]
        below = [*(self._there(e) for e in items[at + 1 :]), *map(self._named, after)]
        for found, is_above in (*((e, True) for e in above), *((e, False) for e in below)):
            place = found[-1 if is_above else 0] if found else None
            if place is None or place.owner != item.owner or place.kind == "module":
                continue
            if " for " in item.around + place.around and item.around != place.around:
                continue
            start = _comment_start(self.file.text, place.start)
            margin = self.file.text[_line_start(self.file.text, start) : start]
            if item.kind != "module" and not margin.strip() and not self.file.is_shared(place):
                code = code.strip("\n")
                new = indented(code, margin, self.ways.lines_in_strings(code))
                if is_above:
                    return Splice(place.end, place.end, f"\n\n{new}")
                return Splice(start, start, f"{new.lstrip()}\n\n{margin}")
        splice = self.ways.adding(self.file, item, code)
        if splice.start == len(self.file.text.rstrip()):
            repairs.append(f"`{item.name}` is new, and was put at the end of {self.path}")
        return splice

    def _named(self, written: str) -> Sequence[Declared]:
        try:
            return self.file.named(self.ways.plain_name(written))
        except Refused:
            return ()

    def _replacing(
        self, block: Declarations, item: Declared, old: Declared, repairs: list[str]
    ) -> Splice:
        code = _whole(block, item)
        if old.marked and not item.marked:
            marks = old.text[: old.marked].strip()
            repairs.append(f"`{cut(marks.split(chr(10))[0], 60)}` of `{old.name}` was kept")
            code = self._marked(code, block, item, old)
        start, end = old.start, old.end
        if old.signatures and not item.signatures and item.head == old.head:
            start += old.signatures
        elif code.lstrip().startswith(("//", "/*")):
            start = _comment_start(self.file.text, start)
        ending = old.ending or 0
        if not code.rstrip().endswith(";"):
            end -= ending if item.ending is not None or ending > 1 else 0
        elif ending > 1:  # it begins the next line
            code, end = code.rstrip().removesuffix(";"), end - ending
        indent = _margin(self.file.text, start)
        lines = self.ways.lines_in_strings(code)
        return Splice(start, end, indented(code, indent, lines).lstrip())

    def _marked(self, code: str, block: Declarations, item: Declared, old: Declared) -> str:
        """Return code with the attributes or decorators that the file has above it."""
        margin, at = _margin(block.text, item.start), len(code) - (item.end - item.start)
        marks, own = old.text[: old.marked], _margin(self.file.text, old.start)
        gap = f"\n{margin}" if "\n" in marks.strip(" \t") else " "
        return code[:at] + indented(own + marks.strip(), margin).lstrip() + gap + code[at:]


def _is_rival(item: Declared) -> bool:
    """Return whether no other value may have the name: a class is one, an interface is none."""
    is_class = item.kind == "type" and _CLASS.match(item.text[item.marked :])
    return item.kind in _RIVALS or bool(is_class)


def _is_editable(item: Declared) -> bool:
    return item.kind in _EDITABLE or (item.kind == "module" and item.text.endswith(";"))


def indented(code: str, indent: str, fixed: Collection[int] = ()) -> str:
    """Return code whose first line has this indentation, and the others as far from it as now.

    The lines of the numbers in `fixed`, from 0, stay as they are.
    """
    lines = [(each, at in fixed) for at, each in enumerate(code.split("\n"))]
    own = min((len(e) - len(e.lstrip()) for e, is_fixed in lines if e.strip() and not is_fixed),
              default=0)  # fmt: skip
    return "\n".join(
        each if is_fixed else indent + each[own:] if each.strip() else ""
        for each, is_fixed in lines
    )


def _whole(block: Declarations, item: Declared) -> str:
    """Return the code of an item with the comment above it, and its first line's indentation."""
    start = _line_start(block.text, _comment_start(block.text, item.start))
    # The text before the item on its line belongs to another item.
    if block.text[start : item.start].strip() and "\n" not in block.text[start : item.start]:
        start = item.start
    return block.text[start : item.end]


def _comment_start(text: str, start: int) -> int:
    """Return where the comment directly above a place begins; without one, the place."""
    first = _line_start(text, start)
    if text[first:start].strip():
        return start
    found = start
    while first > 0:
        above = _line_start(text, first - 1)
        line = text[above : first - 1].strip()
        if line.endswith("*/"):
            opened = text.rfind("/*", 0, first - 1)
            above = _line_start(text, max(opened, 0))
            is_alone = not text[above : max(opened, 0)].strip()
            if (
                not (is_alone and text.startswith("/**", opened))
                or "*/" in text[opened : first - 3]
            ):
                break
        elif not line.startswith("//") or line.startswith("//!"):
            break
        found, first = above + len(text[above:]) - len(text[above:].lstrip()), above
    return found


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _margin(text: str, at: int) -> str:
    """Return the indentation of the line of a place."""
    start = _line_start(text, at)
    return text[start : start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))]


# Says whether an order's changes, in normal form, mean the qualified name in the file at a path.
Meant = Callable[[str, str, Collection[str]], bool]


def check_rewrite(
    path: str,
    before: Declarations,
    after: Declarations,
    changes: Sequence[str],
    *,
    is_test: bool,
    meant: Meant = is_meant,
) -> tuple[ContractViolation, ...]:
    """Return a violation for each loss of the file at `path` that `changes` do not name.

    A loss is a public name of a file that is not a test, or more than half of the text of a file of
    at least twenty lines. Names that moved to another file and are imported from there are not
    lost, and their text does not count. Where `changes` name the file itself, nothing is lost.
    """
    changed = normal_changes(changes)
    if path in changed:
        return ()
    if before.fault is not None or after.fault is not None:
        return tuple(check_shrinking(path, before.text, after.text))
    imported = _passed_on(after)
    gone = {each.name for each in before.items if meant(each.name, path, changed)}
    lost = () if is_test else tuple(_lost(path, before, after, gone))
    rest = _without_text(before, imported | gone)
    return (*lost, *check_shrinking(path, rest, after.text))


_PRIVATE_USE: Final = re.compile(r"(?:#\[[^\n]*\]\s*+)*+use\b")


def _passed_on(read: Declarations) -> set[str]:
    """Return the names that others may still have from a file by its imports; not by a `use`."""
    return {each.name for each in read.imports if not _PRIVATE_USE.match(each.text)}


def _lost(
    path: str, before: Declarations, after: Declarations, gone: Collection[str]
) -> Iterator[ContractViolation]:
    imported = _passed_on(after)
    own = {each.name for each in after.items} - imported
    has = own | imported
    if "*" in has:
        return  # any name may come from there
    for item in dict.fromkeys(each.name for each in before.items if each.is_public):
        owner = item.rpartition(".")[0]
        # The methods of a type that is gone itself, or moved elsewhere, are not reported.
        if item not in has and item not in gone and (not owner or owner in own):
            yield ContractViolation(path, item, f"`{item}` is gone, and no interface says so")


def _without_text(read: Declarations, names: Collection[str]) -> str:
    """Return the text without the functions and types of these names."""
    kept, at = [], 0
    for each in sorted(read.items, key=lambda item: item.start):
        if each.kind in ("function", "type") and each.name in names and each.start >= at:
            kept.append(read.text[at : each.start])
            at = each.end
    return "".join((*kept, read.text[at:]))


@dataclass(frozen=True, slots=True)
class DeclaredEdits:
    """Implement `Edits`, and of `Notes` what needs no compiler.

    `definition` matches a definition that begins in a line, and `problem` says what is wrong with
    the body of a function.
    """

    ways: Ways
    definition: re.Pattern[str]
    is_test_file: Callable[[str], bool]
    problem: BodyProblem

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        return outline(self.ways.read(text))

    def place_for_tests(self, path: str, text: str) -> PlaceForTests:
        """Return the end of a file of tests."""
        if not self.is_test_file(path):
            raise Refused("is not a file of tests")
        return PlaceForTests(len(text))

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        return edit_definitions(self.ways, path, text, edits, changes)

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        return tuple(each["name"] for each in self.definition.finditer(fragment))

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        old, new = self.ways.read(before), self.ways.read(after)
        return check_rewrite(path, old, new, changes, is_test=self.is_test_file(path))

    def names_in(self, source: str) -> frozenset[str] | None:
        """Return the names of a file, members of types qualified; `None` if it does not parse."""
        read = self.ways.read(source)
        if read.fault is not None:
            return None
        members = {f"{each.name}.{name}" for each in read.items for name in each.members}
        return frozenset(each.name for each in read.items) | members

    def note_syntax(self, path: str, source: str) -> str:
        """Return a sentence that quotes the line that does not parse; empty if all does."""
        fault = self.ways.read(source).fault
        return file_does_not_parse(path, fault.line, fault.excerpt) if fault is not None else ""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return the functions of a file that have nothing in them; tests may be empty."""
        if self.is_test_file(path):
            return ()
        old, new = (_unwritten(self.ways.read(each), self.problem) for each in (before, after))
        return find_unwritten(path, old, new)
