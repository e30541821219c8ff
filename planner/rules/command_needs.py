"""Finds what commands need and do not have; what languages decide.

Each unmet need has exactly one code, so that no two rules report one fault: E217 where a later
order provides it; E210, E241 or E242 where it belongs to the project and nobody provides it; W221
for a third-party module that nobody declares; and W101 where none of that is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from planner.rules.acceptance import runs_verify_script
from planner.rules.rule_model import Finding, PlanView, Rule, Step, reader_of
from shared.errors import quoted, severity_of
from shared.files.paths import path_inside
from shared.files.strict_documents import at
from shared.languages.acceptance_commands import SHELLS, analyse_command
from shared.languages.planned_code import Need, first_with, missing_path, provided_later, unprovided
from shared.languages.read_commands import Command, ScriptRun
from shared.projects.build_tools import BUILDERS, GENERATED_FOLDERS, PROGRAMS_BY_FILE

if TYPE_CHECKING:
    from planner.plan.file_projection import Projection
    from shared.projects.manifests import VerifyCommand


@dataclass(frozen=True, slots=True)
class PlacedCommand:
    """Hold one command and its place in the plan."""

    step: Step
    index: int
    command: Command

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

        `holds` stays true until an order removes a file.
        """
        later = range(self.after + 1, len(self.step.plan.drafts) + 1)
        return first_with(later, holds, self.chain.removing)


def unmet_script(placed: PlacedCommand, written: str) -> Iterator[Need]:
    """Yield the script that a command runs and that is not there by then, if it is missing."""
    path = path_inside(written)
    if not path or _has_script(path, placed, placed.after):
        return
    if _may_be_made(path, placed):
        yield unprovided("runs", path)
    else:
        yield _late_or_never("runs", path, placed, _has_script)


def _has_script(path: str, placed: PlacedCommand, after: int) -> bool:
    reader = reader_of(placed.command)
    paths = reader.script_paths(path) if reader is not None else (path,)
    return any(placed.file_is_there(each, after) for each in paths)


def _may_be_made(path: str, placed: PlacedCommand) -> bool:
    """Say whether a tool, or an earlier command that builds or names it, may make the file."""
    return (
        path.startswith(".")
        or path.split("/", 1)[0] in GENERATED_FOLDERS
        or any(
            _makes_files(each) or path in each.text
            for index, each in placed.step.commands
            if index < placed.index
        )
    )


def _makes_files(command: Command) -> bool:
    reader = reader_of(command)
    return reader.makes_files(command) if reader is not None else command.program in BUILDERS


def unmet_paths(placed: PlacedCommand, paths: Sequence[str]) -> Iterator[Need]:
    """Yield those of `paths` that a command names and that are not there by then."""
    if placed.command.operator:
        return  # then some of the arguments are not paths
    for written in paths:
        path = path_inside(written.rstrip("/"))
        if path and not _has_path(path, placed, placed.after) and not _may_be_made(path, placed):
            yield _late_or_never("names", path, placed, _has_path)


def _has_path(path: str, placed: PlacedCommand, after: int) -> bool:
    return placed.file_is_there(path, after) or placed.chain.may_be_folder(path, after)


def _late_or_never(
    verb: str, path: str, placed: PlacedCommand, has: Callable[[str, PlacedCommand, int], bool]
) -> Need:
    later = placed.first_with(lambda after: has(path, placed, after))
    if later is not None:
        return provided_later(verb, path, placed.step.source(later))
    remover = placed.chain.remover(path, placed.after)
    return missing_path(verb, path, placed.step.source(remover) if remover else "")


def unmet_needs(steps: Sequence[Step]) -> Iterator[Finding]:
    """Yield one finding for each unmet need of an order's commands and acceptance files."""
    for step in steps:
        if step.draft.order is None:
            continue
        reported: set[str] = set()
        for index, command in step.commands:
            if runs_verify_script(command):
                continue  # E105 wants the command gone, so its needs do not matter
            for need in _of_command(step, index, command):
                if command.operator and severity_of(need.code) == "warning":
                    continue  # the command has to be rewritten: a guess about it is too early
                if need.name not in reported:
                    reported.add(need.name)
                    yield step.finding(need.code, at("acceptance_commands", index), need.message)
        yield from _of_acceptance_files(step, reported)


def _of_command(step: Step, index: int, command: Command) -> Iterator[Need]:
    placed = PlacedCommand(step, index, command)
    for each in step.codes:
        yield from each.needs_of_command(step.draft.position, command)
    if isinstance(command.run, ScriptRun):
        yield from unmet_script(placed, command.run.path)
    if (reader := reader_of(command)) is not None:
        yield from unmet_paths(placed, reader.needed_paths(command))


def _of_acceptance_files(step: Step, reported: set[str]) -> Iterator[Finding]:
    """Yield what the imports of the order's acceptance files need and do not have."""
    for file in step.code.acceptance_files:
        for each in step.codes:
            for need in each.needs_of_file(step.draft.position, file):
                if need.name not in reported:
                    reported.add(need.name)
                    line = f" line {need.line}" if need.line else ""
                    message = f"{quoted(file.path)}{line}: {need.message}"
                    field = at("acceptance_files", file.index, "content")
                    yield step.finding(need.code, field, message)


