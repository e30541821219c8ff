"""Reads what `go` commands run, which tests, and whether they can fail."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import (
    TestFunction,
    failing_text,
    name_of,
    read_root,
    text_of,
    walk,
)
from shared.languages.language_tools import LESS_INDENTED, Tool
from shared.languages.planned_code import REHEARSED, CannotRun, PlannedFiles, Rehearsal
from shared.languages.read_commands import Command, Weakness, program_words, split_flags

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.languages.language_tools import ToolResult


# The flags of `go build`, `go run`, `go vet` and `go test` whose value may be the next word.
_OPTIONS: Final = frozenset(
    {"C", "p", "o", "asmflags", "buildmode", "compiler", "covermode", "coverpkg", "exec",
     "gccgoflags", "gcflags", "installsuffix", "ldflags", "mod", "modfile", "overlay", "pgo",
     "pkgdir", "tags", "toolexec", "vettool", "bench", "benchtime", "blockprofile",
     "blockprofilerate", "count", "coverprofile", "cpu", "cpuprofile", "fuzz", "fuzzminimizetime",
     "fuzztime", "list", "memprofile", "memprofilerate", "mutexprofile", "mutexprofilefraction",
     "outputdir", "parallel", "run", "shuffle", "skip", "timeout", "trace", "vet"}
)  # fmt: skip
_WITH_VALUE: Final = _OPTIONS | {f"test.{each}" for each in _OPTIONS}
_LEAVES_NOTHING: Final = frozenset({"", "test", "vet", "list", "env", "version", "doc", "help"})
_LEAVING: Final = frozenset(
    {"c", "o", "outputdir", "trace", "coverprofile", "cpuprofile", "memprofile", "blockprofile",
     "mutexprofile", "fuzz"}
)  # fmt: skip
_FOLDER: Final = re.compile(r"--?C(?:=|$)")  # it may come before the verb
_OF_PACKAGES: Final = frozenset({"test", "build", "vet", "run", "install", "list", "fmt"})


@dataclass(frozen=True, slots=True)
class GoCommand:
    """Hold the verb of a `go` command, its flags without hyphens, and what it names.

    `named` are packages or files as they are written, behind the folder of `-C`. The words
    that `go run` passes to the program, and `-args`, are left out.
    """

    verb: str
    flags: dict[str, str] = field(default_factory=dict)
    named: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        if self.verb not in _OF_PACKAGES:
            return ()
        found = (self._path(each) for each in self.named)
        return tuple(each for each in found if each not in ("", "."))

    @property
    def folders(self) -> tuple[tuple[str, bool], ...]:
        """Return the folders of the packages, and whether those below them are meant too.

        A package that is named by its import path has no folder here.
        """
        if not self.named:
            return ((self.flags.get("C", ""), False),)
        found: list[tuple[str, bool]] = []
        for each in self.named:
            if each.startswith(".") or each.endswith(".go"):
                path = self._path(each)
                folder = posixpath.dirname(path) if each.endswith(".go") else path
                found.append(("" if folder == "." else folder, each.endswith("...")))
        return tuple(found)

    def _path(self, written: str) -> str:
        is_local = written.startswith((".", "/")) or written.endswith(".go")
        if not is_local:
            return ""
        folder = written.removesuffix("...").rstrip("/") or "."
        return posixpath.normpath(posixpath.join(self.flags.get("C", ""), folder))


def read_go_command(words: Sequence[str]) -> GoCommand:
    """Return what `go` does with these arguments. Never raises."""
    before = 0 if not words or not _FOLDER.match(words[0]) else 1 if "=" in words[0] else 2
    words = [*words[before : before + 1], *words[:before], *words[before + 1 :]]
    verb, rest = (words[0], words[1:]) if words else ("", [])
    flags: dict[str, str] = {}
    named: list[str] = []
    for name, value in split_flags(rest, _WITH_VALUE):
        if name == "args":
            break
        if name:
            flags[name.removeprefix("test.")] = value
            continue
        named.append(value)
        if verb == "run" and not value.endswith(".go"):
            break  # the rest is for the program
    return GoCommand(verb, flags, tuple(named))


def makes_files(argv: Sequence[str]) -> bool:
    """Return whether a command line of `go` may leave files: a program, a profile, a module."""
    words = argv[argv.index("go") + 1 :] if "go" in argv else argv[1:]
    read = read_go_command(words)
    return read.verb not in _LEAVES_NOTHING or bool(_LEAVING & read.flags.keys())


_NOTHING: Final = f"""package {REHEARSED}

