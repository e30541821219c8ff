"""Prepares what a tree declares, and chooses the Python of commands.

A repo that was fetched as an archive can contain anything, also in folders that git ignores. So an
environment is only used if the program that it starts, and the folder that it loads its library
from, lie outside of the repo.

Only `--deps auto` prepares anything, because this uses the network. The languages read manifests
and choose the installer. This module has the folders, the locks between processes, and the
installers' environment.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from factory.preflight import RepoPlace, find_repo, name_paths
from factory.sandbox.visible_files import Interpreter, interpreter_of, virtual_root
from factory.workbench.leftovers import discard
from factory.workbench.tree import NotReadable, Tree
from factory.workbench.workspace import dependencies_root
from shared.errors import EnvironmentFault, InvalidInput, LlmchError
from shared.git import trees
from shared.languages.language_tools import ManifestFiles, Prepared, Workshop
from shared.languages.registry import LANGUAGES
from shared.processes.process import ProgramMissing, ToolFailed, run_tool
from shared.work_order.parse_order import sha256_bytes

_FOLDERS: Final = (".venv", "venv")
_LONGEST_CONFIG: Final = 64 * 1024  # bytes of a pyvenv.cfg, which has a few lines
# Every new environment has these; an environment with nothing else was not filled yet.
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
    nothing installed, is left out, and the reason says so. Raises `InvalidInput` if no program
    has the given name.
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
        # What is asked of this git runs no filter, so nobody has to look for those of the repo.
        return None if repo is None else find_repo(repo, allow_repo_filters=True)
    except LlmchError:
        return None  # the run says it in its own words


def _ignored(place: RepoPlace, folders: list[str]) -> frozenset[str]:
    """Return those folders that git ignores, or in which it ignores everything."""
    inside = {f"{folder}/pyvenv.cfg": folder for folder in folders}
    try:
        found = trees.ignored(place.git, (*folders, *inside)) if folders else frozenset()
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
    with config.open("rb") as file:
        text = file.read(_LONGEST_CONFIG).decode("utf-8", "replace")
    pairs = (line.partition("=") for line in text.splitlines())
    homes = [value.strip() for key, _, value in pairs if key.strip().lower() == "home"]
    return Path(homes[0]) if len(homes) == 1 and Path(homes[0]).is_absolute() else None


def _has_packages(folder: Path) -> bool:
    names = (path.name for path in folder.glob("lib/python3*/site-packages/*"))
    return any(not name.startswith(_INSTALLERS) and name != "__pycache__" for name in names)


_NOTHING: Final = "--deps auto found nothing to install: no manifest of the repo declares packages."


def prepare(files: ManifestFiles, workshop: Workshop) -> Prepared:
    """Return all that the tree's manifests come to; equal manifests are prepared once.

    Raises `InvalidInput` for a manifest or a lock that is not followed, and `EnvironmentFault`
    if an installer fails, for example because a registry cannot be reached.
    """
    prepared = Prepared()
    for language in LANGUAGES:
        if language.dependencies is not None:
            prepared = prepared.joined(language.dependencies.prepare(files, workshop))
    return prepared if prepared != Prepared() else Prepared(notes=(_NOTHING,))


# A lock of 3,000 packages takes 2 MB; a manifest that a person keeps is far shorter.
_LONGEST: Final = 16 * 1024 * 1024
_MOST_FILES: Final = 500


@dataclass(frozen=True, slots=True)
class Manifests:
    """Implement `ManifestFiles` for the tree at `root`."""

    root: Path
    paths: tuple[str, ...]

    @classmethod
    def of(cls, root: Path, tracked: Iterable[str] = ()) -> Manifests:
        """Return the manifests among the tracked files, and those in the root folder itself."""
        try:
            here = [entry.name for entry in root.iterdir()]
        except OSError:
            here = []
        found = sorted(set(manifests_among((*tracked, *here))))
        return cls(root, tuple(found[:_MOST_FILES]))

    def named(self, name: str) -> tuple[str, ...]:
        """Return the paths of all files of this name, the outermost first."""
        found = (path for path in self.paths if path.rpartition("/")[2] == name)
        return tuple(sorted(found, key=lambda path: (path.count("/"), path)))

    def text(self, path: str) -> str | None:
        """Return the text of a regular file; `None` for a missing file, or one behind a link.

        Raises `InvalidInput` for a file that is too large or is not UTF-8.
        """
        data = self._bytes(path)
        if data is None:
            return None
        if len(data) > _LONGEST:
            raise InvalidInput(f"{path} is over {_LONGEST} bytes", "shorten it")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8", "correct it") from error

    def fingerprint(self) -> str:
        """Return a hash of all the files, which changes when one of them does."""
        parts = (f"{path}\0{sha256_bytes(self._bytes(path) or b'')}" for path in self.paths)
        return sha256_bytes("\n".join(parts).encode("utf-8", "surrogateescape"))

    def _bytes(self, path: str) -> bytes | None:
        if any(part in ("", ".", "..") for part in path.split("/")):
            return None
        try:
            return Tree(self.root.resolve()).read(path, _LONGEST + 1)
        except (NotReadable, OSError, ValueError):
            return None


def manifests_among(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that are manifests or locks of any language, by their names."""
    known = [each.dependencies for each in LANGUAGES if each.dependencies is not None]
    for path in paths:
        for each in known:
            if each.is_manifest(path):
                yield path
                break


