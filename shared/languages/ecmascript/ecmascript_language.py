"""Registers JavaScript and TypeScript, and implements the protocols for both."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.files.strict_documents import table
from shared.languages.capabilities import (
    INSTALLED,
    NESTED,
    Advice,
    Examples,
    Installable,
    Lack,
    Language,
    Outliner,
    PlaceForTests,
)
from shared.languages.declared import declared_edits
from shared.languages.ecmascript import (
    assertions,
    chain_code,
    chosen_tests,
    conformance_check,
    declaration_stubs,
    definitions,
    ecmascript_syntax,
    empty_code,
    node_commands,
    node_modules,
    node_rehearsals,
)
from shared.languages.ecmascript.ecmascript_syntax import (
    ENDINGS,
    MANIFEST,
    SCRIPT_SUFFIXES,
    TYPED_SUFFIXES,
    find_fault,
    is_code,
    is_test_file,
    question_path,
    suffix_of,
    text_fault,
    tree_of,
)
from shared.languages.language_tools import NamedManifests, NamedPackages, ToolReports
from shared.languages.planned_code import Chain, ChainCode, file_does_not_parse
from shared.languages.property_tests import MOST_INPUTS, TOO_MANY, ChanceMark
from shared.languages.read_commands import (
    BuildToolCommands,
    Code,
    CodeProblem,
    CodeRun,
    NothingToRun,
    ProgramRun,
    ScriptRun,
    program_argv,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.languages.capabilities import (
        CaseTable,
        ContractViolation,
        DefinitionEdit,
        EditRefused,
        NamedCode,
        OutlineEntry,
        Unwritten,
    )
    from shared.languages.language_tools import Tools
    from shared.languages.read_commands import Arguments, Command, Run, Weakness
    from shared.work_order.work_order import Interface, WorkOrder


_OPTIONS: Final = frozenset({"-e", "--eval", "-p", "--print", "-pe"})
_INTERPRETERS: Final = frozenset({"node", "nodejs", "tsx", "ts-node"})
_CONFIGURES_TESTS = re.compile(
    r"(?:jest|vitest|vite|ava|playwright|cypress|karma|wdio)\.(?:config|conf|workspace)\.\w+"
    r"|\.mocharc(?:\.\w+)?|\.taprc|\.c8rc(?:\.\w+)?|\.nycrc(?:\.\w+)?"
)
# The last lines of a file of uvu: what is below them is no test of a run that has begun.
_STARTING = re.compile(r"(?:[\w$.]+\.run\(\)[ \t]*;?)?[ \t]*")
_PATHS = re.compile(r"['\"`]([\w@./-]+\.[A-Za-z0-9]+)['\"`]")
PROGRAMS: Final = frozenset(
    {"node", "nodejs", "tsx", "ts-node", "npm", "pnpm", "yarn", "bun", "npx", "pnpx", "bunx",
     "vitest", "jest", "mocha", "_mocha", "tsc"}
)  # fmt: skip


class NodeCommands(BuildToolCommands):
    """Implement `CommandReader` for Node, its package managers and its test runners."""

    programs = PROGRAMS

    def read_run(self, program: str, arguments: Arguments) -> Run:
        """Return the code that is run with its problem, the script, or a program."""
        read = node_commands.read_command((program, *arguments.words))
        if read is None:
            return ProgramRun(arguments.words)
        if read.problem:
            raise NothingToRun(read.problem)
        match read.runs:
            case (node_commands.NodeCodeRun(text=text, is_typed=is_typed),):
                return _code_run(text, arguments, typed=is_typed)
            case (node_commands.FileRun(path=path),) if is_code(path) and program in _INTERPRETERS:
                at = arguments.words.index(path)
                return ScriptRun(path, arguments.words[:at], arguments.words[at + 1 :])
            case _:
                return ProgramRun(arguments.words)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return nothing: `needs_of_command` knows what the patterns of a test runner match."""
        return ()

    def makes_files(self, command: Command) -> bool:
        """Return whether a package manager installs or runs a script, or `tsc` writes code."""
        words = [each.rpartition("/")[2] for each in command.argv]
        if "tsc" in words:
            return "--noEmit" not in words
        rest = [each for each in words if each != command.program and each[:1] != "-"]
        return command.program in node_commands.MANAGERS and not _is_test(rest)

    def module_paths(self, module: str) -> Iterator[str]:
        """Yield the paths that an import of `module` from the root folder may mean."""
        path = module.removeprefix("./")
        yield path
        yield from (f"{path}{ending}" for ending in ENDINGS)

    def is_loaded_unasked(self, path: str) -> bool:
        """Return false: runners load no file but tests and what their configuration names."""
        return False

    def steers(self, path: str, text: str = "") -> str:
        """Return how the file configures a test runner, or stands for an installed package."""
        if path.startswith("node_modules/") or "/node_modules/" in path:
            return "takes the place of an installed package"
        name = posixpath.basename(path)
        if _CONFIGURES_TESTS.fullmatch(name):
            return "says what the test runner does"
        return "says what npm runs" if name == ".npmrc" else ""

    def read_paths(self, command: Command) -> Iterator[str]:
        """Yield the strings in the code of a command that look like paths of files."""
        if isinstance(command.run, CodeRun):
            yield from _PATHS.findall(command.run.code.source)

    def weakness(self, command: Command) -> Weakness | None:
        read = node_commands.read_command(program_argv(command))
        return assertions.weakness_of_text(read) if read is not None else None


