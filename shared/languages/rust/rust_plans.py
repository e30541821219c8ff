"""Reads the Rust of a plan: crates, what is declared, what can fail."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import Declarations, name_of, read_root, text_of, walk
from shared.languages.declared.declared_plans import PlannedCode
from shared.languages.planned_code import (
    AcceptanceText,
    Need,
    missing_module,
    missing_path,
    undeclared_package,
)
from shared.languages.read_commands import Command, ProgramRun, Weakness
from shared.languages.rust.rust_commands import read_cargo_command
from shared.languages.rust.rust_crates import (
    HERE,
    MANIFEST,
    STANDARD,
    Crate,
    crate_of,
    guess_crate,
    read_crates,
)
from shared.languages.rust.rust_source import is_test_file, read_rust

if TYPE_CHECKING:
    from tree_sitter import Node


_PRELUDE: Final = frozenset(
    {"Self", "Option", "Some", "None", "Result", "Ok", "Err", "String", "Vec", "Box", "Send",
     "Sync", "Sized", "Copy", "Clone", "Drop", "Fn", "FnMut", "FnOnce", "ToOwned", "ToString",
     "PartialEq", "PartialOrd", "Eq", "Ord", "AsRef", "AsMut", "Into", "From", "Default",
     "Iterator", "Extend", "IntoIterator", "DoubleEndedIterator", "ExactSizeIterator", "TryFrom",
     "TryInto", "FromIterator", "Unpin", "Future", "IntoFuture", "AsyncFn", "AsyncFnMut",
     "AsyncFnOnce"}
)  # fmt: skip
# `type_binding` is `Item = u8` in `Iterator<Item = u8>`.
_NAMING: Final = (
    "type_parameter", "const_parameter", "associated_type", "type_item", "type_binding",
    "struct_item", "enum_item", "union_item", "trait_item",
)  # fmt: skip
_OWN_SCOPE: Final = ("mod_item", "macro_invocation", "macro_definition", "use_declaration")


def undefined_names(stub: str, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield each undefined type of a contract that parses, with its line.

    `known` are the names that the file has; `*` means that it has unknown names, too.
    """
    import tree_sitter_rust

    root = read_root(tree_sitter_rust.language, stub)
    if root is None or "*" in known:
        return
    for item in root.named_children:
        if item.type not in _OWN_SCOPE:
            yield from _undefined(item, {*known, *_PRELUDE, *_own_names(item)})


def _undefined(item: Node, known: Collection[str]) -> Iterator[tuple[str, int]]:
    for node in walk(item, into=_is_read):
        if node.type == "type_identifier" and text_of(node) not in known:
            yield text_of(node), node.start_point[0] + 1


def _is_read(node: Node) -> bool:
    # The last part of `fmt::Formatter` is defined elsewhere, and attributes are not types.
    return node.type not in ("scoped_type_identifier", "block", "attribute_item", "token_tree")


def _own_names(item: Node) -> Iterator[str]:
    """Yield the names that an item defines for itself: type parameters and associated types."""
    for node in walk(item, into=lambda each: each.type != "block"):
        if node.type in _NAMING:
            yield name_of(node)


SUFFIX: Final = ".rs"
_ROOTS: Final = ("src/lib.rs", "src/main.rs")


def _module_files(name: str) -> tuple[str, str]:
    return (f"src/{name}.rs", f"src/{name}/mod.rs")


def has_names_to_declare(path: str) -> bool:
    """Return whether other files use a file by its names: it is neither a test nor a program."""
    folder, name = posixpath.split(path)
    is_program = name in ("main.rs", "build.rs") or folder.endswith(("src/bin", "examples"))
    return path.endswith(SUFFIX) and not is_test_file(path) and not is_program


def module_of_path(path: str) -> str:
    """Return the name of the module that a file holds; that of its folder for `mod.rs`."""
    folder, name = posixpath.split(path)
    stem = name.removesuffix(SUFFIX)
    return posixpath.basename(folder) if stem in ("mod", "lib", "main") and folder else stem


