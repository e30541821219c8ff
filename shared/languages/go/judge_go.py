"""Compares the tests of a plan with its contracts by the Go compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from shared.files.strict_documents import at
from shared.languages.declared.declarations import Declarations
from shared.languages.declared.declared_contracts import PlannedCode, folder_of, unaskable, unjudged
from shared.languages.go.go_conformance import (
    Complaint,
    Verdict,
    judge,
    package_of_folder,
    read_complaints,
    undefined_names,
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
from shared.languages.go.go_source import read_go
from shared.languages.language_tools import ToolMissing, ToolResult, ToolRunner, Tools
from shared.languages.planned_code import (
    AcceptanceText,
    Chain,
    Fault,
    Need,
    OrderCode,
    at_place,
    declared_by,
    declared_only_by,
    has_no_definition,
    missing_module,
    provided_later,
    undeclared_package,
    unprovided,
)

SUFFIX: Final = ".go"
TEST_SUFFIX: Final = "_test.go"


def is_test_file(path: str) -> bool:
    """Return whether `go test` alone compiles the file."""
    return path.endswith(TEST_SUFFIX)


def has_names_to_declare(path: str) -> bool:
    """Return whether other files use a Go file by its names: it is neither a test nor a program."""
    name = path.rpartition("/")[2]
    return path.endswith(SUFFIX) and not is_test_file(path) and name != "main.go"


class PlannedGo:
    """Hold the Go of a plan."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.code = PlannedCode(chain, SUFFIX, read_go, has_names_to_declare)

    @cached_property
    def modules(self) -> tuple[GoModule, ...]:
        """Return the modules of the repository; one is guessed where an order writes `go.mod`."""
        found = read_modules(self.chain.sources, self.chain.listing)
        if found or self.has_unknown_manifest:
            return found or self._guessed
        return self._guessed

    @property
    def has_unknown_manifest(self) -> bool:
        """Return whether an order may write a `go.mod` whose content is unknown."""
        written = (
            path for order in self.chain.orders for path in (*order.writes, *order.may_write)
        )
        return any(path.rpartition("/")[2] == MANIFEST for path in written)

    @property
    def _guessed(self) -> tuple[GoModule, ...]:
        last = len(self.chain.orders)
        folders = {folder_of(path) for path in self.code.paths(last)}
        texts = self.code.texts(last).values()
        imports = [each.source for text in texts for each in read_go(text).imports]
        guessed = guess_module(imports, folders)
        return (guessed,) if guessed else ()

    def folder_of_import(self, imported: str) -> str | None:
        """Return the folder of an imported package; `None` for one of another module."""
        for module in self.modules:
            folder = module.folder_of_import(imported)
            if folder is not None:
                return folder
        return None

    def has_package(self, folder: str, position: int) -> bool:
        """Return whether a folder has, or may have, Go other than tests by then."""
        paths = self.code.paths(position)
        return any(folder_of(each) == folder and not is_test_file(each) for each in paths)

    def is_open(self, folder: str, position: int, *, with_tests: bool = False) -> bool:
        """Return whether a package may hold names that no contract declares.

        A test can also use the names of other tests of its package, `with_tests`.
        """
        return self.code.is_blind(position) or any(
            folder_of(each) == folder and (with_tests or not is_test_file(each))
            for each in self.code.open_paths(position)
        )

    def names_of_package(self, folder: str, position: int) -> set[str]:
        """Return the names that the files of a folder declare, as far as they are known."""
        read = [
            *(read_go(text) for path, text in self._sources_in(folder, position)),
            *(
                Declarations("", each.items)
                for path, each in self.code.states[position].items()
                if folder_of(path) == folder
            ),
        ]
        return {each.name for part in read for each in part.items}

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
        earlier = self.code.states[position].get(path)
        imports |= {each.name for each in earlier.imports} if earlier else set()
        source = self.chain.sources.get(path)
        imports |= {each.name for each in read_go(source).imports} if source is not None else set()
        yield from undefined_names(stub.text, self.names_of_package(folder, position), imports)

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the packages that a test imports and that are missing by then."""
        for each in read_go(file.text).imports:
            if is_standard(each.source) or self.code.is_blind(position):
                continue
            yield from self._need(each.source, position)

    def _need(self, imported: str, position: int) -> Iterator[Need]:
        folder = self.folder_of_import(imported)
        if folder is not None:
            if self.has_package(folder, position):
                return
            later = self.chain.first_with(position, lambda at: self.has_package(folder, at))
            if later is not None:
                yield provided_later("imports", imported, self.chain.source(later))
            else:
                yield missing_module(imported, self._remover(folder, position))
        elif self.has_unknown_manifest:
            return  # that file may require anything
        elif "." not in imported.split("/")[0]:
            yield unprovided("imports", imported)
        elif not any(each.requires(imported) for each in self.modules) and not any(
            imported == each or imported.startswith(f"{each}/") for each in self.chain.dependencies
        ):
            yield undeclared_package("imports", imported, imported)


# The oldest Go that knows what today's tests use. A `go.mod` of the repository says it itself.
_LANGUAGE: Final = "1.21"


def build_view(planned: PlannedGo, position: int) -> dict[str, str]:
    """Return the texts by path that are there after an order, with contracts as empty code."""
    code, chain = planned.code, planned.chain
    view: dict[str, str] = {}
    for path in chain.listing:
        is_wanted = path.endswith(SUFFIX) or path.rpartition("/")[2] in (MANIFEST, "go.work")
        is_wanted = is_wanted and not chain.is_gone(path, position)
        text = chain.sources.get(path) if is_wanted else None
        if text is not None:
            view[path] = text
    packages = _packages(planned, position, view)
    for path, contract in code.states[position].items():
        package = packages.get(folder_of(path), "")
        view[path] = write_file(path, contract, view.get(path), package, empty_all=True)
    view |= code.texts(position)
    for module in planned.modules:
        manifest = f"{module.folder}/{MANIFEST}" if module.folder else MANIFEST
        view.setdefault(manifest, f"module {module.path}\n\ngo {_LANGUAGE}\n")
    if not any(path.rpartition("/")[2] == MANIFEST for path in view):
        view[MANIFEST] = f"module planned\n\ngo {_LANGUAGE}\n"
    return view


def _packages(planned: PlannedGo, position: int, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the name of the package of each folder that has a contract."""
    named: dict[str, str] = {}
    for path, text in sources.items():
        if path.endswith(SUFFIX):
            named.setdefault(folder_of(path), read_go(text).package)
    for path, contract in planned.code.states[position].items():
        if contract.package:
            named.setdefault(folder_of(path), contract.package)
    for path, text in planned.code.texts(position).items():
        if is_test_file(path):
            package = read_go(text).package
            named.setdefault(folder_of(path), package.removesuffix("_test"))
    for path in planned.code.states[position]:
        if not named.get(folder_of(path)):
            named[folder_of(path)] = package_of_folder(path)
    return named


