"""Reads what a file imports, and finds the file that an import means."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Final

from shared.files.strict_documents import Table, table
from shared.languages.declared.declarations import name_of, text_of, walk
from shared.languages.ecmascript.ecmascript_syntax import (
    ENDINGS,
    MANIFEST,
    PackageManifest,
    Tree,
    is_builtin,
    nearest_manifest,
    package_of,
    read_manifest,
    read_table,
    string_value,
    suffix_of,
    text_at,
    texts_in,
)

if TYPE_CHECKING:
    from tree_sitter import Node


_MOCKS: Final = frozenset({"mock", "doMock", "unmock", "requireActual", "importActual"})
_MOCKERS: Final = frozenset({"jest", "vi"})
_EXPECTS_FAILURE: Final = frozenset({"throws", "rejects", "toThrow", "toThrowError"})
_MAX_DEPTH: Final = 40  # of nodes above an import that may guard it


@dataclass(frozen=True, slots=True)
class ModuleImport:
    """Represent one import of a module.

    `names` are the names that are taken from it, as the module calls them; `default` where its
    default export is. `line` counts from 1. `is_erased` says that only types are imported, and
    `is_guarded` that the code copes with a failure. A package that `mock` names need not exist.
    """

    specifier: str
    line: int
    names: tuple[str, ...] = ()
    is_erased: bool = False
    is_guarded: bool = False
    is_mocked: bool = False


def imports_of(root: Node) -> Iterator[ModuleImport]:
    """Yield the imports of a module whose specifiers are plain strings."""
    for node in walk(root):
        match node.type:
            case "import_statement" | "export_statement":
                yield from _statement(node)
            case "call_expression":
                yield from _call(node)
            case _:
                pass


def _statement(node: Node) -> Iterator[ModuleImport]:
    source = node.child_by_field_name("source")
    if source is None:  # `import a = require("a")`
        clause = next((e for e in node.named_children if e.type == "import_require_clause"), None)
        source = clause.child_by_field_name("source") if clause else None
    specifier = string_value(source)
    if specifier is None:
        return
    names = tuple(_taken_names(node))
    is_erased = any(each.type == "type" for each in node.children)
    yield ModuleImport(specifier, node.start_point.row + 1, names, is_erased)


def star_exports(root: Node) -> Iterator[str]:
    """Yield the specifiers of `export * from`, which pass on whatever another module exports."""
    for node in root.named_children:
        if node.type == "export_statement" and any(each.type == "*" for each in node.children):
            yield string_value(node.child_by_field_name("source")) or ""


def import_forms(statement: Node) -> Iterator[tuple[str, str]]:
    """Yield the local name of each import, with its text between `import` and `from`."""
    for clause in statement.named_children:
        for each in clause.named_children if clause.type == "import_clause" else ():
            if each.type == "identifier":
                yield text_of(each), text_of(each)
            elif each.type == "namespace_import":
                yield text_of(each).rpartition(" ")[2], text_of(each)
            for part in each.named_children if each.type == "named_imports" else ():
                if part.type == "import_specifier":
                    name = part.child_by_field_name("alias") or part.child_by_field_name("name")
                    yield text_of(name), f"{{ {text_of(part)} }}"


def local_names(statement: Node) -> Iterator[str]:
    """Yield the names that an import binds in its own file."""
    return (name for name, _ in import_forms(statement))


def _taken_names(node: Node) -> Iterator[str]:
    for each in walk(node):
        if each.type in {"import_specifier", "export_specifier"}:
            name = name_of(each)
            if name and not any(child.type == "type" for child in each.children):
                yield name.strip("\"'")
        elif each.type == "import_clause" and any(
            first.type == "identifier" for first in each.named_children[:1]
        ):
            yield "default"


def _call(node: Node) -> Iterator[ModuleImport]:
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    first = arguments.named_children[0] if arguments and arguments.named_children else None
    specifier = string_value(first)
    if function is None or specifier is None:
        return
    line = node.start_point.row + 1
    called = text_of(function)
    if called in {"import", "require", "require.resolve"}:
        names = tuple(_destructured(node))
        yield ModuleImport(specifier, line, names, is_guarded=_is_guarded(node))
    owner, _, member = called.partition(".")
    if owner in _MOCKERS and member in _MOCKS:
        yield ModuleImport(specifier, line, is_mocked=True)


def _destructured(node: Node) -> Iterator[str]:
    """Yield the names that `const { a, b: c } = require(...)` takes."""
    value = node
    if value.parent is not None and value.parent.type == "await_expression":
        value = value.parent
    holder = value.parent
    if holder is None or holder.type != "variable_declarator":
        return
    pattern = holder.child_by_field_name("name")
    for each in pattern.named_children if pattern and pattern.type == "object_pattern" else ():
        if each.type == "shorthand_property_identifier_pattern":
            yield text_of(each)
        elif each.type == "pair_pattern":
            yield text_of(each.child_by_field_name("key")).strip("\"'")
        elif each.type == "object_assignment_pattern":
            yield text_of(each.child_by_field_name("left"))


def _is_guarded(node: Node) -> bool:
    """Say whether the import depends on a condition, or may fail as expected."""
    above = node.parent
    for _ in range(_MAX_DEPTH):
        if above is None:
            return False
        if above.type in {"try_statement", "if_statement", "ternary_expression"}:
            return True
        if above.type == "call_expression":
            called = text_of(above.child_by_field_name("function")).rpartition(".")[2]
            if called in _EXPECTS_FAILURE or called == "catch":
                return True
        above = above.parent
    return False


CONFIGS: Final = ("tsconfig.json", "jsconfig.json")
_MAX_EXTENDS: Final = 5


@dataclass(frozen=True, slots=True)
class Aliases:
    """Hold patterns such as `@/*` with the paths that they stand for, and the base folder.

    `base` is `None` if modules are not looked up from a folder. `is_whole` is false where a
    configuration that others extend cannot be read, so that there may be more patterns.
    """

    patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    base: str | None = None
    is_whole: bool = True

    def targets(self, specifier: str) -> tuple[str, ...]:
        """Return the paths that the best pattern gives for a specifier; none without a pattern."""
        best: tuple[int, tuple[str, ...]] = (-1, ())
        for pattern, paths in self.patterns:
            head, star, tail = pattern.partition("*")
            if not star:
                if pattern == specifier:
                    return paths
            elif specifier.startswith(head) and specifier.endswith(tail) and len(head) > best[0]:
                part = specifier[len(head) : len(specifier) - len(tail)]
                best = len(head), tuple(each.replace("*", part, 1) for each in paths)
        return best[1]


def read_aliases(tree: Tree, importer: str) -> Aliases:
    """Return the aliases that count for a file, from the nearest configuration above it."""
    folder = posixpath.dirname(importer)
    while True:
        for name in CONFIGS:
            path = posixpath.join(folder, name)
            if tree.has_file(path):
                return _read(tree, path)
        if not folder:
            return Aliases()
        folder = posixpath.dirname(folder)


def _read(tree: Tree, path: str) -> Aliases:
    for folder, options, is_known in _chain(tree, path):
        paths, base = options.get("paths"), text_at(options, "baseUrl")
        if not is_known:
            return Aliases(is_whole=False)
        if not isinstance(paths, dict) and not base:
            continue
        root = posixpath.normpath(posixpath.join(folder, base or "."))
        patterns = tuple(
            (pattern, tuple(posixpath.normpath(posixpath.join(root, t)) for t in texts_in(targets)))
            for pattern, targets in (paths.items() if isinstance(paths, dict) else ())
        )
        return Aliases(patterns, root if base else None)
    return Aliases()


def _chain(tree: Tree, path: str) -> Iterator[tuple[str, Table, bool]]:
    """Yield the options of a configuration and of those that it extends, with their folders."""
    for _ in range(_MAX_EXTENDS):
        said = read_table(tree.text(path))
        if said is None:
            yield "", {}, False
            return
        folder = posixpath.dirname(path)
        yield folder, table(said, "compilerOptions"), True
        extended = texts_in(said.get("extends"))
        if not extended or not extended[0].startswith("."):
            return  # one of a package has no paths of this project
        path = posixpath.normpath(posixpath.join(folder, extended[0]))
        if not path.endswith(".json"):
            path += ".json"


# A compiler reads `./a.js` as the source that becomes that file.
_SOURCES_OF: Final = {
    ".js": (".ts", ".tsx", ".d.ts", ".jsx"),
    ".jsx": (".tsx", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
_MADE: Final = frozenset({"dist", "build", "lib", "out", "node_modules", "generated", "coverage"})
# The suffixes of files that bundlers read beside code, and often make.
_ASSETS: Final = frozenset(
    {".css", ".scss", ".sass", ".less", ".svg", ".png", ".jpg", ".gif", ".webp", ".woff", ".wasm",
     ".node", ".vue", ".svelte", ".astro", ".graphql", ".gql", ".md", ".mdx", ".txt", ".html"}
)  # fmt: skip
_MAX_CONDITIONS: Final = 8  # of conditions within each other, in `exports`


class Kind(StrEnum):
    """Say what an import means."""

    FILE = "file"
    MISSING = "missing"  # a file of the project that is not there
    PACKAGE = "package"
    BUILTIN = "builtin"
    UNKNOWN = "unknown"  # made by a tool, or named where we cannot see it


@dataclass(frozen=True, slots=True)
class Target:
    """Hold what an import means: `name` is the path of a file, or the name of a package."""

    kind: Kind
    name: str = ""


_UNKNOWN: Final = Target(Kind.UNKNOWN)


def resolve(tree: Tree, importer: str, specifier: str) -> Target:
    """Return what `specifier` means in the file `importer`. The file need not exist."""
    specifier = specifier.partition("?")[0]
    if is_builtin(specifier):
        return Target(Kind.BUILTIN, specifier)
    if specifier.startswith(("./", "../")) or specifier in {".", ".."}:
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(importer), specifier))
        return _file_or_missing(tree, joined, must_be_folder=specifier.endswith(("/", ".")))
    if not specifier or specifier.startswith("/"):
        return _UNKNOWN
    if specifier.startswith("#"):
        return _of_imports(tree, importer, specifier)
    return _aliased(tree, importer, specifier) or _packaged(tree, importer, specifier)


def _file_or_missing(tree: Tree, path: str, *, must_be_folder: bool = False) -> Target:
    if path.startswith(".."):
        return _UNKNOWN
    if found := find_module(tree, path, is_folder=must_be_folder):
        return Target(Kind.FILE, found)
    if _entries(tree, path):
        return _UNKNOWN  # a build makes what the manifest names
    # A tool may put a file into a folder without sources.
    folder = posixpath.dirname(path)
    is_made = bool(_MADE.intersection(folder.split("/"))) and not tree.has_folder(folder)
    is_unsure = is_made or suffix_of(path) in _ASSETS
    return _UNKNOWN if is_unsure else Target(Kind.MISSING, path)


def find_module(tree: Tree, path: str, *, is_folder: bool = False) -> str:
    """Return the file that a path means: itself, with an ending, or a folder's index; else ""."""
    candidates = [*_as_file(path)] if not is_folder else []
    for entry in (*_entries(tree, path), path):
        if entry != path:
            candidates += _as_file(entry)
        candidates += (posixpath.normpath(posixpath.join(entry, f"index{e}")) for e in ENDINGS)
    return next((each for each in candidates if tree.has_file(each)), "")


