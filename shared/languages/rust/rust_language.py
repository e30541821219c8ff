"""Rust as a member of the registry; each method imports what it needs."""

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
    BLANK_LINE,
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
    from shared.languages.rust.rust_plans import PlannedRust


class RustCommands:
    """Implement `CommandReader` for `cargo`."""

    def knows(self, program: str) -> bool:
        """Return whether the program is one of Rust's."""
        return program in ("cargo", "rustc", "rustfmt")

    def is_always_there(self, program: str) -> bool:
        """Return that no sandbox is sure to have Rust."""
        return False

    def read_run(self, program: str, arguments: Arguments) -> Run:
        """Return the arguments: what they mean is read when it is asked for."""
        return ProgramRun(arguments.words)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return the manifest that the command names."""
        from shared.languages.rust.rust_commands import read_cargo_command

        if command.program != "cargo" or not isinstance(command.run, ProgramRun):
            return ()
        return read_cargo_command(command.run.arguments).paths

    def script_paths(self, path: str) -> tuple[str, ...]:
        """Return the path itself."""
        return (path,)

    def read_paths(self, command: Command) -> Iterator[str]:
        """Yield nothing: a command of `cargo` holds no code."""
        return iter(())

    def makes_files(self, command: Command) -> bool:
        """Return whether the command builds or runs something."""
        from shared.languages.rust.rust_commands import makes_files

        return command.program != "rustfmt" and makes_files(command.argv)

    def module_paths(self, module: str) -> Iterator[str]:
        """Yield nothing: no command names a module to run."""
        return iter(())

    def is_loaded_unasked(self, path: str) -> bool:
        """Return whether tests commonly share the file as a module: `tests/common/mod.rs`."""
        return path.endswith("/mod.rs") and "tests" in path.split("/")

    def weakness(self, command: Command) -> Weakness | None:
        """Return why a command can hardly fail, as far as its text shows."""
        from shared.languages.rust.rust_plans import weakness_of_text

        if not isinstance(command.run, ProgramRun) or command.problem or command.operator:
            return None
        return weakness_of_text(command.program, command.run.arguments)


NAME: Final = "Rust"
_REFUSED = re.compile(
    r"no matching package named|attempting to make an HTTP request, but --offline"
)


class RustOutlines:
    """Implement `Outliner` for Rust."""

    name: Final = NAME
    outlined: Final = (".rs",)
    fence: Final = "rust"
    comment: Final = "//"
    file_noun: Final = "Rust file"
    definition: Final = DEFINITION

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return the public items of the file, without its tests."""
        from shared.languages.rust.rust_source import public_names

        return public_names(text)


class RustChain:
    """Implement `ChainCode` for Rust."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._read: PlannedRust | None = None

    @property
    def _planned(self) -> PlannedRust:
        from shared.languages.rust.rust_plans import PlannedRust

        self._read = self._read or PlannedRust(self._chain)
        return self._read

    def interface_faults(self) -> Iterator[Fault]:
        """Yield E201, E203, E204 and W223."""
        return self._planned.code.stub_faults(self._planned.undefined)

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield the targets of tests that a command names and that have no file by then."""
        return self._planned.needs_of_command(position, command)

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the crates and modules that a test imports and nobody provides."""
        return self._planned.needs_of_file(position, file)

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        """Yield how the tests of the plan use Rust otherwise than it is declared."""
        from shared.languages.rust.judge_rust import use_faults

        return use_faults(self._planned, tools)

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return why a run of tests can hardly fail, by the tests that are there by then."""
        from shared.languages.rust.rust_plans import weakness_of_tests

        if command.program != "cargo" or not isinstance(command.run, ProgramRun):
            return None
        if command.problem or command.operator:
            return None
        return weakness_of_tests(command.run.arguments, self._planned, position)


class RustPlans:
    """Implement `Plans` for Rust."""

    contracted: Final = (".rs",)

    def has_names_to_declare(self, path: str) -> bool:
        """Return whether other files may use the file: it is no test and no program."""
        from shared.languages.rust.rust_plans import has_names_to_declare

        return has_names_to_declare(path)

    def is_test_file(self, path: str) -> bool:
        """Return whether the file is only compiled for tests, by its place."""
        from shared.languages.rust.rust_plans import is_test_file

        return is_test_file(path)

    def module_name(self, path: str) -> str:
        """Return the name of the file's module, by its path; that of the build for a crate's root.

        Others mention the root by the name of the crate, which the path does not tell. Every build
        of the crate uses it.
        """
        from shared.languages.rust.rust_plans import module_name

        is_root = path.rpartition("/")[2] in ("lib.rs", "main.rs")
        return "cargo" if is_root else module_name(path)

    def read_chain(self, chain: Chain) -> ChainCode:
        """Return what answers for Rust on `chain`."""
        return RustChain(chain)


