"""Finds the modules, scripts and test files that acceptance commands need and do not have.

Each unmet need has exactly one code, so that no two rules report one fault: E217 where a later
order provides it; E210, E241 or E242 where it belongs to the project and nobody provides it; W221
for a third-party module that nobody declares; and W101 where none of that is certain.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from planner.plan.projection import Projection
from planner.rules.dependencies import Dependencies, read_dependencies
from planner.rules.verify_runs import runs_verify_script
from planner.steps.findings import Finding, quoted
from planner.steps.step import Step
from shared.commands.commands import CodeRun, Command, ModuleRun, ScriptRun, pytest_paths
from shared.files.paths import PathProblem, check_path
from shared.languages.python.code import Import
from shared.rule_text import severity_of
from shared.work_order.field_path import at

# Acceptance runs where pytest and pip are installed, whatever the project depends on.
_ALWAYS_THERE: Final = sys.stdlib_module_names | {"pytest", "_pytest", "pip", "__main__"}
_MODULE_SUFFIXES: Final = (".py", "/__init__.py", "/__init__.pyi", ".pyi")
# A package whose code contains one of these texts decides itself where its modules are.
_FINDS_ITS_OWN: Final = ("__path__", "sys.modules")
_BUILDS: Final = frozenset({"make", "cmake", "gcc", "cc", "g++", "clang", "cargo", "go", "npm"})
# Tools put files into these folders, and git ignores them, so a listing does not show them.
_GENERATED: Final = frozenset({"node_modules", "vendor", "target", "build", "dist", "venv"})


@dataclass(frozen=True, slots=True)
class _Layout:
    """Hold facts about the whole chain that every command needs.

    `packages` are the folders with Python files in them, and all folders above those. `stems` are
    the paths of files without their suffixes.
    """

    packages: frozenset[str]
    stems: frozenset[str]
    dependencies: Dependencies


@dataclass(frozen=True, slots=True)
class _Scene:
    """Hold one command and its place in the plan."""

    step: Step
    index: int
    command: Command
    roots: tuple[str, ...]
    layout: _Layout

    @property
    def chain(self) -> Projection:
        return self.step.chain

    @property
    def after(self) -> int:
        return self.step.draft.position

    def file_is_there(self, path: str, after: int) -> bool:
        return self.chain.may_exist(path, after) or self.chain.is_unread(path, after)

    def first_with(self, holds: Callable[[int], bool]) -> int | None:
        """Return the position of the first later order after which `holds` is true.

        Orders never remove a file, so `holds` stays true from then on.
        """
        positions = range(self.after + 1, len(self.step.plan.drafts) + 1)
        if not positions or not holds(positions[-1]):
            return None
        return positions[bisect_left(positions, True, key=holds)]


@dataclass(frozen=True, slots=True)
class _Unmet:
    code: str
    name: str
    message: str


def unmet_needs(steps: Sequence[Step]) -> Iterator[Finding]:
    """Yield one finding for each unmet need of an order's commands."""
    if not steps:
        return
    layout = _layout(steps[0].chain, read_dependencies(steps[0].target, steps[0].chain))
    for step in steps:
        if step.draft.order is None:
            continue
        reported: set[str] = set()
        for index, command in step.commands:
            if runs_verify_script(command):
                continue  # E105 wants the command gone, so its needs do not matter
            scene = _Scene(step, index, command, _import_roots(command), layout)
            for unmet in _unmet(scene):
                if command.operator and severity_of(unmet.code) == "warning":
                    continue  # the command has to be rewritten: a guess about it is too early
                if unmet.name not in reported:
                    reported.add(unmet.name)
                    yield step.finding(unmet.code, at("acceptance_commands", index), unmet.message)


def _layout(chain: Projection, dependencies: Dependencies) -> _Layout:
    paths = (*chain.first, *chain.possible)
    packages = {
        folder
        for path in paths
        if path.endswith((".py", ".pyi"))
        for folder in accumulate(path.split("/")[:-1], lambda above, name: f"{above}/{name}")
    }
    return _Layout(frozenset(packages), frozenset(map(_stem, paths)), dependencies)