def _entries(tree: Tree, folder: str) -> Sequence[str]:
    """Return the paths that the manifest of a folder names as its `main`."""
    path = posixpath.normpath(f"{folder}/{MANIFEST}") if folder else MANIFEST
    manifest = read_manifest(path, tree.text(path))
    named = texts_in(manifest.table.get("main")) if manifest is not None else ()
    return [posixpath.normpath(posixpath.join(folder, each)) for each in named]


def _as_file(path: str) -> Iterator[str]:
    yield path
    suffix = suffix_of(path)
    if suffix in _SOURCES_OF:
        for each in _SOURCES_OF[suffix]:
            yield path.removesuffix(suffix) + each
    for ending in ENDINGS:
        yield path + ending


def _of_imports(tree: Tree, importer: str, specifier: str) -> Target:
    manifest = nearest_manifest(tree, importer)
    entries = manifest.table.get("imports") if manifest else None
    if manifest is None or not isinstance(entries, dict):
        return _UNKNOWN
    return _mapped(tree, manifest, entries, specifier)


def _mapped(tree: Tree, manifest: PackageManifest, entries: Table, wanted: str) -> Target:
    """Return the file that an entry of `exports` or `imports` gives for `wanted`."""
    for pattern, value in sorted(entries.items(), key=lambda each: -len(each[0])):
        head, star, tail = pattern.partition("*")
        if pattern != wanted and not (star and wanted.startswith(head) and wanted.endswith(tail)):
            continue
        part = wanted[len(head) : len(wanted) - len(tail)] if star else ""
        for target in _conditional(value, _MAX_CONDITIONS):
            path = posixpath.normpath(manifest.folder + target.replace("*", part))
            if found := find_module(tree, path):
                return Target(Kind.FILE, found)
    return _UNKNOWN


