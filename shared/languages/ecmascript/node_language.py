"""What both languages put behind the protocols: edits, plans, contracts, notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.languages.capabilities import (
    ContractViolation,
    DefinitionEdit,
    EditRefused,
    NamedCode,
    OutlineEntry,
    Unwritten,
)
from shared.languages.declared import declared_edits
from shared.languages.ecmascript import (
    chain_code,
    conformance_check,
    declaration_stubs,
    definitions,
    empty_code,
)
from shared.languages.ecmascript.ecmascript_syntax import (
    SUFFIXES,
    find_fault,
    is_test_file,
    suffix_of,
    tree_of,
)
from shared.languages.language_tools import Tools
from shared.languages.planned_code import Chain, ChainCode, file_does_not_parse
from shared.work_order.work_order import Interface, WorkOrder


@dataclass(frozen=True, slots=True)
class EcmaEdits:
    """Implement `Edits` for files of one language.

    A text whose path is not known is read as that of a file with each of `suffixes`, in turn.
    """

    suffixes: tuple[str, ...]

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        """Return the functions, methods, classes and types; none if the file does not parse."""
        found = (
            declared_edits.outline(definitions.read_source(f"file{each}", text))
            for each in self.suffixes
        )
        return next((each for each in found if each), ())

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        """Return the splices by which definitions get their new code, or why not."""
        return definitions.edit_definitions(path, text, edits, changes)

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        """Return the names of the functions, methods, classes and types that begin there."""
        return definitions.defined_names(fragment)

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        """Return a violation for each lost export, and for the loss of half of the text."""
        now = definitions.read_source(path, after)
        # A name that is still there and no longer exported is lost for other files.
        exported = replace(now, items=tuple(each for each in now.items if each.is_public))
        is_test = is_test_file(path)
        return declared_edits.check_rewrite(
            path, definitions.read_source(path, before), exported, changes, is_test=is_test
        )


@dataclass(frozen=True, slots=True)
class EcmaPlans:
    """Implement `Plans` for the files of `suffixes`. One language reads the commands for both."""

    name: str
    suffixes: tuple[str, ...]
    reads_commands: bool

    def has_names_to_declare(self, path: str) -> bool:
        """Return whether other files use the file at `path` by its names."""
        return chain_code.has_names_to_declare(path)

    def is_test_file(self, path: str) -> bool:
        """Return whether test runners take the file for tests."""
        return is_test_file(path)

    def module_name(self, path: str) -> str:
        """Return the last part of the path without its suffix, as imports name the file."""
        name = path.rpartition("/")[2]
        return name.removesuffix(suffix_of(name))

    def read_chain(self, chain: Chain) -> ChainCode:
        """Return what answers for the files of `suffixes` on `chain`."""
        assert set(self.suffixes) <= set(SUFFIXES), "the suffixes are those of these languages"
        return chain_code.EcmaChain(chain, self.name, self.suffixes, self.reads_commands)


@dataclass(frozen=True, slots=True)
class EcmaConformance:
    """Implement `Conformance` for the files of `suffixes`."""

    suffixes: tuple[str, ...]

    def reads(self, path: str) -> bool:
        """Return whether the file has one of the suffixes."""
        return path.endswith(self.suffixes)

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one stub for each file with the declarations that hold after these orders."""
        return declaration_stubs.contracts_in_force(orders, self.suffixes)

    def warm_up(self, tools: Tools) -> None:
        """Do nothing: the compiler ends with each answer, and the system keeps its files."""

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts the stubs in `interfaces`."""
        return conformance_check.check_conformance(interfaces, sources, tools)

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return code by path whose functions return 0, "", [] and the like."""
        return empty_code.build_skeleton(interfaces, sources)


_MAX_SHOWN: Final = 120  # characters of the line


class EcmaNotes:
    """Implement `Notes`, as far as syntax goes."""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return nothing: an empty function may be meant."""
        return ()

    def names_in(self, source: str) -> Collection[str] | None:
        """Return `None`: a script may add names while it runs."""
        return None

    def note_syntax(self, path: str, source: str) -> str:
        """Return a sentence that quotes the line that does not parse, and says why."""
        root = tree_of(path, source)
        fault = find_fault(root) if root is not None else None
        if fault is None:
            return ""
        shown = source.split("\n")[fault.line - 1].strip()[:_MAX_SHOWN]
        return file_does_not_parse(path, fault.line, shown, fault.message)

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return nothing: the errors of Node and of compilers say it themselves."""
        return ()
