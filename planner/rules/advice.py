"""W101: what an acceptance command needs that nobody is known to provide."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from planner.projection import Projection
from planner.rules.model import Finding, Rule, Step, each_order, quoted
from planner.rules.verify_runs import runs_verify_script
from shared.commands import CodeRun, Command, ScriptRun
from shared.paths import PathProblem, check_path
from shared.python_code import Import
from shared.schemas import WorkOrder

# Acceptance runs where pytest and pip are installed, whatever the project depends on.
_ALWAYS_THERE: Final = sys.stdlib_module_names | {"pytest", "_pytest", "pip", "__main__"}
_MODULE_SUFFIXES: Final = (".py", "/__init__.py", "/__init__.pyi", ".pyi")


def unprovided_imports(step: Step, order: WorkOrder) -> Iterator[Finding]:
    told: set[str] = set()
    for index, command in step.commands:
        if runs_verify_script(command):
            continue  # E105 wants the command gone, so what it needs is no matter
        for needed, kind in _unprovided(command, step.chain, step.draft.position):
            if needed not in told:
                told.add(needed)
                message = (
                    f"{kind} {quoted(needed)}, which neither the repo nor an order up to here has"
                )
                yield step.finding("W101", f"acceptance_commands[{index}]", message)


def _unprovided(command: Command, chain: Projection, after: int) -> Iterator[tuple[str, str]]:
    match command.run:
        case CodeRun(code) if "sys.path" not in code.source:
            roots = _import_roots(command)
            for each in code.imports:
                if each.module.split(".", 1)[0] in _ALWAYS_THERE:
                    continue
                if missing := _missing_module(each, chain, after, roots):
                    yield missing, "imports"
        case ScriptRun(path) if (script := _inside(path)) and not _has_script(script, chain, after):
            yield script, "runs"
        case _:
            return


def _import_roots(command: Command) -> tuple[str, ...]:
    """Return the folders that modules are looked for in, each with its closing slash."""
    given = dict(command.environment).get("PYTHONPATH", "")
    named = [folder for each in given.split(":") if (folder := _inside(each))]
    return ("", "src/", *(f"{folder}/" for folder in named))


def _missing_module(
    needed: Import, chain: Projection, after: int, roots: tuple[str, ...]
) -> str | None:
    """Return the module that the import asks for and that nobody provides, if there is one."""
    stems = [root + needed.module.replace(".", "/") for root in roots]
    if any(_has_module(stem, chain, after) for stem in stems):
        return None
    folders = [stem for stem in stems if chain.may_be_folder(stem, after)]
    if not folders:
        return needed.module
    # A folder without `__init__.py` has nothing to import but the modules in it.
    for name in needed.names:
        inside = [f"{folder}/{name}" for folder in folders]
        if not any(_is_importable(stem, chain, after) for stem in inside) and name != "*":
            return f"{needed.module}.{name}"
    return None


def _has_module(stem: str, chain: Projection, after: int) -> bool:
    return any(_may_be_file(stem + suffix, chain, after) for suffix in _MODULE_SUFFIXES)


def _is_importable(stem: str, chain: Projection, after: int) -> bool:
    return _has_module(stem, chain, after) or chain.may_be_folder(stem, after)


def _has_script(path: str, chain: Projection, after: int) -> bool:
    return _may_be_file(path, chain, after) or _may_be_file(f"{path}/__main__.py", chain, after)


def _may_be_file(path: str, chain: Projection, after: int) -> bool:
    return chain.may_exist(path, after) or chain.is_unread(path, after)


def _inside(path: str) -> str:
    """Return a path within the repo normalised, and the empty string for any other."""
    try:
        return check_path(path)
    except PathProblem:
        return ""


W101 = Rule(
    "W101",
    "acceptance needs what nobody provides",
    why="A command that imports a module which is not there by then fails whatever the code does.",
    bad="""{"acceptance_commands": [
  "python -c \\"from game.score import score; assert score(3) == 9\\""
]}""",
    good="""{"allowed_files": ["game/score.py"],
 "postconditions": [{"kind": "file_exists", "path": "game/score.py"}],
 "interfaces": [{"path": "game/score.py", "stub": "def score(number: int) -> int: ..."}],
 "acceptance_commands": ["python -c \\"from game.score import score; assert score(3) == 9\\""]}""",
    remedy=(
        "Let this order or an earlier one provide the module or script, move the command to the "
        "order that does, or correct the name."
    ),
    check=each_order(unprovided_imports),
)
