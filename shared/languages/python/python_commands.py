"""Reads what the commands of Python's tools run, whether they can fail, and how to try them."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.planned_code import CannotRun, PlannedFiles, Rehearsal
from shared.languages.python import declared_requirements
from shared.languages.python.asserting_code import may_skip, speaks_of_skips, weakness_of_code
from shared.languages.python.python_code import ROOTS, read_code
from shared.languages.read_commands import (
    Arguments,
    CodeRun,
    Command,
    ModuleRun,
    NothingToRun,
    ProgramRun,
    Run,
    ScriptRun,
    Weakness,
)

if TYPE_CHECKING:
    from shared.languages.language_tools import ToolResult

PYTEST: Final = frozenset({"pytest", "py.test"})
# The options, of pytest and of common plugins, whose value is the next word. An option written as
# `--option=value` needs no entry.
_PYTEST_OPTION_WITH_VALUE = re.compile(
    "-[qvxslh]*[kmcpoWrn]|--(?:maxfail|tb|rootdir|ignore|ignore-glob|deselect|junitxml|junit-xml|basetemp"
    "|confcutdir|durations|durations-min|color|capture|log-level|log-file|import-mode|cov"
    "|cov-report|cov-config|dist|timeout|config-file|override-ini|pythonwarnings|verbosity"
    "|show-capture|doctest-glob)"
)
# Long options that surely have no value. Any other may have one that looks like no path.
_PYTEST_FLAG = re.compile(
    "--(?:quiet|verbose|exitfirst|last-failed|lf|failed-first|ff|new-first|nf|stepwise|sw|pdb"
    "|showlocals|no-header|no-summary|disable-warnings|strict|strict-markers|strict-config"
    "|runxfail|doctest-modules|noconftest|cache-clear|setup-show|no-cov|-)?"
)


def read_run(program: str, arguments: Arguments) -> Run:
    """Return what an interpreter or pytest runs; options are read as by the interpreter's `getopt`.

    Options may be written as `-Ic CODE`, `-W arg` or `-mMODULE`.
    """
    if program in PYTEST:
        return ProgramRun(arguments.words)
    argv, quoted, index = arguments.words, arguments.quoted, 0
    flags: list[str] = []
    while index < len(argv) and argv[index][:1] == "-" and argv[index] != "-":
        word = argv[index]
        index += 1
        if word == "--":
            break
        if word.startswith("--"):
            flags.append(word)
            index += word == "--check-hash-based-pycs"
            continue
        letters, option, value = _short_options(word)
        flags += [f"-{letter}" for letter in letters]
        if not option:
            continue
        if not value:
            index += 1
            value = argv[index - 1] if index <= len(argv) else ""
        if option == "c":
            if not value or value.isspace():
                raise NothingToRun("has `-c` without code")
            return CodeRun(read_code(value), tuple(flags), quoted[index - 1])
        if not value:
            raise NothingToRun(f"has `-{option}` without its value")
        if option == "m":
            return ModuleRun(value, tuple(flags), tuple(argv[index:]))
        flags.append(f"-{option}{value}")
    if index < len(argv) and argv[index] != "-":
        return ScriptRun(argv[index], tuple(flags), tuple(argv[index + 1 :]))
    return ProgramRun(tuple(flags))


def _short_options(word: str) -> tuple[str, str, str]:
    """Return the plain letters of `-Icprint()`, the letter that takes a value, and the value."""
    letters, option, value = re.split(r"([cmWX]|\Z)", word[1:], maxsplit=1)
    return letters, option, value


def needed_paths(command: Command) -> tuple[str, ...]:
    if "--pyargs" in command.argv:
        return ()  # some of the arguments are modules
    match command.run:
        case ModuleRun(module="py_compile", arguments=arguments):
            return tuple(each for each in arguments if each[:1] != "-")
        case _:
            return pytest_paths(command)


def pytest_paths(command: Command) -> tuple[str, ...]:
    """Return the files and folders that a pytest command names, each cut off before any `::`.

    The result is empty if the command does not run pytest, or names no file or folder.
    """
    match command.run:
        case ModuleRun(module="pytest", arguments=arguments):
            return tuple(_positional(arguments))
        case ProgramRun(arguments) if command.program in PYTEST:
            return tuple(_positional(arguments))
        case _:
            return ()


def _positional(arguments: Sequence[str]) -> Iterator[str]:
    takes_value = may_take_one = False
    for word in arguments:
        if word.startswith("-") and not takes_value:
            takes_value = _PYTEST_OPTION_WITH_VALUE.fullmatch(word) is not None
            may_take_one = word.startswith("--") and not (
                "=" in word or _PYTEST_FLAG.fullmatch(word)
            )
            continue
        path = word.split("::", 1)[0]
        if not takes_value and (not may_take_one or "/" in path or path.endswith(".py")):
            yield path
        takes_value = may_take_one = False


def read_paths(command: Command) -> Iterator[str]:
    """Yield the paths that the modules which a command imports or runs may have."""
    match command.run:
        case CodeRun(code):
            for each in code.imports:
                yield from module_paths(each.module)
                for name in each.names:
                    yield from module_paths(f"{each.module}.{name}")
        case ModuleRun(module):
            yield from module_paths(module)
            yield from module_paths(f"{module}.__main__")
        case _:
            return


def module_paths(module: str) -> Iterator[str]:
    """Yield the paths that a module and the packages around it may have."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        path = "/".join(parts[:end])
        for root in ROOTS:
            yield f"{root}{path}.py"
            yield f"{root}{path}/__init__.py"


