"""Answers for the Go of a plan: packages, imports, and what is declared where."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from shared.languages.capabilities.chain import AcceptanceText, Chain, Need
from shared.languages.declared.model import Declarations
from shared.languages.declared.planned import PlannedCode, folder_of
from shared.languages.fault_words import (
    missing_module,
    provided_later,
    undeclared_package,
    unprovided,
)
from shared.languages.go.modules import (
    MANIFEST,
    GoModule,
    guess_module,
    is_standard,
    read_modules,
)
from shared.languages.go.source import read_go
from shared.languages.go.undefined import undefined_names

SUFFIX: Final = ".go"
TEST_SUFFIX: Final = "_test.go"


def is_test_file(path: str) -> bool:
    """Return whether `go test` alone compiles the file."""
    return path.endswith(TEST_SUFFIX)


def has_names_to_declare(path: str) -> bool:
    """Return whether other files use a Go file by its names: it is no test and no program."""
    name = path.rpartition("/")[2]
    return path.endswith(SUFFIX) and not is_test_file(path) and name != "main.go"


class PlannedGo:
    """Hold the Go of a plan."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.code = PlannedCode(chain, SUFFIX, read_go, has_names_to_declare)

    @cached_property
    def modules(self) -> tuple[GoModule, ...]:
        """Return the modules of the repository; one is guessed where an order writes `go.mod`."""
        found = read_modules(self.chain.sources, self.chain.listing)
        if found or self.has_unknown_manifest:
            return found or self._guessed
        return self._guessed

    @property
    def has_unknown_manifest(self) -> bool:
        """Return whether an order may write a `go.mod` whose content nobody knows."""
        written = (
            path for order in self.chain.orders for path in (*order.writes, *order.may_write)
        )
        return any(path.rpartition("/")[2] == MANIFEST for path in written)

    @property
    def _guessed(self) -> tuple[GoModule, ...]:
        last = len(self.chain.orders)
        folders = {folder_of(path) for path in self.code.paths(last)}
        texts = self.code.texts(last).values()
        imports = [each.source for text in texts for each in read_go(text).imports]
        guessed = guess_module(imports, folders)
        return (guessed,) if guessed else ()

    def folder_of_import(self, imported: str) -> str | None:
        """Return the folder of an imported package; `None` for one of another module."""
        for module in self.modules:
            folder = module.folder_of_import(imported)
            if folder is not None:
                return folder
        return None

    def has_package(self, folder: str, position: int) -> bool:
        """Return whether a folder has, or may have, Go other than tests by then."""
        paths = self.code.paths(position)
        return any(folder_of(each) == folder and not is_test_file(each) for each in paths)

    def is_open(self, folder: str, position: int, *, with_tests: bool = False) -> bool:
        """Return whether a package may hold names that no contract declares.

        A test can also use the names of other tests of its package, `with_tests`.
        """
        return self.code.is_blind(position) or any(
            folder_of(each) == folder and (with_tests or not is_test_file(each))
            for each in self.code.open_paths(position)
        )

    def names_of_package(self, folder: str, position: int) -> set[str]:
        """Return the names that the files of a folder declare, as far as they are known."""
        read = [
            *(read_go(text) for path, text in self._sources_in(folder, position)),
            *(
                Declarations("", each.items)
                for path, each in self.code.states[position].items()
                if folder_of(path) == folder
            ),
        ]
        return {each.name for part in read for each in part.items}

    def _sources_in(self, folder: str, position: int) -> Iterator[tuple[str, str]]:
        for path in self.chain.listing:
            if path.endswith(SUFFIX) and folder_of(path) == folder:
                text = self.chain.sources.get(path)
                if text is not None and not self.chain.is_gone(path, position):
                    yield path, text

    def _remover(self, folder: str, position: int) -> str:
        """Return the name of the last order that removes Go of a package; "" where none does."""
        removers = [
            at
            for path, at in self.chain.files.removed.items()
            if at <= position and path.endswith(SUFFIX) and folder_of(path) == folder
        ]
        return self.chain.source(max(removers)) if removers else ""

    def undefined(self, path: str, stub: Declarations, position: int) -> Iterator[tuple[str, int]]:
        """Yield the names that a contract uses and nobody defines, with their lines."""
        folder = folder_of(path)
        if self.is_open(folder, position):
            return
        imports = {each.name for each in stub.imports}
        earlier = self.code.states[position].get(path)
        imports |= {each.name for each in earlier.imports} if earlier else set()
        source = self.chain.sources.get(path)
        imports |= {each.name for each in read_go(source).imports} if source is not None else set()
        yield from undefined_names(stub.text, self.names_of_package(folder, position), imports)

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the packages that a test imports and nobody provides by then."""
        for each in read_go(file.text).imports:
            if is_standard(each.source) or self.code.is_blind(position):
                continue
            yield from self._need(each.source, position)

    def _need(self, imported: str, position: int) -> Iterator[Need]:
        folder = self.folder_of_import(imported)
        if folder is not None:
            if self.has_package(folder, position):
                return
            later = self.chain.first_with(position, lambda at: self.has_package(folder, at))
            if later is not None:
                yield provided_later("imports", imported, self.chain.source(later))
            else:
                yield missing_module(imported, self._remover(folder, position))
        elif self.has_unknown_manifest:
            return  # that file may require anything
        elif "." not in imported.split("/")[0]:
            yield unprovided("imports", imported)
        elif not any(each.requires(imported) for each in self.modules) and not any(
            imported == each or imported.startswith(f"{each}/") for each in self.chain.dependencies
        ):
            yield undeclared_package("imports", imported, imported)