def kept(cache: Path, key: str, make: Callable[[Path], None]) -> Path:
    """Return the folder below `cache` for `key`; `make` fills it the first time.

    `make` gets a path that does not exist. If it fails, its remains are removed. Another process
    may ask for the same at the same time, and then waits. What nobody has asked for in a month is
    removed. Raises `EnvironmentFault` if the disk refuses, and what `make` raises.
    """
    # Whoever writes manifests must not find two with one name, which takes 2^80 tries. With the
    # whole hash, the first lines of programs would be too long for older kernels.
    folder = cache / sha256_bytes(key.encode())[:40]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = folder / "complete"
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                make(folder)
                _remove_unused(cache)
            done.touch()  # it says when a run last asked for it
    except OSError as error:
        raise EnvironmentFault(
            f"cannot keep the target's dependencies in {cache}: {error.strerror or error}",
            "free space there, or set LLMCH_WORKSPACES to another folder",
        ) from error
    return folder


def _remove_unused(cache: Path) -> None:
    """Remove what no run has asked for in a month, except where another process is about to."""
    for lock in cache.glob("*.lock"):
        folder = lock.with_suffix("")
        # A lock that another process holds is an error here: the next new folder tries again.
        with contextlib.suppress(OSError), lock.open("r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            last = max(_changed(folder), _changed(folder / "complete"))
            if 0 < last < time.time() - _UNUSED_SECONDS:
                discard([folder], beside=cache)


def _changed(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


_UNUSED_SECONDS: Final = 30 * 24 * 3600.0

INSTALL_SECONDS: Final = 900.0
"""The limit for each step of the installation: numeric libraries on a slow line stay below it."""

# Where any client finds programs, its settings, certificates and the way out.
_PASSED_ON: Final = r"PATH|HOME|LANG|(SSL|XDG)_\w+|(https?|no|all)_proxy"

_UNREACHABLE: Final = re.compile(
    r"NewConnectionError|Failed to establish a new connection|Temporary failure in name resolution"
    r"|ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|Could not resolve host|dial tcp"
    r"|error sending request|Failed to connect|Couldn't connect to server|Network is unreachable"
)


class RegistryUnreachable(EnvironmentFault):
    """Say that an installer could not reach a registry, so that no other manifest would help."""


@dataclass(frozen=True, slots=True)
class LocalWorkshop:
    """Implement `Workshop` on this machine.

    Prepared folders are kept below `cache`. `python` is the interpreter of commands, `environ`
    holds the user's variables, and `present` the paths at which commands already find installed
    packages.
    """

    cache: Path
    python: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    present: frozenset[str] = frozenset()

    @property
    def variables(self) -> dict[str, str]:
        """Return those of the user's variables that an installer may have."""
        passed_on = _passed_on()
        return {name: value for name, value in self.environ.items() if passed_on.fullmatch(name)}

    def base_python(self) -> Interpreter:
        """Return the Python of commands, or the one below its virtual environment.

        The packages of an environment may run at start.
        """
        python = self.python.absolute()
        return interpreter_of(python.resolve() if virtual_root(python) else python)

    def elsewhere(self) -> Path:
        """Return the cache, which no tree is in."""
        self.cache.mkdir(parents=True, exist_ok=True)
        return self.cache

    def program(self, name: str) -> str | None:
        """Return the path of a program on the user's PATH; `None` if it is not installed."""
        return shutil.which(name, path=self.environ.get("PATH", os.defpath))

    def kept(
        self,
        key: str,
        make: Callable[[Path], None],
        packages: Mapping[str, str] = MappingProxyType({}),
    ) -> Path:
        return kept(self.cache, key, make)

    def run(
        self, argv: list[str], folder: Path, variables: Mapping[str, str], *, remedy: str
    ) -> str:
        """Run an installer in `folder` and return its standard output.

        Raises `RegistryUnreachable` if it found no registry, and `EnvironmentFault` with its own
        words where it fails otherwise or cannot be started.
        """
        try:
            done = run_tool(argv, cwd=folder, env=variables, timeout_seconds=INSTALL_SECONDS)
        except (ProgramMissing, ToolFailed) as error:
            raise EnvironmentFault(str(error), remedy) from error
        if not done.timed_out and done.exit_code == 0:
            return done.stdout.decode("utf-8", "replace")
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-2000:]
        name = Path(argv[0]).name
        if done.timed_out or _UNREACHABLE.search(said):
            reason = f"no end after {INSTALL_SECONDS:g} s" if done.timed_out else said
            raise RegistryUnreachable(
                f"{name} could not reach the registry of the target's dependencies: {reason}",
                f"look at the network and at the settings of {name}, or {remedy}",
            )
        raise EnvironmentFault(
            f"the target's dependencies could not be installed ({name}): {said}", remedy
        )


class _WouldInstall(Exception):
    """Raised where an installer would be started; the message names what is not there."""


class _DryWorkshop(LocalWorkshop):
    """Implement `Workshop` where only the question is whether anything would be installed."""

    def run(
        self, argv: list[str], folder: Path, variables: Mapping[str, str], *, remedy: str
    ) -> str:
        raise _WouldInstall

    def kept(
        self,
        key: str,
        make: Callable[[Path], None],
        packages: Mapping[str, str] = MappingProxyType({}),
    ) -> Path:
        lacking = list(_lacking(packages, interpreter_of(self.python)))
        if packages and not lacking:
            return self.python
        raise _WouldInstall(name_paths(lacking))


_INSTALLED: Final = re.compile(r"(.+?)-(\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info")


def _lacking(packages: Mapping[str, str], python: Interpreter) -> Iterator[str]:
    """Yield the packages that an interpreter does not have, or in another version than pinned."""
    folders = (each / "lib" for each in python.prefixes)
    found = (path.name for each in folders for path in each.glob("python3*/*-packages/*-info"))
    matches = filter(None, map(_INSTALLED.fullmatch, found))
    there = {re.sub(r"[-_.]+", "-", each[1]).lower(): each[2] for each in matches}
    for name, version in packages.items():
        if name not in there:
            yield name
        elif version and there[name] != version:
            yield f"{name} {version} (not {there[name]})"


HELPS: Final = "pass --deps auto, which installs what is declared and not here"


def is_remembered(repo: Path) -> bool:
    """Return whether the person said once that this repo's packages are to be prepared."""
    place = _place_of(repo)
    return place is not None and _consent(place.common_dir).is_file()


def remember(repo: Path) -> None:
    """Have later runs on this repo prepare its packages. A disk that refuses is ignored."""
    place = _place_of(repo)
    if place is not None:
        with contextlib.suppress(OSError):
            path = _consent(place.common_dir)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def _consent(common_dir: Path) -> Path:
    """Return the file that says yes for a repo. It is the person's: a git folder may be forged."""
    identity = f"{common_dir.resolve()}\0{common_dir.stat().st_ino}"
    name = hashlib.sha256(os.fsencode(identity)).hexdigest()
    return dependencies_root().with_name("deps-auto") / name


def ways_to_prepare(
    files: ManifestFiles, python: Path, present: frozenset[str], *, missed: bool
) -> Iterator[str]:
    """Yield what a person can do about declared packages that commands do not find, if any.

    Nothing is installed, and no program is started. `python` is the interpreter of commands and
    `present` are the paths at which they find packages. `missed` says that a command missed
    something: nothing else shows whether a language without `failures` has all that it needs.
    """
    workshop = _DryWorkshop(Path(), python, present=present)
    for language in LANGUAGES:
        if language.dependencies is None or not (missed or language.failures):
            continue
        try:
            for note in language.dependencies.prepare(files, workshop).notes:
                yield f"prepare it yourself: {note.removesuffix('.')}"
        except _WouldInstall as wanted:
            what = str(wanted) or f"packages of {language.name}"
            yield f"{HELPS}: {what}"
        except LlmchError as error:
            yield f"prepare it yourself, since --deps auto does not: {error.message}"


@cache
def _passed_on() -> re.Pattern[str]:
    known = (each.dependencies.variables for each in LANGUAGES if each.dependencies is not None)
    return re.compile("|".join((_PASSED_ON, *known)), re.IGNORECASE)
