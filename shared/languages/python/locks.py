"""Reads versions and hashes out of locks.

A lock covers every platform and every extra. So the packages are collected from those that the
project declares, along the edges whose markers hold for the interpreter of commands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import VERSION_PATTERN

from shared.errors import InvalidInput
from shared.files.strict_documents import Table, table
from shared.languages.python.declared_requirements import (
    DeclaredRequirement,
    from_constraint,
    normal_name,
)

HASH = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(rf"\s*{VERSION_PATTERN}\s*", re.VERBOSE | re.IGNORECASE)
_REMEDY: Final = "lock again from an index, or prepare an environment and pass --python"
_FOREIGN: Final = ("git", "url", "path", "directory")


@dataclass(frozen=True, slots=True)
class LockedEdge:
    """Hold one dependency of a locked package; an empty `version` means any."""

    name: str
    version: str = ""
    marker: str = ""
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """Hold one locked package. `local` is true for the project itself and its parts."""

    name: str
    version: str
    hashes: tuple[str, ...]
    edges: tuple[LockedEdge, ...]
    extras: Mapping[str, tuple[LockedEdge, ...]]
    marker: str = ""
    local: bool = False


@dataclass(frozen=True, slots=True)
class PackageLock:
    """Hold the packages of a lock file by their names in normal form.

    `is_complete` is true where the lock does not say which package needs which: all of its packages
    are then needed.
    """

    path: str
    packages: Mapping[str, Sequence[LockedPackage]]
    is_complete: bool = False

    def lacking(self, names: Collection[str]) -> tuple[str, ...]:
        return tuple(sorted({normal_name(each) for each in names} - self.packages.keys()))


def pinned(
    lock: PackageLock, wanted: Sequence[LockedEdge], environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a line `name==version --hash=...` for each package that `wanted` comes to, sorted.

    Raises `InvalidInput`, which names the package, where one has no hash.
    """
    waiting = list(wanted)
    chosen: dict[str, LockedPackage] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        edge = waiting.pop()
        found = _find(lock, edge, environment)
        if found is None or not holds(edge.marker, environment):
            continue
        key = (f"{found.name}=={found.version}", edge.extras)
        if key in seen:
            continue
        seen.add(key)
        chosen.setdefault(found.name, found)
        waiting.extend(found.edges)
        for extra in edge.extras:
            waiting.extend(found.extras.get(normal_name(extra), ()))
    return tuple(sorted(_line(lock, each) for each in chosen.values() if not each.local))


def _find(
    lock: PackageLock, edge: LockedEdge, environment: Mapping[str, str]
) -> LockedPackage | None:
    for each in lock.packages.get(edge.name, ()):
        if edge.version in ("", each.version) and holds(each.marker, environment):
            return each
    return None


def _line(lock: PackageLock, package: LockedPackage) -> str:
    if not package.hashes:
        raise InvalidInput(
            f"{lock.path}: {package.name} {package.version} has no sha256 of a wheel", _REMEDY
        )
    return " ".join(
        [f"{package.name}=={package.version}", *map("--hash={}".format, package.hashes)]
    )


def holds(marker: str, environment: Mapping[str, str]) -> bool:
    """Return whether a marker holds; one that cannot be evaluated does."""
    if not marker:
        return True
    try:
        return Marker(marker).evaluate({"extra": "", **environment})
    except (InvalidMarker, UndefinedEnvironmentName, RecursionError, ValueError):
        return True


def read_uv_lock(path: str, document: Table) -> PackageLock:
    """Return the packages of a `uv.lock`. Raises `InvalidInput` for one of a foreign source."""
    packages: dict[str, list[LockedPackage]] = {}
    for each in tables_in(document.get("package")):
        source = table(each, "source")
        local = "virtual" in source or "editable" in source
        foreign = next((key for key in _FOREIGN if key in source), "")
        package = named_package(path, each, foreign, str(source.get(foreign, "")), local=local)
        groups = {**table(each, "optional-dependencies"), **table(each, "dev-dependencies")}
        extras = {normal_name(name): tuple(_uv_edges(edges)) for name, edges in groups.items()}
        edges = tuple(_uv_edges(each.get("dependencies")))
        hashes = wheel_hashes(each.get("wheels"))
        found = LockedPackage(*package, hashes, edges, extras, local=local)
        packages.setdefault(found.name, []).append(found)
    return PackageLock(path, packages)


def _uv_edges(listed: object) -> Iterator[LockedEdge]:
    for each in tables_in(listed):
        extras = each.get("extra")
        yield LockedEdge(
            normal_name(str(each.get("name", ""))),
            str(each.get("version", "")),
            str(each.get("marker", "")),
            tuple(map(str, extras)) if isinstance(extras, list) else (),
        )


def read_poetry_lock(path: str, document: Table) -> PackageLock:
    """Return the packages of a `poetry.lock`. Raises `InvalidInput` for one of a foreign source."""
    packages: dict[str, list[LockedPackage]] = {}
    older = table(document, "metadata", "files")  # where Poetry before 1.3 kept the hashes
    for each in tables_in(document.get("package")):
        source = table(each, "source")
        kind = str(source.get("type", ""))
        foreign = kind if kind in ("git", "url", "file", "directory") else ""
        package = named_package(path, each, foreign, str(source.get("url", "")), local=False)
        hashes = wheel_hashes(each.get("files") or older.get(str(each.get("name", ""))))
        edges = tuple(_poetry_edges(table(each, "dependencies")))
        found = LockedPackage(*package, hashes, edges, {}, _text(each, "markers"))
        packages.setdefault(found.name, []).append(found)
    return PackageLock(path, packages)


