"""Lays out the files that questions can reach, with contracts in the place of what is not there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shared.languages.ecmascript.contracts.history import History, Layer, Moment
from shared.languages.ecmascript.contracts.stub import DEFAULT, Stub
from shared.languages.ecmascript.declarations import declared_names
from shared.languages.ecmascript.files import declaration_path, is_code, suffix_of
from shared.languages.ecmascript.imports import imports_of
from shared.languages.ecmascript.resolution import Kind, resolve
from shared.languages.ecmascript.syntax import find_fault, tree_of

_MAX_FILES: Final = 2_000
_MAX_BYTES: Final = 8_000_000
_HEAD: Final = r"(\b(?:class|interface)\s+{name}\b)(\s*<[^{{}}]*?>)?(?=\s*\{{)"


@dataclass(frozen=True, slots=True)
class View:
    """Hold the files for the compiler. `contracts` are the paths whose declarations are in force.

    `open` are files of which not every export is known. `aliases` has the file of each module that
    is named otherwise than by its path, and `unread` the sources that do not parse.
    """

    files: Mapping[str, str]
    contracts: frozenset[str]
    open: frozenset[str]
    aliases: Mapping[str, str]
    unread: frozenset[str]


def build_view(history: History, position: int, questions: Mapping[str, str]) -> View:
    """Return what the texts in `questions` can reach after the order at `position`."""
    return _Builder(history, position).build(questions)


class _Builder:
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
        return View(
            self._files,
            frozenset(self._contracts),
            frozenset(self._open),
            self._aliases,
            frozenset(self._unread),
        )

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
        source = self._history.sources.get(path)
        if not layers:
            text = self._moment.text(path)
            if text is None:
                return ()
            return ((path, text),) if self._can_be_read(path, text) else ()
        if source is not None and not self._can_be_read(path, source):
            self._open.add(path)
            source = None
        elif source is None and path in self._history.listing:
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
    ending = re.search(r"\.d\.[mc]?ts$", declared)
    stem = declared[: ending.start()] if ending else declared
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
    """Return the names that a source declares outside functions."""
    root = tree_of(path, source)
    nodes = root.named_children if root is not None else []
    inner = (each.child_by_field_name("declaration") or each for each in nodes)
    return {name for each in inner for name in declared_names(each) if name.isidentifier()}


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
