"""Defines what a language may use and prepare: type checkers, tools, reports, packages.

A model may have written the manifests, so only names, versions and hashes are taken from them. The
installers are trusted, and use the network; no code of the tree runs.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, Self, TypeVar

from shared.errors import CommandFailed

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Hold one complaint of a type checker.

    `line` and `end_line` count from 1. The columns count from 0, in UTF-8 bytes.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    message: str
    hint: str


class CheckerFailed(CommandFailed):
    """Raised when the type checker gave no answer. The code in question stays unjudged."""


def as_far_as_answered(found: Collection[_T], asked: Iterable[_T]) -> Iterator[_T]:
    """Yield what a checker finds; where it gives no answer, what is `found` without it has to do.

    That is certain, and enough to refuse the code. Raises `CheckerFailed` if it is nothing.
    """
    try:
        yield from asked
    except CheckerFailed:
        if not found:
            raise


class Checker(Protocol):
    """Check the types in source files."""

    def check(
        self, files: Mapping[str, str], targets: Sequence[str], roots: Sequence[str] = ("",)
    ) -> tuple[Diagnostic, ...]:
        """Return the complaints about `targets`, which are among `files`.

        `files` has texts by path. Imports are looked up in the folders `roots`. Raises
        `CheckerFailed` if the checker gives no answer.
        """


class CheckerProcess(Checker, Protocol):
    """Run a checker in a process that starts with the first question and stays warm.

    Several threads may ask.
    """

    def begin(self) -> None:
        """Start the process before there is a question, and do not wait for it. Never raises."""

    def close(self) -> None:
        """End the process for good, and remove its files."""


class ToolMissing(Exception):
    """Raised when a program is not installed, or cannot be run. The message names it."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Hold how a tool ended: `exit_code` is `None` if it was killed at its time limit."""

    exit_code: int | None
    stdout: str
    stderr: str


class ToolRunner(Protocol):
    """Run a tool on a few files. The one who wires it holds the tool in a sandbox."""

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        """Run `argv` in a folder that holds `files`, texts by path, and return how it ended.

        The tool has no network. It may write to the folder; only the folder `target` in it, and the
        tool's own build cache, last as long as the runner. Raises `ToolMissing` if the program
        of `argv` is not installed, or cannot be run.
        """

    def close(self) -> None:
        """Remove what the runs left."""


class Tools:
    """Keep what judges code running from one question to the next. Use it as a context manager.

    `runner` is `None` if the caller cannot hold a tool in a sandbox. The code of languages that
    need one is then left unjudged.
    """

    def __init__(self, runner: ToolRunner | None = None) -> None:
        self.runner = runner
        self._checkers: dict[str, CheckerProcess] = {}
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def checker(self, language: str, open_checker: Callable[[], CheckerProcess]) -> CheckerProcess:
        """Return the checker of a language; the first question about it opens the checker.

        Raises `CheckerFailed` once the tools are closed.
        """
        with self._lock:
            if self._closed:
                raise CheckerFailed("the type checker was ended with the run")
            if language not in self._checkers:
                self._checkers[language] = open_checker()
            return self._checkers[language]

    def close(self) -> None:
        """End all checkers and the runner for good."""
        with self._lock:
            self._closed = True
            checkers = tuple(self._checkers.values())
        for each in checkers:
            each.close()
        if self.runner is not None:
            self.runner.close()


class ManifestFiles(Protocol):
    """Read the manifests and locks of a tree. Nothing in them is trusted, and no link followed."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of all files that look like manifests or locks, sorted."""

    def named(self, name: str) -> tuple[str, ...]:
        """Return the paths of all files of this name, the outermost first."""

    def text(self, path: str) -> str | None:
        """Return the text of a regular file; `None` if there is none.

        Raises `InvalidInput` for a file that is too large or is not UTF-8.
        """


class BasePython(Protocol):
    """Describe an interpreter that is not in a virtual environment."""

    @property
    def executable(self) -> Path:
        """Return the program."""

    @property
    def tag(self) -> str:
        """Return the cache tag in the names of its bytecode files: `cpython-312`."""


class Workshop(Protocol):
    """Start trusted installers outside of the sandbox, and keep what they made."""

    @property
    def present(self) -> frozenset[str]:
        """Return the paths in the workspace at which commands find installed packages already."""

    @property
    def variables(self) -> dict[str, str]:
        """Return those of the user's variables that an installer may have."""

    def base_python(self) -> BasePython:
        """Return the interpreter of commands, or the one that its environment was made from."""

    def elsewhere(self) -> Path:
        """Return a folder outside of the tree, for questions to an installer."""

    def program(self, name: str) -> str | None:
        """Return the path of a program on the user's PATH; `None` if it is not installed."""

    def run(
        self, argv: list[str], folder: Path, variables: Mapping[str, str], *, remedy: str
    ) -> str:
        """Run an installer in `folder` and return its standard output.

        Raises `EnvironmentFault` with the installer's own words and `remedy` where it fails.
        """

    def kept(
        self,
        key: str,
        make: Callable[[Path], None],
        packages: Mapping[str, str] = MappingProxyType({}),
    ) -> Path:
        """Return the folder for `key`; `make` fills it the first time.

        `make` gets a path that does not exist, in a folder that does. `packages` are the
        distributions that an environment of Python gets, in normal form, with their versions where
        these are pinned. Raises what `make` raises, and `EnvironmentFault` if the disk refuses.
        """