def _poetry_edges(dependencies: Table) -> Iterator[LockedEdge]:
    for name, constraint in dependencies.items():
        for each in constraint if isinstance(constraint, list) else [constraint]:
            marker = each.get("markers", "") if isinstance(each, dict) else ""
            yield LockedEdge(normal_name(name), "", str(marker))


def named_package(
    path: str, package: Table, foreign: str, place: str, *, local: bool
) -> tuple[str, str]:
    """Return the name of a locked package in normal form, and its version.

    `foreign` is the key that leads elsewhere than to an index, and `place` where to; both are empty
    for most packages. Raises `InvalidInput` for one that comes from elsewhere, and for a name or a
    version that is none, unless the package is `local`.
    """
    name, version = str(package.get("name", "")), str(package.get("version", "0"))
    if foreign:
        raise InvalidInput(
            f"{path}: {name[:100]} comes from {foreign} {place[:200]!r}, not from an index", _REMEDY
        )
    if not local and not (_NAME.fullmatch(name) and _VERSION.fullmatch(version)):
        raise InvalidInput(f"{path}: {name[:100]!r} {version[:100]!r} is not a package", _REMEDY)
    return normal_name(name), version


def _text(package: Table, key: str) -> str:
    """Return the text under a key; "" for any other value."""
    value = package.get(key)
    return value if isinstance(value, str) else ""


def wheel_hashes(files: object) -> tuple[str, ...]:
    """Return the hashes of wheels; Poetry and PDM list source archives among them, uv apart."""
    found: set[str] = set()
    for each in tables_in(files):
        name, digest = str(each.get("file") or each.get("url", "")), str(each.get("hash", ""))
        if HASH.fullmatch(digest) and not name.endswith((".tar.gz", ".zip", ".tar.bz2")):
            found.add(digest)
    return tuple(sorted(found))


def tables_in(listed: object) -> Iterator[Table]:
    """Yield the tables of a list; nothing for any other value."""
    yield from (e for e in (listed if isinstance(listed, list) else ()) if isinstance(e, dict))


_PDM_LOCK_FOREIGN = ("git", "hg", "svn", "bzr", "url", "path")


def read_pdm_lock(path: str, document: Table) -> PackageLock:
    """Return the packages of a `pdm.lock`. Raises `InvalidInput` for one of a foreign source.

    A package with extras is an entry of its own there, beside the one without.
    """
    packages: dict[str, list[LockedPackage]] = {}
    extras: dict[tuple[str, str], dict[str, tuple[LockedEdge, ...]]] = {}
    for each in tables_in(document.get("package")):
        foreign = next((key for key in _PDM_LOCK_FOREIGN if key in each), "")
        name, version = named_package(path, each, foreign, str(each.get(foreign, "")), local=False)
        edges = tuple(_edges(each.get("dependencies")))
        own = extras.setdefault((name, version), {})
        listed = each.get("extras")
        if isinstance(listed, list) and listed:
            own.update({normal_name(str(extra)): edges for extra in listed})
            continue
        hashes, marker = wheel_hashes(each.get("files")), _text(each, "marker")
        found = LockedPackage(name, version, hashes, edges, own, marker)
        packages.setdefault(name, []).append(found)
    return PackageLock(path, packages)


def _edges(listed: object) -> Iterator[LockedEdge]:
    found = (edge_of(str(each)) for each in listed) if isinstance(listed, list) else ()
    yield from (each for each in found if each is not None)


def edge_of(requirement: str) -> LockedEdge | None:
    """Return a requirement as PEP 508 writes it; `None` for any other text."""
    try:
        wanted = Requirement(requirement)
    except InvalidRequirement:
        return None
    marker = str(wanted.marker) if wanted.marker else ""
    return LockedEdge(normal_name(wanted.name), "", marker, tuple(sorted(wanted.extras)))


_TABLES: Final = ("packages", "dev-packages")
_LOCKED: Final = ("default", "develop")
_PIPENV_FOREIGN: Final = ("git", "hg", "svn", "bzr", "file", "path", "editable")
# Pipenv takes these in the place of a marker: `sys_platform = "== 'win32'"`.
_MARKERS: Final = (
    "os_name", "sys_platform", "platform_machine", "platform_system", "python_version",
    "python_full_version", "implementation_name", "platform_python_implementation",
)  # fmt: skip


def from_pipfile(document: Table) -> Iterator[DeclaredRequirement]:
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


def read_pipfile_lock(path: str, document: Table) -> PackageLock:
    """Return the packages of a `Pipfile.lock`: all that the project needs, and nothing else.

    Raises `InvalidInput` for a package that comes from elsewhere than an index.
    """
    packages: dict[str, list[LockedPackage]] = {}
    for key in _LOCKED:
        for name, entry in table(document, key).items():
            locked = _locked(path, name, entry if isinstance(entry, dict) else {})
            packages.setdefault(locked.name, [locked])
    return PackageLock(path, packages, is_complete=True)


def _locked(path: str, name: str, entry: Table) -> LockedPackage:
    foreign = next((key for key in _PIPENV_FOREIGN if entry.get(key)), "")
    version = str(entry.get("version", "")).removeprefix("==")
    package = {"name": name, "version": version}
    named = named_package(path, package, foreign, str(entry.get(foreign, "")), local=False)
    listed = entry.get("hashes")
    hashes = {str(each) for each in listed} if isinstance(listed, list) else set()
    kept = tuple(sorted(each for each in hashes if HASH.fullmatch(each)))
    return LockedPackage(*named, kept, (), {}, _text(entry, "markers"))
