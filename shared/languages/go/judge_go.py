"""Judges the Go of a plan: what is declared and needed, and how tests use it, by the compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import Declarations, TestFunction
from shared.languages.declared.declared_contracts import Complaint, Reading, folder_of
from shared.languages.declared.declared_plans import Asked, Judged, PlannedCode
from shared.languages.go.go_commands import (
    NO_TEST,
    GoCommand,
    asserting_text,
    is_measured,
    read_go_command,
    taken,
    test_functions,
)
from shared.languages.go.go_conformance import (
    judge,
    package_of_folder,
    read_complaints,
    write_file,
)
from shared.languages.go.go_modules import (
    MANIFEST,
    GoModule,
    guess_module,
    is_standard,
    module_folder,
    read_modules,
)
from shared.languages.go.go_source import is_test_file, read_go, undefined_names
from shared.languages.planned_code import (
    AcceptanceText,
    Chain,
    ChainCode,
    Need,
    declared_by,
    declared_only_by,
    missing_module,
    undeclared_package,
    unprovided,
)
from shared.languages.read_commands import Weakness

if TYPE_CHECKING:
    from shared.languages.language_tools import ToolResult

# of `Plans`
__all__ = ["asserting_text", "has_names_to_declare", "is_test_file", "module_name", "read_chain"]

SUFFIX: Final = ".go"
# The oldest Go that knows what today's tests use. A `go.mod` of the repository says it itself.
_LANGUAGE: Final = "1.21"
# All errors are wanted, and no test is to run: each test program is given to `true`.
_COMMAND: Final = ("test", "-run", "^$", "-vet=off", "-exec=true", "-gcflags=-e")
_MAIN: Final = re.compile(r"^package main\b", re.MULTILINE)
_FAILED: Final = re.compile(r"^(?:go: |no Go files|go\.mod:).*$", re.MULTILINE)


def read_chain(chain: Chain) -> ChainCode:
    return PlannedGo(chain)


def module_name(path: str) -> str:
    """Return the name of the file's package, which its folder has by custom."""
    return package_of_folder(path)


def has_names_to_declare(path: str) -> bool:
    """Return whether other files use a Go file by its names: it is neither a test nor a program."""
    name = path.rpartition("/")[2]
    return path.endswith(SUFFIX) and not is_test_file(path) and name != "main.go"