class PlannedRust(PlannedCode[Crate | None]):
    """Answer for the Rust of a plan, but for what its compiler says. A part of it is a crate."""

    language = "Rust"
    suffix = SUFFIX
    manifest = MANIFEST
    program = "cargo"
    parts = "crates"
    tool = "cargo"
    read_text = staticmethod(read_rust)
    has_names = staticmethod(has_names_to_declare)

    @cached_property
    def crates(self) -> tuple[Crate, ...]:
        """Return the crates of the repository; one is guessed where an order writes its manifest.

        Its name is the first crate that the plan's tests import from outside the standard library.
        """
        found = read_crates(self.chain.sources, self.chain.listing)
        if found:
            return found
        texts = self.texts(len(self.chain.orders)).values()
        roots = (e.source.split("::")[0] for text in texts for e in read_rust(text).imports)
        guessed = guess_crate(roots, self.chain.dependencies)
        return (guessed,) if guessed else ()

    def is_open(self, position: int) -> bool:
        """Return whether the crates may hold names that no contract declares."""
        opened = self.open_paths(position)
        return self.chain.is_blind(position) or any(not is_test_file(each) for each in opened)

    def has_broken_stub(self, position: int) -> bool:
        """Return whether a contract up to an order does not parse, or uses undefined types."""
        faults = self.interface_faults()
        return any(each.code in ("E201", "E203") and each.position <= position for each in faults)

    def read(self, path: str, position: int) -> Declarations | None:
        """Return what is known of a file after an order; `None` if nothing is."""
        contract = self.states[position].get(path)
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
        """Yield the undefined types that a contract uses, with their lines."""
        if path in self.open_paths(position):
            return
        known: set[str] = set()
        for each in (stub, self.read(path, position) or Declarations("")):
            known |= _names(each)
        yield from undefined_names(stub.text, known)

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the crates and modules that a test imports and that are missing by then."""
        own = crate_of(file.path, self.crates)
        if self.chain.is_blind(position) or own is None:
            return
        read = read_rust(file.text)
        local = _names(read)
        for each in read.imports:
            root, _, rest = each.source.partition("::")
            if root in STANDARD | HERE or (root in local and root != each.name):
                continue
            if root == own.name:
                yield from self._module_need(own, rest, position)
            elif own.is_rooted and self.has_module(own, root, position):
                continue
            elif not self._is_declared(root, own):
                yield undeclared_package("imports", each.source, root)

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield the targets that a command names and that have no file by then."""
        if not isinstance(command.run, ProgramRun) or command.program != "cargo":
            return
        asked = read_cargo_command(command.run.arguments)
        crate = next((each for each in self.crates if each.folder == asked.folder), None)
        if crate is None or self.has_unknown_manifest:
            return
        if self.chain.is_blind(position) or {"p", "package", "workspace"} & asked.flags.keys():
            return
        for name in () if crate.has_named_targets else asked.targets:
            yield from self._target_need(crate, "tests", name, position)
        if (program := asked.flags.get("bin")) and not crate.has_named_programs:
            yield from self._target_need(crate, "src/bin", program, position)

    def _target_need(self, crate: Crate, folder: str, name: str, position: int) -> Iterator[Need]:
        if not name.replace("-", "_").isidentifier():
            return  # a pattern, or no name of a target
        path = crate.path(f"{folder}/{name}{SUFFIX}")
        files = [path, crate.path(f"{folder}/{name}/main{SUFFIX}")]
        if folder == "src/bin" and name == crate.package:
            path = crate.path(f"src/main{SUFFIX}")
            files.insert(0, path)
        if not self._is_there(files, position):
            missing = missing_path("names", path, self._remover(files, position))
            yield self.chain.unmet(position, partial(self._is_there, files), "names", missing)

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
        files = [crate.path(each) for each in _module_files(first)]
        missing = missing_module(f"{crate.name}::{first}", self._remover(files, position))
        has_module = partial(self.has_module, crate, first)
        yield self.chain.unmet(position, has_module, "imports", missing)

    def has_module(self, crate: Crate, name: str, position: int) -> bool:
        """Return whether a crate has, or may have, a module or a type of that name by then."""
        if self._is_there(map(crate.path, _module_files(name)), position):
            return True
        for root in _ROOTS:
            path = crate.path(root)
            if path in self.open_paths(position):
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


_COMPILES: Final = frozenset({"build", "check", "clippy", "doc", "rustc", "fix"})
_PRINTS: Final = frozenset(
    {"", "version", "help", "tree", "metadata", "locate-project", "pkgid", "search", "fmt", "clean"}
)
_SHOWS: Final = frozenset({"V", "version", "h", "help", "list"})


def weakness_of_text(program: str, words: Sequence[str]) -> Weakness | None:
    """Return why a command can hardly fail; `None` if its text shows no reason."""
    if program != "cargo":
        return Weakness("W230", "only compiles" if program == "rustc" else "only prints")
    command = read_cargo_command(words)
    if _SHOWS & command.flags.keys() or command.verb in _PRINTS:
        return Weakness("W230", "only prints")
    if command.verb in _COMPILES:
        return Weakness("W230", "only compiles")
    if command.verb != "test":
        return None
    if "no-run" in command.flags:
        return Weakness("W232", "only compiles tests and runs none")
    if "list" in command.runner:
        return Weakness("W232", "only lists tests and runs none")
    if _SHOWS & command.runner.keys():
        return Weakness("W230", "only prints")
    return None