@dataclass(frozen=True, slots=True)
class WarmBuild:
    """Say how `argv` compiles what a lock names, on `files` without any code of the project.

    It fills the `cache`: the folder that this variable names, or this one of the workspace where it
    ends in a slash. Another `tool` makes it again. `takes_imports` adds the packages imported.
    """

    tool: str
    cache: str
    files: Mapping[str, str]
    argv: tuple[str, ...]
    takes_imports: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """Hold what commands get of what was prepared.

    They may `read` these folders, have the variables of `environment`, find a real folder at each
    path of the workspace in `folders`, and find `python` under that name. `builds` compile what was
    prepared. `notes` say to a person, in sentences, what was left out or is missing.
    """

    read: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)
    python: Path | None = None
    notes: tuple[str, ...] = ()
    builds: tuple[WarmBuild, ...] = ()

    def joined(self, other: Prepared) -> Prepared:
        """Return both together. Two languages set no variable in common."""
        return Prepared(
            (*self.read, *other.read),
            {**self.environment, **other.environment},
            {**self.folders, **other.folders},
            self.python or other.python,
            (*self.notes, *other.notes),
            (*self.builds, *other.builds),
        )


class Installer(Protocol):
    """Prepare what a tree declares, so that commands find it without a network."""

    def prepare(self, files: ManifestFiles, workshop: Workshop) -> Prepared:
        """Return what the tree's manifests come to; nothing where they declare nothing.

        Raises `InvalidInput` for a manifest or a lock that is not followed, and `EnvironmentFault`
        if an installer fails.
        """


class Dependencies(Installer, Protocol):
    """Prepare what manifests of one language declare, and know these manifests."""

    @property
    def variables(self) -> str:
        """Return a pattern of variables, in letters of any case, that set up the user's installers.

        They say where programs, registries and certificates are.
        """

    def is_manifest(self, path: str) -> bool:
        """Return whether a file of this path is a manifest or a lock, by its name."""


@dataclass(frozen=True, slots=True)
class NamedManifests:
    """Implement `Dependencies` for a language whose manifests have one of these `names`."""

    names: frozenset[str]
    variables: str
    installer: Installer

    def is_manifest(self, path: str) -> bool:
        return path.rpartition("/")[2] in self.names

    def prepare(self, files: ManifestFiles, workshop: Workshop) -> Prepared:
        return self.installer.prepare(files, workshop)


class Packages(Protocol):
    """Read which packages a project declares, and what commands print of missing ones."""

    def declares(self, path: str) -> bool:
        """Return whether a file of this path declares what a project requires."""

    def declared(self, text: str) -> frozenset[str]:
        """Return the names that such a file declares, in normal form. Its text may be anything."""

    def not_installed(self, text: str, output: str) -> tuple[str, ...]:
        """Return what the declaration `text` has and a command's `output` misses.

        Each is the subject of a sentence that ends in "is not installed".
        """


@dataclass(frozen=True, slots=True)
class NamedPackages:
    """Implement what is equal in `Packages` for languages whose packages have one spelling.

    `manifest` is the name of the file that declares packages, in whatever folder.
    """

    manifest: str

    def declares(self, path: str) -> bool:
        return path.rpartition("/")[2] == self.manifest


@dataclass(frozen=True, slots=True)
class LockedPackages(NamedPackages):
    """Implement `Packages` for a language whose tool names the lock file, and not the package.

    The manifest itself is not read. `refused` is what the tool prints.
    """

    refused: re.Pattern[str]

    def declared(self, text: str) -> frozenset[str]:
        return frozenset()

    def not_installed(self, text: str, output: str) -> tuple[str, ...]:
        return ("A package",) if self.refused.search(output) else ()


@dataclass(frozen=True, slots=True)
class FaultReport:
    """Hold the lines of an output that tell one failure, and a sentence that says it.

    `lines` are numbers from 0. `fact` is empty if the lines say nothing that can be acted on.
    """

    lines: range
    fact: str = ""


def at_place(path: str, line: str | int, source: str = "") -> str:
    """Return the words for a line of a file, with its text where it is known."""
    shown = f": `{source.strip()}`" if source.strip() else ""
    return f"{path.removeprefix('./')}, line {line}{shown}"


