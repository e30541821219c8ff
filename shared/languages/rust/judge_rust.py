"""Compares the tests of a plan with its contracts by the Rust compiler."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.files.strict_documents import at
from shared.languages.declared.declared_contracts import has_name, unaskable, unjudged
from shared.languages.language_tools import ToolMissing, ToolResult, ToolRunner, Tools
from shared.languages.planned_code import (
    AcceptanceText,
    Chain,
    ChainCode,
    Fault,
    OrderCode,
    at_place,
    declared_only_by,
    has_no_definition,
)
from shared.languages.read_commands import Command, Weakness, program_words
from shared.languages.rust.rust_conformance import Complaint, Verdict, judge, read_complaints
from shared.languages.rust.rust_crates import MANIFEST, Crate, crate_of
from shared.languages.rust.rust_plans import (
    SUFFIX,
    PlannedRust,
    has_names_to_declare,
    is_test_file,
    module_of_path,
    weakness_of_tests,
)
from shared.languages.rust.rust_skeletons import values_of, write_file
from shared.languages.rust.rust_source import read_rust

__all__ = ["has_names_to_declare", "is_test_file", "module_name", "read_chain"]

_EDITION: Final = "2021"


def build_view(planned: PlannedRust, position: int) -> dict[str, str]:
    """Return the texts by path that are there after an order, with contracts as empty code.

    Tests of the repository itself are left out, except for modules that tests share.
    """
    code, chain = planned.code, planned.chain
    view: dict[str, str] = {}
    for path in chain.listing:
        is_wanted = path.endswith(SUFFIX) or path.rpartition("/")[2] in (MANIFEST, "Cargo.lock")
        is_wanted = is_wanted and not chain.is_gone(path, position)
        text = chain.sources.get(path) if is_wanted else None
        if text is not None and not _is_own_test(path):
            view[path] = text
    contracts = code.states[position]
    values = values_of(contracts.values(), view, runs=False)
    for path, contract in contracts.items():
        view[path] = write_file(contract, view.get(path), values, empty_all=True)
    view |= code.texts(position)
    for crate in planned.crates:
        if crate.is_guessed:
            view.setdefault(crate.path(MANIFEST), _manifest(crate))
        _add_modules(view, crate, planned, position)
    return view


def _is_own_test(path: str) -> bool:
    """Return whether a file is a crate of tests by itself: `tests/words.rs`."""
    return is_test_file(path) and posixpath.basename(posixpath.dirname(path)) == "tests"


def _manifest(crate: Crate) -> str:
    return f'[package]\nname = "{crate.name}"\nversion = "0.0.0"\nedition = "{_EDITION}"\n'


def _add_modules(view: dict[str, str], crate: Crate, planned: PlannedRust, position: int) -> None:
    """Have the root of a crate name its modules, if the root's content is unknown."""
    root = crate.path("src/lib.rs")
    unknown = root not in view or root in planned.code.open_paths(position)
    files = [each for each in _modules(view, crate) if each]
    if not unknown or (root not in view and not files):
        return
    named = {each.name for each in read_rust(view.get(root, "")).items}
    lines = [f"pub mod {each};" for each in files if each not in named]
    view[root] = "\n".join((view.get(root, ""), *lines)).lstrip("\n") + "\n"


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


_SECONDS: Final = 120.0
_COMMAND: Final = ("cargo", "check", "--offline", "--keep-going", "--message-format=json")
_FAILED: Final = re.compile(r"^error: .*$", re.MULTILINE)


def use_faults(planned: PlannedRust, tools: Tools) -> Iterator[Fault]:
    """Yield how the tests of a plan use Rust otherwise than it is declared."""
    asked = 0
    for order in planned.chain.orders:
        tests = [each for each in order.acceptance_files if each.path.endswith(SUFFIX)]
        tests = [each for each in tests if read_rust(each.text).fault is None]
        crates = dict.fromkeys(crate_of(each.path, planned.crates) for each in tests)
        if not tests or planned.code.is_blind(order.position):
            continue
        view = build_view(planned, order.position)
        for crate in crates:
            asked += 1
            problem = unaskable(tools, asked, view, "crates")
            if crate is None:
                problem = "there is no Cargo.toml that they belong to"
            if problem:
                yield unjudged("Rust", problem)
                return
            assert crate is not None, "checked above"
            assert tools.runner is not None, "checked above"
            mine = [each for each in tests if crate_of(each.path, planned.crates) == crate]
            try:
                result = _ask(view, mine, crate, tools.runner)
            except ToolMissing as missing:
                yield unjudged("Rust", str(missing))
                return
            if result.exit_code is None:
                yield unjudged("Rust", f"cargo did not answer within {_SECONDS:.0f} seconds")
                return
            yield from _faults(result, order, mine, crate, planned)