E210 = Rule(
    "E210",
    "module of the project that nobody provides",
    why="A command that imports a module which no order creates fails whatever the code does.",
    remedy="Correct the module's name, or let this order or an earlier one create its file.",
)

E217 = Rule(
    "E217",
    "declared only by a later order",
    why="Orders are executed in turn, so a module or name from a later order does not exist yet.",
    remedy="Move the command to the order that brings it, or bring it earlier.",
)

E241 = Rule(
    "E241",
    "script or test file that does not exist by then",
    why="A test runner or an interpreter fails for a file or script that does not exist.",
    remedy=("Correct the path, or add the file to this order's allowed_files and postconditions."),
)

E242 = Rule(
    "E242",
    "module to run that does not exist by then",
    why="What runs a module by its name needs the module, or the main file of the package.",
    remedy="Correct the module's name, or let this order or an earlier one create its file.",
)

W221 = Rule(
    "W221",
    "third-party module that nobody declares",
    why="Nothing is installed for a command, so a package that nobody declares may be missing.",
    remedy=(
        "Use the standard library, or declare the package: in the manifest of the project, or in "
        "the setting `dependencies`."
    ),
)


E401 = Rule(
    "E401",
    "program that is not here",
    why="A dry run looks for the program of each command where commands will run.",
    bad="""{"repo": {"build.gradle": ""}, "acceptance_commands": ["gradle test --tests Score"]}""",
    good="""{"repo": {"build.gradle": ""},
 "acceptance_commands": ["python -m compileall -q ."]}""",
    remedy="Use a program that is here, as the section on this machine lists them.",
)

E402 = Rule(
    "E402",
    "command that cannot run here",
    why=(
        "A dry run starts each test runner with the command's own words on a test that can only "
        "pass. No code of any executor passes where that test does not."
    ),
    bad=r"""{"acceptance_files": [
  {"path": "test_sum.py", "content": "def test_sum():\n    assert sum([]) == 0\n"}],
 "acceptance_commands": ["python -m pytest -q --runslow test_sum.py"]}""",
    good=r"""{"acceptance_files": [
  {"path": "test_sum.py", "content": "def test_sum():\n    assert sum([]) == 0\n"}],
 "acceptance_commands": ["python -m pytest -q test_sum.py"]}""",
    remedy=(
        "Write the command as the versions on this machine need it, or the tests for a runner that "
        "works here: the finding has the runner's own words."
    ),
)

E403 = Rule(
    "E403",
    "test that cannot be collected",
    why=(
        "A dry run has pytest collect the plan's tests, on code that keeps the interfaces and does "
        "nothing. A test that it cannot collect fails whatever the code does. So does one for Node "
        "that imports a module, or a name of one, which this Node does not have."
    ),
    bad=r"""{"acceptance_files": [
  {"path": "test_sum.py", "content":
    "import pytest\n@pytest.mark.parametrize('a', [2])\ndef test_sum():\n assert sum([]) == 0\n"}],
 "acceptance_commands": ["python -m pytest -q test_sum.py"]}""",
    good=r"""{"acceptance_files": [
  {"path": "test_sum.py", "content": "def test_sum():\n    assert sum([]) == 0\n"}],
 "acceptance_commands": ["python -m pytest -q test_sum.py"]}""",
    remedy="Correct the test file; import only what the project has and what is installed here.",
)

W101 = Rule(
    "W101",
    "acceptance needs what nobody provides",
    why="A command that imports a missing module fails whatever the code does.",
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
)


E211 = Rule(
    "E211",
    "unknown attribute or name",
    why="A name that no interface declares will not exist when the command or test runs.",
    remedy="Use the name as it is declared, or declare this one in the file's interface.",
)

E212 = Rule(
    "E212",
    "wrong number or name of arguments",
    why="A call that does not fit the declared signature fails whatever the code does.",
    remedy="Call it as it is declared, or correct the declaration and name it in `changes`.",
)

E213 = Rule(
    "E213",
    "argument of the wrong type",
    why="The executor writes the function for the declared type; another type breaks it.",
    remedy="Pass what the signature declares, or correct the declaration.",
)

E214 = Rule(
    "E214",
    "result used as what it is not",
    why="A result of the declared type cannot do what the command asks of it.",
    remedy="Use the result as the type it is declared to be, or correct the declaration.",
)

E216 = Rule(
    "E216",
    "undefined name in a command or test",
    why="Each command or test runs by itself, with only the names that it imports or defines.",
    remedy="Import or define the name in the same command or test, or correct it.",
)

E299 = Rule(
    "E299",
    "type checker failed",
    why="A plan that could not be judged is not accepted as a good one.",
    remedy=(
        "Rename a file that has the name of a standard module; else the message says what the "
        "checker stumbled on. Where neither helps, report it."
    ),
)

W222 = Rule(
    "W222",
    "type suspicion that no contract backs",
    why=(
        "The suspicion rests on existing code or on an inference. It may be right, but no "
        "interface declares what it assumes."
    ),
    remedy="Look at it again; declare what is meant in the file's interface.",
)

