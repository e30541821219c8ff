"""Finds the toolchains on the user's PATH that suit a repo.

A stranger may have written the repo's files. So a version in them is only a name: it can choose
among the installed toolchains, but is never followed as a path.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Describe the parts of one toolchain that commands see. All paths are real and absolute.

    `path` are its folders for PATH, `read` the files and folders that it needs, and `variables`
    the variables that it needs. `note` says in a sentence why it is not the one that the repo asks
    for.
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

    `reason` is empty if the folder is merely not known to hold a toolchain. `programs` are the
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
    `/usr/bin`. `bare_path` and `bare_variables` serve commands without a sandbox: the user's PATH
    as it is, and the folders of version managers, which these would look for in the command's HOME.
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
        return tuple(dict.fromkeys(path for each in self.found for path in each.read))

    @property
    def variables(self) -> Mapping[str, str]:
        """Return the variables of all toolchains; the first on PATH decides."""
        return {
            name: value for each in reversed(self.found) for name, value in each.variables.items()
        }

    def identity(self) -> list[object]:
        """Return what differs for other toolchains; an update in place changes a time."""
        return [
            self.search_path(""),
            sorted(self.variables.items()),
            [[each.name, each.version] for each in self.found],
            [[str(each), changed_ns(each)] for each in self.read],
        ]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what a person should hear before a run: refused toolchains, and other versions."""
        refused = (each.describe() for each in self.unshown if each.reason and each.programs)
        return (*refused, *(each.note for each in self.found if each.note))


NO_TOOLCHAINS = Toolchains()


def changed_ns(path: Path) -> int:
    """Return when a path last changed, in nanoseconds; 0 if nothing is there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


TextOf: TypeAlias = Callable[[str], str | None]
"""Return the text of a file of the repo, by its path; `None` if it cannot be read."""

_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,60}")
_CHANNEL: Final = re.compile(r"""^\s*channel\s*=\s*["']([^"']+)["']""", re.MULTILINE)
_TABLE_ENTRY: Final = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=\s*["']([^"']+)["']""")
_ONE_LINE: Final = (
    (".nvmrc", "node"),
    (".node-version", "node"),
    (".python-version", "python"),
    (".go-version", "go"),
    (".java-version", "java"),
)
_OTHER_NAMES: Final = {"nodejs": "node", "golang": "go"}
_LONGEST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Pin:
    """Hold the version that a file asks for, as it is written there."""

    tool: str
    version: str
    origin: str


def read_pins(text_of: TextOf) -> tuple[Pin, ...]:
    """Return the versions that a repo asks for; the first of a tool is the one that counts."""
    return tuple(each for each in _pins(text_of) if _VERSION.fullmatch(each.version))


def pinned(pins: Iterable[Pin], tool: str) -> Pin | None:
    """Return what the repo asks for of a tool."""
    return next((each for each in pins if each.tool == tool), None)


def pick(wanted: str, installed: Iterable[str]) -> str | None:
    """Return the installed version that `wanted` names in whole or in its first parts.

    `20` is the newest of `v20.1.0` and `v20.9.0`, and `stable` is `stable-x86_64-linux-gnu`.
    """
    name = wanted.removeprefix("v")
    fitting = [each for each in installed if _fits(each.removeprefix("v"), name)]
    exact = [each for each in fitting if each.removeprefix("v") == name]
    return max(exact or fitting, key=version_key, default=None)


def version_key(version: str) -> tuple[int, ...]:
    """Return a key that orders versions by their numbers."""
    return tuple(int(each) for each in re.findall(r"\d{1,9}", version))


def _fits(version: str, name: str) -> bool:
    return version == name or version.startswith((f"{name}.", f"{name}-"))


def _pins(text_of: TextOf) -> Iterator[Pin]:
    for path in ("rust-toolchain.toml", "rust-toolchain"):
        text = _read(text_of, path)
        found = _CHANNEL.search(text)
        if found or (text and "[" not in text):
            yield Pin("rust", found[1] if found else _first_word(text), path)
    yield from _volta(text_of)
    for path, tool in _ONE_LINE:
        yield Pin(tool, _first_word(_read(text_of, path)), path)
    yield from _sdkman(text_of)
    yield from asdf_tools(_read(text_of, ".tool-versions"), ".tool-versions")
    for path in ("mise.toml", ".mise.toml"):
        yield from mise_tools(_read(text_of, path), path)


def mise_tools(text: str, origin: str) -> Iterator[Pin]:
    """Yield the versions in the table `tools` of one of mise's files."""
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = line.strip() == "[tools]"
        elif inside and (entry := _TABLE_ENTRY.match(line)):
            yield Pin(common_name(entry[1]), entry[2], origin)


def common_name(tool: str) -> str:
    """Return what llmch calls a tool that version managers call by several names."""
    return _OTHER_NAMES.get(tool, tool)


def asdf_tools(text: str, origin: str) -> Iterator[Pin]:
    """Yield the versions in a file `.tool-versions`."""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) > 1:
            yield Pin(common_name(words[0]), words[1], origin)


def _sdkman(text_of: TextOf) -> Iterator[Pin]:
    for line in _read(text_of, ".sdkmanrc").splitlines():
        tool, equals, version = line.partition("#")[0].partition("=")
        if equals:
            yield Pin(tool.strip(), version.strip(), ".sdkmanrc")


