"""Makes a virtual environment with what a Python project declares: wheels only, nothing is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from packaging.markers import default_environment

from shared.languages.capabilities.dependencies import ManifestFiles, Prepared, Workshop
from shared.languages.python.dependencies.requirements import REQUIREMENT
from shared.languages.python.dependencies.wishes import Wishes, read_wishes

_REMEDY: Final = "prepare an environment and pass --python, or leave out --deps auto"


def prepare_python(files: ManifestFiles, workshop: Workshop) -> Prepared:
    """Return an environment that has what the tree declares, and pytest.

    Where nothing is declared, the base interpreter stays. Where a requirement has hashes, pytest is
    not added. Raises `InvalidInput` as `read_wishes` does, and `EnvironmentFault` with the
    installer's own words.
    """
    base = workshop.base_python()
    wishes = read_wishes(files, _markers_of(base.tag))
    wanted = wishes.lines
    if not wanted:
        return Prepared(notes=wishes.notes)
    if not any("--hash=" in each or _is_pytest(each) for each in wanted):
        wanted = (*wanted, "pytest")  # it verifies a tree that has no script of its own
    wishes = Wishes(wanted, wishes.constraints, wishes.notes)

    def make(folder: Path) -> None:
        _make(folder, base.executable, wishes, workshop)

    key = json.dumps([wishes.key, str(base.executable), base.tag])
    folder = workshop.kept(key, make)
    return Prepared(python=folder / "bin" / "python", notes=wishes.notes)


def _is_pytest(requirement: str) -> bool:
    match = REQUIREMENT.fullmatch(requirement)
    return match is not None and match["name"].lower() == "pytest"


def _markers_of(tag: str) -> Mapping[str, str]:
    """Return the values of markers for an interpreter of this machine, by its cache tag."""
    values = {name: str(value) for name, value in default_environment().items()}
    digits = tag.rpartition("-")[2]
    if digits.isdigit() and len(digits) > 1:
        version = f"{digits[0]}.{digits[1:]}"
        if version != values["python_version"]:
            full = {"python_full_version", "implementation_version"}
            values |= {"python_version": version, **dict.fromkeys(full, f"{version}.0")}
    return values


def _make(folder: Path, python: Path, wishes: Wishes, workshop: Workshop) -> None:
    listed, allowed = folder.with_suffix(".txt"), folder.with_suffix(".constraints.txt")
    listed.write_text("\n".join(wishes.lines) + "\n")
    allowed.write_text("\n".join(wishes.constraints) + "\n")
    own = str(folder / "bin" / "python")
    uv = workshop.program("uv")
    if uv:
        make = [uv, "venv", "--no-config", "--seed", "--python", str(python), str(folder)]
        install = [uv, "pip", "install", "--no-config", "--python", own, "--compile-bytecode"]
    else:
        make = [str(python), "-I", "-m", "venv", str(folder)]
        install = [own, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    files = ["--requirement", str(listed)]
    files += ["--constraint", str(allowed)] if wishes.constraints else []
    for argv in (make, [*install, "--only-binary", ":all:", *files]):
        workshop.run(argv, folder.parent, workshop.variables, remedy=_REMEDY)
