"""Compares the tests of a plan with its contracts by the Rust compiler."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.languages.declared.declarations import TestFunction
from shared.languages.declared.declared_contracts import Complaint, Reading, has_name
from shared.languages.declared.declared_plans import Asked, Judged
from shared.languages.language_tools import ToolResult
from shared.languages.planned_code import (
    AcceptanceText,
    Chain,
    ChainCode,
    declared_only_by,
)
from shared.languages.read_commands import Weakness
from shared.languages.rust.rust_commands import (
    CargoCommand,
    asserting_text,
    read_cargo_command,
    taken,
    test_functions,
)
from shared.languages.rust.rust_conformance import judge, read_complaints
from shared.languages.rust.rust_crates import MANIFEST, Crate, crate_of
from shared.languages.rust.rust_plans import (
    SUFFIX,
    PlannedRust,
    has_names_to_declare,
    module_of_path,
)
from shared.languages.rust.rust_skeletons import values_of, write_file
from shared.languages.rust.rust_source import is_test_file, read_rust

__all__ = ["asserting_text", "has_names_to_declare", "is_test_file", "module_name", "read_chain"]

_MANIFEST: Final = '[package]\nname = "{}"\nversion = "0.0.0"\nedition = "2021"\n'
_COMMAND: Final = ("cargo", "check", "--offline", "--keep-going", "--message-format=json")
_UNKNOWN_MODULES: Final = ("tests", "test")
_FAILED: Final = re.compile(r"^error: .*$", re.MULTILINE)


def read_chain(chain: Chain) -> ChainCode:
    """Return what answers for Rust on `chain`."""
    return RustChain(chain)


def module_name(path: str) -> str:
    """Return the name of the file's module, by its path; that of the build for a crate's root.

    Others mention the root by the name of the crate, which the path does not say. Every build of
    the crate uses it.
    """
    is_root = path.rpartition("/")[2] in ("lib.rs", "main.rs")
    return "cargo" if is_root else module_of_path(path)


class RustChain(PlannedRust):
    """Implement `ChainCode` for Rust."""

    def view(self, position: int) -> dict[str, str]:
        """Return the texts by path that are there after an order, with contracts as empty code.

        Tests of the repository itself are left out, except for modules that tests share.
        """
        # `tests/words.rs` is a crate of tests by itself.
        own_tests = [each.path("tests") for each in self.crates]
        found = self.sources_at(position, MANIFEST, "Cargo.lock").items()
        view = {path: text for path, text in found if posixpath.dirname(path) not in own_tests}
        contracts = self.states[position]
        values = values_of(contracts.values(), view, runs=False)
        for path, contract in contracts.items():
            view[path] = write_file(contract, view.get(path), values, empty_all=True)
        view |= self.texts(position)
        for crate in self.crates:
            if crate.is_guessed:
                view.setdefault(crate.path(MANIFEST), _MANIFEST.format(crate.name))
            self._add_modules(view, crate, position)
        return view

    def _add_modules(self, view: dict[str, str], crate: Crate, position: int) -> None:
        """Have the root of a crate name its modules, if the root's content is unknown."""
        root = crate.path("src/lib.rs")
        unknown = root not in view or root in self.open_paths(position)
        files = [each for each in _modules(view, crate) if each]
        if not unknown or (root not in view and not files):
            return
        named = {each.name for each in read_rust(view.get(root, "")).items}
        lines = [f"pub mod {each};" for each in files if each not in named]
        view[root] = "\n".join((view.get(root, ""), *lines)).lstrip("\n") + "\n"

    def part_of(self, path: str) -> Crate | None:
        return crate_of(path, self.crates)

    def why_unaskable(self, part: Crate | None) -> str:
        return "there is no Cargo.toml that they belong to" if part is None else ""

    def command(self, part: Crate | None, tests: Sequence[AcceptanceText]) -> tuple[str, ...]:
        assert part is not None, "else it is unaskable"
        manifest = ("--manifest-path", part.path("Cargo.toml")) if part.folder else ()
        targets: list[str] = []
        for each in tests:
            folder, name = posixpath.split(each.path)
            if folder == part.path("tests"):
                targets += ["--test", name.removesuffix(SUFFIX)]
            else:
                targets = ["--tests"]
                break
        return (*_COMMAND, *manifest, *targets)

    def judged(self, result: ToolResult, asked: Asked[Crate | None]) -> Iterator[Judged]:
        crate, position = asked.part, asked.position
        assert crate is not None, "else it is unaskable"
        types = self._own_types(position)
        missing = {
            (each.path, need.name.rpartition("::")[2])
            for each in asked.tests
            for need in self.needs_of_file(position, each)
        }
        for each in read_complaints(result.stdout):
            test = asked.test_at(each.path, crate.path(each.path))
            reading = judge(each, types)
            if test is None or reading is None or _is_said(each, test, missing):
                continue
            if _misses_crate(each, crate) and self.is_open(position):
                continue  # that its root file has no readable contract is the finding
            weighed = self._weighed(reading, test, position)
            if weighed and self.is_settled(test, each.line, weighed[0], position):
                yield Judged(each, test, weighed[0], reading.name, weighed[1])

    def failure(self, result: ToolResult, asked: Asked[Crate | None]) -> str:
        assert asked.part is not None, "else it is unaskable"
        failed, complaints = _FAILED.search(result.stderr), [*read_complaints(result.stdout)]
        is_heard = any(asked.test_at(e.path, asked.part.path(e.path)) for e in complaints)
        if not result.exit_code or failed is None or is_heard:
            return ""
        if self.has_broken_stub(asked.position):
            return ""  # the compiler met the faults that are findings already
        return complaints[0].message if complaints else failed[0]

    def _own_types(self, position: int) -> frozenset[str]:
        paths = (*self.states[position], *self.chain.listing)
        read = (self.read(path, position) for path in paths if path.endswith(SUFFIX))
        return frozenset(i.name for each in read if each for i in each.items if i.kind == "type")

    def _weighed(
        self, reading: Reading, test: AcceptanceText, position: int
    ) -> tuple[str, str] | None:
        """Return the code of a finding, and what its message adds to the compiler's.

        It is `None` for a name that an order may add to the crate without an interface.
        """
        if not reading.name:
            return reading.code, ""
        paths = self.paths(len(self.chain.orders))
        later = self.declared_later(paths, reading.name, position)
        if later is not None and not has_name(read_rust(test.text), reading.name):
            return "E217", declared_only_by(self.chain.source(later))
        # A glob brings whatever the crate will have.
        may_come = reading.code == "E211" or (reading.code == "E216" and "::*" in test.text)
        if may_come and self.is_open(position):
            return None
        return reading.code, ""

    def weakness_of_tests(self, words: Sequence[str], position: int) -> Weakness | None:
        command = read_cargo_command(words)
        crate = next((each for each in self.crates if each.folder == command.folder), None)
        if command.verb != "test" or crate is None or self.chain.is_blind(position):
            return None
        if not command.targets:
            return self._unmatched(command, crate, position)
        found: list[TestFunction] = []
        for name in command.targets:
            text = self.text_at(crate.path(f"tests/{name}{SUFFIX}"), position)
            tests = test_functions(text) if text is not None else None
            if tests is None:
                return None
            found += tests
        return _of_known_tests(command, found)

    def _unmatched(self, command: CargoCommand, crate: Crate, position: int) -> Weakness | None:
        """Return the weakness of filters that name a module which nobody has.

        Orders may write unit tests with any names, but only into modules that there are.
        """
        if not command.filters or self.is_open(position):
            return None
        paths = self.paths(position)
        modules = {posixpath.basename(each).removesuffix(SUFFIX) for each in paths}
        modules |= {posixpath.basename(posixpath.dirname(each)) for each in paths}
        modules |= {*_UNKNOWN_MODULES, crate.name}
        names = [
            test.name
            for text in self.texts(position).values()
            for test in test_functions(text) or ()
        ]
        for each in command.filters:
            head, colons, _ = each.partition("::")
            is_known = any(each in name for name in names) or any(e.endswith(head) for e in modules)
            if not colons or is_known:
                return None
        return _no_match(command)


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


def _modules(view: Mapping[str, str], crate: Crate) -> list[str]:
    """Return the names of the modules whose files stand beside the root of a crate."""
    source = crate.path("src")
    found: set[str] = set()
    for path in view:
        folder, name = posixpath.split(path)
        if folder == source and name.endswith(SUFFIX) and name not in ("lib.rs", "main.rs"):
            found.add(name.removesuffix(SUFFIX))
        elif name == "mod.rs" and posixpath.dirname(folder) == source:
            found.add(posixpath.basename(folder))
    return sorted(each for each in found if each.isidentifier())


def _is_said(complaint: Complaint, test: AcceptanceText, missing: set[tuple[str, str]]) -> bool:
    """Return whether an error is about a crate or module whose absence is a finding already."""
    words = set(re.findall(r"\w+", complaint.message))
    return complaint.rule in ("E0432", "E0433") and any(
        path == test.path and name in words for path, name in missing
    )


def _misses_crate(complaint: Complaint, crate: Crate) -> bool:
    return complaint.rule in ("E0432", "E0433") and f"`{crate.name}`" in complaint.message
