"""Defines the capability to prepare the packages that a tree's manifests declare.

A model may have written the manifests, so only names, versions and hashes are taken from them. The
installers are trusted, and use the network; no code of the tree runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class ManifestFiles(Protocol):
    """Read the manifests and locks of a tree. Nothing in them is trusted, and no link followed."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of all files that look like manifests or locks, sorted."""

    def named(self, name: str) -> tuple[str, ...]:
        """Return the paths of all files of this name, the outermost first."""

    def text(self, path: str) -> str | None:
        """Return the text of a regular file; `None` where there is none.

        Raises `InvalidInput` for a file that is too large or is not UTF-8.
        """


class BasePython(Protocol):
    """Describe an interpreter that is not in a virtual environment."""

    @property
    def executable(self) -> Path:
        """Return the program."""

    @property
    def tag(self) -> str:
        """Return the cache tag in the names of its bytecode files: `cpython-312`."""


class Workshop(Protocol):
    """Start trusted installers outside of the sandbox, and keep what they made."""

    @property
    def present(self) -> frozenset[str]:
        """Return the paths in the workspace at which commands find installed packages already."""

    @property
    def variables(self) -> dict[str, str]:
        """Return those of the user's variables that an installer may have."""

    def base_python(self) -> BasePython:
        """Return the interpreter of commands, or the one that its environment was made from."""

    def elsewhere(self) -> Path:
        """Return a folder outside of the tree, for questions to an installer."""

    def program(self, name: str) -> str | None:
        """Return the path of a program on the user's PATH; `None` where it is not installed."""

    def run(
        self, argv: list[str], folder: Path, variables: Mapping[str, str], *, remedy: str
    ) -> str:
        """Run an installer in `folder` and return its standard output.

        Raises `EnvironmentFault` with the installer's own words and `remedy` where it fails.
        """

    def kept(self, key: str, make: Callable[[Path], None]) -> Path:
        """Return the folder for `key`; `make` fills it the first time.

        `make` gets a path that does not exist, in a folder that does. Raises what it raises, and
        `EnvironmentFault` where the disk refuses.
        """


@dataclass(frozen=True, slots=True)
class Prepared:
    """Hold what commands get of what was prepared.

    They may `read` these folders, have the variables of `environment`, find a real folder at each
    path of the workspace in `folders`, and find `python` under that name. `notes` say to a person,
    in sentences, what was left out or is missing.
    """

    read: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)
    python: Path | None = None
    notes: tuple[str, ...] = ()

    def joined(self, other: Prepared) -> Prepared:
        """Return both together. Two languages set no variable in common."""
        return Prepared(
            (*self.read, *other.read),
            {**self.environment, **other.environment},
            {**self.folders, **other.folders},
            self.python or other.python,
            (*self.notes, *other.notes),
        )


class Dependencies(Protocol):
    """Prepare what a tree declares, so that commands find it without a network."""

    @property
    def variables(self) -> str:
        """Return a pattern of the variables that set up the user's own installers.

        Such variables say where programs, registries and certificates are. Letters of any case
        match.
        """

    def is_manifest(self, path: str) -> bool:
        """Return whether a file of this path is a manifest or a lock, by its name."""

    def prepare(self, files: ManifestFiles, workshop: Workshop) -> Prepared:
        """Return what the tree's manifests come to; nothing where they declare nothing.

        Raises `InvalidInput` for a manifest or a lock that is not followed, and `EnvironmentFault`
        where an installer fails.
        """