@dataclass(frozen=True, slots=True)
class SecondLook:
    """Hold a command that shows more of a failure than its output did.

    It runs in the sandbox, and its result judges nothing. `facts_of` returns what the standard
    error of that command tells, in sentences; nothing where it tells no more.
    """

    argv: tuple[str, ...]
    facts_of: Callable[[str], tuple[str, ...]]


class Reports(Protocol):
    """Read the output of commands that failed. Nothing in it is trusted, and no method raises."""

    def find_failed_tests(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield what a test runner reports that tells all that is worth telling of an output."""

    def find_faults(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield what compilers, interpreters and other test runners report; a bounded number."""

    def second_look(self, argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
        """Return a command to run after `argv` failed; `None` if none would show more.

        `stderr` are the lines of its standard error.
        """


_MAX_BLOCK = 14
_MAX_REPORTS = 20


@dataclass(frozen=True, slots=True)
class Tool:
    """Describe a tool's report of one fault.

    `head` matches its first line; its groups `message`, `path` and `line` say what and where. The
    lines after it belong to it up to the first that matches `end`; `before` is the number of lines
    above it that belong to it too. `place` finds path and line where the head names none. A report
    without a line that matches `proof` is another tool's. The fact repeats `values` where all are
    found, else what `told` matches. `silent` tools mark lines and say nothing that helps.
    """

    head: re.Pattern[str]
    end: re.Pattern[str]
    before: int = 0
    place: re.Pattern[str] | None = None
    proof: re.Pattern[str] | None = None
    values: re.Pattern[str] | None = None
    told: re.Pattern[str] | None = None
    silent: bool = False


# The line after a report: a line of any kind, an empty one, one that is not indented.
HEAD_ALONE: Final = re.compile("")
BLANK_LINE: Final = re.compile(r"\s*$")
LESS_INDENTED: Final = re.compile(r"\S|\s*$")


@dataclass(frozen=True, slots=True)
class ToolReports:
    """Implement `Reports` for a language whose tools are entries of a table.

    `load` returns the table. It is called with the first output, because the table's patterns take
    long to compile.
    """

    load: Callable[[], tuple[Tool, ...]]

    def find_failed_tests(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield nothing: these tools' reports are mixed with those of other tools."""
        return iter(())

    def find_faults(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        return find_faults(self.load(), lines)

    def second_look(self, argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
        return None


def find_faults(tools: Sequence[Tool], lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield a report for each fault that one of `tools` tells, tool by tool; a bounded number.

    A line belongs to one report at most: the tools come in their sequence.
    """
    taken: set[int] = set()
    for tool in tools:
        number = found = 0
        while number < len(lines) and found < _MAX_REPORTS:
            head = None if number in taken else tool.head.match(lines[number])
            report = _read(tool, head, lines, number) if head else None
            number += 1
            if report:
                yield report
                taken.update(report.lines)
                found += 1
                number = max(number, report.lines.stop)


def _read(tool: Tool, head: re.Match[str], lines: Sequence[str], number: int) -> FaultReport | None:
    block = [*_until(tool.end, lines[number + 1 : number + _MAX_BLOCK])]
    # The proof and the place may come after the lines that are kept.
    reach = [*_until(tool.head, lines[number + 1 : number + 4 * _MAX_BLOCK])]
    if tool.proof and not any(map(tool.proof.match, reach)):
        return None
    kept = range(max(0, number - tool.before), number + 1 + len(block))
    if tool.silent:
        return FaultReport(kept)
    told = _told(tool, head["message"].strip(), block, reach)
    place = _place(tool, head, reach, lines[max(0, number - tool.before) : number])
    return FaultReport(kept, f"{told} ({place})" if place else told)


def _until(end: re.Pattern[str], lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if end.match(line):
            return
        yield line


def _told(tool: Tool, message: str, block: Sequence[str], reach: Sequence[str]) -> str:
    """Return what the head says and the lines after it, as one line."""
    found = map(tool.told.match, block) if tool.told else ()
    more = [" ".join(each["told"].split()) for each in found if each]
    if tool.values:
        values = {each[1]: each[2] for each in map(tool.values.match, reach) if each}
        if len(values) > 1:
            more = [", ".join(f"{name} {value}" for name, value in values.items())]
    told = message
    for number, each in enumerate(filter(None, more)):
        between = " " if told.endswith((":", ".")) else "; " if number else ": "
        told += between + each
    return told


def _place(tool: Tool, head: re.Match[str], reach: Sequence[str], above: Sequence[str]) -> str:
    if path := head.groupdict().get("path"):
        return at_place(path, head["line"])
    if tool.place is None:
        return ""
    found = next(filter(None, map(tool.place.match, (*reach, *above))), None)
    return at_place(found["path"], found["line"]) if found else ""
