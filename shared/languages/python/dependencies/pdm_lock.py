"""Takes versions and hashes out of `pdm.lock`. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement

from shared.files.toml_tables import Table
from shared.languages.python.dependencies.locks import (
    Edge,
    Lock,
    Locked,
    named_package,
    tables_in,
    wheel_hashes,
)
from shared.languages.python.requirements import normal_name

_FOREIGN = ("git", "hg", "svn", "bzr", "url", "path")


def read_pdm_lock(path: str, document: Table) -> Lock:
    """Return the packages of a `pdm.lock`. Raises `InvalidInput` for one of a foreign source.

    A package with extras is an entry of its own there, beside the one without.
    """
    packages: dict[str, list[Locked]] = {}
    extras: dict[tuple[str, str], dict[str, tuple[Edge, ...]]] = {}
    for each in tables_in(document.get("package")):
        foreign = next((key for key in _FOREIGN if key in each), "")
        name, version = named_package(path, each, foreign, str(each.get(foreign, "")), local=False)
        edges = tuple(_edges(each.get("dependencies")))
        own = extras.setdefault((name, version), {})
        listed = each.get("extras")
        if isinstance(listed, list) and listed:
            own.update({normal_name(str(extra)): edges for extra in listed})
            continue
        marker = each.get("marker", "")
        hashes = wheel_hashes(each.get("files"))
        held = marker if isinstance(marker, str) else ""
        packages.setdefault(name, []).append(Locked(name, version, hashes, edges, own, held))
    return Lock(path, packages)


def _edges(listed: object) -> Iterator[Edge]:
    for each in listed if isinstance(listed, list) else ():
        try:
            wanted = Requirement(str(each))
        except InvalidRequirement:
            continue
        marker = str(wanted.marker) if wanted.marker else ""
        yield Edge(normal_name(wanted.name), "", marker, tuple(sorted(wanted.extras)))
