"""Makes a virtual environment with what a Python project declares: wheels only, nothing is run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from packaging.markers import default_environment

from factory.dependencies.base import Prepared, Workshop, run_installer
from factory.dependencies.manifests import Manifests
from factory.dependencies.python.requirements import REQUIREMENT
from factory.dependencies.python.wishes import Wishes, read_wishes
from factory.dependencies.store import kept
from factory.sandbox.visible.interpreter import interpreter_of, virtual_root

_REMEDY: Final = "prepare an environment and pass --python, or leave out --deps auto"


def prepare_python(files: Manifests, workshop: Workshop) -> Prepared:
    """Return an environment that has what the tree declares, and pytest.

    Where nothing is declared, the base interpreter stays. Where a requirement has hashes, pytest is
    not added. Raises `InvalidInput` as `read_wishes` does, and `EnvironmentFault` with the
    installer's own words.
    """
    base = interpreter_of(_base_of(workshop.python.absolute()))
    wishes = read_wishes(files, _markers_of(base.tag))
    wanted = wishes.lines
    if not wanted:
        return Prepared(notes=wishes.notes)
    if not any("--hash=" in each or _is_pytest(each) for each in wanted):
        wanted = (*wanted, "pytest")  # it verifies a tree that has no script of its own
    wishes = Wishes(wanted, wishes.constraints, wishes.notes)

    def make(folder: Path) -> None:
        _make(folder, base.executable, wishes, workshop.variables)

    key = json.dumps([wishes.key, str(base.executable), base.tag])
    folder = kept(workshop.cache, key, make)
    return Prepared(python=folder / "bin" / "python", notes=wishes.notes)


def _base_of(python: Path) -> Path:
    """Return the Python below a virtual environment, whose installed packages may run at start."""
    return python.resolve() if virtual_root(python) else python


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


def _make(folder: Path, python: Path, wishes: Wishes, env: Mapping[str, str]) -> None:
    listed, allowed = folder.with_suffix(".txt"), folder.with_suffix(".constraints.txt")
    listed.write_text("\n".join(wishes.lines) + "\n")
    allowed.write_text("\n".join(wishes.constraints) + "\n")
    own = str(folder / "bin" / "python")
    uv = shutil.which("uv", path=env.get("PATH", os.defpath))
    if uv:
        make = [uv, "venv", "--no-config", "--seed", "--python", str(python), str(folder)]
        install = [uv, "pip", "install", "--no-config", "--python", own, "--compile-bytecode"]
    else:
        make = [str(python), "-I", "-m", "venv", str(folder)]
        install = [own, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    files = ["--requirement", str(listed)]
    files += ["--constraint", str(allowed)] if wishes.constraints else []
    for argv in (make, [*install, "--only-binary", ":all:", *files]):
        run_installer(argv, folder.parent, env, remedy=_REMEDY)
