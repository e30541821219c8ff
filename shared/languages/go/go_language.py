"""Go as a member of the registry; each method imports what it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.base import Language
from shared.languages.capabilities import (
    DEFINITION,
    Advice,
    ContractViolation,
    DefinitionEdit,
    EditRefused,
    Examples,
    NamedCode,
    Unwritten,
)
from shared.languages.declared.declared_edits import DeclaredEdits, DeclaredNotes
from shared.languages.language_tools import (
    LESS_INDENTED,
    LockedPackages,
    ManifestFiles,
    Prepared,
    Tool,
    ToolReports,
    Tools,
    Workshop,
)
from shared.languages.planned_code import AcceptanceText, Chain, ChainCode, Fault, Need
from shared.languages.read_commands import Arguments, Command, ProgramRun, Run, Weakness
from shared.work_order.work_order import Interface, WorkOrder

if TYPE_CHECKING:
    from shared.languages.declared.declarations import Declarations
    from shared.languages.go.judge_go import PlannedGo


class GoCommands:
    """Implement `CommandReader` for `go`."""

    def knows(self, program: str) -> bool:
        """Return whether the program is one of Go's."""
        return program in ("go", "gofmt")

    def is_always_there(self, program: str) -> bool:
        """Return that no sandbox is sure to have Go."""
        return False

    def read_run(self, program: str, arguments: Arguments) -> Run:
        """Return the arguments: what they mean is read when it is asked for."""
        return ProgramRun(arguments.words)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return the folders of the packages, and the files, that the command names."""
        from shared.languages.go.go_commands import read_go_command

        if command.program != "go" or not isinstance(command.run, ProgramRun):
            return ()
        return read_go_command(command.run.arguments).paths

    def script_paths(self, path: str) -> tuple[str, ...]:
        """Return the path itself."""
        return (path,)

    def read_paths(self, command: Command) -> Iterator[str]:
        """Yield nothing: a command of `go` holds no code."""
        return iter(())

    def makes_files(self, command: Command) -> bool:
        """Return whether the command builds, generates or runs something."""
        from shared.languages.go.go_commands import makes_files

        return command.program == "go" and makes_files(command.argv)

    def module_paths(self, module: str) -> Iterator[str]:
        """Yield nothing: no command names a module to run."""
        return iter(())

    def is_loaded_unasked(self, path: str) -> bool:
        """Return whether `go test` compiles the file with the other tests of its folder."""
        return path.endswith("_test.go")

    def weakness(self, command: Command) -> Weakness | None:
        """Return why a command can hardly fail, as far as its text shows."""
        from shared.languages.go.go_commands import weakness_of_text

        if not isinstance(command.run, ProgramRun) or command.problem or command.operator:
            return None
        return weakness_of_text(command.program, command.run.arguments)


NAME: Final = "Go"
_MANIFESTS: Final = frozenset({"go.mod", "go.sum", "go.work", "go.work.sum"})
_REFUSED = re.compile(r"missing go\.sum entry|module lookup disabled by GOPROXY=off")


class GoOutlines:
    """Implement `Outliner` for Go."""

    name: Final = NAME
    outlined: Final = (".go",)
    fence: Final = "go"
    comment: Final = "//"
    file_noun: Final = "Go file"
    definition: Final = DEFINITION

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return what the file exports; nothing of a file of tests."""
        from shared.languages.go.go_source import public_names

        return () if path.endswith("_test.go") else public_names(text)


class GoChain:
    """Implement `ChainCode` for Go."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._read: PlannedGo | None = None

    @property
    def _planned(self) -> PlannedGo:
        from shared.languages.go.judge_go import PlannedGo

        self._read = self._read or PlannedGo(self._chain)
        return self._read

    def interface_faults(self) -> Iterator[Fault]:
        """Yield E201, E203, E204 and W223."""
        return self._planned.code.stub_faults(self._planned.undefined)

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield nothing: what a command needs are the folders that it names."""
        return iter(())

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the packages that a test imports and nobody provides."""
        return self._planned.needs_of_file(position, file)

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        """Yield how the tests of the plan use Go otherwise than it is declared."""
        from shared.languages.go.judge_go import use_faults

        return use_faults(self._planned, tools)

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return why a run of tests can hardly fail, by the tests that are there by then."""
        from shared.languages.go.go_commands import weakness_of_tests

        if command.program != "go" or not isinstance(command.run, ProgramRun):
            return None
        if command.problem or command.operator:
            return None
        return weakness_of_tests(command.run.arguments, self._planned, position)