import "testing"

func TestNothing(t *testing.T) {{}}
"""


def version_argv(packages: Sequence[str], *, sees: bool = True) -> tuple[str, ...]:
    return ("go", "version")


def rehearsal(command: Command, planned: PlannedFiles) -> Rehearsal | None:
    """Return `go test` with the command's flags, on a package whose only test passes."""
    read = read_go_command(program_words(command) or ())
    if read.verb != "test" or {"C", "args", "coverpkg"} & read.flags.keys():
        return None
    nested = any(path.endswith("/go.mod") for path in planned.listing)
    if nested or command.argv[:1] != ("go",):
        return None
    files = {f"{REHEARSED}/nothing_test.go": _NOTHING}
    if "go.mod" not in planned.listing:
        files["go.mod"] = f"module {REHEARSED}\n"
    flags = (f"-{name}={value}" if value else f"-{name}" for name, value in read.flags.items())

    def refusal(done: ToolResult) -> CannotRun | None:
        lines = [each.strip() for each in f"{done.stderr}\n{done.stdout}".splitlines()]
        words = next((each for each in lines if each and not each.startswith("#")), "")
        return CannotRun("E402", words) if done.exit_code and words else None

    return Rehearsal(("go", "test", *flags, f"./{REHEARSED}"), files, refusal)


_TEST: Final = re.compile(r"(?:Test|Fuzz|Example)(?![a-z])\w*")
_FAILS: Final = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_SKIPS: Final = frozenset({"Skip", "Skipf", "SkipNow"})
_OF_TESTING: Final = frozenset({"*testing.T", "*testing.B", "*testing.F", "testing.TB"})
_SUBTESTS: Final = {"Run": 1, "Fuzz": 0}  # by the place of the function among the arguments
_REPEATS: Final = re.compile(r"[*+?{]")
_ALTERNATIVES: Final = re.compile(r"\|(?![^\[]*\])")  # but those in `[a|b]`
_OUTPUT: Final = re.compile(r"//\s*(?:unordered )?output:", re.IGNORECASE)


@lru_cache(maxsize=64)
def test_functions(text: str) -> tuple[TestFunction, ...] | None:
    """Return the tests of a file in their order; `None` if the file cannot be read."""
    root = _root(text)
    return None if root is None or root.has_error else tuple(_functions(root))


def asserting_text(path: str, text: str, product: Collection[str]) -> str:
    """Return what `Plans.asserting_text` does."""
    return failing_text(_root(text), test_functions(text) or ())


def _root(text: str) -> Node | None:
    import tree_sitter_go

    return read_root(tree_sitter_go.language, text)


def taken(tests: Iterable[TestFunction], run: str | None, skip: str | None) -> list[TestFunction]:
    """Return the tests that `-run` and `-skip` leave; a pattern that is none takes them all."""
    # What leaves subtests out leaves their test.
    wanted, unwanted = _pattern(run), _pattern(None if skip and "/" in skip else skip)
    kept = (each for each in tests if wanted is None or wanted.search(each.name))
    return [each for each in kept if unwanted is None or not unwanted.search(each.name)]


def _pattern(written: str | None) -> re.Pattern[str] | None:
    """Return the part of a pattern that is for tests themselves, before each slash."""
    if written is None or "(" in written or len(_REPEATS.findall(written)) > 1:
        return None  # a search for repeated repetitions may take for ever
    try:
        return re.compile("|".join(each.split("/")[0] for each in _ALTERNATIVES.split(written)))
    except (re.error, RecursionError, OverflowError):
        return None


def _functions(root: Node) -> Iterator[TestFunction]:
    for node in root.named_children:
        if node.type != "function_declaration":
            continue
        name, body = name_of(node), node.child_by_field_name("body")
        if name == "TestMain" or not _TEST.fullmatch(name) or body is None:
            continue
        statements = [each for each in walk(body) if each.type.endswith("_statement")]
        first = next((each for each in statements if "block" not in each.type), None)
        called = ""
        if first is not None and first.type == "expression_statement":
            called = text_of(first.named_children[0].child_by_field_name("function"))
        tests = _names_of_tests(node)
        can_fail = any(_may_fail(each, tests) for each in walk(body))
        if name.startswith("Example"):
            can_fail = bool(_OUTPUT.search(text_of(body)))
        skipped, at = called.rpartition(".")[2] in _SKIPS, (node.start_byte, node.end_byte)
        yield TestFunction(name, skipped, can_fail, at)