def _stem(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.split('.', 1)[0]}"


def _unmet(scene: _Scene) -> Iterator[_Unmet]:
    match scene.command.run:
        case CodeRun(code) if "sys.path" not in code.source:
            for each in code.imports:
                if each.module.split(".", 1)[0] not in _ALWAYS_THERE:
                    yield from _unmet_import(scene, each)
        case ModuleRun(module, _, arguments):
            yield from _unmet_module_run(scene, module)
            if module == "py_compile":
                yield from _unmet_paths(scene, [each for each in arguments if each[:1] != "-"])
        case ScriptRun(path):
            yield from _unmet_script(scene, path)
        case _:
            pass
    yield from _unmet_paths(scene, pytest_paths(scene.command))


# Modules


def _unmet_import(scene: _Scene, needed: Import) -> Iterator[_Unmet]:
    missing = _missing_module(needed, scene, scene.after)
    if missing is None:
        return
    later = scene.first_with(lambda after: _missing_module(needed, scene, after) is None)
    root = missing.split(".", 1)[0]
    if later is not None:
        source = scene.step.source(later)
        yield _Unmet("E217", missing, f"imports {quoted(missing)}, which only {source} provides")
    elif _is_own(root, scene):
        if _is_certain(missing, scene):
            yield _Unmet(
                "E210",
                missing,
                f"imports {quoted(missing)}, a module of this project that no "
                "order provides and the repo does not have",
            )
        else:
            yield _unprovided("imports", missing)
    else:
        yield from _unmet_package("imports", missing, scene)


def _unmet_package(verb: str, module: str, scene: _Scene) -> Iterator[_Unmet]:
    root = module.split(".", 1)[0]
    dependencies = scene.layout.dependencies
    if dependencies.provides(root, scene.after):
        return
    if dependencies.must_declare(root, scene.after):
        message = f"{verb} {quoted(module)}, a third-party module that the repo does not declare"
        yield _Unmet("W221", root, message)
    else:
        yield _unprovided(verb, module)


def _unprovided(verb: str, name: str) -> _Unmet:
    message = f"{verb} {quoted(name)}, which neither the repo nor an order up to here has"
    return _Unmet("W101", name, message)


def _unmet_module_run(scene: _Scene, module: str) -> Iterator[_Unmet]:
    root = module.split(".", 1)[0]
    if root in _ALWAYS_THERE or _can_be_run(module, scene, scene.after):
        return
    if not _is_own(root, scene):
        yield from _unmet_package("runs the module", module, scene)
        return
    later = scene.first_with(lambda after: _can_be_run(module, scene, after))
    stems = [f"{each}{module.replace('.', '/')}" for each in scene.roots]
    is_package = any(_has_module(stem, scene, scene.after) for stem in stems)
    if later is not None:
        source = scene.step.source(later)
        yield _Unmet("E217", f"-m {module}", f"runs {quoted(module)}, which only {source} provides")
    elif is_package:
        message = f"runs the package {quoted(module)}, which has no `__main__.py` by then"
        yield _Unmet("E242", f"-m {module}", message)
    elif _is_certain(module, scene):
        message = f"runs the module {quoted(module)}, which does not exist by then"
        yield _Unmet("E242", f"-m {module}", message)
    else:
        yield _unprovided("runs the module", module)


def _can_be_run(module: str, scene: _Scene, after: int) -> bool:
    stem = module.replace(".", "/")
    return any(
        scene.file_is_there(f"{root}{stem}{ending}", after)
        for root in scene.roots
        for ending in (".py", "/__main__.py")
    )


def _import_roots(command: Command) -> tuple[str, ...]:
    """Return the folders in which modules are looked up, each with its closing slash."""
    given = dict(command.environment).get("PYTHONPATH", "")
    named = [folder for each in given.split(":") if (folder := _inside(each))]
    return ("", "src/", *(f"{folder}/" for folder in named))


