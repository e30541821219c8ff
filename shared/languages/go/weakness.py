"""Says which commands of `go` succeed whatever the code does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shared.languages.capabilities.commands import Weakness
from shared.languages.declared.planned import folder_of
from shared.languages.go.commands import GoCommand, read_go_command
from shared.languages.go.planned import PlannedGo, is_test_file
from shared.languages.go.test_functions import TestFunction, taken, test_functions

_PRINTS = frozenset({"version", "env", "help", "list", "doc", "fmt", "tool", "mod", ""})
_COMPILES = frozenset({"build", "vet", "install"})
_WITHOUT_A_RUN = {
    "list": "only lists tests and runs none",
    "c": "only compiles tests and runs none",
    "n": "only prints commands and runs none",
    "exec": "gives the tests to another program",
}
_NO_TEST = "runs no test: {} matches none"


def weakness_of_text(program: str, words: Sequence[str]) -> Weakness | None:
    """Return why a command can hardly fail; `None` where its text shows no reason."""
    if program != "go":
        return Weakness("W230", "only prints")
    command = read_go_command(words)
    flags = command.flags
    if command.verb in _COMPILES:
        return Weakness("W230", "only compiles")
    if command.verb in _PRINTS:
        return Weakness("W230", "only prints")
    if command.verb != "test":
        return None
    for flag, message in _WITHOUT_A_RUN.items():
        if flag in flags and (flag != "exec" or flags[flag] in ("true", "echo", ":")):
            return Weakness("W232", message)
    if flags.get("count") == "0":
        return Weakness("W232", "runs each test no times")
    if flags.get("run") in ("^$", "$^") and not _is_measured(flags):
        return Weakness("W232", _NO_TEST.format(f"-run {flags['run']}"))
    return None


def weakness_of_tests(words: Sequence[str], planned: PlannedGo, position: int) -> Weakness | None:
    """Return why a run of tests can hardly fail; `None` where the tests are not all known."""
    command = read_go_command(words)
    if command.verb != "test" or _is_measured(command.flags):
        return None
    tests = _tests(command, planned, position)
    return None if tests is None else _of_known_tests(command.flags, tests)


def _is_measured(flags: Mapping[str, str]) -> bool:
    return "bench" in flags or "fuzz" in flags


def _of_known_tests(flags: Mapping[str, str], tests: list[TestFunction]) -> Weakness | None:
    if not tests:
        return Weakness("W232", "runs no test: the packages that it names have none")
    run = taken(tests, flags.get("run"), flags.get("skip"))
    if not run:
        flag = "run" if not taken(tests, flags.get("run"), None) else "skip"
        return Weakness("W232", _NO_TEST.format(f"-{flag} {flags.get(flag, '')}"))
    if all(each.skipped for each in run):
        return Weakness("W232", "runs only tests that are skipped")
    if not any(each.can_fail for each in run if not each.skipped):
        return Weakness("W231", "runs only tests that assert nothing")
    return None


def _tests(command: GoCommand, planned: PlannedGo, position: int) -> list[TestFunction] | None:
    """Return the tests of the packages that a command names; `None` where they are not known."""
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
