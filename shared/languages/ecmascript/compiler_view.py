"""Finds the files that questions can reach, the names they lack, and kinds of types."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import name_of, split_outside, text_of
from shared.languages.ecmascript.declaration_stubs import DEFAULT, Stub
from shared.languages.ecmascript.ecmascript_syntax import (
    VARIABLES,
    declaration_path,
    find_fault,
    is_code,
    suffix_of,
    tree_of,
)
from shared.languages.ecmascript.imports import Kind, imports_of, resolve, star_exports
from shared.languages.ecmascript.typescript_compiler import CompilerQuestion, TscComplaint

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.languages.ecmascript.contract_history import History, Layer, Moment

_MAX_FILES: Final = 2_000
_MAX_BYTES: Final = 8_000_000
_HEAD: Final = r"(\b(?:class|interface)\s+{name}\b)(\s*<[^{{}}]*?>)?(?=\s*\{{)"


@dataclass(frozen=True, slots=True)
class View:
    """Hold the files for the compiler. `contracts` are the paths whose declarations are in force.

    `open` are files of which not every export is known, and `passing` those that pass on what such
    a file or a package exports. `aliases` has the file of each module that is named otherwise than
    by its path, and `unread` the sources that do not parse.
    """

    files: Mapping[str, str]
    contracts: Set[str]
    open: Set[str]
    passing: Set[str]
    aliases: Mapping[str, str]
    unread: Set[str]


class ViewBuilder:
    """Build the view of what texts can reach after the order at `position`."""

    def __init__(self, history: History, position: int) -> None:
        self._history = history
        self._position = position
        self._moment: Moment = history.at(position)
        self._files: dict[str, str] = {}
        self._contracts: set[str] = set()
        self._open: set[str] = set()
        self._unread: set[str] = set()
        self._aliases: dict[str, str] = {}
        self._waiting: list[str] = []
        self._seen: set[str] = set()

    def build(self, questions: Mapping[str, str]) -> View:
        """Return the view of the texts in `questions`, which are given by path."""
        for path, text in questions.items():
            self._seen.add(path)
            self._files[path] = text
            self._follow(path, text)
        room = _MAX_BYTES
        while self._waiting and len(self._files) < _MAX_FILES and room > 0:
            path = self._waiting.pop()
            for name, text in self._versions(path):
                self._files[name] = text
                room -= len(text)
                if is_code(name):
                    self._follow(path, text)
        passing = frozenset(self._passing())
        return View(self._files, self._contracts, self._open, passing, self._aliases, self._unread)

    def _passing(self) -> Iterator[str]:
        """Yield the files that pass on exports of which not all are known, also indirectly."""
        passed: dict[str, list[str]] = {}
        for path in self._seen:
            layers = self._history.layers(path, self._position)
            source = self._files.get(path) or self._history.chain.sources.get(path)
            for text in (source, *(each.stub.text for each in layers)):
                passes_on = text and is_code(path) and _STAR_EXPORT.search(text)
                root = tree_of(path, text) if text and passes_on else None
                for each in star_exports(root) if root is not None else ():
                    target = resolve(self._moment, path, each)
                    known = target.kind is Kind.FILE and target.name in self._seen
                    passed.setdefault(target.name if known else "", []).append(path)
        unknown = {each for each in self._seen if each in self._unread or self._is_hidden(each)}
        waiting = ["", *self._open, *unknown]
        found: set[str] = set()
        while waiting:
            for path in passed.get(waiting.pop(), ()):
                if path not in found:
                    found.add(path)
                    waiting.append(path)
        yield from found

    def _is_hidden(self, path: str) -> bool:
        return path not in self._files and path not in self._contracts

    def _follow(self, path: str, text: str) -> None:
        root = tree_of(path, text)
        for each in imports_of(root) if root is not None else ():
            target = resolve(self._moment, path, each.specifier)
            if target.kind is not Kind.FILE:
                continue
            if not each.specifier.startswith("."):
                self._aliases[each.specifier] = target.name
            if target.name not in self._seen:
                self._seen.add(target.name)
                self._waiting.append(target.name)

    def _versions(self, path: str) -> Iterable[tuple[str, str]]:
        """Return the files that stand for one: its source, its contracts, or nothing."""
        layers = self._history.layers(path, self._position)
        if self._history.is_open(path, self._position):
            self._open.add(path)
        source = self._history.chain.sources.get(path)
        if not layers:
            text = self._moment.text(path)
            is_shown = text is not None and self._can_be_read(path, text)
            return ((path, text),) if text is not None and is_shown else ()
        if source is not None and not self._can_be_read(path, source):
            self._open.add(path)
            source = None
        elif source is None and path in self._history.chain.listing:
            self._open.add(path)
        self._contracts.add(path)
        return tuple(layered(path, source, layers))

    def _can_be_read(self, path: str, text: str) -> bool:
        if path.endswith(".json"):
            return len(text) < _MAX_BYTES
        root = tree_of(path, text) if is_code(path) else None
        if root is None or find_fault(root) is not None:
            self._unread.add(path)
            return False
        return True


def layered(path: str, source: str | None, layers: Sequence[Layer]) -> Iterable[tuple[str, str]]:
    """Yield the files for a source and the stubs over it, each of which passes on the one below.

    A name that a stub declares hides the same name below, as ES modules have it.
    """
    declared = declaration_path(path)
    stem = re.sub(r"\.d\.[mc]?ts$", "", declared)
    below: str | None = None
    known = _top_names(path, source) if source is not None else set()
    if source is not None:
        suffix = suffix_of(path).replace(".m", ".").replace(".c", ".")
        below = f"{stem}.llmch0"
        yield f"{below}{suffix}", source
    for number, layer in enumerate(layers, 1):
        is_last = number == len(layers)
        name = declared if is_last else f"{stem}.llmch{number}.d.ts"
        yield name, _over(layer.stub, below, known)
        known |= {each for each in layer.stub.declared if "." not in each}
        below = f"{stem}.llmch{number}"


def _top_names(path: str, source: str) -> set[str]:
    root = tree_of(path, source)
    nodes = root.named_children if root is not None else []
    inner = (each.child_by_field_name("declaration") or each for each in nodes)
    return {name for each in inner for name in _declared_names(each) if name.isidentifier()}


def _over(stub: Stub, below: str | None, known: Collection[str]) -> str:
    """Return the text of a stub that passes on everything else of the file `below` it."""
    text = stub.text if stub.exports else exported(stub)
    if below is None:
        return text
    file = f"./{posixpath.basename(below)}"
    lines = [f'export * from "{file}";']
    if DEFAULT not in stub.declared:
        lines.append(f'export {{ default }} from "{file}";')
    own = {each for each in stub.declared if "." not in each} | stub.imported
    lines += [f'import {{ {each} }} from "{file}";' for each in sorted(set(known) - own)]
    for name, has_heritage in stub.classes.items():
        base = f"__llmch_{name}"
        shape = re.compile(_HEAD.format(name=re.escape(name)))
        if has_heritage or name not in known:
            continue
        text, count = shape.subn(rf"\1\2 extends {base}\2", text, count=1)
        if count:
            lines.append(f'import {{ {name} as {base} }} from "{file}";')
    return "\n".join([text, *lines]) + "\n"


def exported(stub: Stub) -> str:
    """Return a stub that exports nothing with `export` before each declaration."""
    lines = stub.text.splitlines()
    first = {each.line for name, each in stub.declared.items() if "." not in name}
    for number in first:
        if number <= len(lines) and not lines[number - 1].lstrip().startswith("import"):
            lines[number - 1] = re.sub(
                r"^\s*(?=(?:declare|abstract|async|function|class|const|let|var|interface|type|enum|"
                r"namespace)\b)",
                "export ",
                lines[number - 1],
            )
    return "\n".join(lines) + "\n"


_STAR_EXPORT: Final = re.compile(r"\bexport\s+(?:type\s+)?\*")
_UNDEFINED = re.compile(r"Cannot find (?:name|namespace) '([^']+)'")
# Names that packages of types declare for all code.
_OF_TYPE_PACKAGES: Final = frozenset(
    {"Bun", "Chai", "Cypress", "Deno", "Electron", "Express", "JSX", "Mocha", "React", "chrome",
     "google", "jest", "vi"}
)  # fmt: skip
_UNDEFINED_CODES: Final = frozenset({2304, 2552, 2503})
_NAMED_TYPE = re.compile(r"\b[A-Z]\w*")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class StubInquiry:
    """Hold the stubs of an order as the compiler is asked about them.

    `indexes` has the index of each stub by the path under which it is asked about, and `known` the
    names that its file has besides.
    """

    asked: CompilerQuestion
    indexes: Mapping[str, int]
    known: Mapping[str, frozenset[str]]


def inquire_stubs(history: History, position: int, stubs: Mapping[int, Stub]) -> StubInquiry:
    """Return the inquiry about stubs by index; it has no target where none can lack a name."""
    texts: dict[str, str] = {}
    indexes: dict[str, int] = {}
    if any(map(_may_be_undefined, stubs.values())):
        for index, stub in stubs.items():
            path = f"{stub.path.removesuffix(suffix_of(stub.path))}.llmch-stub{index}.ts"
            texts[path] = stub.text
            indexes[path] = index
    view = ViewBuilder(history, position).build(texts)
    known = {p: _known_names(history, stubs[i].path, position) for p, i in indexes.items()}
    return StubInquiry(
        CompilerQuestion(view.files, tuple(sorted(texts)), view.aliases), indexes, known
    )


def undefined_names(
    inquiry: StubInquiry, complaints: Iterable[TscComplaint]
) -> Iterator[tuple[int, str, int]]:
    """Yield the names that stubs use and do not have: index of the stub, name and line."""
    reported: set[tuple[str, str]] = set()
    for each in complaints:
        found = _UNDEFINED.search(each.message) if each.code in _UNDEFINED_CODES else None
        if found is None or found[1] in inquiry.known[each.path] | _OF_TYPE_PACKAGES:
            continue
        if (each.path, found[1]) not in reported:
            reported.add((each.path, found[1]))
            yield inquiry.indexes[each.path], found[1], each.line


def _may_be_undefined(stub: Stub) -> bool:
    """Say whether a stub mentions any type besides those that need no definition."""
    return bool(set(_NAMED_TYPE.findall(stub.text)) - stub.imported - stub.declared.keys())


def _known_names(history: History, path: str, position: int) -> frozenset[str]:
    """Return the names that a file has besides those of one stub."""
    layers = history.layers(path, position)
    names = {name for each in layers for name in (*each.stub.declared, *each.stub.imported)}
    source = history.chain.sources.get(path, "")
    return frozenset(names) | frozenset(_WORD.findall(source))


_MAX_TYPE: Final = 400  # characters of a type that is looked at
_LITERALS: Final = (
    (re.compile(r'"(?:[^"\\]|\\.)*"|`.*`', re.DOTALL), "string"),
    (re.compile(r"-?\d[\d_.e+]*"), "number"),
    (re.compile(r"-?\d+n"), "bigint"),
)
_PLAIN: Final = {
    "string": "string", "number": "number", "boolean": "boolean", "true": "boolean",
    "false": "boolean", "bigint": "bigint", "symbol": "symbol", "void": "nothing",
    "undefined": "nothing", "null": "nothing",
}  # fmt: skip
# Named types whose values are never a primitive, and never each other.
_OBJECTS: Final = {
    "Date": "object:Date", "RegExp": "object:RegExp", "Map": "object:Map", "Set": "object:Set",
    "Promise": "object:Promise", "Error": "object:Error",
}  # fmt: skip
_ARRAYS = re.compile(r"(?:readonly )?\[.*\]|.*\[\]|(?:Readonly)?Array<.*>", re.DOTALL)
_FUNCTION = re.compile(r"(?:new |abstract new )?(?:<.*>)?\(.*\) => .*|Function", re.DOTALL)
_GENERIC = re.compile(r"([A-Za-z_$][\w$]*)<.*>", re.DOTALL)
_PRIMITIVES: Final = frozenset({"string", "number", "boolean", "bigint", "symbol"})


def kinds_of(text: str, objects: frozenset[str] = frozenset()) -> frozenset[str] | None:
    """Return the kinds of values that a type has; `None` if they are not known.

    `objects` are names of types whose values are objects: classes and interfaces of the project.
    """
    found = {_kind(part.strip(), objects) for part in _union(text)}
    return None if None in found else frozenset(each for each in found if each)


def _union(text: str) -> list[str]:
    """Return the members of a union; the whole text where it is none, or too long."""
    return [""] if len(text) > _MAX_TYPE else split_outside(text, "|", "([{<", ")]}>", "\"'`")


def _kind(text: str, objects: frozenset[str]) -> str | None:
    if text.startswith("(") and text.endswith(")") and "=>" not in text:
        return None
    if text in _PLAIN:
        return _PLAIN[text]
    for shape, kind in _LITERALS:
        if shape.fullmatch(text):
            return kind
    if _FUNCTION.fullmatch(text):
        return "function"
    if _ARRAYS.fullmatch(text):
        return "array"
    named = _GENERIC.fullmatch(text)
    head = named[1] if named else text
    if head in _OBJECTS:
        return _OBJECTS[head]
    if head in objects or (text.startswith("{") and text.endswith("}")):
        return "object"
    return None


def surely_differ(actual: str, expected: str, objects: frozenset[str] = frozenset()) -> bool:
    """Return whether no value of the one type is a value of the other, whatever runs.

    Values that are nothing (`undefined`, `null`) are left out of account. A plain object may fit an
    interface, so that two objects never surely differ.
    """
    given, wanted = kinds_of(actual, objects), kinds_of(expected, objects)
    if given is None or wanted is None:
        return False
    given, wanted = given - {"nothing"}, wanted - {"nothing"}
    if not given or not wanted or given & wanted:
        return False
    if given <= _PRIMITIVES or wanted <= _PRIMITIVES:
        # An object type without members fits a primitive, too.
        return "{}" not in (actual.strip(), expected.strip())
    return "object" not in given | wanted


def may_fit(actual: str, expected: str) -> bool:
    """Return whether one member of a union of types fits, so that the value may well do."""
    given, wanted = kinds_of(actual), kinds_of(expected)
    return given is not None and wanted is not None and len(given) > 1 and bool(given & wanted)


def is_literal_misfit(actual: str, expected: str) -> bool:
    """Return whether a literal is given where a union of other literals is wanted."""
    given, wanted = ({each.strip() for each in _union(of)} for of in (actual, expected))
    are_literals = all(any(shape.fullmatch(e) for shape, _ in _LITERALS) for e in given | wanted)
    return are_literals and not given & wanted


def is_known_value(text: str) -> bool:
    """Return whether the members of a type are those that the language gives it."""
    kinds = kinds_of(text)
    return kinds is not None and len(kinds) == 1 and "object" not in kinds


def _declared_names(node: Node) -> Iterator[str]:
    """Yield the names that a top-level declaration gives."""
    if node.type in VARIABLES:
        for each in node.named_children:
            if each.type == "variable_declarator":
                yield name_of(each)
    elif node.type.endswith("_declaration") and (name := node.child_by_field_name("name")):
        yield text_of(name)
