"""Reads what `Pipfile` declares, and takes versions and hashes out of `Pipfile.lock`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shared.files.toml_tables import Table, table
from shared.languages.python.dependencies.locks import HASH, Lock, Locked, named_package
from shared.languages.python.dependencies.pyproject import from_constraint
from shared.languages.python.dependencies.requirements import Declared

_TABLES: Final = ("packages", "dev-packages")
_LOCKED: Final = ("default", "develop")
_FOREIGN: Final = ("git", "hg", "svn", "bzr", "file", "path", "editable")
# Pipenv takes these in the place of a marker: `sys_platform = "== 'win32'"`.
_MARKERS: Final = (
    "os_name", "sys_platform", "platform_machine", "platform_system", "python_version",
    "python_full_version", "implementation_name", "platform_python_implementation",
)  # fmt: skip


def from_pipfile(document: Table) -> Iterator[Declared]:
    """Yield what a `Pipfile` requires. Raises `InvalidInput` for a package of another source."""
    for key in _TABLES:
        for name, constraint in table(document, key).items():
            yield from from_constraint(f"Pipfile: {key}", name, _with_marker(constraint))


def _with_marker(constraint: object) -> object:
    if not isinstance(constraint, dict):
        return constraint
    conditions = [f"{key} {constraint[key]}" for key in _MARKERS if key in constraint]
    if constraint.get("markers"):
        conditions.insert(0, f"({constraint['markers']})" if conditions else constraint["markers"])
    return {**constraint, "markers": " and ".join(map(str, conditions))}


def read_pipfile_lock(path: str, document: Table) -> Lock:
    """Return the packages of a `Pipfile.lock`: all that the project needs, and nothing else.

    Raises `InvalidInput` for a package that comes from elsewhere than an index.
    """
    packages: dict[str, list[Locked]] = {}
    for key in _LOCKED:
        for name, entry in table(document, key).items():
            locked = _locked(path, name, entry if isinstance(entry, dict) else {})
            packages.setdefault(locked.name, [locked])
    return Lock(path, packages, is_complete=True)


def _locked(path: str, name: str, entry: Table) -> Locked:
    foreign = next((key for key in _FOREIGN if entry.get(key)), "")
    version = str(entry.get("version", "")).removeprefix("==")
    package = {"name": name, "version": version}
    named = named_package(path, package, foreign, str(entry.get(foreign, "")), local=False)
    listed = entry.get("hashes")
    hashes = {str(each) for each in listed} if isinstance(listed, list) else set()
    marker = entry.get("markers", "")
    return Locked(
        *named,
        tuple(sorted(each for each in hashes if HASH.fullmatch(each))),
        (),
        {},
        marker if isinstance(marker, str) else "",
    )
