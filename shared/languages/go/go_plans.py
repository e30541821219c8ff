"""Implements `Plans` for Go: what can be said of the Go of a chain of orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from shared.languages.declared.declared_contracts import folder_of
from shared.languages.go import judge_go
from shared.languages.go.go_commands import (
    NO_TEST,
    GoCommand,
    TestFunction,
    is_measured,
    read_go_command,
    taken,
    test_functions,
)
from shared.languages.go.go_conformance import package_of_folder
from shared.languages.go.judge_go import PlannedGo, has_names_to_declare, is_test_file
from shared.languages.read_commands import Command, Weakness, program_words

if TYPE_CHECKING:
    from shared.languages.language_tools import Tools
    from shared.languages.planned_code import Chain, ChainCode, Fault, Need

__all__ = ["has_names_to_declare", "is_test_file", "module_name", "read_chain"]


def module_name(path: str) -> str:
    """Return the name of the file's package, which its folder has by custom."""
    return package_of_folder(path)


def read_chain(chain: Chain) -> ChainCode:
    return GoChain(chain)


class GoChain(PlannedGo):
    """Implement `ChainCode` for Go."""

    def interface_faults(self) -> Iterator[Fault]:
        return self.code.stub_faults(self.undefined)

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield nothing: a command needs the folders that it names."""
        return iter(())

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        """Yield how the tests of the plan use Go otherwise than it is declared."""
        return judge_go.use_faults(self, tools)

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return why a run of tests can hardly fail, by the tests that are there by then."""
        words = program_words(command)
        if words is None or command.program != "go":
            return None
        return weakness_of_tests(words, self, position)


def weakness_of_tests(words: Sequence[str], planned: PlannedGo, position: int) -> Weakness | None:
    """Return why a run of tests can hardly fail; `None` if the tests are not all known."""
    command = read_go_command(words)
    if command.verb != "test" or is_measured(command.flags):
        return None
    tests = _tests(command, planned, position)
    return None if tests is None else _of_known_tests(command.flags, tests)


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


def _tests(command: GoCommand, planned: PlannedGo, position: int) -> list[TestFunction] | None:
    """Return the tests of the packages that a command names; `None` if they are not known."""
    folders = command.folders
    if len(folders) < len(command.named) or planned.code.is_blind(position):
        return None
    if not all(_is_there(each, planned, position) for each, _ in folders):
        return None  # that is the fault
    found: list[TestFunction] = []
    for path in _test_files(folders, planned, position):
        text = planned.code.text_at(path, position)
        tests = test_functions(text) if text is not None else None
        if tests is None:
            return None
        found += tests
    return found


def _test_files(
    folders: tuple[tuple[str, bool], ...], planned: PlannedGo, position: int
) -> Iterator[str]:
    for path in sorted(planned.code.paths(position)):
        folder = folder_of(path)
        is_meant = any(
            folder == each or (below and (not each or folder.startswith(f"{each}/")))
            for each, below in folders
        )
        if is_meant and is_test_file(path):
            yield path


def _is_there(folder: str, planned: PlannedGo, position: int) -> bool:
    return not folder or any(e.startswith(f"{folder}/") for e in planned.code.paths(position))
