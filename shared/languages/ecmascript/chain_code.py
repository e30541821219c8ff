"""Answers about the code and the commands of a plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from shared.files.strict_documents import FieldPath, at
from shared.languages.ecmascript.compiler_view import inquire_stubs, undefined_names
from shared.languages.ecmascript.contract_history import History
from shared.languages.ecmascript.declaration_stubs import Stub, conflicts, is_meant
from shared.languages.ecmascript.ecmascript_syntax import (
    find_fault,
    is_code,
    is_declaration,
    is_test_file,
    question_path,
    suffix_of,
    tree_of,
)
from shared.languages.ecmascript.judge_plan_code import inquire, judge_answer
from shared.languages.ecmascript.node_commands import CommandRuns, NodeCodeRun, read_command
from shared.languages.ecmascript.typescript_compiler import ask_together
from shared.languages.ecmascript.unmet_needs import needs_of_runs, needs_of_text, weakness_of_runs
from shared.languages.language_tools import CheckerFailed, ToolMissing, Tools
from shared.languages.planned_code import (
    AcceptanceText,
    Chain,
    DeclaredStub,
    Fault,
    Need,
    OrderCode,
    TextFault,
    at_place,
    file_cannot_be_read,
    files_without_interface,
    stub_contradicts,
    stub_does_not_parse,
    stub_uses_undefined,
)
from shared.languages.read_commands import Command, ScriptRun, Weakness, program_argv

_CONFIGS = (".config.", "rc.")  # files that tools read, and no code imports
# The same words for both languages, so that a plan in both has one finding.
_UNJUDGED = "types in tests and commands of JavaScript and TypeScript were not judged: {}"
_PROGRAM = re.compile(r"(?:^|/)(?:main|cli)\.[^/]+$|(?:^|/)bin/")  # what is started, not imported


_JudgedOrder = tuple[OrderCode, Mapping[str, tuple[FieldPath, str]], Mapping[int, Stub]]
"""An order, and what the compiler is asked about it: texts with their fields, stubs by index."""


@dataclass(frozen=True)
class EcmaChain:
    """Answer for the files of the suffixes `owned`, and for commands where `reads_commands`."""

    chain: Chain
    owned: tuple[str, ...]
    reads_commands: bool

    @cached_property
    def _history(self) -> History:
        return History(self.chain)

    def interface_faults(self) -> Iterator[Fault]:
        """Yield stubs that do not parse or contradict each other, and files without any."""
        for position, declared, stub in self._history.stubs:
            if suffix_of(declared.path) not in self.owned:
                continue
            if isinstance(stub, TextFault):
                yield stub_does_not_parse(position, declared, stub)
            else:
                yield from self._contradictions(position, declared, stub)
        for order in self.chain.orders:
            if order.valid:
                yield from files_without_interface(order, self._should_have_interface)

    def _should_have_interface(self, path: str) -> bool:
        is_owned = suffix_of(path) in self.owned and has_names_to_declare(path)
        return is_owned and path not in self.chain.sources

    def _contradictions(self, position: int, declared: DeclaredStub, stub: Stub) -> Iterator[Fault]:
        changes = self.chain.orders[position - 1].changes
        reported: set[str] = set()
        for layer in reversed(self._history.layers(stub.path, position)):
            if layer.stub is stub or layer.position > position:
                continue
            if layer.position == position and not self._is_before(layer.stub, stub, position):
                continue
            for found in conflicts(layer.stub, stub):
                if found.name in reported or is_meant(found.name, stub.path, changes):
                    continue
                reported.add(found.name)
                same = layer.position == position
                source = "this order" if same else self._history.chain.source(layer.position)
                yield stub_contradicts(position, declared, found, source)

    def _is_before(self, first: Stub, second: Stub, position: int) -> bool:
        own = [stub for at_position, _, stub in self._history.stubs if at_position == position]
        places = {id(each): index for index, each in enumerate(own)}
        return places[id(first)] < places[id(second)]

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield modules, packages, scripts and test files that are not there by then."""
        runs = self._runs(command)
        # The planner itself looks for a script that the command names.
        is_looked_for = isinstance(command.run, ScriptRun) and is_code(command.run.path)
        if runs is not None and not is_looked_for:
            yield from needs_of_runs(self._history, position, runs)

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the modules and packages that a test file imports and that are not there."""
        if suffix_of(file.path) in self.owned:
            yield from needs_of_text(self._history, position, file.path, file.text)

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return why a command can hardly fail, by its script and the tests that it chooses."""
        runs = self._runs(command)
        if runs is None or command.problem or command.operator:
            return None
        return weakness_of_runs(self._history, position, runs)

    def _runs(self, command: Command) -> CommandRuns | None:
        if not self.reads_commands or command.problem or not command.program:
            return None
        return read_command(program_argv(command))

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        """Yield how commands and test files use code otherwise than it is declared."""
        try:
            yield from self._use_faults(tools)
        except ToolMissing as missing:
            message = _UNJUDGED.format(missing)
            yield Fault("W224", 0, at(), message)
        except CheckerFailed as failed:
            message = _UNJUDGED.format(failed.message)
            yield Fault("E299", 0, at(), message)

    def _use_faults(self, tools: Tools) -> Iterator[Fault]:
        judged = [each for each in self._judged_orders() if each[1] or each[2]]
        inquiries = [
            (
                inquire_stubs(self._history, order.position, stubs),
                inquire(self._history, order.position, {p: text for p, (_, text) in texts.items()}),
            )
            for order, texts, stubs in judged
        ]
        answers = iter(ask_together(tools.runner, [e.asked for pair in inquiries for e in pair]))
        unread: set[str] = set()
        for (order, texts, _), (about_stubs, inquiry) in zip(judged, inquiries, strict=True):
            declared = {each.index: each for each in order.interfaces}
            for index, name, line in undefined_names(about_stubs, next(answers)):
                if self._history.may_be_global(name):
                    continue
                yield stub_uses_undefined(order.position, declared[index], name, line)
            for path in sorted(inquiry.view.unread - unread):
                unread.add(path)
                yield file_cannot_be_read(path, "it does not parse")
            for fault in judge_answer(inquiry, next(answers)):
                field_path, _ = texts[fault.path]
                message = at_place(fault.message, fault.line, fault.column)
                yield Fault(fault.code, order.position, field_path, message)

    def _judged_orders(self) -> Iterator[_JudgedOrder]:
        """Yield the orders whose files are all known, with their texts and stubs."""
        for order in self.chain.orders:
            if order.valid and not self._history.at(order.position).is_blind:
                stubs = {
                    each.index: stub
                    for position, each, stub in self._history.stubs
                    if position == order.position
                    and isinstance(stub, Stub)
                    and suffix_of(each.path) in self.owned
                }
                yield order, self._questions(order), stubs

    def _questions(self, order: OrderCode) -> Mapping[str, tuple[FieldPath, str]]:
        """Return the texts to judge with their fields, by the path that each is judged under."""
        found: dict[str, tuple[FieldPath, str]] = {}
        for each in order.acceptance_files:
            if suffix_of(each.path) in self.owned and _parses(each.path, each.text):
                found[each.path] = (each.at, each.text)
        for index, command in order.commands:
            runs = self._runs(command)
            for run in runs.runs if runs is not None else ():
                if isinstance(run, NodeCodeRun) and not command.operator:
                    path = question_path(typed=run.is_typed)
                    path = path.replace("command", f"command{index}")
                    if _parses(path, run.text):
                        found[path] = (at("acceptance_commands", index), run.text)
        return found


def _parses(path: str, text: str) -> bool:
    root = tree_of(path, text)
    return root is not None and find_fault(root) is None


def has_names_to_declare(path: str) -> bool:
    """Return whether other files use the file by its names: it is neither test nor program."""
    name = path.rpartition("/")[2]
    is_apart = any(each in name for each in _CONFIGS) or _PROGRAM.search(path) is not None
    return is_code(path) and not (is_declaration(path) or is_test_file(path) or is_apart)