def _volta(text_of: TextOf) -> Iterator[Pin]:
    try:
        document = json.loads(_read(text_of, "package.json"))
    except (ValueError, RecursionError):
        return
    table = document.get("volta") if isinstance(document, dict) else None
    for tool, version in table.items() if isinstance(table, dict) else ():
        if isinstance(version, str):
            yield Pin(tool, version, "package.json: volta")


def _first_word(text: str) -> str:
    return next(iter(text.split()), "")


def _read(text_of: TextOf, path: str) -> str:
    return (text_of(path) or "")[:_LONGEST]


_MOST_INSTALLED = 500
_ANY_VERSION = frozenset(("latest", "lts", "node", "system"))


@dataclass(frozen=True, slots=True)
class ToolchainHome:
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
class PathFolder:
    """Hold a folder of PATH as it is written there, and the real folder that it leads to."""

    folder: Path
    real: Path

    def has(self, program: str) -> bool:
        """Return whether the folder has a program of this name."""
        return os.access(self.folder / program, os.X_OK)

    def is_at(self, folder: Path) -> bool:
        """Return whether this is `folder`, by whichever name."""
        return self.folder == folder or self.real == folder.resolve()


Layout: TypeAlias = Callable[[PathFolder, ToolchainHome], tuple[Toolchain, ...] | None]
"""Return the toolchains behind a folder; `None` if the folder is not of this layout."""


@dataclass(frozen=True, slots=True)
class ChosenVersion:
    """Hold the chosen one of several installed versions; `note` says why it is not the pinned."""

    version: str
    note: str = ""


def choose(
    tool: str, installed: Path, usual: str, machine: ToolchainHome, *, name: str = ""
) -> ChosenVersion | None:
    """Return the version below the folder `installed` that the repo asks for, else the usual one.

    The result is `None` if neither is installed. `name` is what people call the tool.
    """
    there = tuple(versions_in(installed))
    pin = pinned(machine.pins, tool)
    wanted = pick(pin.version, there) if pin else None
    if wanted:
        return ChosenVersion(wanted)
    fallback = pick(usual, there) if usual else None
    if fallback is None:
        return None
    if pin is None or pin.version in _ANY_VERSION:
        return ChosenVersion(fallback)
    return ChosenVersion(
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
    """Return the first characters of one of the user's own files; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


_PACKAGES: Final = "node_modules"  # packages in it use each other
_MOST_LINKS: Final = 8
_SHOWN: Final = tuple(map(Path, ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/nix/store")))


def needed_beside(program: Path) -> tuple[Path, ...]:
    """Return the folders outside the program's own that have to be readable to start it.

    They are where its links lead, with the packages or the installation around it. The result is
    empty for a program that is not a link, and for one that leads into the system's own folders.
    """
    shown = [*_SHOWN, program.parent, Path(os.path.realpath(program.parent))]
    needed: list[Path] = []
    for place in _places(program):
        if not any(place.is_relative_to(each) for each in (*shown, *needed)):
            needed.append(_around(place, program.parent))
    return tuple(needed)


def _places(program: Path) -> Iterator[Path]:
    """Yield the files that the links of a program name, one after the other."""
    place = program
    for _ in range(_MOST_LINKS):
        try:
            target = place.readlink()
        except OSError:
            return
        place = Path(os.path.realpath(place.parent / target.parent), target.name)
        yield place


def _around(place: Path, folder: Path) -> Path:
    """Return the folder that a program at `place` needs: its packages, or what it is part of."""
    parts = place.parts
    if _PACKAGES in parts:
        return Path(*parts[: parts.index(_PACKAGES) + 1])
    installation = place.parent.parent
    is_part = place.parent.name in ("bin", "Scripts", "libexec")
    # The folder of many installations, such as a home, is more than one program needs.
    return installation if is_part and not folder.is_relative_to(installation) else place.parent


def reason_against(folder: Path, home: Path, repo: Path | None) -> str:
    """Return why programs in `folder`, an absolute path, cannot be trusted; "" if they can.

    Whoever can put a program into the folder, or replace the folder, decides what verifies an
    order. So only root and the user may be able to, and the repo may not.
    """
    try:
        real = folder.resolve(strict=True)
        if home.resolve().is_relative_to(real):
            return "it is your home folder" if real == home.resolve() else "it holds your home"
        if repo and (real.is_relative_to(repo.resolve()) or folder.is_relative_to(repo)):
            return "it is inside the repo"
        return _open_to_all(folder) or _open_to_all(real)
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        return getattr(error, "strerror", None) or str(error)


def _open_to_all(folder: Path) -> str:
    facts = folder.stat()
    if facts.st_mode & stat.S_IWOTH:
        return "everybody may write to it"
    owner = facts.st_uid
    for above in folder.parents:
        facts = above.stat()
        if facts.st_mode & stat.S_IWOTH:
            if not facts.st_mode & stat.S_ISVTX:
                return f"everybody may write to {above}"
            if owner not in (0, os.geteuid()):
                return f"another user made it in {above}, where everybody may write"
        owner = facts.st_uid
    return ""