def _conditional(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _conditional(each, depth - 1)


def _aliased(tree: Tree, importer: str, specifier: str) -> Target | None:
    aliases = read_aliases(tree, importer)
    targets = aliases.targets(specifier)
    for each in targets:
        if found := find_module(tree, each):
            return Target(Kind.FILE, found)
    base = aliases.base
    if base is not None and (found := find_module(tree, posixpath.normpath(f"{base}/{specifier}"))):
        return Target(Kind.FILE, found)
    if targets and not package_of(specifier):
        return _file_or_missing(tree, targets[0])
    return _UNKNOWN if targets or not aliases.is_whole else None


def _packaged(tree: Tree, importer: str, specifier: str) -> Target:
    package = package_of(specifier)
    if not package:
        return _UNKNOWN  # an alias that another tool's configuration declares
    for manifest in _own_manifests(tree, importer):
        if manifest.name == package:
            return _own_package(tree, manifest, specifier.removeprefix(package))
    return Target(Kind.PACKAGE, package)


def _own_manifests(tree: Tree, importer: str) -> Iterator[PackageManifest]:
    paths = (each for each in tree.paths if each == MANIFEST or each.endswith(f"/{MANIFEST}"))
    others = (read_manifest(each, tree.text(each)) for each in paths)
    yield from filter(None, chain([nearest_manifest(tree, importer)], others))


def _own_package(tree: Tree, manifest: PackageManifest, subpath: str) -> Target:
    exports = manifest.table.get("exports")
    if exports is not None:
        is_map = isinstance(exports, dict) and any(key.startswith(".") for key in exports)
        entries: Table = exports if is_map and isinstance(exports, dict) else {".": exports}
        return _mapped(tree, manifest, entries, f".{subpath}")
    found = find_module(tree, posixpath.normpath(f"{manifest.folder}.{subpath}"))
    return Target(Kind.FILE, found) if found else _UNKNOWN
