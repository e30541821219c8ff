"""Works out a project's Python files after each order of a plan, before any order runs."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.languages.python.files import ROOTS
from shared.languages.python.stubs.contracts import exactly_meant
from shared.languages.python.stubs.declarations import declarations, qualified
from shared.languages.python.views.modules import Module
from shared.languages.python.views.sources import Source

# So many files can be checked in a second or two. Files beyond them count as unknown.
MAX_VIEW_FILES: Final = 300
# The limit for one file, because each declaration is merged over all those before it.
MAX_DECLARATIONS: Final = 50

_ENDINGS: Final = ("/__init__.pyi", "/__init__.py", ".pyi", ".py")


@dataclass(frozen=True, slots=True)
class Change:
    """Hold what one order does to the project's Python files.

    `writes` has the paths that the order may write, `stubs` its declarations by path, and `changed`
    the names that it says it changes. A changed name that the order does not declare anew is no
    longer known. `removes` has the paths of the files that the order removes.
    """

    writes: Collection[str] = ()
    stubs: Mapping[str, Sequence[ast.stmt]] = field(default_factory=dict)
    changed: Collection[str] = ()
    removes: Collection[str] = ()


class ModuleHistory:
    """Hold the project's Python files after each order; position 0 is the repo itself."""

    def __init__(
        self,
        files: Collection[str],
        sources: Mapping[str, str],
        changes: Sequence[Change],
        *,
        portable: bool = False,
    ) -> None:
        """Apply `changes` in order, the first at position 1.

        `files` has the paths of the repo, and `sources` the texts that could be read. Only the
        texts that are needed are looked up in `sources`. With `portable`, every Python reads them
        alike.
        """
        self._portable = portable
        self._files = files if isinstance(files, dict | set | frozenset) else frozenset(files)
        self._sources = sources
        self._repo: dict[str, Module] = {}
        self._versions: dict[str, list[tuple[int, Module]]] = {}
        self._removed: dict[str, int] = {}
        for position, change in enumerate(changes, 1):
            self._removed.update(dict.fromkeys(change.removes, position))
            for path in sorted({*change.writes, *change.stubs}):
                if path.endswith((".py", ".pyi")):
                    versions = self._versions.setdefault(path, [])
                    before = self.module(path, position)
                    if len(versions) < MAX_DECLARATIONS:
                        versions.append((position, _changed(before, path, change)))
                    elif len(versions) == MAX_DECLARATIONS:
                        versions.append((position, (before or Module(path)).write()))

    def module(self, path: str, after: int) -> Module | None:
        """Return the file at `path` after the order at position `after`; `None` for no file."""
        if self._removed.get(path, after + 1) <= after:
            return None
        for position, module in reversed(self._versions.get(path, ())):
            if position <= after:
                return module
        if path not in self._files:
            return None
        if path not in self._repo:
            text = self._sources.get(path)
            self._repo[path] = Module(path, None if text is None else Source(text, self._portable))
        return self._repo[path]

    def find(self, name: str, after: int, roots: Sequence[str] = ROOTS) -> Module | None:
        """Return the file behind a dotted module name; for a package that is its `__init__`."""
        stem = name.replace(".", "/")
        for root in roots:
            for ending in _ENDINGS:
                if (found := self.module(f"{root}{stem}{ending}", after)) is not None:
                    return found
        return None

    def provided_later(self, name: str, after: int, roots: Sequence[str] = ROOTS) -> int | None:
        """Return the position of the first order after `after` that writes a new module `name`."""
        stems = [f"{root}{name.replace('.', '/')}{ending}" for root in roots for ending in _ENDINGS]
        found = [
            position
            for stem in stems
            for position, _ in self._versions.get(stem, ())[:1]
            if position > after and stem not in self._files
        ]
        return min(found, default=None)

    def declared_later(self, path: str, name: str, after: int) -> int | None:
        """Return the position of the first order after `after` that declares `name` in `path`."""
        for position, module in self._versions.get(path, ()):
            if position > after and name in module.contracted:
                return position
        return None

    def declared_by(self, path: str, name: str, after: int) -> int | None:
        """Return the position of an order whose declaration of `name` holds at `after`, if any."""
        found: int | None = None
        for position, module in self._versions.get(path, ()):
            if position > after or name not in module.contracted:
                break
            found = found if found is not None else position
        return found


def _changed(before: Module | None, path: str, change: Change) -> Module:
    stub = change.stubs.get(path)
    after = before or Module(path)
    after = after.write() if stub is None else after.declare(stub)
    if not change.changed:
        return after
    names = qualified(after.declared) - qualified(declarations(stub or ()))
    return after.loosen(frozenset(n for n in names if exactly_meant(n, path, change.changed)))


@dataclass(frozen=True, slots=True)
class View:
    """Hold the files that some code can reach by its imports, by dotted name."""

    modules: Mapping[str, Module]
    roots: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        """Return whether anything is known of any of the files."""
        return any(each.body is not None for each in self.modules.values())

    @property
    def files(self) -> dict[str, str]:
        """Return the text of each file, by the path at which a type checker reads it."""
        return {each.checked_path: each.text for each in self.modules.values()}


def reachable(history: ModuleHistory, imported: Iterable[str], after: int) -> View:
    """Return the project's modules that the dotted names `imported` lead to, also indirectly.

    A file must not be reached under two names, as `src.app` and `app`. Where a module is imported
    by a name in `src`, modules are looked up in the root of the repo alone.
    """
    names = sorted(set(imported))
    found = _reach(history, names, after, ROOTS)
    if any(each.split(".", 1)[0] == "src" for each in found):
        return View(_reach(history, names, after, ROOTS[:1]), ROOTS[:1])
    return View(found, ROOTS)


def _reach(
    history: ModuleHistory, names: Sequence[str], after: int, roots: Sequence[str]
) -> dict[str, Module]:
    found: dict[str, Module] = {}
    pending = list(names)
    seen: set[str] = set()
    while pending and len(found) < MAX_VIEW_FILES:
        following: list[str] = []
        for name in pending:
            for part in _with_parents(name):
                if part in seen:
                    continue
                seen.add(part)
                module = history.find(part, after, roots)
                if module is not None and len(found) < MAX_VIEW_FILES:
                    found[part] = module
                    following += imports_of(module, part)
        pending = following
    return found


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


def imports_of(module: Module, name: str) -> list[str]:
    """Return the dotted names that a module may import, with relative imports made absolute."""
    is_package = module.path.endswith(("/__init__.py", "/__init__.pyi"))
    package = name.split(".") if is_package else name.split(".")[:-1]
    found: dict[str, None] = {}
    for level, base, names in module.imports:
        start = package[: len(package) - level + 1] if level else []
        stem = ".".join([*start, *([base] if base else [])])
        found[stem] = None
        found.update((f"{stem}.{each}", None) for each in names if stem)
    return [each for each in found if each and "*" not in each]