def _missing_module(needed: Import, scene: _Scene, after: int) -> str | None:
    """Return the module that the import needs and nobody provides, if there is one."""
    stems = [root + needed.module.replace(".", "/") for root in scene.roots]
    if any(_has_module(stem, scene, after) for stem in stems):
        return None
    folders = [stem for stem in stems if scene.chain.may_be_folder(stem, after)]
    if not folders:
        return needed.module
    # Only the modules in a folder without `__init__.py` can be imported from it.
    for name in needed.names:
        inside = [f"{folder}/{name}" for folder in folders]
        if not any(_is_importable(stem, scene, after) for stem in inside) and name != "*":
            return f"{needed.module}.{name}"
    return None


def _has_module(stem: str, scene: _Scene, after: int) -> bool:
    return any(scene.file_is_there(stem + suffix, after) for suffix in _MODULE_SUFFIXES)


def _is_importable(stem: str, scene: _Scene, after: int) -> bool:
    return _has_module(stem, scene, after) or scene.chain.may_be_folder(stem, after)


def _is_own(root: str, scene: _Scene) -> bool:
    """Say whether the repo or any order of the plan has a top-level module of that name.

    An installed package goes before a folder of the same name without `__init__.py`.
    """
    last = len(scene.step.plan.drafts)
    stems = [folder + root for folder in scene.roots]
    if any(_has_module(stem, scene, last) for stem in stems):
        return True
    dependencies = scene.layout.dependencies
    if dependencies.provides(root, scene.after) or dependencies.must_declare(root, scene.after):
        return False
    return any(stem in scene.layout.packages for stem in stems)


def _is_certain(module: str, scene: _Scene) -> bool:
    """Say whether nothing but a plain source file could have provided the module."""
    if any(root + module.replace(".", "/") in scene.layout.stems for root in scene.roots):
        return False  # compiled, or made by a tool
    package = module.split(".", 1)[0]
    known = scene.step.history.find(package, scene.after)
    text = known.source.text if known is not None and known.source is not None else ""
    return not any(each in text for each in _FINDS_ITS_OWN)


# Scripts and test files


def _unmet_script(scene: _Scene, written: str) -> Iterator[_Unmet]:
    path = _inside(written)
    if not path or _has_script(path, scene, scene.after):
        return
    if _may_be_made(path, scene):
        yield _unprovided("runs", path)
    else:
        yield _late_or_never("runs", path, scene, _has_script)


def _has_script(path: str, scene: _Scene, after: int) -> bool:
    return scene.file_is_there(path, after) or scene.file_is_there(f"{path}/__main__.py", after)


def _may_be_made(path: str, scene: _Scene) -> bool:
    """Say whether a tool, or an earlier command that builds or names it, may make the file."""
    return (
        path.startswith(".")
        or path.split("/", 1)[0] in _GENERATED
        or any(
            each.program in _BUILDS or path in each.text
            for index, each in scene.step.commands
            if index < scene.index
        )
    )


def _unmet_paths(scene: _Scene, paths: Sequence[str]) -> Iterator[_Unmet]:
    if scene.command.operator or "--pyargs" in scene.command.argv:
        return  # then some of the arguments are not paths
    for written in paths:
        path = _inside(written.rstrip("/"))
        if path and not _has_path(path, scene, scene.after) and not _may_be_made(path, scene):
            yield _late_or_never("names", path, scene, _has_path)


def _has_path(path: str, scene: _Scene, after: int) -> bool:
    return scene.file_is_there(path, after) or scene.chain.may_be_folder(path, after)


def _late_or_never(
    verb: str, path: str, scene: _Scene, has: Callable[[str, _Scene, int], bool]
) -> _Unmet:
    later = scene.first_with(lambda after: has(path, scene, after))
    if later is not None:
        source = scene.step.source(later)
        return _Unmet("E217", path, f"{verb} {quoted(path)}, which only {source} provides")
    return _Unmet("E241", path, f"{verb} {quoted(path)}, which does not exist by then")


def _inside(path: str) -> str:
    """Return the normal form of a path within the repo, and the empty string for any other path."""
    try:
        return check_path(path)
    except PathProblem:
        return ""