class PlannedGo(PlannedCode[str]):
    """Answer for the Go of a plan. A part of it is the folder of a module."""

    language = "Go"
    suffix = SUFFIX
    manifest = MANIFEST
    program = "go"
    parts = "modules"
    tool = "the compiler"
    read_text = staticmethod(read_go)
    has_names = staticmethod(has_names_to_declare)

    @cached_property
    def modules(self) -> tuple[GoModule, ...]:
        """Return the modules of the repository; one is guessed where an order writes `go.mod`."""
        if found := read_modules(self.chain.sources, self.chain.listing):
            return found
        last = len(self.chain.orders)
        folders = {folder_of(path) for path in self.paths(last)}
        texts = self.texts(last).values()
        imports = [each.source for text in texts for each in read_go(text).imports]
        guessed = guess_module(imports, folders)
        return (guessed,) if guessed else ()

    def folder_of_import(self, imported: str) -> str | None:
        """Return the folder of an imported package; `None` for one of another module."""
        inside = (each.folder_of_import(imported) for each in self.modules)
        return next((each for each in inside if each is not None), None)

    def is_of_program(self, path: str) -> bool:
        """Return whether the Go beside the file, or the file itself, is of `package main`."""
        beside = self._sources_in(folder_of(path), 0)
        return any(_MAIN.search(text) for other, text in beside if not is_test_file(other))

    def has_package(self, folder: str, position: int) -> bool:
        """Return whether a folder has, or may have, Go other than tests by then."""
        paths = self.paths(position)
        return any(folder_of(each) == folder and not is_test_file(each) for each in paths)

    def is_open(self, folder: str, position: int, *, with_tests: bool = False) -> bool:
        """Return whether a package may hold names that no contract declares.

        A test can also use the names of other tests of its package, `with_tests`.
        """
        return self.chain.is_blind(position) or any(
            folder_of(each) == folder and (with_tests or not is_test_file(each))
            for each in self.open_paths(position)
        )

    def names_of_package(self, folder: str, position: int) -> set[str]:
        """Return the names that the files of a folder declare, as far as they are known."""
        states = self.states[position].items()
        items = [
            *(read_go(text).items for _, text in self._sources_in(folder, position)),
            *(each.items for path, each in states if folder_of(path) == folder),
        ]
        return {each.name for part in items for each in part}

    def _sources_in(self, folder: str, position: int) -> Iterator[tuple[str, str]]:
        for path in self.chain.listing:
            if path.endswith(SUFFIX) and folder_of(path) == folder:
                text = self.chain.sources.get(path)
                if text is not None and not self.chain.is_gone(path, position):
                    yield path, text

    def _remover(self, folder: str, position: int) -> str:
        """Return the name of the last order that removes Go of a package; "" if none does."""
        removers = [
            at
            for path, at in self.chain.files.removed.items()
            if at <= position and path.endswith(SUFFIX) and folder_of(path) == folder
        ]
        return self.chain.source(max(removers)) if removers else ""

    def undefined(self, path: str, stub: Declarations, position: int) -> Iterator[tuple[str, int]]:
        """Yield the undefined names that a contract uses, with their lines."""
        folder = folder_of(path)
        if self.is_open(folder, position):
            return
        imports = {each.name for each in stub.imports}
        earlier = self.states[position].get(path)
        imports |= {each.name for each in earlier.imports} if earlier else set()
        source = self.chain.sources.get(path)
        imports |= {each.name for each in read_go(source).imports} if source is not None else set()
        yield from undefined_names(stub.text, self.names_of_package(folder, position), imports)

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the packages that a test imports and that are missing by then."""
        for each in read_go(file.text).imports:
            if is_standard(each.source) or self.chain.is_blind(position):
                continue
            yield from self._need(each.source, position)

    def _need(self, imported: str, position: int) -> Iterator[Need]:
        folder = self.folder_of_import(imported)
        if folder is not None:
            if not self.has_package(folder, position):
                missing = missing_module(imported, self._remover(folder, position))
                has_package = partial(self.has_package, folder)
                yield self.chain.unmet(position, has_package, "imports", missing)
        elif self.has_unknown_manifest:
            return  # that file may require anything
        elif "." not in imported.split("/")[0]:
            yield unprovided("imports", imported)
        elif not any(each.requires(imported) for each in self.modules) and not any(
            imported == each or imported.startswith(f"{each}/") for each in self.chain.dependencies
        ):
            yield undeclared_package("imports", imported, imported)

    def view(self, position: int) -> dict[str, str]:
        view = self.sources_at(
            position, MANIFEST, "go.sum", "go.work", "go.work.sum", "modules.txt"
        )
        packages = self._packages(position, view)
        for path, contract in self.states[position].items():
            package = packages.get(folder_of(path), "")
            view[path] = write_file(path, contract, view.get(path), package, empty_all=True)
        view |= self.texts(position)
        for module in self.modules:
            manifest = f"{module.folder}/{MANIFEST}" if module.folder else MANIFEST
            view.setdefault(manifest, f"module {module.path}\n\ngo {_LANGUAGE}\n")
        if not any(path.rpartition("/")[2] == MANIFEST for path in view):
            view[MANIFEST] = f"module planned\n\ngo {_LANGUAGE}\n"
        return view

    def _packages(self, position: int, sources: Mapping[str, str]) -> dict[str, str]:
        """Return the name of the package of each folder that has a contract."""
        named: dict[str, str] = {}
        for path, text in sources.items():
            if path.endswith(SUFFIX):
                named.setdefault(folder_of(path), read_go(text).package)
        for path, contract in self.states[position].items():
            if contract.package:
                named.setdefault(folder_of(path), contract.package)
        for path, text in self.texts(position).items():
            if is_test_file(path):
                package = read_go(text).package
                named.setdefault(folder_of(path), package.removesuffix("_test"))
        for path in self.states[position]:
            if not named.get(folder_of(path)):
                named[folder_of(path)] = package_of_folder(path)
        return named

    def part_of(self, path: str) -> str:
        return module_folder(path, self.modules)

    def command(self, part: str, tests: Sequence[AcceptanceText]) -> tuple[str, ...]:
        folders = dict.fromkeys(folder_of(each.path) for each in tests)
        where = ("-C", part) if part else ()
        named = [f"./{each[len(part) :].strip('/')}".rstrip("/") for each in folders]
        return ("go", _COMMAND[0], *where, *_COMMAND[1:], *named)

    def judged(self, result: ToolResult, asked: Asked[str]) -> Iterator[Judged]:
        for each in read_complaints(f"{result.stdout}\n{result.stderr}"):
            test = asked.test_at(f"{asked.part}/{each.path}" if asked.part else each.path)
            reading = judge(each.message)
            if test is None or reading is None:
                continue
            weighed = self._weighed(reading, each, test, asked.position)
            if weighed is not None and self.is_settled(test, each.line, weighed[0], asked.position):
                code, addition = weighed
                yield Judged(each, test, code, reading.name, addition)

    def failure(self, result: ToolResult, asked: Asked[str]) -> str:
        failed = _FAILED.search(f"{result.stderr}\n{result.stdout}")
        complained = any(read_complaints(f"{result.stdout}\n{result.stderr}"))
        return failed[0] if result.exit_code and failed and not complained else ""

    def _weighed(
        self, reading: Reading, complaint: Complaint, test: AcceptanceText, position: int
    ) -> tuple[str, str] | None:
        """Return the code of a finding, and what its message adds to the compiler's.

        It is `None` for a name that an order may add to the package without an interface.
        """
        code, name, folder = reading.code, reading.name, self._package_of(reading, test)
        if folder is None:
            # An unqualified name in a test from outside its package is one of the test's own.
            return code, ""
        paths = [e for e in self.paths(len(self.chain.orders)) if folder_of(e) == folder]
        if reading.lacking:
            later = self.declared_later(paths, name, position)
            if later is not None:
                return "E217", declared_only_by(self.chain.source(later))
            if self.is_open(folder, position, with_tests=not reading.package):
                return None
            if code == "E216" and not _is_qualifier(complaint, test):
                code = "E211"
            name = name.rpartition(".")[0]
        for path in paths if name else ():
            by = self.declared_by(path, name, position)
            if by is not None:
                return code, declared_by(self.chain.source(by), path)
        return code, ""

    def _package_of(self, reading: Reading, test: AcceptanceText) -> str | None:
        """Return the folder of the project's package that a complaint is about, if it is one."""
        read = read_go(test.text)
        if reading.package:
            imported = (each.source for each in read.imports if each.name == reading.package)
            return self.folder_of_import(next(imported, ""))
        if not read.package.endswith("_test"):
            return folder_of(test.path)
        if reading.code == "E216":
            return None
        own = (self.folder_of_import(each.source) for each in read.imports)
        return next((each for each in own if each is not None), folder_of(test.path))

    def weakness_of_tests(self, words: Sequence[str], position: int) -> Weakness | None:
        command = read_go_command(words)
        if command.verb != "test" or is_measured(command.flags):
            return None
        tests = self._tests(command, position)
        return None if tests is None else _of_known_tests(command.flags, tests)

    def _tests(self, command: GoCommand, position: int) -> list[TestFunction] | None:
        """Return the tests of the packages that a command names; `None` if they are not known."""
        folders, paths = command.folders, self.paths(position)
        if len(folders) < len(command.named) or self.chain.is_blind(position):
            return None
        if any(
            folder and not any(e.startswith(f"{folder}/") for e in paths) for folder, _ in folders
        ):
            return None  # that is the fault
        found: list[TestFunction] = []
        for path in sorted(paths):
            if not is_test_file(path) or not _is_named(folder_of(path), folders):
                continue
            text = self.text_at(path, position)
            tests = test_functions(text) if text is not None else None
            if tests is None:
                return None
            found += tests
        return found