W224 = Rule(
    "W224",
    "code that could not be judged",
    why=(
        "What a file of the repo declares is unknown where the file cannot be read, and nothing "
        "is known of code whose compiler is missing. What uses such code is not judged. Files of "
        "Python are read in the syntax of Python 3.11, whatever runs them."
    ),
    remedy=(
        "Fix the file's syntax, or install what the message names; the plan itself may be fine."
    ),
)


_ALWAYS: Final = frozenset(
    {"bash", "sh", "test", "grep", "diff", "cmp", "cat", "ls", "head", "tail", "wc"}
    | {"sort", "env", "true", "false"}
)


def unknown_programs(view: PlanView) -> Iterator[Finding]:
    toolchains = cache(lambda: _toolchains(view.chain))  # few plans ask for any
    for step in view.steps:
        reported: set[str] = set()
        for index, command in step.commands:
            # A command with an operator cannot stay as it is, so its program may change too.
            if command.problem or command.operator or command.program in reported:
                continue
            if not _is_allowed(command, step, toolchains):
                reported.add(command.program)
                message = f"{quoted(command.program)} is no program to be taken for granted here"
                yield step.finding("E240", at("acceptance_commands", index), message)


def _toolchains(chain: Projection) -> Mapping[str, int]:
    """Return, for each toolchain's programs, the position from which its file exists."""
    first: dict[str, int] = {}
    for name, position in _first_of_each_name(chain).items():
        for program, marker in PROGRAMS_BY_FILE.items():
            if marker.fullmatch(name):
                first[program] = min(position, first.get(program, position))
    return first


def _first_of_each_name(chain: Projection) -> Mapping[str, int]:
    first: dict[str, int] = {}
    for table in (chain.first, chain.possible):
        for path, position in table.items():
            name = path.rsplit("/", 1)[-1]
            first[name] = min(position, first.get(name, position))
    return first


def _is_allowed(command: Command, step: Step, toolchains: Callable[[], Mapping[str, int]]) -> bool:
    program, position = command.program, step.draft.position
    if program in _ALWAYS or program in step.target.allowed.programs:
        return True
    if (reader := reader_of(command)) is not None and reader.is_always_there(program):
        return True
    if isinstance(command.run, ScriptRun) and program not in SHELLS:
        return True  # a file of the repo; another rule checks whether it exists
    if program in _verifying_programs(step.target.verification):
        return True
    if program not in PROGRAMS_BY_FILE:
        return False
    blind = step.chain.blind_from
    if blind is not None and blind <= position:
        return True
    return toolchains().get(program, position + 1) <= position


@cache
def _verifying_programs(verification: tuple[VerifyCommand, ...]) -> frozenset[str]:
    """Return the programs of the commands that verify the repo: the factory needs them anyway."""
    return frozenset(analyse_command(each.text).program for each in verification)


E240 = Rule(
    "E240",
    "program not allowed",
    why="Commands run in a sandbox with the project's own tools; any other program may be missing.",
    bad='{"acceptance_commands": ["curl http://localhost:8000/health"]}',
    good=r"""{"acceptance_commands": [
  "python -c \"import urllib.parse as parse; assert parse.quote(' ') == '%20'\""
]}""",
    remedy=(
        "Use Python, pytest, bash or plain tools such as test, grep, diff and cmp; a toolchain "
        "only where its file is there (package.json for npm, Cargo.toml for cargo). The user may "
        "allow more as `programs` of [tool.llmch]."
    ),
    check=unknown_programs,
)


def scripts_without_mode(view: PlanView) -> Iterator[Finding]:
    """Yield a finding for each command that starts a file of an order as a program.

    A file of the repo keeps its mode, which is not known here.
    """
    for step in view.steps:
        for index, command in step.commands:
            path = path_inside(command.argv[0]) if command.argv and not command.operator else ""
            if not path or "/" not in command.argv[0]:
                continue
            if 0 < (view.chain.provider(path) or 0) <= step.draft.position:
                program = command.argv[0]
                message = f"{quoted(program)} is written without the mode of a program: {_RUN_IT}"
                yield step.finding("W236", at("acceptance_commands", index), message)


_RUN_IT: Final = "it cannot be started by its name alone"

W236 = Rule(
    "W236",
    "file of an order started as a program",
    why=(
        "The factory writes new files with mode 0644, "
        "and starts a command without a shell: the system refuses to start the file."
    ),
    bad="""{"allowed_files": ["x.sh"], "postconditions": [{"kind": "file_exists", "path": "x.sh"}],
 "acceptance_commands": ["./x.sh"]}""",
    good="""{"allowed_files": ["x.sh"], "postconditions": [{"kind": "file_exists", "path": "x.sh"}],
 "acceptance_commands": ["bash ./x.sh"]}""",
    remedy="Name the interpreter before the file: `bash ./x.sh`, `python x.py`, `node x.js`.",
    check=scripts_without_mode,
)


RULES: Final = (
    E210, E211, E212, E213, E214, E216, E217, E240, E241, E242, E299, E401, E402,
    E403, W101, W221, W222, W224, W236,
)  # fmt: skip