def _names_of_tests(function: Node) -> frozenset[str]:
    """Return what a test and the functions within it call the test: `t`, and `st` of a subtest."""
    found = [_parameter_of(function)]
    given = (each for each in walk(function) if each.type == "parameter_declaration")
    for each in given:
        if text_of(each.child_by_field_name("type")) in _OF_TESTING:
            found += [text_of(name) for name in each.children_by_field_name("name")]
    return frozenset(filter(None, found))


def _parameter_of(node: Node) -> str:
    parameters = node.child_by_field_name("parameters")
    return next(map(name_of, parameters.named_children if parameters else ()), "")


def _may_fail(node: Node, tests: Collection[str]) -> bool:
    """Return whether a call fails a test, or passes the test on to what may fail it.

    `tests` are the names that tests have there. A subtest that is written elsewhere may fail.
    """
    if node.type != "call_expression":
        return False
    function = text_of(node.child_by_field_name("function"))
    arguments = node.child_by_field_name("arguments")
    passed = [e for e in (arguments.named_children if arguments else ()) if e.type != "comment"]
    owner, _, last = function.rpartition(".")
    # `err.Error()` says what an error is.
    if function == "panic" or (last in _FAILS and (last != "Error" or passed or owner in tests)):
        return True
    if owner in tests and last in _SUBTESTS and passed[_SUBTESTS[last] :]:
        return passed[-1].type != "func_literal"
    is_log = owner in tests and last in ("Log", "Logf")
    return not is_log and any(text_of(each) in tests for each in passed)


_PRINTS = frozenset({"version", "env", "help", "list", "doc", "fmt", "tool", "mod", ""})
_COMPILES = frozenset({"build", "vet", "install"})
_WITHOUT_A_RUN = {
    "list": "only lists tests and runs none",
    "c": "only compiles tests and runs none",
    "n": "only prints commands and runs none",
    "exec": "gives the tests to another program",
}
_SHOWN: Final = frozenset({"h", "help"})


def runs_go_tests(words: Sequence[str]) -> bool | None:
    """Return whether `go` runs tests with these arguments; `None` if they do not say so."""
    command = read_go_command(words)
    if command.verb == "test":
        return not _SHOWN & command.flags.keys() and _without_a_run(command.flags) is None
    return False if command.verb in (_COMPILES | _PRINTS) - {"", "tool"} else None


def _without_a_run(flags: Mapping[str, str]) -> str | None:
    """Return what the flags of `go test` have it do instead of running tests, if anything."""
    for flag, message in _WITHOUT_A_RUN.items():
        if flag in flags and (flag != "exec" or flags[flag] in ("true", "echo", ":")):
            return message
    return None


NO_TEST: Final = "runs no test: {} matches none"


def weakness_of_text(program: str, words: Sequence[str]) -> Weakness | None:
    """Return why a command can hardly fail; `None` if its text shows no reason."""
    if program != "go":
        return Weakness("W230", "only prints")
    command = read_go_command(words)
    flags = command.flags
    if command.verb in _COMPILES | _PRINTS:
        return Weakness("W230", f"only {'compiles' if command.verb in _COMPILES else 'prints'}")
    if command.verb != "test":
        return None
    if message := _without_a_run(flags):
        return Weakness("W232", message)
    if flags.get("count") == "0":
        return Weakness("W232", "runs each test no times")
    if flags.get("run") in ("^$", "$^") and not is_measured(flags):
        return Weakness("W232", NO_TEST.format(f"-run {flags['run']}"))
    return None


def is_measured(flags: Mapping[str, str]) -> bool:
    """Return whether a run of tests also runs benchmarks or fuzz tests."""
    return "bench" in flags or "fuzz" in flags


TOOLS: Final = (
    Tool(  # go build
        head=re.compile(r"(?:vet: )?(?P<path>[^\s:]+\.go):(?P<line>\d+):\d+: (?P<message>.*)$"),
        end=LESS_INDENTED,
        told=re.compile(r"(?P<told>\t.*)$"),
    ),
    Tool(  # go test
        head=re.compile(r"\s*--- FAIL: (?P<message>[^\s(]+)"),
        end=re.compile(r"\s*--- |FAIL\b|ok\b|PASS\b|goroutine "),
        place=re.compile(r"\s+(?P<path>[^\s:/][^\s:]*\.go):(?P<line>\d+)(?:: | \+0x)"),
        told=re.compile(r"(?:\s+[^\s:]+\.go:\d+: |(?=panic: )|\s{8,})(?P<told>\S.*)$"),
    ),
)
