"""Says which crates a Rust project has, and which others it declares."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.languages.declared.planned import folder_of

MANIFEST: Final = "Cargo.toml"
STANDARD: Final = frozenset({"std", "core", "alloc", "proc_macro", "test"})
HERE: Final = frozenset({"crate", "self", "super", ""})
_TABLES: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_MOST_DOTS: Final = 100  # in one line of a TOML file that is read


@dataclass(frozen=True, slots=True)
class Crate:
    """Hold a crate: its name in code, its folder, and the names of the crates that it declares.

    `is_guessed` says that its manifest is not there yet, and `has_named_targets` that the manifest
    names files of tests itself.
    """

    name: str
    folder: str
    declared: frozenset[str]
    is_guessed: bool = False
    has_named_targets: bool = False

    def path(self, inside: str) -> str:
        """Return the path in the repository of a file of the crate."""
        return f"{self.folder}/{inside}" if self.folder else inside


def read_crates(sources: Mapping[str, str], paths: Iterable[str]) -> tuple[Crate, ...]:
    """Return the crates of a repository, the innermost first."""
    documents: dict[str, Mapping[str, object]] = {}
    for path in paths:
        if path == MANIFEST or path.endswith(f"/{MANIFEST}"):
            document = _toml(sources.get(path))
            if document is not None:
                documents[folder_of(path)] = document
    shared = frozenset(
        name for each in documents.values() for name in _declared(_table(each, "workspace"))
    )
    found = [
        Crate(
            name=_name_of(document),
            folder=folder,
            declared=frozenset(_declared(document)) | shared,
            has_named_targets="test" in document,
        )
        for folder, document in documents.items()
        if _name_of(document)
    ]
    return tuple(sorted(found, key=lambda each: -len(each.folder)))


def guess_crate(roots: Iterable[str], declared: Collection[str] = ()) -> Crate | None:
    """Return the crate that a plan's tests speak of, where its manifest is not there."""
    for root in roots:
        if root not in STANDARD | HERE and root not in declared:
            return Crate(root, "", frozenset(), is_guessed=True)
    return None


def crate_of(path: str, crates: Iterable[Crate]) -> Crate | None:
    """Return the crate that a file belongs to, the innermost of several."""
    return next(
        (each for each in crates if not each.folder or path.startswith(f"{each.folder}/")), None
    )


def _toml(text: str | None) -> Mapping[str, object] | None:
    # A key of very many parts takes tomllib hours.
    if text is None or any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        return None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _table(parent: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = parent.get(key)
    return found if isinstance(found, dict) else {}


def _name_of(document: Mapping[str, object]) -> str:
    """Return the name of the library, which is that of the package unless it has its own."""
    for table in (_table(document, "lib"), _table(document, "package")):
        name = table.get("name")
        if isinstance(name, str):
            return name.replace("-", "_")
    return ""


def _declared(document: Mapping[str, object]) -> set[str]:
    tables = [_table(document, each) for each in _TABLES]
    for target in _table(document, "target").values():
        if isinstance(target, dict):
            tables += [_table(target, each) for each in _TABLES]
    return {name.replace("-", "_") for each in tables for name in each}