# The first question compiles the standard library, which took 21 seconds on a loaded machine.
_SECONDS: Final = 120.0
# All errors are wanted, and no test is to run: each test program is given to `true`.
_COMMAND: Final = (
    "go", "test", "-run", "^$", "-vet=off", "-exec=true", "-gcflags=-e",
)  # fmt: skip
_FAILED: Final = re.compile(r"^(?:go: |no Go files|go\.mod:).*$", re.MULTILINE)


def use_faults(planned: PlannedGo, tools: Tools) -> Iterator[Fault]:
    """Yield how the tests of a plan use Go otherwise than it is declared."""
    asked = 0
    for order in planned.chain.orders:
        tests = [each for each in order.acceptance_files if each.path.endswith(SUFFIX)]
        tests = [each for each in tests if read_go(each.text).fault is None]
        if not tests or planned.code.is_blind(order.position):
            continue
        view = build_view(planned, order.position)
        folders = dict.fromkeys(module_folder(each.path, planned.modules) for each in tests)
        for folder in folders:
            asked += 1
            if problem := unaskable(tools, asked, view, "modules"):
                yield unjudged("Go", problem)
                return
            assert tools.runner is not None, "checked above"
            mine = [e for e in tests if module_folder(e.path, planned.modules) == folder]
            try:
                result = _ask(view, mine, folder, tools.runner)
            except ToolMissing as missing:
                yield unjudged("Go", str(missing))
                return
            if result.exit_code is None:
                yield unjudged("Go", f"the compiler did not answer within {_SECONDS:.0f} seconds")
                return
            yield from _faults(result, order, mine, folder, planned)


