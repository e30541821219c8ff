"""Says which commands of `cargo` succeed whatever the code does."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from shared.languages.capabilities.commands import Weakness
from shared.languages.rust.commands import CargoCommand, read_cargo_command
from shared.languages.rust.crates import Crate
from shared.languages.rust.planned import SUFFIX, PlannedRust
from shared.languages.rust.test_functions import TestFunction, taken, test_functions

_COMPILES: Final = frozenset({"build", "check", "clippy", "doc", "rustc", "fix"})
_PRINTS: Final = frozenset(
    {"", "version", "help", "tree", "metadata", "locate-project", "pkgid", "search", "fmt", "clean"}
)
_SHOWS: Final = frozenset({"V", "version", "h", "help", "list"})
_UNKNOWN_MODULES: Final = ("tests", "test")


def weakness_of_text(program: str, words: Sequence[str]) -> Weakness | None:
    """Return why a command can hardly fail; `None` where its text shows no reason."""
    if program != "cargo":
        return Weakness("W230", "only compiles" if program == "rustc" else "only prints")
    command = read_cargo_command(words)
    if _SHOWS & command.flags.keys():
        return Weakness("W230", "only prints")
    if command.verb in _COMPILES:
        return Weakness("W230", "only compiles")
    if command.verb in _PRINTS:
        return Weakness("W230", "only prints")
    if command.verb != "test":
        return None
    if "no-run" in command.flags:
        return Weakness("W232", "only compiles tests and runs none")
    if "list" in command.runner:
        return Weakness("W232", "only lists tests and runs none")
    if _SHOWS & command.runner.keys():
        return Weakness("W230", "only prints")
    return None


def weakness_of_tests(words: Sequence[str], planned: PlannedRust, position: int) -> Weakness | None:
    """Return why a run of tests can hardly fail; `None` where the tests are not all known."""
    command = read_cargo_command(words)
    crate = next((e for e in planned.crates if e.folder == command.folder), None)
    if command.verb != "test" or crate is None or planned.code.is_blind(position):
        return None
    if command.targets:
        tests = _tests_of(command.targets, crate, planned, position)
        return None if tests is None else _of_known_tests(command, tests)
    return _unmatched(command, crate, planned, position)


def _tests_of(
    targets: Sequence[str], crate: Crate, planned: PlannedRust, position: int
) -> list[TestFunction] | None:
    """Return the tests of some targets of `tests`; `None` where they are not known."""
    found: list[TestFunction] = []
    for name in targets:
        path = crate.path(f"tests/{name}{SUFFIX}")
        text = planned.code.text_at(path, position)
        tests = test_functions(text) if text is not None else None
        if tests is None:
            return None
        found += tests
    return found


def _of_known_tests(command: CargoCommand, tests: list[TestFunction]) -> Weakness | None:
    if not tests:
        return Weakness("W232", "runs no test: the files that it names have none")
    only_ignored = "ignored" in command.runner
    run = taken(
        tests,
        command.filters,
        exact="exact" in command.runner,
        only_ignored=only_ignored,
        with_ignored="include-ignored" in command.runner,
        skip=command.runner.get("skip", ""),
    )
    if run:
        weak = not any(each.can_fail for each in run)
        return Weakness("W231", "runs only tests that assert nothing") if weak else None
    if taken(tests, command.filters, with_ignored=True) and not only_ignored:
        return Weakness("W232", "runs only tests that are ignored")
    return _no_match(command)


def _no_match(command: CargoCommand) -> Weakness:
    shown = " ".join(command.filters) or "its options"
    return Weakness("W232", f"runs no test: {shown} matches none")


def _unmatched(
    command: CargoCommand, crate: Crate, planned: PlannedRust, position: int
) -> Weakness | None:
    """Return the weakness of filters that name a module which nobody has.

    Orders may write unit tests with any names, but only into modules that there are.
    """
    if not command.filters or planned.is_open(position):
        return None
    modules = {
        posixpath.basename(each).removesuffix(SUFFIX) for each in _sources(planned, position)
    }
    modules |= {posixpath.basename(posixpath.dirname(e)) for e in _sources(planned, position)}
    modules |= {*_UNKNOWN_MODULES, crate.name}
    names = [
        test.name
        for text in planned.code.texts(position).values()
        for test in test_functions(text) or ()
    ]
    for each in command.filters:
        head, colons, _ = each.partition("::")
        is_known = any(each in name for name in names) or any(e.endswith(head) for e in modules)
        if not colons or is_known:
            return None
    return _no_match(command)


def _sources(planned: PlannedRust, position: int) -> frozenset[str]:
    return planned.code.paths(position)
