"""Defines what a layout is asked: which toolchain is behind a folder of the user's PATH."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from factory.sandbox.toolchains.found import Toolchain
from factory.sandbox.toolchains.pins import Pin, pick, pinned

_MOST_INSTALLED = 500
_ANY_VERSION = frozenset(("latest", "lts", "node", "system"))


@dataclass(frozen=True, slots=True)
class Machine:
    """Hold what decides where toolchains are: the user's home and variables, the repo's wishes."""

    home: Path
    environ: Mapping[str, str]
    pins: tuple[Pin, ...] = ()

    def folder(self, variable: str, *usual: str) -> Path:
        """Return the folder that a variable names, else the usual one below the home folder."""
        given = Path(self.environ.get(variable, ""))
        return given if given.is_absolute() else self.home.joinpath(*usual)

    def data(self, variable: str, name: str) -> Path:
        """Return the folder that a variable names, else `name` in the user's data folder."""
        given = Path(self.environ.get(variable, ""))
        shared = self.folder("XDG_DATA_HOME", ".local", "share")
        return given if given.is_absolute() else shared / name


@dataclass(frozen=True, slots=True)
class Place:
    """Hold a folder of PATH as it is written there, and the real folder that it leads to."""

    folder: Path
    real: Path

    def has(self, program: str) -> bool:
        """Return whether the folder has a program of this name."""
        return os.access(self.folder / program, os.X_OK)

    def is_at(self, folder: Path) -> bool:
        """Return whether this is `folder`, by whichever name."""
        return self.folder == folder or self.real == folder.resolve()


Layout: TypeAlias = Callable[[Place, Machine], tuple[Toolchain, ...] | None]
"""Return the toolchains behind a folder; `None` where the folder is not of this layout."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Hold the chosen one of several installed versions; `note` says why it is not the pinned."""

    version: str
    note: str = ""


def choose(
    tool: str, installed: Path, usual: str, machine: Machine, *, name: str = ""
) -> Choice | None:
    """Return the version below the folder `installed` that the repo asks for, else the usual one.

    The result is `None` where neither is installed. `name` is what people call the tool.
    """
    there = tuple(versions_in(installed))
    pin = pinned(machine.pins, tool)
    wanted = pick(pin.version, there) if pin else None
    if wanted:
        return Choice(wanted)
    fallback = pick(usual, there) if usual else None
    if fallback is None:
        return None
    if pin is None or pin.version in _ANY_VERSION:
        return Choice(fallback)
    return Choice(
        fallback,
        f"{pin.origin} asks for {name or tool} {pin.version}, which is not installed: commands get "
        f"{fallback}",
    )


def versions_in(folder: Path) -> Iterator[str]:
    """Yield the names of the folders below `folder`; of none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= _MOST_INSTALLED:
                    return
                if entry.is_dir() and not entry.name.startswith("."):
                    yield entry.name
    except OSError:
        return


def existing(folder: Path, *names: str) -> tuple[Path, ...]:
    """Return the real paths of those of `names` that are in `folder`."""
    return tuple((folder / name).resolve() for name in names if (folder / name).exists())


def text_at(path: Path, most: int = 20_000) -> str:
    """Return the first characters of one of the user's own files; "" where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""