def _ask(
    view: dict[str, str], tests: Sequence[AcceptanceText], inner: str, runner: ToolRunner
) -> ToolResult:
    """Ask about the tests of the module in the folder `inner`; other modules may be there, too."""
    folders = dict.fromkeys(folder_of(each.path) for each in tests)
    where = ("-C", inner) if inner else ()
    named = [f"./{each[len(inner) :].strip('/')}".rstrip("/") for each in folders]
    command = (*_COMMAND[:1], *where, *_COMMAND[1:], *named)
    return runner.run(view, command, seconds=_SECONDS)


def _faults(
    result: ToolResult,
    order: OrderCode,
    tests: Sequence[AcceptanceText],
    inner: str,
    planned: PlannedGo,
) -> Iterator[Fault]:
    by_path = {each.path: each for each in tests}
    reported: set[tuple[str, int, str]] = set()
    complaints = list(read_complaints(f"{result.stdout}\n{result.stderr}"))
    for each in complaints:
        path = f"{inner}/{each.path}" if inner else each.path
        test = by_path.get(path)
        verdict = judge(each.message)
        if test is None or verdict is None:
            continue
        weighed = _weighed(verdict, each, test, order.position, planned)
        if weighed is None:
            continue
        code, addition = weighed
        if (path, each.line, code) not in reported:
            reported.add((path, each.line, code))
            said = has_no_definition(verdict.name) if code == "E216" else each.message
            message = at_place(said, each.line, each.column, addition)
            yield Fault(
                code, order.position, at("acceptance_files", test.index, "content"), message
            )
    failed = _FAILED.search(f"{result.stderr}\n{result.stdout}")
    if result.exit_code and failed and not complaints:
        yield unjudged("Go", failed[0])


def _weighed(
    verdict: Verdict, complaint: Complaint, test: AcceptanceText, position: int, planned: PlannedGo
) -> tuple[str, str] | None:
    """Return the code of a finding, and what its message adds to the compiler's.

    It is `None` for a name of a package of which nothing is known: that its files have no readable
    contract is the finding.
    """
    code, folder = verdict.code, _package_of(verdict, test, planned)
    if folder is None:
        # An unqualified name in a test from outside its package is one of the test's own.
        return code, ""
    paths = [
        each for each in planned.code.paths(len(planned.chain.orders)) if folder_of(each) == folder
    ]
    if verdict.lacking:
        later = planned.code.declared_later(paths, verdict.name, position)
        if later is not None:
            return "E217", declared_only_by(planned.chain.source(later))
        if planned.is_open(folder, position, with_tests=not verdict.package):
            return ("W222", "") if planned.names_of_package(folder, position) else None
        if code == "E216" and not _is_qualifier(complaint, test):
            code = "E211"
    if not verdict.name:
        return code, ""
    for path in paths:
        name = verdict.name if not verdict.lacking else verdict.name.rpartition(".")[0]
        by = planned.code.declared_by(path, name, position) if name else None
        if by is not None:
            return code, declared_by(planned.chain.source(by), path)
    return code, ""


def _package_of(verdict: Verdict, test: AcceptanceText, planned: PlannedGo) -> str | None:
    """Return the folder of the project's package that a complaint is about, if it is one."""
    read = read_go(test.text)
    if verdict.package:
        imported = (each.source for each in read.imports if each.name == verdict.package)
        return planned.folder_of_import(next(imported, ""))
    if not read.package.endswith("_test"):
        return folder_of(test.path)
    if verdict.code == "E216":
        return None
    own = (planned.folder_of_import(each.source) for each in read.imports)
    return next((each for each in own if each is not None), folder_of(test.path))


def _is_qualifier(complaint: Complaint, test: AcceptanceText) -> bool:
    """Return whether a dot follows the name at a place, as it follows a package."""
    lines = test.text.split("\n")
    if complaint.line > len(lines):
        return False
    line = lines[complaint.line - 1].encode("utf-8", "replace")[complaint.column - 1 :]
    return re.match(rb"[a-z]\w*\s*\.", line) is not None
