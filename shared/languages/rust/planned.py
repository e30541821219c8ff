"""Answers for the Rust of a plan: crates, modules, and what is declared where."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from shared.languages.capabilities.chain import AcceptanceText, Chain, Need
from shared.languages.capabilities.commands import Command, ProgramRun
from shared.languages.declared.model import Declarations
from shared.languages.declared.planned import PlannedCode
from shared.languages.fault_words import (
    missing_module,
    missing_path,
    provided_later,
    undeclared_package,
)
from shared.languages.rust.commands import read_cargo_command
from shared.languages.rust.crates import (
    HERE,
    MANIFEST,
    STANDARD,
    Crate,
    crate_of,
    guess_crate,
    read_crates,
)
from shared.languages.rust.source import read_rust
from shared.languages.rust.undefined import undefined_names

SUFFIX: Final = ".rs"
_ROOTS: Final = ("src/lib.rs", "src/main.rs")


def _module_files(name: str) -> tuple[str, str]:
    return (f"src/{name}.rs", f"src/{name}/mod.rs")


def is_test_file(path: str) -> bool:
    """Return whether a file is only compiled for tests, by its place."""
    folders = path.split("/")[:-1]
    name = posixpath.basename(path)
    return "tests" in folders or "benches" in folders or name in ("tests.rs", "test.rs")


def has_names_to_declare(path: str) -> bool:
    """Return whether other files use a Rust file by its names: it is no test and no program."""
    folder, name = posixpath.split(path)
    is_program = name in ("main.rs", "build.rs") or folder.endswith(("src/bin", "examples"))
    return path.endswith(SUFFIX) and not is_test_file(path) and not is_program


def module_name(path: str) -> str:
    """Return the name of the module that a file holds; that of its folder for `mod.rs`."""
    folder, name = posixpath.split(path)
    stem = name.removesuffix(SUFFIX)
    return posixpath.basename(folder) if stem in ("mod", "lib", "main") and folder else stem


class PlannedRust:
    """Hold the Rust of a plan."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.code = PlannedCode(chain, SUFFIX, read_rust, has_names_to_declare)

    @cached_property
    def crates(self) -> tuple[Crate, ...]:
        """Return the crates of the repository; one is guessed where an order writes its manifest.

        What a plan's tests import first, and is no crate of the standard library, is its name.
        """
        found = read_crates(self.chain.sources, self.chain.listing)
        if found:
            return found
        texts = self.code.texts(len(self.chain.orders)).values()
        roots = (e.source.split("::")[0] for text in texts for e in read_rust(text).imports)
        guessed = guess_crate(roots, self.chain.dependencies)
        return (guessed,) if guessed else ()

    @property
    def has_unknown_manifest(self) -> bool:
        """Return whether an order may write a `Cargo.toml` whose content nobody knows."""
        written = (
            path for order in self.chain.orders for path in (*order.writes, *order.may_write)
        )
        return any(path.rpartition("/")[2] == MANIFEST for path in written)

    def is_open(self, position: int) -> bool:
        """Return whether the crates may hold names that no contract declares."""
        opened = self.code.open_paths(position)
        return self.code.is_blind(position) or any(not is_test_file(each) for each in opened)

    def has_broken_stub(self, position: int) -> bool:
        """Return whether a contract up to an order does not parse, or uses undefined types."""
        faults = self.code.stub_faults(self.undefined)
        return any(each.code in ("E201", "E203") and each.position <= position for each in faults)

    def read(self, path: str, position: int) -> Declarations | None:
        """Return what is known of a file after an order; `None` where nothing is."""
        contract = self.code.states[position].get(path)
        text = None if self.chain.is_gone(path, position) else self.chain.sources.get(path)
        if contract is None and text is None:
            return None
        source = read_rust(text) if text is not None else Declarations("")
        if contract is None:
            return source
        return Declarations(
            source.text, (*source.items, *contract.items), (*source.imports, *contract.imports)
        )

    def undefined(self, path: str, stub: Declarations, position: int) -> Iterator[tuple[str, int]]:
        """Yield the types that a contract uses and nobody defines, with their lines."""
        if path in self.code.open_paths(position):
            return
        known: set[str] = set()
        for each in (stub, self.read(path, position) or Declarations("")):
            known |= _names(each)
        yield from undefined_names(stub.text, known)

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the crates and modules that a test imports and nobody provides by then."""
        own = crate_of(file.path, self.crates)
        if self.code.is_blind(position) or own is None:
            return
        read = read_rust(file.text)
        local = _names(read)
        for each in read.imports:
            root, _, rest = each.source.partition("::")
            if root in STANDARD | HERE or (root in local and root != each.name):
                continue
            if root == own.name:
                yield from self._module_need(own, rest, position)
            elif not self._is_declared(root, own):
                yield undeclared_package("imports", each.source, root)

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield the targets that a command names and that have no file by then."""
        if not isinstance(command.run, ProgramRun) or command.program != "cargo":
            return
        asked = read_cargo_command(command.run.arguments)
        crate = next((each for each in self.crates if each.folder == asked.folder), None)
        if crate is None or crate.has_named_targets or self.has_unknown_manifest:
            return
        if self.code.is_blind(position) or {"p", "package", "workspace"} & asked.flags.keys():
            return
        for name in asked.targets:
            if name.replace("-", "_").isidentifier():
                yield from self._target_need(crate, name, position)

    def _target_need(self, crate: Crate, name: str, position: int) -> Iterator[Need]:
        path = crate.path(f"tests/{name}{SUFFIX}")
        files = (path, crate.path(f"tests/{name}/main{SUFFIX}"))
        if self._is_there(files, position):
            return
        later = self.chain.first_with(position, lambda at: self._is_there(files, at))
        if later is not None:
            yield provided_later("names", path, self.chain.source(later))
        else:
            yield missing_path("names", path, self._remover(files, position))

    def _is_there(self, paths: Iterable[str], position: int) -> bool:
        return any(self.chain.is_there(each, position) for each in paths)

    def _remover(self, paths: Iterable[str], position: int) -> str:
        return next(filter(None, (self.chain.remover(each, position) for each in paths)), "")

    def _is_declared(self, root: str, own: Crate) -> bool:
        """Return whether a crate may be used, as far as the manifests say."""
        names = {*own.declared, *self.chain.dependencies, *(each.name for each in self.crates)}
        return root in names or self.has_unknown_manifest

    def _module_need(self, crate: Crate, rest: str, position: int) -> Iterator[Need]:
        """Yield the first module of a path that no file and no declaration provides."""
        first = rest.split("::")[0]
        if "::" not in rest or not first or self.has_module(crate, first, position):
            return
        name = f"{crate.name}::{first}"
        later = self.chain.first_with(position, lambda at: self.has_module(crate, first, at))
        if later is not None:
            yield provided_later("imports", name, self.chain.source(later))
        else:
            files = [crate.path(each) for each in _module_files(first)]
            yield missing_module(name, self._remover(files, position))

    def has_module(self, crate: Crate, name: str, position: int) -> bool:
        """Return whether a crate has, or may have, a module or a type of that name by then."""
        for file in _module_files(name):
            if self.chain.is_there(crate.path(file), position):
                return True
        for root in _ROOTS:
            path = crate.path(root)
            if path in self.code.open_paths(position):
                return True
            read = self.read(path, position)
            if read is not None and read.fault is not None:
                return True
            named = _names(read) if read is not None else set()
            if name in named or "*" in named:
                return True
        return False


def _names(read: Declarations) -> set[str]:
    return {each.name for each in read.items} | {each.name for each in read.imports}
