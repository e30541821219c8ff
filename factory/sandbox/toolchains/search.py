"""Goes through the user's PATH and finds the toolchains that commands may see."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from factory.sandbox.toolchains.found import Hidden, Toolchain, Toolchains, Unshown
from factory.sandbox.toolchains.installed import INSTALLED, is_jdk, jdk_in
from factory.sandbox.toolchains.links import needed_beside
from factory.sandbox.toolchains.managers import MANAGERS
from factory.sandbox.toolchains.pins import TextOf, read_pins
from factory.sandbox.toolchains.places import Machine, Place
from factory.sandbox.toolchains.trust import reason_against
from shared.errors import InvalidInput

BUILD_TOOLS: Final = (
    *("bun", "cargo", "cmake", "deno", "dotnet", "go", "gradle", "java", "javac", "just", "mvn"),
    *("node", "npm", "npx", "pnpm", "poetry", "pytest", "rustc", "ruby", "tox", "uv", "yarn"),
)
_LAYOUTS: Final = (*MANAGERS, *INSTALLED)
# These are shown as they are; what lies in them needs a place on PATH and nothing else.
_SYSTEM: Final = tuple(map(Path, ("/usr", "/bin", "/sbin", "/nix/store")))
_SYSTEM_PATH: Final = frozenset(
    Path(folder, name).resolve()
    for folder in ("/", "/usr", "/usr/local")
    for name in ("bin", "sbin")
)
_MOST_FOLDERS: Final = 100
_MOST_PROGRAMS: Final = 5_000
# Where version managers look for their files, unless a variable says otherwise.
_HOMES: Final = {
    "ASDF_DATA_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise",
    "PYENV_ROOT": ".pyenv",
    "RUSTUP_HOME": ".rustup",
    "SDKMAN_DIR": ".sdkman",
    "VOLTA_HOME": ".volta",
}


@dataclass(frozen=True, slots=True)
class _Seen:
    """Hold what one folder of PATH turned out to be."""

    toolchains: tuple[Toolchain, ...] = ()
    unshown: tuple[Unshown, ...] = ()


def find_toolchains(
    repo: Path | None, text_of: TextOf, environ: Mapping[str, str] = os.environ
) -> Toolchains:
    """Return the toolchains on the user's PATH, in the versions that the repo asks for.

    Only installed versions count, and no program is run. `text_of` reads the repo's files.
    """
    home = Path(environ.get("HOME") or "~").expanduser()
    machine = Machine(home, environ, read_pins(text_of))
    folders = list(dict.fromkeys(environ.get("PATH", "").split(":")))[:_MOST_FOLDERS]
    last = next((at for at, each in enumerate(folders) if each == "/usr/bin"), len(folders))
    seen = [_look_at(each, repo, machine) for each in folders]
    before = tuple(each for part in seen[:last] for each in part.toolchains)
    after = tuple(each for part in seen[last:] for each in part.toolchains)
    # A JDK that JAVA_HOME names comes first, because it is the one whose variable counts.
    found = (*_java_home(repo, machine), *before, *after)
    return Toolchains(
        before=tuple(dict.fromkeys(path for each in before for path in each.path)),
        after=tuple(dict.fromkeys(path for each in after for path in each.path)),
        found=_distinct(found),
        unshown=tuple(each for part in seen for each in part.unshown),
        bare_path=environ.get("PATH", ""),
        bare_variables=_homes(machine),
    )


def _look_at(text: str, repo: Path | None, machine: Machine) -> _Seen:
    folder = Path(text)
    if not folder.is_absolute():
        return _refused(text or ".", "it is relative to wherever a command runs", Path.cwd() / text)
    if not folder.is_dir() or folder.resolve() in _SYSTEM_PATH:
        return _Seen()
    if reason := reason_against(folder, machine.home, repo):
        return _refused(text, reason, folder)
    place = Place(folder, folder.resolve())
    answers = (layout(place, machine) for layout in _LAYOUTS)
    found = next((each for each in answers if each is not None), None)
    if found is None:
        if any(place.real.is_relative_to(each) for each in _SYSTEM):
            return _Seen((Toolchain("programs", "", (place.real,), ()),))
        return _Seen(unshown=(Unshown(text, programs=_programs_in(folder)),))
    return _trusted(text, found, repo, machine)


def _trusted(text: str, found: tuple[Toolchain, ...], repo: Path | None, machine: Machine) -> _Seen:
    """Return the toolchains whose own folders can be trusted, which may lie elsewhere."""
    kept, refused = [], []
    for each in found:
        paths = dict.fromkeys((*each.path, *each.read))
        reasons = ((path, reason_against(path, machine.home, repo)) for path in paths)
        path, reason = next(((path, why) for path, why in reasons if why), (None, ""))
        if path is None:
            kept.append(each)
        else:
            programs = _programs_in(each.path[0])
            refused.append(Unshown(text, f"{path}: {reason}", programs or (each.name,)))
    return _Seen(tuple(kept), tuple(refused))


def _refused(text: str, reason: str, folder: Path) -> _Seen:
    return _Seen(unshown=(Unshown(text, reason, _programs_in(folder)),))


def _programs_in(folder: Path) -> tuple[str, ...]:
    there = set(programs_in(folder))
    return tuple(name for name in BUILD_TOOLS if name in there)


def _java_home(repo: Path | None, machine: Machine) -> Iterator[Toolchain]:
    """Yield the JDK that JAVA_HOME names, which need not be on PATH."""
    named = Path(machine.environ.get("JAVA_HOME", ""))
    if named.is_absolute() and is_jdk(named) and not reason_against(named, machine.home, repo):
        yield jdk_in(named.resolve())


def _distinct(toolchains: tuple[Toolchain, ...]) -> tuple[Toolchain, ...]:
    """Return each toolchain once; two folders of PATH may lead to the same one."""
    distinct: dict[object, Toolchain] = {}
    for each in toolchains:
        distinct.setdefault((each.name, each.path), each)
    return tuple(distinct.values())


def _homes(machine: Machine) -> Mapping[str, str]:
    places = {name: machine.folder(name, *usual.split("/")) for name, usual in _HOMES.items()}
    homes = {name: str(place) for name, place in places.items() if place.is_dir()}
    java = machine.environ.get("JAVA_HOME", "")
    return {**homes, "JAVA_HOME": java} if java else homes


def hidden_programs(toolchains: Toolchains) -> Mapping[str, Hidden]:
    """Return the programs in the folders of PATH that commands do not see, by their names."""
    hidden: dict[str, Hidden] = {}
    for each in toolchains.unshown:
        folder = Path(each.folder)
        if folder.is_absolute():
            for name in programs_in(folder):
                program = folder / name
                hidden.setdefault(name, Hidden(program, each.reason, needed_beside(program)))
    return hidden


def programs_in(folder: Path) -> Iterator[str]:
    """Yield the names of the programs in a folder; none where it cannot be read."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in itertools.islice(entries, _MOST_PROGRAMS):
            if entry.is_file() and os.access(entry.path, os.X_OK):
                yield entry.name


def with_named(toolchains: Toolchains, folders: tuple[Path, ...]) -> Toolchains:
    """Return the toolchains with the folders that the user names, which come first on PATH.

    Raises `InvalidInput` for one that is not a folder.
    """
    for each in folders:
        if not each.is_dir():
            raise InvalidInput(
                f"the sandbox cannot show {each}: it is not a folder",
                "correct --sandbox-path or the setting `sandbox.path`",
            )
    places = {str(each) for each in folders}
    shown = (Toolchain("programs", "", (each,), (each,)) for each in folders)
    return replace(
        toolchains,
        named=folders,
        found=(*shown, *toolchains.found),
        unshown=tuple(each for each in toolchains.unshown if each.folder not in places),
    )
