"""Finds the modules that a command imports or runs and that nothing provides."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from planner.rules.placed_command import PlacedCommand, Unmet, path_inside, unprovided
from shared.languages.capabilities.commands import Command, Import
from shared.rule_text import quoted

# Acceptance runs where pytest and pip are installed, whatever the project depends on.
_ALWAYS_THERE: Final = sys.stdlib_module_names | {"pytest", "_pytest", "pip", "__main__"}
_MODULE_SUFFIXES: Final = (".py", "/__init__.py", "/__init__.pyi", ".pyi")
# A package whose code contains one of these texts decides itself where its modules are.
_FINDS_ITS_OWN: Final = ("__path__", "sys.modules")


def unmet_import(placed: PlacedCommand, needed: Import) -> Iterator[Unmet]:
    """Yield the module that an import needs and nothing provides by then, if there is one."""
    if needed.module.split(".", 1)[0] in _ALWAYS_THERE:
        return
    missing = _missing_module(needed, placed, placed.after)
    if missing is None:
        return
    later = placed.first_with(lambda after: _missing_module(needed, placed, after) is None)
    root = missing.split(".", 1)[0]
    if later is not None:
        source = placed.step.source(later)
        yield Unmet("E217", missing, f"imports {quoted(missing)}, which only {source} provides")
    elif _is_own(root, placed):
        if _is_certain(missing, placed):
            yield Unmet(
                "E210",
                missing,
                f"imports {quoted(missing)}, a module of this project that no "
                "order provides and the repo does not have",
            )
        else:
            yield unprovided("imports", missing)
    else:
        yield from _unmet_package("imports", missing, placed)


def _unmet_package(verb: str, module: str, placed: PlacedCommand) -> Iterator[Unmet]:
    root = module.split(".", 1)[0]
    dependencies = placed.layout.dependencies
    if dependencies.provides(root, placed.after):
        return
    if dependencies.must_declare(root, placed.after):
        message = f"{verb} {quoted(module)}, a third-party module that the repo does not declare"
        yield Unmet("W221", root, message)
    else:
        yield unprovided(verb, module)


def unmet_module_run(placed: PlacedCommand, module: str) -> Iterator[Unmet]:
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
        source = placed.step.source(later)
        yield Unmet("E217", f"-m {module}", f"runs {quoted(module)}, which only {source} provides")
    elif is_package:
        message = f"runs the package {quoted(module)}, which has no `__main__.py` by then"
        yield Unmet("E242", f"-m {module}", message)
    elif _is_certain(module, placed):
        message = f"runs the module {quoted(module)}, which does not exist by then"
        yield Unmet("E242", f"-m {module}", message)
    else:
        yield unprovided("runs the module", module)


def _can_be_run(module: str, placed: PlacedCommand, after: int) -> bool:
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


def _missing_module(needed: Import, placed: PlacedCommand, after: int) -> str | None:
    """Return the module that the import needs and nobody provides, if there is one."""
    stems = [root + needed.module.replace(".", "/") for root in placed.roots]
    if any(_has_module(stem, placed, after) for stem in stems):
        return None
    folders = [stem for stem in stems if placed.chain.may_be_folder(stem, after)]
    if not folders:
        return needed.module
    # Only the modules in a folder without `__init__.py` can be imported from it.
    for name in needed.names:
        inside = [f"{folder}/{name}" for folder in folders]
        if not any(_is_importable(stem, placed, after) for stem in inside) and name != "*":
            return f"{needed.module}.{name}"
    return None


def _has_module(stem: str, placed: PlacedCommand, after: int) -> bool:
    return any(placed.file_is_there(stem + suffix, after) for suffix in _MODULE_SUFFIXES)


def _is_importable(stem: str, placed: PlacedCommand, after: int) -> bool:
    return _has_module(stem, placed, after) or placed.chain.may_be_folder(stem, after)


def _is_own(root: str, placed: PlacedCommand) -> bool:
    """Say whether the repo or any order of the plan has a top-level module of that name.

    An installed package goes before a folder of the same name without `__init__.py`.
    """
    last = len(placed.step.plan.drafts)
    stems = [folder + root for folder in placed.roots]
    if any(_has_module(stem, placed, last) for stem in stems):
        return True
    dependencies = placed.layout.dependencies
    if dependencies.provides(root, placed.after) or dependencies.must_declare(root, placed.after):
        return False
    return any(stem in placed.layout.packages for stem in stems)


def _is_certain(module: str, placed: PlacedCommand) -> bool:
    """Say whether nothing but a plain source file could have provided the module."""
    if any(root + module.replace(".", "/") in placed.layout.stems for root in placed.roots):
        return False  # compiled, or made by a tool
    package = module.split(".", 1)[0]
    known = placed.step.history.find(package, placed.after)
    text = known.source.text if known is not None and known.source is not None else ""
    return not any(each in text for each in _FINDS_ITS_OWN)
