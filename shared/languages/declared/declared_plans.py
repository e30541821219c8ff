"""Answers for a plan's code in a language that is read as declarations, and asks its compiler."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from shared.files.strict_documents import at
from shared.languages.declared.declarations import MAX_BYTES, Declarations, normal_changes
from shared.languages.declared.declared_contracts import (
    SECONDS,
    Contract,
    Delta,
    conflicts,
    fold,
    has_name,
    joined,
    merge,
    without_fence,
)
from shared.languages.language_tools import ToolMissing, ToolResult, Tools
from shared.languages.planned_code import (
    AcceptanceText,
    Chain,
    DeclaredStub,
    Fault,
    Need,
    OrderCode,
    TextFault,
    at_place,
    files_without_interface,
    has_no_definition,
    stub_contradicts,
    stub_does_not_parse,
    stub_uses_undefined,
)
from shared.languages.read_commands import Command, Weakness, program_words

if TYPE_CHECKING:
    from shared.languages.declared.declared_contracts import Complaint

StubsOfOrder = tuple[tuple[DeclaredStub, Declarations], ...]
Part = TypeVar("Part")

# Faults in how a name is used, not in whether it is there.
_OF_USES: Final = frozenset({"E212", "E213", "E214", "W222"})
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_BINDING: Final = re.compile(r"^([^=\n]*?[\w)\]>]\s*)(?::=|=)(?![=>])([^\n]*)", re.MULTILINE)
_KEYWORDS: Final = frozenset(
    {"let", "mut", "var", "if", "for", "range", "while", "ref", "Some", "Ok"}
)
_MAX_ROUNDS: Final = 5  # of values bound to other names
_MAX_LINES: Final = 3  # of a call before its argument
_MAX_REASON: Final = 200  # characters
_MAX_VIEW: Final = 8 * 1024 * 1024  # characters; a copy of a larger tree is not worth the answer
_MAX_QUESTIONS: Final = 100


@dataclass(frozen=True, slots=True)
class Asked(Generic[Part]):
    """Hold what the compiler was asked about: the tests of a part of the tree, after an order."""

    position: int
    part: Part
    tests: Sequence[AcceptanceText]

    def test_at(self, *paths: str) -> AcceptanceText | None:
        """Return the test that has one of these paths; `None` if none has."""
        return next((each for path in paths for each in self.tests if each.path == path), None)


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold a complaint about a test: the code of its finding, and what the message adds to it.

    `name` is the name that the complaint is about; empty if there is none.
    """

    complaint: Complaint
    test: AcceptanceText
    code: str
    name: str = ""
    addition: str = ""


