"""Reads what `package.json` and lock files say: names, scripts, and which packages there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from shared.languages.ecmascript.json_text import Table, read_table, table_at, text_at

MANIFEST: Final = "package.json"
LOCKS: Final = (
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock",
)  # fmt: skip
_TABLES: Final = (
    "dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides",
    "resolutions",
)  # fmt: skip
_PACKAGE_NAME = re.compile(r"(?:@[a-z0-9~_][\w.~-]*/)?[A-Za-z0-9_][\w.~-]*")


class Tree(Protocol):
    """Represent the files of a repository at one point of a plan."""

    def has_file(self, path: str) -> bool:
        """Return whether the file is there, or may be."""

    def has_folder(self, path: str) -> bool:
        """Return whether a file below the folder is there, or may be."""

    def text(self, path: str) -> str | None:
        """Return the text of a file; `None` where it is not there or not known."""

    @property
    def paths(self) -> Iterable[str]:
        """Return the paths of all files that are surely there."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Hold what one `package.json` says. `folder` is empty for the root, else ends in a slash.

    `is_module` says whether its `.js` files are ES modules.
    """

    folder: str
    name: str
    is_module: bool
    scripts: Mapping[str, str]
    packages: frozenset[str]
    table: Table


def read_manifest(path: str, text: str | None) -> Manifest | None:
    """Return what the manifest at `path` says; `None` where it cannot be read."""
    table = read_table(text)
    if table is None:
        return None
    scripts = {k: v for k, v in table_at(table, "scripts").items() if isinstance(v, str)}
    packages = frozenset(name for key in _TABLES for name in table_at(table, key))
    return Manifest(
        path.removesuffix(MANIFEST),
        text_at(table, "name"),
        text_at(table, "type") == "module",
        scripts,
        packages,
        table,
    )


def manifest_paths(importer: str) -> Iterable[str]:
    """Yield where a manifest may stand that counts for a file, the nearest first."""
    folder = importer.rpartition("/")[0]
    while folder:
        yield f"{folder}/{MANIFEST}"
        folder = folder.rpartition("/")[0]
    yield MANIFEST


def nearest_manifest(tree: Tree, importer: str) -> Manifest | None:
    """Return the manifest that counts for a file; `None` where there is none to be read."""
    for path in manifest_paths(importer):
        if tree.has_file(path):
            return read_manifest(path, tree.text(path))
    return None


def package_of(specifier: str) -> str:
    """Return the package of `react/jsx-runtime`; empty where it is not a package's name."""
    parts = specifier.split("/")
    name = "/".join(parts[: 2 if specifier.startswith("@") else 1])
    return name if _PACKAGE_NAME.fullmatch(name) else ""


def is_locked(package: str, locks: Iterable[str]) -> bool:
    """Return whether one of the lock files' texts names the package, which may be another's."""
    name = re.escape(package)
    mark = re.compile(
        rf'(?:node_modules/|["\'\s/]|^){name}(?:["\']\s*:|@[\w"\':.~^(])', re.MULTILINE
    )
    return any(mark.search(text) for text in locks)
