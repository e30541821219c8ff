"""Chooses the Python of commands: the user's word, the repo's own environment, or llmch's Python.

A repo that was fetched as an archive can contain anything, also in folders that git ignores. So an
environment is only used if the program that it starts, and the folder that it loads its library
from, lie outside of the repo.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from factory.repo.preflight import RepoPlace, find_repo
from factory.sandbox.visible.interpreter import interpreter_of
from shared.errors import InvalidInput, LlmchError
from shared.git import index

_FOLDERS: Final = (".venv", "venv")
_LONGEST_CONFIG: Final = 64 * 1024  # bytes of a pyvenv.cfg, which has a few lines
# What every new environment has; an environment with nothing else was not filled yet.
_INSTALLERS: Final = ("pip", "setuptools", "wheel", "_distutils_hack", "distutils-precedence")


@dataclass(frozen=True, slots=True)
class PythonChoice:
    """Hold the interpreter that commands find as `python`, and the reason in a few words."""

    python: Path
    why: str


def choose_python(
    named: str | None, repo: Path | None, environ: Mapping[str, str] = os.environ
) -> PythonChoice:
    """Return the interpreter for the commands of a repo.

    It is the program `named`; else the repo's `.venv` or `venv`; else the environment that the user
    activated; else the interpreter that runs llmch. An environment that does not answer, or has
    nothing installed, is left out, and the reason says so. Raises `InvalidInput` if there is no
    program of the given name.
    """
    if named is not None:
        return PythonChoice(_program(named), "it was named")
    left_out: list[str] = []
    for folder, of_whom in _candidates(repo, environ):
        problem = _problem_with(folder, repo)
        if not problem:
            return PythonChoice(folder / "bin" / "python", of_whom)
        left_out.append(f"{folder.name} is not used: {problem}")
    why = "it runs llmch"
    return PythonChoice(Path(sys.executable), "; ".join((why, *left_out)))


def _program(named: str) -> Path:
    found = shutil.which(named)
    if found is None:
        raise InvalidInput(
            f"--python {named}: the program does not exist", "give the path of an interpreter"
        )
    return Path(found).absolute()


def _candidates(repo: Path | None, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    place = _place_of(repo)
    if place is not None:
        present = [each for each in _FOLDERS if (place.tree / each / "pyvenv.cfg").is_file()]
        ignored = _ignored(place, present)
        yield from (
            (place.tree / each, f"it is the repo's {each}") for each in present if each in ignored
        )
    active = Path(environ.get("VIRTUAL_ENV", ""))
    own = Path(sys.prefix)
    if active.is_absolute() and active != own and (active / "pyvenv.cfg").is_file():
        inside = place is not None and active.is_relative_to(place.tree)
        if not inside:
            yield active, "you activated its environment"


def _place_of(repo: Path | None) -> RepoPlace | None:
    try:
        return None if repo is None else find_repo(repo)
    except LlmchError:
        return None  # the run says it in its own words


def _ignored(place: RepoPlace, folders: list[str]) -> frozenset[str]:
    """Return those folders that git ignores, or in which it ignores everything."""
    inside = {f"{folder}/pyvenv.cfg": folder for folder in folders}
    try:
        found = index.ignored(place.git, (*folders, *inside)) if folders else frozenset()
    except LlmchError:
        return frozenset()
    return frozenset(inside.get(each, each) for each in found)


def _problem_with(folder: Path, repo: Path | None) -> str:
    """Return why commands cannot have this environment; "" if they can."""
    python = folder / "bin" / "python"
    try:
        if stat.S_ISLNK(folder.lstat().st_mode):
            return "it is a symbolic link"
        program = python.resolve(strict=True)
        home = _home_of(folder / "pyvenv.cfg")
    except (OSError, RuntimeError):
        return "it has no working bin/python"
    top = repo.resolve() if repo else folder
    if program.is_relative_to(top) or program.is_relative_to(folder):
        return "its interpreter is a file of the repo (--python names it all the same)"
    if home is None or home.resolve().is_relative_to(top):
        return "its pyvenv.cfg names no Python outside of the repo"
    if not _has_packages(folder):
        return "nothing is installed in it"
    try:
        interpreter_of(python)
    except InvalidInput as error:
        return error.message
    return ""


def _home_of(config: Path) -> Path | None:
    """Return the folder of the base interpreter, `None` where the file names it otherwise."""
    with config.open("rb") as file:
        text = file.read(_LONGEST_CONFIG).decode("utf-8", "replace")
    pairs = (line.partition("=") for line in text.splitlines())
    homes = [value.strip() for key, _, value in pairs if key.strip().lower() == "home"]
    return Path(homes[0]) if len(homes) == 1 and Path(homes[0]).is_absolute() else None


def _has_packages(folder: Path) -> bool:
    names = (path.name for path in folder.glob("lib/python3*/site-packages/*"))
    return any(not name.startswith(_INSTALLERS) and name != "__pycache__" for name in names)