_CONFIGURES_TESTS: Final = frozenset(
    {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "noxfile.py"}
)
_FOLDERS_OF_TESTS: Final = ("test", "tests")
_RUN_AT_START: Final = frozenset({"sitecustomize", "usercustomize"})
# What unittest and pytest import. Their other modules are part of each interpreter.
_OF_RUNNERS: Final = frozenset(
    """pytest _pytest pluggy iniconfig packaging pygments py argparse array ast base64 bdb binascii
    bisect bz2 calendar cmd code codeop collections contextlib copy copyreg csv dataclasses datetime
    decimal difflib dis doctest email encodings enum fcntl fnmatch functools gettext glob hashlib
    heapq html importlib inspect ipaddress json keyword linecache locale logging lzma math numbers
    opcode operator os pathlib pdb platform pprint pyexpat quopri random re reprlib runpy select
    selectors shlex shutil signal socket string struct subprocess tempfile textwrap threading token
    tokenize traceback types typing unicodedata unittest urllib uuid warnings weakref xml zipfile
    zlib""".split()  # noqa: SIM905  # one name a line would be 90 lines
)


def steers(path: str, text: str = "") -> str:
    """Return how the file can decide how tests end that do not name it, else "".

    A package with `text` may tell unittest which tests it has.
    """
    folder, name = posixpath.split(path)
    if name == "__init__.py" and (
        "load_tests" in text or (text.strip() and posixpath.basename(folder) in _FOLDERS_OF_TESTS)
    ):
        return "says which tests its package has"
    if name == "conftest.py":
        return "is loaded by pytest before the tests"
    if name in _CONFIGURES_TESTS:
        return "says what the test runner does"
    if name.endswith(".pth"):
        return "is run by each start of Python"
    for root in ROOTS:
        module = path.removeprefix(root).removesuffix(".py").removesuffix("/__init__")
        if path.startswith(root) and path.endswith(".py") and "/" not in module:
            return _steers_by_name(module)
    in_tests = folder in _FOLDERS_OF_TESTS and name.endswith(".py")
    return _steers_by_name(name.removesuffix(".py")) if in_tests else ""


def _steers_by_name(module: str) -> str:
    if module in _RUN_AT_START:
        return "is run by each start of Python"
    if module in _OF_RUNNERS:
        return f"takes the place of the module {module}, which test runners import"
    return ""


_COLLECTS_ONLY: Final = frozenset({"--collect-only", "--co", "--fixtures", "--markers"})
_SHOWN_BY_PYTEST: Final = frozenset({"--version", "-V", "--help", "-h"})


def weakness(command: Command) -> Weakness | None:
    """Return why a command can hardly fail; `None` if its text shows no reason."""
    match command.run:
        case CodeRun(code, flags):
            optimised = _is_optimised(flags, command)
            return None if code.problem else weakness_of_code(code.source, optimised=optimised)
        case ModuleRun("pytest", flags, arguments):
            if _is_optimised(flags, command):
                return Weakness("W232", "runs with assertions switched off")
            return _weak_pytest(arguments)
        case ModuleRun(arguments=arguments) if arguments and set(arguments) <= {"--version", "-V"}:
            return Weakness("W230", "only shows a version")
        case ProgramRun(arguments) if command.program in PYTEST:
            return _weak_pytest(arguments)
        case ScriptRun(_, flags) if _is_optimised(flags, command):
            return Weakness("W232", "runs with assertions switched off")
        case _:
            return None


def _weak_pytest(arguments: Sequence[str]) -> Weakness | None:
    if _COLLECTS_ONLY & set(arguments):
        return Weakness("W232", "only collects tests and runs none")
    if _SHOWN_BY_PYTEST & set(arguments):
        return Weakness("W230", "only prints")
    return None


def _is_optimised(flags: Sequence[str], command: Command) -> bool:
    return any(each.startswith("-O") for each in flags) or any(
        name == "PYTHONOPTIMIZE" and value for name, value in command.environment
    )


def skips_none(command: Command, files: Mapping[str, str], loaded: Mapping[str, str]) -> bool:
    """Return whether a command runs tests of `files` alone, and nothing there may skip a test.

    A decorator that is not known may, and so may the files that a runner has `loaded` unasked.
    """
    named = _named_tests(command, files)
    return (
        bool(named)
        and not any(each is None or may_skip(files[each]) for each in named)
        and not any(map(speaks_of_skips, loaded.values()))
    )


def _named_tests(command: Command, files: Mapping[str, str]) -> set[str | None]:
    """Return which of the files a command of pytest or unittest names; `None` for others."""
    match command.run:
        case ModuleRun(module="unittest", arguments=arguments):
            names = (each for each in arguments if not each.startswith("-"))
            return {_test_module(each, files) for each in names}
        case _:
            paths = map(posixpath.normpath, pytest_paths(command))
            return {path if path in files else None for path in paths}


def _test_module(name: str, files: Collection[str]) -> str | None:
    """Return the file of a test, class or module that unittest is given by its dotted name."""
    if name in files:
        return name
    parts = name.split(".")
    paths = ("/".join(parts[:end]) + ".py" for end in range(len(parts), 0, -1))
    return next((each for each in paths if each in files), None)


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

    certain = bool(named) and {*planned.tests, *(planned.listing - planned.written)} >= {*named}

    def refusal(done: ToolResult) -> CannotRun | None:
        return _refusal(done, command, planned, certain=certain)

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
