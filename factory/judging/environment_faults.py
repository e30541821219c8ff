"""Reads what a failed command says: what failed, and whether the environment is at fault.

A fault of the environment is one that no other proposal can fix: a program or a declared package
is not installed, the sandbox has no network, or the disk is full. A fault that the proposal brought
in is its own: a program that only its script calls, a package that the project does not declare,
a host that only its code connects to. In doubt the proposal is at fault, because another attempt
then costs less than an order that ends too early.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from factory.judging.count_tests import Counted, count_tests, matches, without_colours
from factory.sandbox import toolchain_search
from factory.sandbox.policy import Cause, Guarantee
from factory.workbench import tree
from shared.git import trees
from shared.git.client import Git
from shared.languages.capabilities import Installable
from shared.languages.registry import LANGUAGES
from shared.projects.build_tools import PACKAGE_TOOLS
from shared.settings.settings import SandboxNet

if TYPE_CHECKING:
    from factory.orders.task import RunOptions
    from factory.sandbox.policy import Ended
    from factory.sandbox.toolchains import Hidden
    from factory.workbench.pool import Workbench
    from factory.workbench.tree import Tree

_NOT_FOUND: Final = 127  # a shell's exit code where a program does not exist

_DISK_FULL = re.compile(
    r"^(?![^\S\n]*(?:>|E[^\S\n]+assert))"
    r".*\b(No space left on device|ENOSPC|Disk quota exceeded)\b",
    re.MULTILINE,
)
_MISSING_PROGRAM = re.compile(
    r"^(?:"
    r"\S+: line \d+: (?P<bash>[^\s:]+): command not found"  # bash
    r"|\S+: (?:line )?\d+: (?P<sh>[^\s:]+): not found"  # dash, busybox
    r"|make(?:\[\d+\])?: (?P<make>[^\s:]+): No such file or directory"
    r"|(?:/usr/bin/)?env: \W?(?P<env>[\w.+-]+)\W?: No such file or directory"
    r")\s*$",
    re.MULTILINE,
)
_MAKE_NOT_FOUND = re.compile(r"^make(?:\[\d+\])?: \*\*\* .*\bError 127$", re.MULTILINE)
_MISSING_LIBRARY = re.compile(
    r"^Package '?([\w.+-]{1,80})'?(?: was not found in the pkg-config search path|, required by)"
    r"|^No package '([\w.+-]{1,80})' found$",
    re.MULTILINE,
)
_NO_NETWORK = re.compile(
    r"Temporary failure in name resolution|Name or service not known|Could not resolve host"
    r"|Network is unreachable|nodename nor servname provided"
    r"|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|\bENETUNREACH\b|dial tcp: lookup"
    # The seccomp filter of Landlock refuses a socket with EACCES; no file is involved here.
    r"|(?:urlopen error|new connection:) \[Errno 13\]"
    r"|in create_connection\n(?:[ \t].*\n){1,12}PermissionError: \[Errno 13\]"
    # npm and Cargo say this where they have to work without network.
    r"|cache mode is 'only-if-cached'|attempting to make an HTTP request, but --offline"
    r"|you're using offline mode \(--offline\)"
)
_HOST = re.compile(
    r"(?:Could not resolve host: |getaddrinfo (?:ENOTFOUND|EAI_AGAIN) |dial tcp: lookup "
    r"|host=['\"])([\w.-]+)"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Say what the environment lacks, in one sentence, and what a person can do about it."""

    what: str
    remedy: str
    besides: str | None = None
    """What is left of the remedy where packages that the project declares are prepared first."""
    prepares: bool = False
    """Whether what is missing is what would prepare them, so that both are needed."""

    def remedy_after(self, prepare: Sequence[str]) -> str:
        """Return the remedy behind the ways to `prepare` what is declared and not here."""
        if self.prepares and self.besides is not None:
            return ", and ".join((self.besides, *prepare))
        own = self.remedy if not prepare or self.besides is None else self.besides
        return ", or ".join(filter(None, (*prepare, own)))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Hold what decides whose fault a failed command is.

    `declared` are the packages that the project declared before the proposal, by the name of the
    language and in normal form, and `allowed` those that the user allows besides. `added` is the
    text that the proposal adds to its files, and `written` are their paths. `offline` says that the
    sandbox has no network. `environments` are the interpreters of the checkout's virtual
    environments, as one would type their paths. `hidden` are the programs on the user's PATH that
    commands do not see.
    """

    declared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()
    offline: bool = True
    written: tuple[str, ...] = ()
    added: str = ""
    environments: tuple[str, ...] = ()
    hidden: Mapping[str, Hidden] = field(default_factory=dict)

    def brought(self, word: str) -> bool:
        """Return whether the proposal adds `word` as a word of its own."""
        return re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w-])", self.added) is not None

    def installable(self, language: str) -> Installable:
        """Return what the project declares in a language."""
        declared = self.declared.get(language, frozenset())
        return Installable(declared, self.allowed, self.environments, self.brought)


def find_fault(ended: Ended, around: Surroundings) -> Fault | None:
    """Return the fault of the environment that made a command fail; `None` if there is none."""
    output = without_colours(ended.output)
    if ended.cause is Cause.NOT_FOUND:
        return missing_command(ended.argv[0], around)
    if ended.cause is not Cause.EXITED or ended.exit_code == 0:
        return None
    return (
        _full_disk(output, around)
        or _missing_program(output, ended.exit_code, around)
        or _not_installed(output, around)
        or _no_library(output, around)
        or _no_network(output, around)
    )


def _no_library(output: str, around: Surroundings) -> Fault | None:
    found = _MISSING_LIBRARY.search(output)
    library = next(filter(None, found.groups())) if found else ""
    if not library or around.brought(library):
        return None
    return Fault(
        f"The library {library!r} of the system is not installed here, with its headers.",
        f"install the development package that has {library}.pc",
    )


def missing_command(program: str, around: Surroundings) -> Fault | None:
    """Return the fault of a command whose program was not found; `None` for a program by its path.

    A path is a file of the project, which the order may have to write.
    """
    if "/" in program:
        return None
    return _no_program(program, around, is_command=True)


def _no_program(program: str, around: Surroundings, *, is_command: bool) -> Fault:
    ways = [_way_to(program, around.hidden.get(program))]
    if around.environments:
        ways.append(f"pass --python {around.environments[0]} if that environment has it")
    for language in LANGUAGES:
        if language.failures is not None and around.declared.get(language.name):
            ways += language.failures.ways_to_program(program, is_command=is_command)
    return Fault(
        f"There is no program {program!r} here.",
        ", or ".join(ways),
        ways[0],
        program in PACKAGE_TOOLS,
    )


def _way_to(program: str, hidden: Hidden | None) -> str:
    if hidden is None:
        return f"install {program} where commands find it, such as /usr/bin"
    why = f" ({hidden.reason})" if hidden.reason else ""
    there = f"your PATH has {program} there, in a folder that commands do not see{why}"
    path = f"--sandbox-path {shlex.quote(str(hidden.path.parent))}"
    if not hidden.beside:
        return f"pass {path} or set `sandbox.path`: {there}"
    read = " ".join(f"--sandbox-read {shlex.quote(str(each))}" for each in hidden.beside)
    return f"pass {path} {read} or set `sandbox.path` and `sandbox.read`: {there}, as a link"


def _full_disk(output: str, around: Surroundings) -> Fault | None:
    """Return the fault of a full disk, unless what was written speaks of one, as a test may."""
    found = _DISK_FULL.search(output)
    return full_disk() if found and found[1] not in around.added else None


def full_disk() -> Fault:
    return Fault(
        "The disk is full.",
        "free space on the disk of the workspaces, or set LLMCH_WORKSPACES to a folder with room",
    )


def _missing_program(output: str, exit_code: int, around: Surroundings) -> Fault | None:
    """Return the fault of a script that ended because a program is missing.

    Only the last message counts: a script may go on after an earlier one.
    """
    if exit_code != _NOT_FOUND and not _MAKE_NOT_FOUND.search(output):
        return None
    programs = [found[found.lastgroup or 0] for found in _MISSING_PROGRAM.finditer(output)]
    if not programs or "/" in programs[-1] or around.brought(programs[-1]):
        return None
    return _no_program(programs[-1], around, is_command=False)


def _not_installed(output: str, around: Surroundings) -> Fault | None:
    """Return the fault of an environment that lacks a package, by what its language knows."""
    for language in LANGUAGES:
        if language.failures is not None:
            lack = language.failures.find_lack(output, around.installable(language.name))
            if lack is not None:
                known = (each for each in lack.ways if each.startswith("pass --python"))
                return Fault(lack.what, ", or ".join(lack.ways), ", or ".join(known))
    return None


def _no_network(output: str, around: Surroundings) -> Fault | None:
    if not around.offline or not _NO_NETWORK.search(output):
        return None
    if any(path in output for path in around.written):
        return None
    if any(host in around.added for host in _HOST.findall(output)):
        return None
    return Fault(
        "The command needs the network, which the sandbox does not have.",
        "have it work without the network, or pass --sandbox-net host",
        "",
    )


_MOST_DECLARATIONS: Final = 20
_ENVIRONMENTS: Final = (".venv/bin/python", "venv/bin/python")


def surroundings_of(
    bench: Workbench, options: RunOptions, base: str, written: Collection[str] = ()
) -> Surroundings:
    """Return what surrounds the commands of a workbench whose tree is `base` with `written` files.

    The declarations are those of `base`: a proposal cannot declare what it made up.
    """
    git, settings = bench.workspace.git, options.settings
    offline = settings.sandbox.net is SandboxNet.NONE
    return Surroundings(
        declared=_declared(git, base),
        allowed=settings.dependencies,
        offline=offline and bench.sandbox.guarantees[Guarantee.NETWORK],
        written=tuple(written),
        added="\n".join(_added_lines(bench.workspace.tree, git, base, written)),
        environments=tuple(_environments(bench)),
        hidden=toolchain_search.hidden_programs(bench.toolchains),
    )


def _added_lines(files: Tree, git: Git, base: str, written: Collection[str]) -> Iterator[str]:
    for path in written:
        before = frozenset(_text(trees.content_of(git, base, path)).splitlines())
        try:
            now = _text(files.read(path))
        except tree.NotReadable:
            continue
        yield from (line for line in now.splitlines() if line not in before)


def _declared(git: Git, base: str) -> dict[str, frozenset[str]]:
    files = trees.files_of(git, base)
    declared: dict[str, frozenset[str]] = {}
    for language in LANGUAGES:
        packages = language.packages
        if packages is None or language.failures is None:
            continue
        manifests = [path for path in files if packages.declares(path)][:_MOST_DECLARATIONS]
        texts = [_text(trees.content_of(git, base, path)) for path in manifests]
        declared[language.name] = frozenset(n for text in texts for n in packages.declared(text))
    return declared


def _environments(bench: Workbench) -> Iterator[str]:
    for path in _ENVIRONMENTS:
        interpreter = bench.workspace.repo.folder / path
        if interpreter.is_file() and interpreter != bench.python:
            yield str(interpreter)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


# The runners' own words where they did not run all tests, so that their lists do not cover the
# others: pytest, a panic in Go, and cargo, which stops after the first test binary that fails.
_INCOMPLETE = re.compile(
    r"^(?:!+ (?:Interrupted|stopping after|_pytest)|INTERNALERROR>|panic: )", re.MULTILINE
)
_CARGO_STOPPED: Final = "error: test failed, to rerun pass "
_CARGO_WENT_ON = re.compile(r"^error: \d+ targets? failed:$", re.MULTILINE)
_COMPILE_NAME = re.compile(r"\*\*\* Error compiling '(.+)'\.\.\.$")


@dataclass(frozen=True, slots=True)
class Failures:
    """Hold how many tests (or files) failed, and the names of those that the output lists.

    Where suites or files that failed have names too, they count as well.
    """

    count: int
    names: frozenset[str]

    @property
    def all_named(self) -> bool:
        """Return whether each failure has its name, so that two runs can be compared by name."""
        return len(self.names) == self.count


def count_failures(output: str) -> Failures | None:
    """Return the failures in the output of a failed command; `None` if nothing counts them.

    Files that compileall refuses are failures too. A test run that ended early has no count,
    because tests that did not run may fail as well.
    """
    text = without_colours(output)
    if _INCOMPLETE.search(text) or (_CARGO_STOPPED in text and not _CARGO_WENT_ON.search(text)):
        return None
    failures = _failures(text)
    return failures if failures.count else None


def name_failures(output: str) -> frozenset[str]:
    """Return the names of the failures that the output lists, also where there may be others."""
    return _failures(without_colours(output)).names


def _failures(text: str) -> Failures:
    tests = count_tests(text) or Counted()
    files = [each[1] for each in matches(text, "*** Error", _COMPILE_NAME)]
    names = tests.names.union(files)
    return Failures(max(tests.failed + len(files), len(names)), names)


# What runners say where they find nothing to run, with the exit code of those whose words come
# with other failures as well, and the files that have to be absent for the words to be true.
_NOTHING_TO_RUN: Final = (
    (r"=* ?(?:no tests ran|\d+ deselected)(?: in [\d.]+s.*)?$", 5, ""),
    (r"NO TESTS RAN(?: \(.*\))?$", 5, ""),
    (r"no packages to test$", 1, ".go"),
    (r"  no targets specified in the manifest$", 101, ".rs"),
    (r".* the workspace has no members\.$", 101, ".rs"),
    (r"Error: no test specified$", 0, ""),
    (r'(?:npm (?:ERR!|error)|.?ERR_PNPM_NO_SCRIPT) +Missing script: "?test"?$', 0, ""),
    (r'error Command "test" not found\.$', 0, ""),
    (r"No (?:tests|test files) found, exiting with code 1$", 0, ""),
    (r"[^\w\n]{0,9}Error: No test files found\b.*$", 0, ""),
    (r"[^\w\n]{0,9}Couldn.t find any files to test\b.*$", 0, ""),
    (r"Could not find '[^']*'$", 1, ""),
    (r"error: No test modules found$", 0, ""),
)
_SAYS_NOTHING = tuple(
    (re.compile(f"^{words}", re.M), code, suffix) for words, code, suffix in _NOTHING_TO_RUN
)


def nothing_to_run(output: str, exit_code: int, files: Collection[str]) -> str:
    """Return the words by which a command that failed says that it found nothing to run; else "".

    `files` are the paths of the tree. A command that reported a test did find something.
    """
    text = without_colours(output)
    for words, code, suffix in _SAYS_NOTHING:
        found = words.search(text)
        if found and code in (0, exit_code):
            counted = count_tests(text) or Counted()
            there = suffix and any(each.endswith(suffix) for each in files)
            if not (there or counted.ran or counted.skipped):
                return found[0].strip()
    return ""