def _code_run(text: str, arguments: Arguments, *, typed: bool) -> CodeRun:
    words = arguments.words
    at = next((i for i, word in enumerate(words) if text in word), 0)
    option = next((each for each in words if each in _OPTIONS), "-e")
    code = Code(text, _code_problem(text, typed=typed), ())
    return CodeRun(code, words[:at], arguments.quoted[at] if words else False, option)


def _is_test(words: list[str]) -> bool:
    script = words[1:2] if words[:1] in (["run"], ["run-script"]) else words[:1]
    return script in (["test"], ["t"], ["tst"])


def _code_problem(text: str, *, typed: bool) -> CodeProblem | None:
    """Return why code cannot be compiled; `None` if it can be, as far as its syntax shows."""
    if "\0" in text:
        return CodeProblem("it holds a NUL", is_syntax=False)
    root = tree_of(question_path(typed=typed), text)
    if root is None:
        return CodeProblem("it is too long, or cannot be read", is_syntax=False)
    fault = find_fault(root)
    return CodeProblem(fault.message, True, fault.line, fault.column) if fault else None


@dataclass(frozen=True, slots=True)
class EcmaCode:
    """Implement `Edits`, `Plans`, `Conformance` and `Notes` for files of one language.

    A text whose path is not known is read as that of a file with each of `suffixes`, in turn. One
    of the two languages `reads_commands` for both.
    """

    suffixes: tuple[str, ...]
    reads_commands: bool = False

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        paths = (f"file{each}" for each in self.suffixes)
        read = (definitions.read_source(each, text) for each in paths)
        return next((each for each in map(declared_edits.outline, read) if each), ())

    def place_for_tests(self, path: str, text: str) -> PlaceForTests:
        lines = text.rstrip().split("\n")
        starting = 0
        while starting < len(lines) and _STARTING.fullmatch(lines[-1 - starting]):
            starting += 1
        above = "\n".join(lines[: len(lines) - starting]).rstrip()
        return PlaceForTests(len(above) + 1 if starting and above else len(text))

    def find_tables(self, path: str, text: str) -> tuple[CaseTable, ...]:
        return definitions.find_tables(path, text)

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        return definitions.edit_definitions(path, text, edits, changes)

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        return definitions.defined_names(fragment)

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        old, new = (definitions.read_source(path, each) for each in (before, after))
        # A name that is still there and no longer exported is lost for other files.
        exported = replace(new, items=tuple(each for each in new.items if each.is_public))
        is_test = is_test_file(path)
        return declared_edits.check_rewrite(path, old, exported, changes, is_test=is_test)

    def has_names_to_declare(self, path: str) -> bool:
        return chain_code.has_names_to_declare(path)

    def is_test_file(self, path: str) -> bool:
        return is_test_file(path)

    def asserting_text(self, path: str, text: str, product: Collection[str]) -> str:
        return chosen_tests.asserting_text(path, text)  # imports say which files are tests

    def module_name(self, path: str) -> str:
        """Return the last part of the path without its suffix, as imports name the file."""
        name = path.rpartition("/")[2]
        return name.removesuffix(suffix_of(name))

    def read_chain(self, chain: Chain) -> ChainCode:
        return chain_code.EcmaChain(chain, self.suffixes, self.reads_commands)

    def reads(self, path: str) -> bool:
        return path.endswith(self.suffixes)

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        return declaration_stubs.contracts_in_force(orders, self.suffixes)

    def warm_up(self, tools: Tools) -> None:
        """Do nothing: the compiler ends with each answer, and the system keeps its files."""

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        return conformance_check.check_conformance(interfaces, sources, tools)

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        return empty_code.build_skeleton(interfaces, sources)

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return nothing: an empty function may be meant."""
        return ()

    def names_in(self, source: str) -> Collection[str] | None:
        """Return `None`: a script may add names while it runs."""
        return None

    def note_syntax(self, path: str, source: str) -> str:
        root = tree_of(path, source)
        fault = text_fault(root, source) if root is not None else None
        if fault is None:
            return ""
        return file_does_not_parse(path, fault.line, fault.excerpt, fault.message)

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return nothing: the errors of Node and of compilers say it themselves."""
        return ()


