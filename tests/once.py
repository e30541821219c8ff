"""What is slow to make and only looked at is made once, for all workers of a test session."""

from __future__ import annotations

import fcntl
import os
import shutil
import venv
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from factory.sandbox.lent_folders import go_seed


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder that `make` filled, whichever worker came to it first.

    The others wait for it. Where `make` fails, the next that asks tries again.
    """
    base = factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder, done = shared / name, shared / f"{name}.done"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


COMPILED = Path(__file__).parents[1] / "build" / "seeds"
"""Seeds that `make test` compiles before all tests, which takes half a minute."""


def shared_seeds(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the seeds of a session, which begins with those that `make` compiled."""

    def make(folder: Path) -> None:
        if COMPILED.is_dir():
            shutil.copytree(COMPILED, folder, dirs_exist_ok=True)
            for each in folder.iterdir():
                os.utime(each)  # what was used last is not removed

    return made_once(factory, "seeds", make)


_INSTALLED = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "pip")


def plain_environment(factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with pytest alone, which is copied from this one.

    It is what the tests' own repos have: to load this project's plugins takes pytest longer than
    all that such a repo tests.
    """

    def make(folder: Path) -> None:
        venv.create(folder, symlinks=True)
        (site,) = folder.glob("lib/python3.*/site-packages")
        for name in _INSTALLED:
            found = metadata.distribution(name)
            tops = {Path(each.parts[0]) for each in found.files or () if each.parts[0] != ".."}
            for top in map(str, tops - {Path("__pycache__")}):
                source = Path(str(found.locate_file(top)))
                copy = shutil.copytree if source.is_dir() else shutil.copy2
                copy(source, site / top)

    return made_once(factory, "environment", make)


if __name__ == "__main__":
    go_seed(Path(str(shutil.which("go"))), os.environ["PATH"], frozenset(), COMPILED)
