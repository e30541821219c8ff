"""Reads what commands of Node and its tools run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from shared.languages.language_tools import LESS_INDENTED, Tool


@dataclass(frozen=True, slots=True)
class Words:
    """Hold the options by name with their values, in their order, and the other words.

    `rest` are the words after `--`. The value is empty if an option has none.
    """

    options: tuple[tuple[str, str], ...]
    positional: tuple[str, ...]
    rest: tuple[str, ...] = ()

    def values(self, *names: str) -> tuple[str, ...]:
        """Return the values of all options with one of these names."""
        return tuple(value for name, value in self.options if name in names)

    def has(self, *names: str) -> bool:
        """Return whether one of these options is there, whatever its value."""
        return any(name in names for name, _ in self.options)


def split_options(
    words: Sequence[str], with_value: Collection[str], *, stops: bool = False
) -> Words:
    """Return the words, sorted. The options of `with_value` take the next word as their value.

    `stops` says that options end at the first other word, as those of `node` do; this word and all
    that follow are then `positional`.
    """
    options: list[tuple[str, str]] = []
    positional: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            rest = tuple(words[index:])
            return Words(tuple(options), (*positional, *rest) if stops else tuple(positional), rest)
        if word[:1] != "-" or word == "-":
            if stops:
                return Words(tuple(options), tuple(words[index - 1 :]))
            positional.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if not equals and name in with_value and index < len(words):
            value = words[index]
            index += 1
        options.append((name, value))
    return Words(tuple(options), tuple(positional))


class Runner(StrEnum):
    """Name a test runner."""

    NODE = "node"
    VITEST = "vitest"
    JEST = "jest"
    MOCHA = "mocha"
    BUN = "bun"


@dataclass(frozen=True, slots=True)
class NodeCodeRun:
    """Say that code in the command itself is run; `is_typed` says that it may be TypeScript."""

    text: str
    is_typed: bool = False


@dataclass(frozen=True, slots=True)
class FileRun:
    """Say that a file is run; `only_parses` says that its syntax alone is looked at."""

    path: str
    only_parses: bool = False


@dataclass(frozen=True, slots=True)
class TestRun:
    """Say that a test runner is started.

    `patterns` choose files: paths and globs for `node` and `mocha`, parts of paths for `vitest` and
    `bun`, regular expressions for `jest`. `filters` are regular expressions that choose tests by
    their titles. `passes_empty` says that a run without tests succeeds, and `is_exact` is false
    where an option may choose the tests in another way.
    """

    runner: Runner
    patterns: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    passes_empty: bool = False
    only_lists: bool = False
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class PackageScriptRun:
    """Say that a script of `package.json` is run by its name.

    `if_present` says that the command succeeds without the script, and `may_be_program` that its
    name may be that of a program, too.
    """

    name: str
    arguments: tuple[str, ...] = ()
    if_present: bool = False
    may_be_program: bool = False

    @property
    def may_lack(self) -> bool:
        """Return whether the command may work although the script is missing."""
        return self.if_present or self.may_be_program


@dataclass(frozen=True, slots=True)
class CompilerRun:
    """Say that `tsc` is run; `project` is the configuration that is named, or empty."""

    project: str = ""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """Say that another program is run; `shows_only` says that it prints a version or a help."""

    name: str
    shows_only: bool = False


Run = NodeCodeRun | FileRun | TestRun | PackageScriptRun | CompilerRun | ToolRun


@dataclass(frozen=True, slots=True)
class CommandRuns:
    """Hold what one command runs, and the `packages` that have to be installed for it.

    `required` are the modules that are loaded first. `problem` says why the command cannot run.
    """

    runs: tuple[Run, ...] = ()
    packages: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    problem: str = ""


_CODE: Final = ("-e", "--eval", "-p", "--print", "-pe")
_LOADED: Final = ("-r", "--require", "--import", "--loader", "--experimental-loader")
_NODE_WITH_VALUE: Final = frozenset(
    {*_CODE, *_LOADED, "-C", "--conditions", "--input-type", "--test-name-pattern", "--run",
     "--test-skip-pattern", "--test-reporter", "--test-reporter-destination", "--test-timeout",
     "--test-concurrency", "--test-shard", "--env-file", "--title", "--tsconfig",
     "--test-coverage-include", "--test-coverage-exclude", "--test-coverage-lines"}
)  # fmt: skip
_SHOWS_ONLY: Final = ("-v", "--version", "-h", "--help")
_SLASHES = re.compile(r"/(.*)/[a-z]*")


def read_node(words: Sequence[str], *, is_typed: bool = False) -> CommandRuns:
    """Return what `node` runs with these words. `is_typed` says that code may be TypeScript."""
    split = split_options(words, _NODE_WITH_VALUE, stops=True)
    required = split.values(*_LOADED)
    if split.has(*_CODE) and not any(split.values(*_CODE)):
        return CommandRuns(problem="has `-e` without code")
    return CommandRuns(tuple(_runs(split, is_typed=is_typed)), required=required)


def _runs(split: Words, *, is_typed: bool) -> Iterator[Run]:
    if code := [each for each in split.values(*_CODE) if each]:
        has_types = split.values("--input-type")[-1:] == ("module-typescript",)
        yield NodeCodeRun(code[-1], is_typed or has_types)
    elif split.has("--test"):
        shapes = tuple(map(_plain, split.values("--test-name-pattern")))
        is_exact = not split.has("--test-skip-pattern", "--test-only", "--watch")
        yield TestRun(Runner.NODE, split.positional, shapes, passes_empty=True, is_exact=is_exact)
    elif names := split.values("--run"):
        yield PackageScriptRun(names[-1], split.rest)
    elif split.has(*_SHOWS_ONLY):
        yield ToolRun("node", shows_only=True)
    elif split.positional and split.positional[0] != "-":
        yield FileRun(split.positional[0], only_parses=split.has("-c", "--check"))


def _plain(pattern: str) -> str:
    """Return the regular expression of `/score/i`; a pattern without slashes stays as it is."""
    found = _SLASHES.fullmatch(pattern)
    return found[1] if found else pattern


_RUNNERS_SHOWS_ONLY: Final = ("-v", "--version", "-h", "--help", "--showConfig", "--init", "--all")
_VITEST_MODES: Final = frozenset({"run", "watch", "dev", "related", "bench", "list", "typecheck"})
_VITEST_VALUES: Final = frozenset(
    {"-t", "--testNamePattern", "-c", "--config", "-r", "--root", "--dir", "--reporter",
     "--project",
     "--environment", "--pool", "--testTimeout", "--retry", "--exclude", "--shard", "--mode",
     "--outputFile", "--bail", "--maxWorkers", "--coverage.provider"}
)  # fmt: skip
_JEST_VALUES: Final = frozenset(
    {"-t", "--testNamePattern", "-c", "--config", "--rootDir", "--env", "--testEnvironment",
     "--maxWorkers", "-w", "--testTimeout", "--reporters", "--selectProjects", "--shard",
     "--testPathPattern", "--testPathPatterns", "--testPathIgnorePatterns", "--coverageDirectory",
     "--outputFile", "--testMatch", "--testRegex", "--projects", "--roots"}
)  # fmt: skip
_MOCHA_VALUES: Final = frozenset(
    {"-g", "--grep", "-f", "--fgrep", "-r", "--require", "-R", "--reporter", "-t", "--timeout",
     "-u", "--ui", "--config", "--spec", "--ignore", "--extension", "--file", "-n", "--node-option",
     "--import", "-s", "--slow", "--retries", "-j", "--jobs", "--package"}
)  # fmt: skip
_RUNNERS_ELSEWHERE: Final = (
    "-c", "--config", "-r", "--root", "--rootDir", "--dir", "--project", "--selectProjects",
    "--testMatch", "--testRegex", "--projects", "--roots", "--exclude", "--shard", "--changed",
    "--onlyChanged", "-o", "--onlyFailures", "--findRelatedTests", "--testPathIgnorePatterns",
    "-f", "--fgrep", "-i", "--invert", "--ignore", "--file", "--package",
)  # fmt: skip
_TSC_VALUES: Final = frozenset({"-p", "--project", "--outDir", "--target", "-t", "--module", "-m"})


def read_vitest(words: Sequence[str]) -> Run:
    """Return what `vitest` runs with these words."""
    split = split_options(words, _VITEST_VALUES)
    if split.has(*_RUNNERS_SHOWS_ONLY):
        return ToolRun("vitest", shows_only=True)
    named = split.positional
    mode = named[0] if named and named[0] in _VITEST_MODES else ""
    return TestRun(
        Runner.VITEST,
        named[1:] if mode else named,
        split.values("-t", "--testNamePattern"),
        passes_empty=split.has("--passWithNoTests"),
        only_lists=mode == "list",
        is_exact=mode in {"", "run"} and not split.has(*_RUNNERS_ELSEWHERE),
    )


def read_jest(words: Sequence[str]) -> Run:
    """Return what `jest` runs with these words."""
    split = split_options(words, _JEST_VALUES)
    if split.has(*_RUNNERS_SHOWS_ONLY):
        return ToolRun("jest", shows_only=True)
    return TestRun(
        Runner.JEST,
        (*split.positional, *split.values("--testPathPattern", "--testPathPatterns")),
        split.values("-t", "--testNamePattern"),
        passes_empty=split.has("--passWithNoTests"),
        only_lists=split.has("--listTests"),
        is_exact=not split.has(*_RUNNERS_ELSEWHERE),
    )


def read_mocha(words: Sequence[str]) -> Run:
    """Return what `mocha` runs with these words."""
    split = split_options(words, _MOCHA_VALUES)
    if split.has("-h", "--help", "-V", "--version"):
        return ToolRun("mocha", shows_only=True)
    return TestRun(
        Runner.MOCHA,
        (*split.positional, *split.values("--spec"), *split.rest),
        split.values("-g", "--grep"),
        passes_empty=split.has("--pass-on-failing-test-suite"),
        only_lists=split.has("--dry-run"),
        is_exact=not split.has(*_RUNNERS_ELSEWHERE, "--config"),
    )


def read_bun_test(words: Sequence[str]) -> Run:
    """Return what `bun test` runs with the words after these two."""
    split = split_options(words, {"-t", "--test-name-pattern", "--timeout", "--preload", "-r"})
    names = split.values("-t", "--test-name-pattern")
    return TestRun(
        Runner.BUN, split.positional, names, passes_empty=split.has("--pass-with-no-tests")
    )


def read_tsc(words: Sequence[str]) -> Run:
    """Return what `tsc` runs with these words."""
    split = split_options(words, _TSC_VALUES)
    if split.has(*_RUNNERS_SHOWS_ONLY):
        return ToolRun("tsc", shows_only=True)
    return CompilerRun((split.values("-p", "--project") or ("",))[-1])


READERS: Final[Mapping[str, Callable[[Sequence[str]], Run]]] = {
    "vitest": read_vitest,
    "jest": read_jest,
    "mocha": read_mocha,
    "_mocha": read_mocha,
    "tsc": read_tsc,
}


MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_NODES: Final = frozenset({"node", "nodejs"})
# These run TypeScript, with the options of `node`.
_TYPED_NODES: Final = frozenset({"tsx", "ts-node", "esr", "swc-node"})
# The package that has a program, where their names differ.
_PACKAGES: Final = {
    "tsc": "typescript", "_mocha": "mocha", "playwright": "@playwright/test", "ng": "@angular/cli",
    "vue-tsc": "vue-tsc", "swc": "@swc/cli", "babel": "@babel/cli", "biome": "@biomejs/biome",
    "react-scripts": "react-scripts", "tsd": "tsd", "svelte-check": "svelte-check",
}  # fmt: skip
CERTAIN: Final = frozenset({"vitest", "jest", "mocha", "tsx", "ts-node", *_PACKAGES.values()})
"""Packages that are meant where `npx` is given their programs; of another, only that is known."""
# Words of a package manager that are neither scripts nor programs.
_OWN_WORDS: Final = frozenset(
    {"install", "ci", "i", "add", "remove", "update", "audit", "pack", "publish", "ls", "list",
     "link", "config", "init", "create", "outdated", "view", "info", "prune", "rebuild", "version",
     "why", "cache", "set", "workspace", "workspaces", "dedupe", "import", "dlx", "licenses", "up",
     "upgrade", "root", "bin", "query", "explain", "fund", "help", "login", "pkg", "build"}
)  # fmt: skip
_NPM_TEST: Final = frozenset({"test", "t", "tst"})
_LIFECYCLE: Final = frozenset({"test", "start", "stop", "restart"})
_ELSEWHERE: Final = (
    "--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "-ws", "--workspaces", "--filter",
    "-F", "-r", "--recursive",
)  # fmt: skip
_WITH_VALUE: Final = frozenset(
    {"--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F", "--loglevel"}
)
_MAX_LAUNCHERS: Final = 4  # `pnpm exec npx vitest`


def read_command(argv: Sequence[str]) -> CommandRuns | None:
    """Return what a command runs; `None` if it is none of this ecosystem.

    `argv` begins with the program, without `env` and assignments.
    """
    return _read(argv, _MAX_LAUNCHERS)


def _read(argv: Sequence[str], depth: int) -> CommandRuns | None:
    program = argv[0].rpartition("/")[2] if argv else ""
    words = argv[1:]
    if program in _NODES:
        return read_node(words)
    if program in _TYPED_NODES:
        return read_node(words, is_typed=True)
    if program in READERS:
        return CommandRuns((READERS[program](words),))
    if not depth:
        return None
    if program in {"npx", "pnpx", "bunx"}:
        return _launched(words, depth)
    if program in MANAGERS:
        return _managed(program, words, depth)
    return None


def _launched(words: Sequence[str], depth: int) -> CommandRuns:
    """Return what `npx` runs with these words."""
    split = split_options(words, {"-p", "--package", "-c", "--call", *_WITH_VALUE}, stops=True)
    if split.has("-c", "--call", *_ELSEWHERE[1:]) or not split.positional:
        return CommandRuns()
    program, _, _ = split.positional[0].rpartition("@")
    program = program or split.positional[0]
    inner = _read((program, *split.positional[1:]), depth - 1)
    packages = split.values("-p", "--package") or (_PACKAGES.get(program, program),)
    named = tuple(each.rpartition("@")[0] or each for each in packages)
    if inner is None:
        shows = split.positional[1:] in {("--version",), ("--help",), ("-v",), ("-h",)}
        inner = CommandRuns((ToolRun(program, shows_only=shows),))
    return replace(inner, packages=(*named, *inner.packages))


def _managed(program: str, words: Sequence[str], depth: int) -> CommandRuns | None:
    split = split_options(words, _WITH_VALUE, stops=True)
    if split.has(*_ELSEWHERE):
        return CommandRuns()  # of another folder, which has scripts of its own
    if not split.positional:
        shows = split.has("-v", "--version", "-h", "--help")
        return CommandRuns((ToolRun(program, shows_only=shows),))
    word, after = split.positional[0], split.positional[1:]
    if program == "bun" and word == "test":
        return CommandRuns((read_bun_test(after),))
    if word in {"exec", "x", "dlx"}:
        return _launched(after[1:] if after[:1] == ("--",) else after, depth)
    if word in {"run", "run-script", "rum", "urn"}:
        return _script(program, after, is_word=False)
    if program == "npm" and word in _NPM_TEST:
        return _script(program, ("test", *after), is_word=False)
    if word in _LIFECYCLE:
        return _script(program, (word, *after), is_word=False)
    if program == "npm" or word in _OWN_WORDS:
        return CommandRuns((ToolRun(program),))
    if program == "bun" and ("." in word or "/" in word):
        return CommandRuns((FileRun(word),))
    if program == "bun" and split.has("-e", "--eval"):
        return CommandRuns((NodeCodeRun(word, is_typed=True),))
    return _script(program, (word, *after), is_word=True)


def _script(program: str, words: Sequence[str], *, is_word: bool) -> CommandRuns:
    """Return the script that is run; `is_word` says that it may be a program just as well."""
    split = split_options(words, _WITH_VALUE)
    if split.has(*_ELSEWHERE) or not split.positional:
        return CommandRuns()
    after = list(words[words.index(split.positional[0]) + 1 :])
    if program == "npm":  # takes options for itself up to `--`
        after = [*split.positional[1:], *split.rest]
    elif after[:1] == ["--"]:
        after = after[1:]
    return CommandRuns(
        (PackageScriptRun(split.positional[0], tuple(after), "--if-present" in words, is_word),)
    )


NODE_TOOLS: Final = (
    Tool(  # node; TAP writes what a test file prints behind a #
        head=re.compile(r"(?:# )?(?:Uncaught )?(?P<message>[\w$.]*(?:Error|Exception)\b.*)$"),
        end=re.compile(r"(?:# ?)?(?:\s+at |Node\.js v|Require stack:)"),
        before=4,
        place=re.compile(
            r"(?:# ?)?(?:\s+at (?:.*\()?)?(?:file://)?"
            r"(?P<path>(?!node:)[^\s():]+):(?P<line>\d+)(?::\d+\)?)?$"
        ),
        proof=re.compile(r"(?:# ?)?\s+at .*(?:node:|\[eval\]|\.[cm]?[jt]sx?:\d)"),
        values=re.compile(r"\s+(actual|expected): (.*[^{\[]),$"),
        told=re.compile(r"(?P<told>.*)$"),
    ),
    Tool(  # node --test
        head=re.compile(r"\s*not ok \d+ (?:- )?(?P<message>.*)$"),
        end=re.compile(r"\s*(?:code:|stack:|\.\.\.$)"),
        place=re.compile(
            r"\s+(?:location: '|at: (?:.*\()?)(?P<path>[^'()]+?):(?P<line>\d+):\d+['\)]?$"
        ),
        told=re.compile(
            r"\s+(?=\S)(?!duration_ms:|location:|failureType:|type:|at:|---|error: \|)(?:error: )?"
            r"(?P<told>.*)"
        ),
    ),
)


TSC_TOOLS: Final = (
    Tool(  # tsc
        head=re.compile(
            r"(?P<path>[^\s(:]+)[(:](?P<line>\d+)[,:]\d+(?:\):| -) (?P<message>error TS.*)$"
        ),
        end=LESS_INDENTED,
        told=re.compile(r"(?P<told>  \S.*)$"),
    ),
)