class GoPlans:
    """Implement `Plans` for Go."""

    contracted: Final = (".go",)

    def has_names_to_declare(self, path: str) -> bool:
        """Return whether other packages may use the file: it is no test and no program."""
        from shared.languages.go.judge_go import has_names_to_declare

        return has_names_to_declare(path)

    def is_test_file(self, path: str) -> bool:
        """Return whether `go test` alone compiles the file."""
        return path.endswith("_test.go")

    def module_name(self, path: str) -> str:
        """Return the name of the file's package, which its folder has by custom."""
        from shared.languages.go.go_conformance import package_of_folder

        return package_of_folder(path)

    def read_chain(self, chain: Chain) -> ChainCode:
        """Return what answers for Go on `chain`."""
        return GoChain(chain)


class GoConformance:
    """Implement `Conformance` for Go."""

    def reads(self, path: str) -> bool:
        """Return whether the file is Go, or says which modules there are."""
        return path.endswith(".go") or path.rpartition("/")[2] in _MANIFESTS

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one contract for each file of Go that holds after these orders."""
        from shared.languages.go.go_conformance import contracts_in_force

        return contracts_in_force(orders)

    def warm_up(self, tools: Tools) -> None:
        """Do nothing: what the compiler keeps is prepared with the sandbox."""

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts the contracts in `interfaces`."""
        from shared.languages.go.go_conformance import check_conformance

        return check_conformance(interfaces, sources, tools)

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return files by path whose functions return zero values."""
        from shared.languages.go.go_conformance import build_skeleton

        return build_skeleton(interfaces, sources)


class GoEdits(DeclaredEdits):
    """Implement `Edits` for Go."""

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        """Return the splices by which definitions get their new code, or why not."""
        from shared.languages.go.go_edits import edit_definitions

        return edit_definitions(path, text, edits, changes)

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        """Return the names of the functions, methods and types that begin in `fragment`."""
        from shared.languages.go.go_edits import defined_names

        return defined_names(fragment)


class GoNotes(DeclaredNotes):
    """Implement `Notes` for Go."""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return the functions whose bodies are empty, placeholders, or a constant."""
        from shared.languages.go.go_edits import find_unwritten

        return find_unwritten(path, before, after)

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return what exists in the place of names that the compiler's errors miss."""
        from shared.languages.go.go_edits import note_errors

        return note_errors(output, sources, files)


class GoDependencies:
    """Implement `Dependencies` for Go's modules."""

    variables: Final = (
        r"GO_\w+|GO(PROXY|PRIVATE|SUMDB|NOSUMDB|NOPROXY|INSECURE|VCS|AUTH|ROOT|ENV|PATH)"
    )

    def is_manifest(self, path: str) -> bool:
        """Return whether the file says which modules there are, or holds their hashes."""
        return path.rpartition("/")[2] in ("go.mod", "go.sum", "go.work")

    def prepare(self, files: ManifestFiles, workshop: Workshop) -> Prepared:
        """Return a module cache with what every `go.mod` of the tree requires."""
        from shared.languages.go.go_modules import prepare_go

        return prepare_go(files, workshop)


def _read(text: str) -> Declarations:
    from shared.languages.go.go_source import read_go

    return read_go(text)


def _tools() -> tuple[Tool, ...]:

    return TOOLS


GO: Final = Language(
    GoOutlines(),
    commands=GoCommands(),
    plans=GoPlans(),
    conformance=GoConformance(),
    edits=GoEdits(_read, GoPlans().is_test_file),
    notes=GoNotes(_read),
    packages=LockedPackages("go.mod", _REFUSED),
    dependencies=GoDependencies(),
    reports=ToolReports(_tools),
    advice=Advice(
        "shared.languages.go",
        ("Golang", "in Go", "Go 1", "Go module", "Go package", "Go program", "go.mod", ".go"),
    ),
    examples=Examples("shared.languages.go"),
)


TOOLS: Final = (
    Tool(
        "go build",
        head=re.compile(r"(?:vet: )?(?P<path>[^\s:]+\.go):(?P<line>\d+):\d+: (?P<message>.*)$"),
        end=LESS_INDENTED,
        told=re.compile(r"(?P<told>\t.*)$"),
    ),
    Tool(
        "go test",
        head=re.compile(r"\s*--- FAIL: (?P<message>[^\s(]+)"),
        end=re.compile(r"\s*--- |FAIL\b|ok\b|PASS\b|goroutine "),
        place=re.compile(r"\s+(?P<path>[^\s:/][^\s:]*\.go):(?P<line>\d+)(?:: | \+0x)"),
        told=re.compile(r"(?:\s+[^\s:]+\.go:\d+: |(?=panic: )|\s{8,})(?P<told>\S.*)$"),
    ),
)
