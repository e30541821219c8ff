"""Decides what an environment gets, out of everything that a Python project declares. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement

from shared.errors import InvalidInput
from shared.files.toml_tables import Table, read_toml
from shared.languages.capabilities.dependencies import ManifestFiles
from shared.languages.python.dependencies.locks import (
    Edge,
    Lock,
    pinned,
    read_poetry_lock,
    read_uv_lock,
)
from shared.languages.python.dependencies.pdm_lock import read_pdm_lock
from shared.languages.python.dependencies.pipenv import from_pipfile, read_pipfile_lock
from shared.languages.python.dependencies.pyproject import TEST_NAMES, from_pyproject
from shared.languages.python.dependencies.requirements import (
    REQUIREMENT,
    Declared,
    check_declared,
    from_lists,
)
from shared.languages.python.dependencies.setuptools_files import from_setup_cfg, from_setup_py
from shared.languages.python.requirements import normal_name

_PROJECT: Final = "pyproject.toml"
_PIPFILE: Final = "Pipfile"
_LOCKS: Final[Mapping[str, Callable[[str, Table], Lock]]] = {
    "uv.lock": read_uv_lock,
    "poetry.lock": read_poetry_lock,
    "pdm.lock": read_pdm_lock,
    "Pipfile.lock": read_pipfile_lock,
}
_PIN = re.compile(r"===?\s*([A-Za-z0-9.!+_-]+)")


@dataclass(frozen=True, slots=True)
class Wishes:
    """Hold the lines to install, the versions that other lines allow, and notes for a person."""

    lines: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Return a text that differs where other packages would be installed."""
        return json.dumps([self.lines, self.constraints])


def read_wishes(files: ManifestFiles, environment: Mapping[str, str]) -> Wishes:
    """Return what the tree declares; nothing where it declares nothing.

    `environment` holds the values of PEP 508's markers for the interpreter. A lock decides where it
    has all that the project declares. Raises `InvalidInput` for a file that cannot be read, a line
    that is more than a name with versions, and two places that pin different versions.
    """
    own = read_toml(_PROJECT, files.text(_PROJECT) or "")
    computed, notes = from_setup_py(files, TEST_NAMES)
    pipfile = read_toml(_PIPFILE, files.text(_PIPFILE) or "")
    project = [
        *from_pyproject(own),
        *from_setup_cfg(files, TEST_NAMES),
        *computed,
        *from_pipfile(pipfile),
    ]
    listed = [each for each in from_lists(files) if not each.constraint]
    constraints = [each for each in from_lists(files) if each.constraint]
    declared = [check_declared(each) for each in (*project, *listed, *constraints)]
    _refuse_contradictions(declared)
    lock = _read_lock(files)
    if lock and project:
        lacking = lock.lacking([each.name for each in (*project, *listed)])
        if not lacking:
            edges = [_edge(each) for each in (*project, *listed)]
            if lock.is_complete:
                edges = [Edge(name) for name in lock.packages]
            return Wishes(pinned(lock, edges, environment), notes=tuple(notes))
        notes.append(_not_in_lock(lock, lacking))
    return Wishes(_lines((*project, *listed)), _lines(constraints), tuple(notes))


def _read_lock(files: ManifestFiles) -> Lock | None:
    for name, read in _LOCKS.items():
        text = files.text(name)
        if text is not None:
            parse = _read_json if name.startswith(_PIPFILE) else read_toml
            return read(name, parse(name, text))
    return None


def _read_json(path: str, text: str) -> Table:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid JSON: {error}", "lock again") from error
    return document if isinstance(document, dict) else {}


def _not_in_lock(lock: Lock, lacking: Sequence[str]) -> str:
    return (
        f"{lock.path} does not have {', '.join(lacking[:5])}, so versions are chosen anew: lock "
        "again before you merge."
    )


def _lines(declared: Iterable[Declared]) -> tuple[str, ...]:
    return tuple(sorted({each.line for each in declared}))


def _edge(declared: Declared) -> Edge:
    try:
        wanted = Requirement(re.sub(r"\s+--hash=\S+", "", declared.line))
    except InvalidRequirement:
        return Edge(normal_name(declared.name))
    marker = str(wanted.marker) if wanted.marker else ""
    return Edge(normal_name(wanted.name), "", marker, tuple(sorted(wanted.extras)))


def _refuse_contradictions(declared: Iterable[Declared]) -> None:
    """Raise `InvalidInput` where two places pin one package to two versions."""
    pins: dict[str, tuple[str, str]] = {}
    for each in declared:
        match = REQUIREMENT.fullmatch(each.line)
        pin = _PIN.fullmatch((match["versions"] or "").strip()) if match else None
        if not match or not pin or match["marker"]:
            continue
        place, version = pins.setdefault(normal_name(match["name"]), (each.place, pin[1]))
        if version != pin[1]:
            raise InvalidInput(
                f"{each.place} pins {match['name']} to {pin[1]}, but {place} pins it to {version}",
                "make them agree, or prepare an environment and pass --python",
            )
