"""Reads the aliases of modules that `tsconfig.json` or `jsconfig.json` declares."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shared.languages.ecmascript.json_text import Table, read_table, table_at, text_at, texts_in
from shared.languages.ecmascript.packages import Tree

CONFIGS: Final = ("tsconfig.json", "jsconfig.json")
_MAX_EXTENDS: Final = 5


@dataclass(frozen=True, slots=True)
class Aliases:
    """Hold patterns such as `@/*` with the paths that they stand for, and the base folder.

    `base` is `None` where modules are not looked up from a folder. `is_whole` is false where a
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
        table = read_table(tree.text(path))
        if table is None:
            yield "", {}, False
            return
        folder = posixpath.dirname(path)
        yield folder, table_at(table, "compilerOptions"), True
        extended = texts_in(table.get("extends"))
        if not extended:
            return
        if not extended[0].startswith("."):
            return  # of a package: such configurations have no paths of this project
        path = posixpath.normpath(posixpath.join(folder, extended[0]))
        if not path.endswith(".json"):
            path += ".json"