_MISSING = re.compile(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w-][\w.-]*)")
_TABLES: Final = ("dependencies", "devDependencies", "optionalDependencies")
_MANIFESTS: Final = frozenset({
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml",
    "pnpm-workspace.yaml", "yarn.lock", "bun.lock", "bun.lockb",
})  # fmt: skip


class NodePackages(NamedPackages):
    """Implement `Packages` for packages of Node."""

    def declared(self, text: str) -> frozenset[str]:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return frozenset()
        return frozenset(name for key in _TABLES for name in table(document, key))

    def not_installed(self, text: str, output: str) -> tuple[str, ...]:
        """Return the declared packages that Node did not find."""
        packages = self.declared(text)
        missed = missed_packages(output)
        return tuple(f"The Node package {each!r}" for each in missed if each in packages)


def missed_packages(output: str) -> tuple[str, ...]:
    """Return the packages that Node says it did not find, each once."""
    return tuple(dict.fromkeys(_MISSING.findall(output)))


_INSTALL: Final = (
    "install the packages in the checkout (`npm install`), whose node_modules commands then see, "
    "or pass --deps auto, which installs what the manifest and its lock declare"
)


class NodeFailures:
    """Implement `Failures` for packages of Node."""

    def find_lack(self, output: str, project: Installable) -> Lack | None:
        """Return the first declared package that Node did not find."""
        for package in missed_packages(output):
            if package in project.declared:
                return Lack(f"The Node package {package!r} is not installed.", (_INSTALL,))
        return None

    def ways_to_program(self, program: str, *, is_command: bool) -> tuple[str, ...]:
        """Return how a program of a package is run, or installed."""
        # npx looks into node_modules, which is not on the PATH.
        npx = f"write `npx {program}` if a package of the repo has it"
        return (npx if is_command else _INSTALL,)