def _ask(
    view: dict[str, str], tests: Sequence[AcceptanceText], crate: Crate, runner: ToolRunner
) -> ToolResult:
    manifest = ("--manifest-path", crate.path("Cargo.toml")) if crate.folder else ()
    targets: list[str] = []
    for each in tests:
        folder, name = posixpath.split(each.path)
        if folder == crate.path("tests"):
            targets += ["--test", name.removesuffix(SUFFIX)]
        else:
            targets = ["--tests"]
            break
    return runner.run(view, (*_COMMAND, *manifest, *targets), seconds=_SECONDS)


def _faults(
    result: ToolResult,
    order: OrderCode,
    tests: Sequence[AcceptanceText],
    crate: Crate,
    planned: PlannedRust,
) -> Iterator[Fault]:
    by_path = {each.path: each for each in tests}
    types = _own_types(planned, order.position)
    missing = {
        (each.path, need.name.rpartition("::")[2])
        for each in tests
        for need in planned.needs_of_file(order.position, each)
    }
    reported: set[tuple[str, int, str]] = set()
    complaints = list(read_complaints(result.stdout))
    for each in complaints:
        test = by_path.get(each.path) or by_path.get(crate.path(each.path))
        verdict = judge(each, types)
        if test is None or verdict is None or _is_said(each, test, missing):
            continue
        if _is_of_unknown_root(each, crate, order.position, planned):
            continue  # that its root file has no readable contract is the finding
        code, addition = _weighed(verdict, test, order.position, planned)
        if (test.path, each.line, code) not in reported:
            reported.add((test.path, each.line, code))
            is_plain = code == "E216" and verdict.name
            said = has_no_definition(verdict.name) if is_plain else each.message
            message = at_place(said, each.line, each.column, addition)
            field = at("acceptance_files", test.index, "content")
            yield Fault(code, order.position, field, message)
    failed = _FAILED.search(result.stderr)
    paths = {path for each in complaints for path in (each.path, crate.path(each.path))}
    if planned.has_broken_stub(order.position):
        return  # the compiler met the faults that are findings already
    if result.exit_code and failed and not paths & by_path.keys():
        yield unjudged("Rust", complaints[0].message if complaints else failed[0])


def _own_types(planned: PlannedRust, position: int) -> frozenset[str]:
    paths = (*planned.code.states[position], *planned.chain.listing)
    read = (planned.read(path, position) for path in paths if path.endswith(SUFFIX))
    return frozenset(i.name for each in read if each for i in each.items if i.kind == "type")


def _is_said(complaint: Complaint, test: AcceptanceText, missing: set[tuple[str, str]]) -> bool:
    """Return whether an error is about a crate or module whose absence is a finding already."""
    words = set(re.findall(r"\w+", complaint.message))
    return complaint.rule in ("E0432", "E0433") and any(
        path == test.path and name in words for path, name in missing
    )


def _is_of_unknown_root(
    complaint: Complaint, crate: Crate, position: int, planned: PlannedRust
) -> bool:
    """Return whether an error misses the crate itself, whose root file has no known content."""
    is_missing = complaint.rule in ("E0432", "E0433") and f"`{crate.name}`" in complaint.message
    return is_missing and planned.is_open(position)


def _weighed(
    verdict: Verdict, test: AcceptanceText, position: int, planned: PlannedRust
) -> tuple[str, str]:
    """Return the code of a finding, and what its message adds to the compiler's."""
    if not verdict.name:
        return verdict.code, ""
    code = planned.code
    later = code.declared_later(code.paths(len(planned.chain.orders)), verdict.name, position)
    is_own = has_name(read_rust(test.text), verdict.name)
    if later is not None and not is_own:
        return "E217", declared_only_by(planned.chain.source(later))
    if verdict.code == "E211" and planned.is_open(position):
        return "W222", ""
    return verdict.code, ""


def module_name(path: str) -> str:
    """Return the name of the file's module, by its path; that of the build for a crate's root.

    Others mention the root by the name of the crate, which the path does not say. Every build of
    the crate uses it.
    """
    is_root = path.rpartition("/")[2] in ("lib.rs", "main.rs")
    return "cargo" if is_root else module_of_path(path)


def read_chain(chain: Chain) -> ChainCode:
    """Return what answers for Rust on `chain`."""
    return RustChain(chain)


class RustChain(PlannedRust):
    """Implement `ChainCode` for Rust."""

    def interface_faults(self) -> Iterator[Fault]:
        """Yield E201, E203, E204 and W223."""
        return self.code.stub_faults(self.undefined)

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        """Yield how the tests of the plan use Rust otherwise than it is declared."""
        return use_faults(self, tools)

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return why a run of tests can hardly fail, by the tests that are there by then."""
        words = program_words(command)
        if words is None or command.program != "cargo":
            return None
        return weakness_of_tests(words, self, position)
