"""Finds the file that an import means, among the files of a repository."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.languages.ecmascript.aliases import read_aliases
from shared.languages.ecmascript.builtin_modules import is_builtin
from shared.languages.ecmascript.files import ENDINGS, SUFFIXES, suffix_of
from shared.languages.ecmascript.json_text import Table, texts_in
from shared.languages.ecmascript.packages import (
    MANIFEST,
    Manifest,
    Tree,
    nearest_manifest,
    package_of,
    read_manifest,
)

# A compiler reads `./a.js` as the source that becomes that file.
_SOURCES_OF: Final = {
    ".js": (".ts", ".tsx", ".d.ts", ".jsx"),
    ".jsx": (".tsx", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
_MADE: Final = frozenset({"dist", "build", "lib", "out", "node_modules", "generated", "coverage"})
# What bundlers read beside code, and often make.
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
    if found := find_module(tree, "" if path == "." else path, is_folder=must_be_folder):
        return Target(Kind.FILE, found)
    suffix = suffix_of(path)
    is_asset = suffix and suffix not in (*SUFFIXES, ".json") and suffix.isalpha()
    if _may_be_made(tree, path) or (is_asset and suffix in _ASSETS):
        return _UNKNOWN
    return Target(Kind.MISSING, path)


def _may_be_made(tree: Tree, path: str) -> bool:
    """Say whether a tool may put the file where it is missing: into a folder without sources."""
    folder = posixpath.dirname(path)
    return bool(_MADE.intersection(folder.split("/"))) and not tree.has_folder(folder)


def find_module(tree: Tree, path: str, *, is_folder: bool = False) -> str:
    """Return the file that a path means: itself, with an ending, or a folder's index; else ""."""
    if not is_folder:
        for each in _as_file(path):
            if tree.has_file(each):
                return each
    folder = f"{path}/" if path else ""
    manifest = read_manifest(f"{folder}{MANIFEST}", tree.text(f"{folder}{MANIFEST}"))
    if manifest is not None and folder:
        for each in texts_in(manifest.table.get("main")):
            entry = posixpath.normpath(posixpath.join(folder, each))
            for candidate in (*_as_file(entry), *(f"{entry}/index{e}" for e in ENDINGS)):
                if tree.has_file(candidate):
                    return candidate
    index = (f"{folder}index{ending}" for ending in ENDINGS)
    return next((each for each in index if tree.has_file(each)), "")


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


def _mapped(tree: Tree, manifest: Manifest, entries: Table, wanted: str) -> Target:
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


def _own_manifests(tree: Tree, importer: str) -> Iterator[Manifest]:
    nearest = nearest_manifest(tree, importer)
    if nearest is not None:
        yield nearest
    for path in tree.paths:
        if path == MANIFEST or path.endswith(f"/{MANIFEST}"):
            manifest = read_manifest(path, tree.text(path))
            if manifest is not None:
                yield manifest


def _own_package(tree: Tree, manifest: Manifest, subpath: str) -> Target:
    exports = manifest.table.get("exports")
    if exports is not None:
        is_map = isinstance(exports, dict) and any(key.startswith(".") for key in exports)
        entries: Table = exports if is_map and isinstance(exports, dict) else {".": exports}
        return _mapped(tree, manifest, entries, f".{subpath}")
    found = find_module(tree, posixpath.normpath(f"{manifest.folder}.{subpath}"))
    return Target(Kind.FILE, found) if found else _UNKNOWN