_FOLDER: Final = "shared.languages.ecmascript"
# The example, where node cannot run it (`node_rehearsals.version_argv`).
_UNREADABLE: Final = rf"(?:{INSTALLED}[\s\S]*no TypeScript:|no TypeScript:(?!.*no package is))"
_NOTHING_READS: Final = rf"\A(?![\s\S]*{INSTALLED})[\s\S]*no TypeScript:.*no package is"
_ADAPTED: Final = (
    ("files with --experimental", "node --test", "node --experimental-strip-types --test"),
    (_UNREADABLE, ", or `node --test` where the project has no other", ""),
    (_UNREADABLE, "`tsc` and", "`node` cannot run TypeScript here. `tsc` and"),
    (_UNREADABLE, "node --test tests/", "npx vitest run tests/"),
    (_UNREADABLE, r"import assert from 'node:assert/strict';\n", ""),
    (_UNREADABLE, "{ test } from 'node:test'", "{ expect, test } from 'vitest'"),
    (_UNREADABLE, "assert.equal(", "expect("),
    (_UNREADABLE, "), 'Hello", ")).toBe('Hello"),
    (_UNREADABLE, "type module", "type module, devDependencies vitest and tsx"),
    (_UNREADABLE, "node src/greet.ts", "npx tsx src/greet.ts"),
    (
        _NOTHING_READS,
        "## TypeScript files\n\n- `interfaces`: for each TypeScript file",
        "## JavaScript files in place of TypeScript\n\n- Nothing here runs TypeScript, and no "
        "package can be had: write JavaScript with types in JSDoc, and say so in `assumptions`, as "
        "a contradiction.\n- `interfaces`: for each file",
    ),
    (_NOTHING_READS, ".ts", ".js"),
    (_NOTHING_READS, ".d.js", ".d.ts"),
)

_SCRIPTS: Final = EcmaCode(SCRIPT_SUFFIXES, reads_commands=True)
_TYPED: Final = EcmaCode(TYPED_SUFFIXES)

_CHANCE: Final = (
    ChanceMark(
        r"\bfc\.(?:assert|check|sample)\(",
        "draws other inputs on each run: `fc.assert` lacks a `seed`",
        r"\bseed\b",
    ),
    ChanceMark(
        r"\bMath\.random\(|\bcrypto\.(?:random(?:Bytes|Int)|getRandomValues)\(",
        "draws other inputs on each run: it has no seed",
    ),
    ChanceMark(rf"\bnumRuns\s*:\s*{MOST_INPUTS}", TOO_MANY),
)

JAVASCRIPT: Final = Language(
    Outliner("JavaScript", SCRIPT_SUFFIXES, "javascript"),
    contracted=SCRIPT_SUFFIXES,
    commands=NodeCommands(),
    edits=_SCRIPTS,
    notes=_SCRIPTS,
    conformance=_SCRIPTS,
    plans=_SCRIPTS,
    rehearsals=node_rehearsals,
    packages=NodePackages(MANIFEST),
    dependencies=NamedManifests(
        names=_MANIFESTS,
        variables=r"(NPM|NPM_CONFIG|VOLTA|FNM|NVM)_\w+|NODE_EXTRA_CA_CERTS",
        installer=node_modules,
    ),
    failures=NodeFailures(),
    mutations=ecmascript_syntax,
    reports=ToolReports(lambda: node_commands.NODE_TOOLS),
    advice=Advice(
        _FOLDER,
        ("JavaScript", ".js", ".mjs"),
        "JAVASCRIPT_PLANNING.md",
        hints=("Node.js", "Node", "npm"),
    ),
    examples=Examples(_FOLDER, "JAVASCRIPT_EXAMPLES.toml"),
    chance=_CHANCE,
    telling=(
        (MANIFEST, r'^\s*"(?:type|engines|node|packageManager|workspaces)"\s*:.*'),
        (NESTED + MANIFEST, r'^\s*"(?:name|test)"\s*:.*'),
    ),
)

TYPESCRIPT: Final = Language(
    Outliner("TypeScript", TYPED_SUFFIXES, "typescript"),
    contracted=TYPED_SUFFIXES,
    edits=_TYPED,
    notes=_TYPED,
    conformance=_TYPED,
    plans=_TYPED,
    rehearsals=node_rehearsals,
    mutations=ecmascript_syntax,
    reports=ToolReports(lambda: node_commands.TSC_TOOLS),
    advice=Advice(_FOLDER, ("TypeScript", ".ts", ".tsx"), "TYPESCRIPT_PLANNING.md", _ADAPTED),
    examples=Examples(_FOLDER, "TYPESCRIPT_EXAMPLES.toml"),
    chance=_CHANCE,
)