def _is_named(folder: str, folders: Sequence[tuple[str, bool]]) -> bool:
    """Return whether a command that names `folders` means the package in a folder."""
    return any(
        folder == each or (below and (not each or folder.startswith(f"{each}/")))
        for each, below in folders
    )


def _of_known_tests(flags: Mapping[str, str], tests: list[TestFunction]) -> Weakness | None:
    if not tests:
        return Weakness("W232", "runs no test: the packages that it names have none")
    run = taken(tests, flags.get("run"), flags.get("skip"))
    if not run:
        flag = "run" if not taken(tests, flags.get("run"), None) else "skip"
        return Weakness("W232", NO_TEST.format(f"-{flag} {flags.get(flag, '')}"))
    if all(each.skipped for each in run):
        return Weakness("W232", "runs only tests that are skipped")
    if not any(each.can_fail for each in run if not each.skipped):
        return Weakness("W231", "runs only tests that assert nothing")
    return None


def _is_qualifier(complaint: Complaint, test: AcceptanceText) -> bool:
    """Return whether a dot follows the name at a place, as it follows a package."""
    lines = test.text.split("\n")
    if complaint.line > len(lines):
        return False
    line = lines[complaint.line - 1].encode("utf-8", "replace")[complaint.column - 1 :]
    return re.match(rb"[a-z]\w*\s*\.", line) is not None
