"""Finds the modules that code imports, or a command runs, and that nothing provides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from shared.files.paths import path_inside
from shared.languages.capabilities.chain import Chain, Need
from shared.languages.capabilities.commands import Command, Import
from shared.languages.fault_words import (
    missing_module,
    provided_later,
    undeclared_package,
    unprovided,
)
from shared.languages.python.planned.dependencies import Dependencies, read_dependencies
from shared.languages.python.planned.project import SUFFIXES, Project
from shared.rule_text import quoted

# Acceptance runs where pytest and pip are installed, whatever the project depends on.
_ALWAYS_THERE: Final = sys.stdlib_module_names | {"pytest", "_pytest", "pip", "__main__"}
_MODULE_SUFFIXES: Final = (".py", "/__init__.py", "/__init__.pyi", ".pyi")
# A package whose code contains one of these texts decides itself where its modules are.
_FINDS_ITS_OWN: Final = ("__path__", "sys.modules")


@dataclass(frozen=True, slots=True)
class Layout:
    """Hold facts about the whole chain that all code needs.

    `packages` are the folders with Python files in them, and all folders above those. `stems` are
    the paths of files without their suffixes, but for modules that an order removes. `removed` are
    the paths of these modules without their suffixes.
    """

    packages: frozenset[str]
    stems: frozenset[str]
    removed: frozenset[str]
    dependencies: Dependencies


@dataclass(frozen=True, slots=True)
class PlacedCode:
    """Hold a place in the plan: behind the order at `after`, with imports from the folders `roots`.

    Each of `roots` has its closing slash.
    """

    project: Project
    layout: Layout
    after: int
    roots: tuple[str, ...]

    @property
    def chain(self) -> Chain:
        return self.project.chain

    def file_is_there(self, path: str, after: int) -> bool:
        return self.chain.is_there(path, after)

    def first_with(self, holds: Callable[[int], bool]) -> int | None:
        """Return the position of the first later order after which `holds` is true."""
        return self.chain.first_with(self.after, holds)


def layout_of(chain: Chain) -> Layout:
    """Return the facts about a chain that its files and its dependencies give."""
    paths = (*chain.files.first, *chain.files.possible)
    packages = {
        folder
        for path in paths
        if path.endswith(SUFFIXES)
        for folder in accumulate(path.split("/")[:-1], lambda above, name: f"{above}/{name}")
    }
    removed = frozenset(path for path in chain.files.removed if path.endswith(SUFFIXES))
    staying = (path for path in paths if path not in removed)
    return Layout(
        frozenset(packages),
        frozenset(map(_stem, staying)),
        frozenset(map(_stem, removed)),
        read_dependencies(chain),
    )


def _stem(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.split('.', 1)[0]}"


def unmet_import(placed: PlacedCode, needed: Import) -> Iterator[Need]:
    """Yield the module that an import needs and nothing provides by then, if there is one."""
    if needed.module.split(".", 1)[0] in _ALWAYS_THERE:
        return
    missing = _missing_module(needed, placed, placed.after)
    if missing is None:
        return
    later = placed.first_with(lambda after: _missing_module(needed, placed, after) is None)
    root = missing.split(".", 1)[0]
    if later is not None:
        yield provided_later("imports", missing, placed.chain.source(later))
    elif _is_own(root, placed):
        if _is_certain(missing, placed):
            yield missing_module(missing, _remover(missing, placed))
        else:
            yield unprovided("imports", missing)
    else:
        yield from _unmet_package("imports", missing, placed)


def _unmet_package(verb: str, module: str, placed: PlacedCode) -> Iterator[Need]:
    root = module.split(".", 1)[0]
    dependencies = placed.layout.dependencies
    if dependencies.provides(root, placed.after):
        return
    if dependencies.must_declare(root, placed.after):
        yield undeclared_package(verb, module, root)
    else:
        yield unprovided(verb, module)


def unmet_module_run(placed: PlacedCode, module: str) -> Iterator[Need]:
    """Yield what is missing to run `module` with `-m`, if anything is."""
    root = module.split(".", 1)[0]
    if root in _ALWAYS_THERE or _can_be_run(module, placed, placed.after):
        return
    if not _is_own(root, placed):
        yield from _unmet_package("runs the module", module, placed)
        return
    later = placed.first_with(lambda after: _can_be_run(module, placed, after))
    stems = [f"{each}{module.replace('.', '/')}" for each in placed.roots]
    is_package = any(_has_module(stem, placed, placed.after) for stem in stems)
    if later is not None:
        yield provided_later("runs", module, placed.chain.source(later), f"-m {module}")
    elif is_package:
        message = f"runs the package {quoted(module)}, which has no `__main__.py` by then"
        yield Need("E242", f"-m {module}", message)
    elif _is_certain(module, placed):
        message = f"runs the module {quoted(module)}, which does not exist by then"
        yield Need("E242", f"-m {module}", message)
    else:
        yield unprovided("runs the module", module)


def _can_be_run(module: str, placed: PlacedCode, after: int) -> bool:
    stem = module.replace(".", "/")
    return any(
        placed.file_is_there(f"{root}{stem}{ending}", after)
        for root in placed.roots
        for ending in (".py", "/__main__.py")
    )


def import_roots(command: Command) -> tuple[str, ...]:
    """Return the folders in which modules are looked up, each with its closing slash."""
    given = dict(command.environment).get("PYTHONPATH", "")
    named = [folder for each in given.split(":") if (folder := path_inside(each))]
    return ("", "src/", *(f"{folder}/" for folder in named))


def _missing_module(needed: Import, placed: PlacedCode, after: int) -> str | None:
    """Return the module that the import needs and nobody provides, if there is one."""
    stems = [root + needed.module.replace(".", "/") for root in placed.roots]
    if any(_has_module(stem, placed, after) for stem in stems):
        return None
    folders = [stem for stem in stems if placed.chain.files.may_be_folder(stem, after)]
    if not folders:
        return needed.module
    # Only the modules in a folder without `__init__.py` can be imported from it.
    for name in needed.names:
        inside = [f"{folder}/{name}" for folder in folders]
        if not any(_is_importable(stem, placed, after) for stem in inside) and name != "*":
            return f"{needed.module}.{name}"
    return None


def _has_module(stem: str, placed: PlacedCode, after: int) -> bool:
    return any(placed.file_is_there(stem + suffix, after) for suffix in _MODULE_SUFFIXES)


def _is_importable(stem: str, placed: PlacedCode, after: int) -> bool:
    return _has_module(stem, placed, after) or placed.chain.files.may_be_folder(stem, after)


def _is_own(root: str, placed: PlacedCode) -> bool:
    """Say whether the repo or any order of the plan has a top-level module of that name.

    An installed package goes before a folder of the same name without `__init__.py`.
    """
    last = len(placed.chain.orders)
    stems = [folder + root for folder in placed.roots]
    if any(_has_module(stem, placed, last) for stem in stems):
        return True
    removed = placed.layout.removed
    if any(stem in removed or f"{stem}/__init__" in removed for stem in stems):
        return True
    dependencies = placed.layout.dependencies
    if dependencies.provides(root, placed.after) or dependencies.must_declare(root, placed.after):
        return False
    return any(stem in placed.layout.packages for stem in stems)


def _remover(module: str, placed: PlacedCode) -> str:
    """Return the name of the order that removes the module; "" where none does."""
    stems = [root + module.replace(".", "/") for root in placed.roots]
    paths = (stem + suffix for stem in stems for suffix in _MODULE_SUFFIXES)
    return next(filter(None, (placed.chain.remover(path, placed.after) for path in paths)), "")


def _is_certain(module: str, placed: PlacedCode) -> bool:
    """Say whether nothing but a plain source file could have provided the module."""
    if any(root + module.replace(".", "/") in placed.layout.stems for root in placed.roots):
        return False  # compiled, or made by a tool
    package = module.split(".", 1)[0]
    known = placed.project.history.find(package, placed.after)
    text = known.source.text if known is not None and known.source is not None else ""
    return not any(each in text for each in _FINDS_ITS_OWN)
