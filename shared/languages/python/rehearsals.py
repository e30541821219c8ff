"""Says how to see whether a command of Python can run here before its code exists."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.planned_code import CannotRun, PlannedFiles, Rehearsal
from shared.languages.python import declared_requirements
from shared.languages.python.python_commands import PYTEST, pytest_paths
from shared.languages.read_commands import CodeRun, Command, ModuleRun

if TYPE_CHECKING:
    from shared.languages.language_tools import ToolResult

_STAND_IN: Final = "def test_nothing():\n    pass\n"
_NO_MODULE = re.compile(
    r"^(?:E +ModuleNotFoundError|.*): No module named '?([\w.]+)'?", re.MULTILINE
)
_PLUGIN = re.compile(r'Error importing plugin "([\w.-]+)"')
_REFUSED = re.compile(r"^(?:[^:\n]{1,80}: error|ERROR): (?!usage:)(.*)$", re.MULTILINE)
# These are faults of the test's text; what else fails while tests are collected may be the code's.
_OF_TEST = re.compile(
    r"^(?:E +((?:Syntax|Indentation|Tab)Error: .*)|(In \S+: (?:function|indirect) .*)"
    r"|('\S+' not found in `markers`.*))$",
    re.MULTILINE,
)
_FIND: Final = (
    "import importlib.util as u, sys; "
    "print(*(each for each in sys.argv[1:] if u.find_spec(each) is None))"
)


# A package is looked for by its metadata; pytest may come from llmch's own environment.
_VERSIONS: Final = """
import importlib.metadata as m, importlib.util as u, platform, sys
def version(name):
    try:
        return m.version(name)
    except Exception:
        return ""
said = "Python " + platform.python_version()
said += ", pytest " + version("pytest") if u.find_spec("pytest") else ", no pytest"
missed = [each for each in sys.argv[1:] if not version(each)]
print(said + (", declared and not installed: " + ", ".join(missed) if missed else ""))
"""


def version_argv(packages: Sequence[str], *, sees: bool = True) -> tuple[str, ...]:
    return ("python", "-c", _VERSIONS, *(packages if sees else ()))


def rehearsal(command: Command, planned: PlannedFiles) -> Rehearsal | None:
    """Return a run of pytest that only collects, or a search for the modules of other commands."""
    match command.run:
        case ModuleRun("pytest"):
            return _collection(command, planned)
        case ModuleRun(module, _, _):
            return _search(command, (module,), planned)
        case CodeRun(code):
            return _search(command, [each.module for each in code.imports], planned)
        case _:
            return _collection(command, planned) if command.program in PYTEST else None


def _collection(command: Command, planned: PlannedFiles) -> Rehearsal:
    named = [each for each in pytest_paths(command) if each.endswith(".py")]
    absent = {each: _STAND_IN for each in named if each not in {*planned.tests, *planned.listing}}

    def refusal(done: ToolResult) -> CannotRun | None:
        return _refusal(done, command, planned, certain=bool(named) and not absent)

    # Other test files change nothing; what tests import, and their configuration, does.
    shown = {p: text for p, text in planned.tests.items() if p in named or not _is_test(p)}
    words = tuple(each for each in command.argv if each in named)
    others = (each for each in command.argv if each not in words)
    argv = (*others, "--collect-only", *words)
    return Rehearsal(argv, {**shown, **absent}, refusal, with_code=True, named=words)


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("test_") or name.endswith("_test.py")


def _refusal(
    done: ToolResult, command: Command, planned: PlannedFiles, *, certain: bool
) -> CannotRun | None:
    """Return why pytest did not collect; `certain` says that the tests are those of the plan."""
    said = f"{done.stdout}\n{done.stderr}"
    if done.exit_code in {0, None} or "while loading conftest" in said:
        return None  # the second is the repository's own, and its verification says so
    if found := _PLUGIN.search(said):
        return CannotRun("E402", found[0]) if found[1] in " ".join(command.argv) else None
    for missed in _NO_MODULE.finditer(said):
        if not _may_come(missed[1], planned):
            words = f"No module named '{missed[1]}'"
            return CannotRun("E402" if missed[1] == "pytest" else "E403", words)
    if done.exit_code == 2 and (found := _OF_TEST.search(said)):
        return CannotRun("E403", next(filter(None, found.groups())))
    if done.exit_code == 4 and (found := _REFUSED.search(said)):
        # Options that the repository's configuration adds are not the command's.
        _, _, options = found[1].partition("unrecognized arguments: ")
        if options and not set(options.split()).intersection(command.argv):
            return None
        return CannotRun("E402" if options else "E403", found[1]) if options or certain else None
    if done.exit_code == 5 and certain:
        return CannotRun("E403", "no tests collected")
    return None


def _search(command: Command, modules: Sequence[str], planned: PlannedFiles) -> Rehearsal | None:
    tops = dict.fromkeys(each.partition(".")[0] for each in modules)
    foreign = (each for each in tops if each not in sys.stdlib_module_names)
    if not (asked := [each for each in foreign if not _may_come(each, planned)]):
        return None

    def refusal(done: ToolResult) -> CannotRun | None:
        missed = done.stdout.split() if done.exit_code == 0 else []
        return CannotRun("E402", f"No module named '{missed[0]}'") if missed else None

    return Rehearsal((command.argv[0], "-c", _FIND, *asked), {}, refusal)


def _may_come(module: str, planned: PlannedFiles) -> bool:
    """Return whether the project has a module, or a package that someone may install for it."""
    top = module.partition(".")[0]
    own = (each for each in planned.listing if each.endswith(".py"))
    paths = (*planned.tests, *planned.written, *own)
    if any(top == part for path in paths for part in path.removesuffix(".py").split("/")):
        return True
    if any(map(declared_requirements.declares, planned.written)):
        return True
    declared = {declared_requirements.normal_name(each) for each in planned.dependencies}
    for path in filter(declared_requirements.declares, planned.listing):
        declared |= declared_requirements.declared(planned.repo.get(path) or "")
    return top in declared or declared_requirements.provides(declared, top)