class RustConformance:
    """Implement `Conformance` for Rust."""

    def reads(self, path: str) -> bool:
        """Return whether the file is Rust, or says which crates there are."""
        return path.endswith(".rs") or path.rpartition("/")[2] in ("Cargo.toml", "Cargo.lock")

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one contract for each file of Rust that holds after these orders."""
        from shared.languages.rust.rust_conformance import contracts_in_force

        return contracts_in_force(orders)

    def warm_up(self, tools: Tools) -> None:
        """Do nothing: what the compiler keeps is prepared with the sandbox."""

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts the contracts in `interfaces`."""
        from shared.languages.rust.rust_conformance import check_conformance

        return check_conformance(interfaces, sources, tools)

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return files by path whose functions return empty values."""
        from shared.languages.rust.rust_skeletons import build_skeleton

        return build_skeleton(interfaces, sources)


class RustEdits(DeclaredEdits):
    """Implement `Edits` for Rust."""

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        """Return the splices by which definitions get their new code, or why not."""
        from shared.languages.rust.rust_edits import edit_definitions

        return edit_definitions(path, text, edits, changes)

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        """Return the names of the functions and types that begin in `fragment`."""
        from shared.languages.rust.rust_edits import defined_names

        return defined_names(fragment)


class RustNotes(DeclaredNotes):
    """Implement `Notes` for Rust."""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return the functions whose bodies are empty, placeholders, or a constant."""
        from shared.languages.rust.rust_edits import find_unwritten

        return find_unwritten(path, before, after)

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return what exists in the place of names that the compiler's errors miss."""
        from shared.languages.rust.rust_edits import note_errors

        return note_errors(output, sources, files)


class RustDependencies:
    """Implement `Dependencies` for crates."""

    variables: Final = r"(CARGO|RUSTUP)_\w+"

    def is_manifest(self, path: str) -> bool:
        """Return whether the file declares crates or locks them."""
        return path.rpartition("/")[2] in ("Cargo.toml", "Cargo.lock")

    def prepare(self, files: ManifestFiles, workshop: Workshop) -> Prepared:
        """Return a home of Cargo whose crates.io is a folder of vendored crates."""
        from shared.languages.rust.rust_crates import prepare_cargo

        return prepare_cargo(files, workshop)


def _read(text: str) -> Declarations:
    from shared.languages.rust.rust_source import read_rust

    return read_rust(text)


def _tools() -> tuple[Tool, ...]:

    return TOOLS


RUST: Final = Language(
    RustOutlines(),
    commands=RustCommands(),
    plans=RustPlans(),
    conformance=RustConformance(),
    edits=RustEdits(_read, RustPlans().is_test_file),
    notes=RustNotes(_read),
    packages=LockedPackages("Cargo.toml", _REFUSED),
    dependencies=RustDependencies(),
    reports=ToolReports(_tools),
    advice=Advice("shared.languages.rust", ("Rust", "Cargo.toml", ".rs")),
    examples=Examples("shared.languages.rust"),
)


TOOLS: Final = (
    Tool(
        "rustc",
        head=re.compile(
            r"(?P<message>error(?:\[E\d+\])?: "
            r"(?!aborting due|could not compile|test failed|\d+ targets? failed).*)$"
        ),
        end=BLANK_LINE,
        place=re.compile(r"\s*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+$"),
        proof=re.compile(r"\s*--> "),
        told=re.compile(r"\s*\d* ?\|.*?[\^-]+ (?P<told>\w.*)$"),
    ),
    Tool(
        "a panic of rust",
        head=re.compile(
            r"thread '(?P<message>.*)' panicked at (?P<path>[^\s:]+):(?P<line>\d+):.*$"
        ),
        end=re.compile(r"stack backtrace:|note: |\s*$"),
        told=re.compile(r"(?P<told>.*)$"),
    ),
)
