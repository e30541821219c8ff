"""Defines what is known of the toolchains on the user's PATH."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Describe one toolchain: what commands are shown of it. All paths are real and absolute.

    `path` are its folders for PATH, `read` the files and folders that it needs, and `variables`
    what it must be told. `note` says in a sentence why it is not the one that the repo asks for.
    """

    name: str
    version: str
    path: tuple[Path, ...]
    read: tuple[Path, ...]
    variables: Mapping[str, str] = field(default_factory=lambda: _NO_VARIABLES)
    note: str = ""

    def describe(self) -> str:
        """Return its name, version and place in one line."""
        place = self.path[0] if self.path else self.read[0]
        return f"{self.name} {self.version}".strip() + f" in {place}"


@dataclass(frozen=True, slots=True)
class Unshown:
    """Describe a folder of the user's PATH that commands do not see.

    `reason` is empty where the folder is merely not known to hold a toolchain. `programs` are the
    names of the build tools in it.
    """

    folder: str
    reason: str = ""
    programs: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return in one line what is not shown, and why."""
        holds = f", which has {', '.join(self.programs)}," if self.programs else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.folder} of your PATH{holds} is not shown to commands{why}"


@dataclass(frozen=True, slots=True)
class Hidden:
    """Hold where a program is on the user's PATH that commands do not see.

    `reason` is as in `Unshown`. `beside` are the folders to show as well, because the program is a
    link that leads there.
    """

    path: Path
    reason: str = ""
    beside: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolchains:
    """Hold the toolchains that commands see, and what else is on the user's PATH.

    `named` are the folders of `sandbox.path`, which come first on PATH. `before` are the folders
    that come before the system's, and `after` those that the user's own PATH names after
    `/usr/bin`. `bare_path` and `bare_variables` serve commands
    without a sandbox: the user's PATH as it is, and where version managers keep their files, which
    they would look for in the command's own HOME.
    """

    named: tuple[Path, ...] = ()
    before: tuple[Path, ...] = ()
    after: tuple[Path, ...] = ()
    found: tuple[Toolchain, ...] = ()
    unshown: tuple[Unshown, ...] = ()
    bare_path: str = ""
    bare_variables: Mapping[str, str] = field(default_factory=lambda: _NO_VARIABLES)

    def search_path(self, system: str) -> str:
        """Return PATH with `system`, the system's folders, in its place."""
        return ":".join(map(str, (*self.named, *self.before, system, *self.after)))

    @property
    def read(self) -> tuple[Path, ...]:
        """Return all files and folders to show."""
        return tuple(dict.fromkeys(path for each in self.found for path in each.read))

    @property
    def variables(self) -> Mapping[str, str]:
        """Return the variables of all toolchains; the first on PATH decides."""
        return {
            name: value for each in reversed(self.found) for name, value in each.variables.items()
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what a person should hear before a run: refused toolchains, and other versions."""
        refused = (each.describe() for each in self.unshown if each.reason and each.programs)
        return (*refused, *(each.note for each in self.found if each.note))


NO_TOOLCHAINS = Toolchains()