class PlannedCode(ABC, Generic[Part]):
    """Answer `ChainCode` for the files with one suffix.

    Each language derives a class. The compiler is asked about a `Part` of the tree at a time, such
    as a module: `parts` is their name in the plural. `tool` is the compiler's name in messages.
    """

    language: ClassVar[str]
    suffix: ClassVar[str]
    manifest: ClassVar[str]
    program: ClassVar[str]
    parts: ClassVar[str]
    tool: ClassVar[str]

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    @staticmethod
    @abstractmethod
    def read_text(text: str) -> Declarations:
        """Return the declarations of a file."""

    @staticmethod
    @abstractmethod
    def has_names(path: str) -> bool:
        """Return whether other files use a file by its names."""

    @abstractmethod
    def undefined(self, path: str, stub: Declarations, position: int) -> Iterator[tuple[str, int]]:
        """Yield the names that a contract uses and nobody defines, with their lines."""

    @abstractmethod
    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield what a test file of the plan needs and does not have."""

    @abstractmethod
    def weakness_of_tests(self, words: Sequence[str], position: int) -> Weakness | None:
        """Return why a run of tests can hardly fail; `None` if the tests are not all known."""

    @abstractmethod
    def view(self, position: int) -> dict[str, str]:
        """Return the texts by path that are there after an order, with contracts as empty code."""

    @abstractmethod
    def part_of(self, path: str) -> Part:
        """Return the part of the tree that a test belongs to."""

    @abstractmethod
    def command(self, part: Part, tests: Sequence[AcceptanceText]) -> tuple[str, ...]:
        """Return the command that has the compiler look at the tests of a part."""

    @abstractmethod
    def judged(self, result: ToolResult, asked: Asked[Part]) -> Iterator[Judged]:
        """Yield the complaints about the tests that were asked about, judged."""

    @abstractmethod
    def failure(self, result: ToolResult, asked: Asked[Part]) -> str:
        """Return why the compiler judged nothing; empty if it did."""

    def why_unaskable(self, part: Part) -> str:
        """Return why nothing can be asked about a part; empty if it can."""
        return ""

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield nothing: a command needs the paths that it names."""
        return iter(())

    def interface_faults(self) -> Iterator[Fault]:
        """Yield E201, E203, E204 and W223."""
        for order, stubs in zip(self.chain.orders, self.stubs, strict=True):
            if order.valid:
                for each, read in stubs:
                    yield from self._stub_faults(order.position, each, read)
                yield from self._contradictions(order, stubs)
                yield from self._undeclared(order)

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return why a run of tests can hardly fail, by the tests that are there by then."""
        words = program_words(command)
        if words is None or command.program != self.program:
            return None
        return self.weakness_of_tests(words, position)

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        """Yield how the tests of a plan use the language otherwise than it is declared."""
        count = 0
        for order in self.chain.orders:
            tests = [
                each
                for each in order.acceptance_files
                if each.path.endswith(self.suffix) and self.read_text(each.text).fault is None
            ]
            if not tests or self.chain.is_blind(order.position):
                continue
            view = self.view(order.position)
            for part in dict.fromkeys(self.part_of(each.path) for each in tests):
                count += 1
                mine = [each for each in tests if self.part_of(each.path) == part]
                result = self._ask(part, mine, view, tools, count)
                if isinstance(result, str):
                    yield self._unjudged(result)
                    return
                yield from self._faults(result, Asked(order.position, part, mine))

    def _ask(
        self,
        part: Part,
        tests: Sequence[AcceptanceText],
        view: Mapping[str, str],
        tools: Tools,
        count: int,
    ) -> ToolResult | str:
        """Return the compiler's answer, or why there is none; `count` counts the questions."""
        if problem := self.why_unaskable(part):
            return problem
        if tools.runner is None:
            return "no sandbox was given to the compiler"
        if count > _MAX_QUESTIONS:
            return f"over {_MAX_QUESTIONS} {self.parts} and orders bring tests"
        if sum(map(len, view.values())) > _MAX_VIEW:
            return "the repository is too large"
        try:
            result = tools.runner.run(view, self.command(part, tests), seconds=SECONDS)
        except ToolMissing as missing:
            return str(missing)
        late = result.exit_code is None
        return f"{self.tool} did not answer within {SECONDS:.0f} seconds" if late else result

    def _unjudged(self, reason: str) -> Fault:
        """Return the warning that tests were not compared with the contracts."""
        shown = " ".join(reason.split())[:_MAX_REASON]
        return Fault("W224", 0, at(), f"the {self.language} of the plan was not judged: {shown}")

    def _faults(self, result: ToolResult, asked: Asked[Part]) -> Iterator[Fault]:
        reported: set[tuple[str, int, str]] = set()
        for each in self.judged(result, asked):
            complaint, test = each.complaint, each.test
            if (test.path, complaint.line, each.code) in reported:
                continue
            reported.add((test.path, complaint.line, each.code))
            is_plain = each.code == "E216" and each.name
            said = has_no_definition(each.name) if is_plain else complaint.message
            message = at_place(said, complaint.line, complaint.column, each.addition)
            yield Fault(each.code, asked.position, test.at, message)
        if failure := self.failure(result, asked):
            yield self._unjudged(failure)

    def sources_at(self, position: int, *names: str) -> dict[str, str]:
        """Return the texts of the repository's files of the language, and of those of these names.

        Files that an order up to `position` removes are left out.
        """
        return {
            path: text
            for path in self.chain.listing
            if path.endswith(self.suffix) or path.rpartition("/")[2] in names
            if not self.chain.is_gone(path, position)
            if (text := self.chain.sources.get(path)) is not None
        }

    @property
    def has_unknown_manifest(self) -> bool:
        """Return whether an order may write a manifest whose content is unknown."""
        orders = self.chain.orders
        written = (path for order in orders for path in (*order.writes, *order.may_write))
        return any(path.rpartition("/")[2] == self.manifest for path in written)

    @cached_property
    def stubs(self) -> tuple[StubsOfOrder, ...]:
        """Return the contracts of each order, parsed."""
        return tuple(tuple(self._stubs_of(each)) for each in self.chain.orders)

    @cached_property
    def states(self) -> list[dict[str, Contract]]:
        """Return the contracts by path that hold after each order; index 0 is before the first."""
        found = fold(tuple(map(self._delta, self.chain.orders, self.stubs)))
        if not self.chain.files.removed:
            return found
        return [
            {path: each for path, each in state.items() if not self.chain.is_gone(path, position)}
            for position, state in enumerate(found)
        ]

    def text_at(self, path: str, position: int) -> str | None:
        """Return the text of a file after an order; `None` if an order may have written it."""
        text = self.texts(position).get(path)
        is_open = text is None and path in self.open_paths(position)
        return self.chain.sources.get(path) if text is None and not is_open else text

    def _stubs_of(self, order: OrderCode) -> Iterator[tuple[DeclaredStub, Declarations]]:
        for each in order.interfaces:
            if not each.path.endswith(self.suffix):
                continue
            is_long = len(each.text.encode("utf-8", "replace")) > MAX_BYTES
            problem = each.problem or (f"it is over {MAX_BYTES} bytes" if is_long else "")
            if problem:
                yield each, Declarations(each.text, fault=TextFault(problem))
            else:
                yield each, self.read_text(without_fence(each.text))

    def _delta(self, order: OrderCode, stubs: StubsOfOrder) -> Delta:
        merged = joined((each.path, read) for each, read in stubs if read.fault is None)
        writes = frozenset((*order.writes, *order.may_write))
        return Delta(writes, merged, normal_changes(order.changes))

    def _stub_faults(
        self, position: int, declared: DeclaredStub, read: Declarations
    ) -> Iterator[Fault]:
        if read.fault is not None:
            yield stub_does_not_parse(position, declared, read.fault)
            return
        for name, line in dict.fromkeys(self.undefined(declared.path, read, position)):
            yield stub_uses_undefined(position, declared, name, line)

    def _contradictions(self, order: OrderCode, stubs: StubsOfOrder) -> Iterator[Fault]:
        known = dict(self.states[order.position - 1])
        changed = normal_changes(order.changes)
        for each, read in stubs:
            if read.fault is not None:
                continue
            earlier = known.get(each.path, Contract())
            for found in conflicts(earlier.items, read.items, each.path, changed):
                by = self.declared_by(each.path, found.name, order.position - 1)
                source = self.chain.source(by) if by else "this order"
                yield stub_contradicts(order.position, each, found, source)
            known[each.path] = Contract(merge(earlier.items, read.items))

    def _undeclared(self, order: OrderCode) -> Iterator[Fault]:
        tests = {each.path for each in order.acceptance_files}

        def should_have_one(path: str) -> bool:
            is_settled = path in tests or not self.has_names(path) or self.is_of_program(path)
            return not is_settled and not self.is_known(path, order.position - 1)

        return files_without_interface(order, should_have_one)

    def is_of_program(self, path: str) -> bool:
        """Return whether a file is a part of a program that the repository has: none imports it."""
        return False

    def is_known(self, path: str, position: int) -> bool:
        """Return whether the declarations of a file are known after the order at `position`."""
        if path in self.states[position]:
            return True
        text = None if self.chain.is_gone(path, position) else self.chain.sources.get(path)
        return text is not None and self.read_text(text).fault is None

    def declared_by(self, path: str, name: str, position: int) -> int | None:
        """Return the last order up to `position` whose contract declares a name; else `None`."""
        for earlier in range(position, 0, -1):
            for each, read in self.stubs[earlier - 1]:
                if each.path == path and read.fault is None and has_name(read, name):
                    return earlier
        return None

    def declared_later(self, paths: Collection[str], name: str, position: int) -> int | None:
        """Return the first order after `position` that declares a name in one of `paths`."""
        for later, stubs in enumerate(self.stubs[position:], position + 1):
            for each, read in stubs:
                if each.path in paths and read.fault is None and has_name(read, name):
                    return later
        return None

    def texts(self, position: int) -> Mapping[str, str]:
        """Return the texts of the plan's own test files after the order at `position`."""
        return {
            each.path: each.text
            for order in self.chain.orders[:position]
            for each in order.acceptance_files
            if each.path.endswith(self.suffix) and not self.chain.is_gone(each.path, position)
        }

    def open_paths(self, position: int) -> frozenset[str]:
        """Return the files whose content is unknown after the order at `position`.

        These are the files that orders write without declaring what is in them.
        """
        known = self.states[position].keys() | self.texts(position).keys()
        return frozenset(
            path
            for order in self.chain.orders[:position]
            for path in (*order.writes, *order.may_write)
            if path.endswith(self.suffix)
            and path not in known
            and not self.chain.is_gone(path, position)
        )

    def is_settled(self, test: AcceptanceText, line: int, code: str, position: int) -> bool:
        """Return whether a finding of this code in a line of a test stays whatever is written.

        How a name is used, and what it gives, may change with a file that an order writes without
        declaring anything of it. So may what a test binds to such values.
        """
        changing = self._changing(position) if code in _OF_USES else set()
        lines = [frozenset(_WORD.findall(each)) for each in test.text.split("\n")]
        bindings = [
            (frozenset(_WORD.findall(left)), frozenset(_WORD.findall(right)))
            for left, right in _BINDING.findall(test.text)
        ]
        for _ in range(_MAX_ROUNDS if changing else 0):
            for left, right in bindings:
                changing |= left - _KEYWORDS if right & changing else frozenset()
        return all(map(changing.isdisjoint, lines[max(line - _MAX_LINES, 0) : line]))

    def _changing(self, position: int) -> set[str]:
        """Return the names in the repository's files that orders may change without a contract."""
        texts = (self.chain.sources.get(each) for each in self.open_paths(position))
        items = (item for text in texts if text is not None for item in self.read_text(text).items)
        return {
            part
            for item in items
            for name in (item.name, *item.members)
            for part in name.split(".")
        }

    def paths(self, position: int) -> frozenset[str]:
        """Return the files of the language that may be there after the order at `position`."""
        files = self.chain.files
        return frozenset(
            path
            for table in (files.first, files.possible)
            for path, since in table.items()
            if since <= position
            and path.endswith(self.suffix)
            and not self.chain.is_gone(path, position)
        ) | frozenset(self.texts(position))
