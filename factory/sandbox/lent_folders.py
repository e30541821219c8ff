"""Lends folders to commands: build caches, and folders of the checkout.

A cache of Go is addressed by what went into each entry, but nothing keeps a command from writing
a false entry, which a later `go test` would believe. So an attempt begins with the seed alone.

Go compiles its standard library itself, which takes most of a minute of a small machine's time. So
the packages that a repo imports are compiled once and kept for later runs. Only Go's own code is
compiled, from a folder that holds nothing else, so this needs no sandbox. What a lock names is kept
in the same way, but compiled in one.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Final, TypeAlias

from shared.errors import CommandFailed
from shared.processes.process import ProgramMissing, ToolFailed, run_tool


def put_aside(folder: Path, aside: Path) -> None:
    """Move a folder that a command has filled into the folder `aside`, under a new name."""
    regain(folder)
    folder.rename(Path(tempfile.mkdtemp(dir=aside)) / folder.name)


def regain(folder: Path) -> None:
    """Restore the owner's rights on a folder, which a command may have removed."""
    mode = folder.stat().st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        folder.chmod(mode | stat.S_IRWXU)


_Facts: TypeAlias = tuple[int, int, int, int]
# Go searches the whole cache for old entries where this file does not say that it did so lately.
_TRIMMED = "trim.txt"


class SeededCache:
    """Hold a writable cache folder. `restore` makes it equal to the seed, by copying what differs.

    Files are never hard links to the seed, because commands may write to them.
    """

    def __init__(self, folder: Path, seed: Path | None, *, trims: bool = True) -> None:
        """Take the folder, its seed, and whether Go `trims` it from time to time."""
        self._folder = folder
        self._seed = seed
        self._trims = trims
        # Cargo compiles anew what is older than what it was made of, so all have the same time.
        self._time = time.time_ns()
        self._files: dict[str, str] | None = None
        self._folders: set[str] = set()
        self._copied: dict[str, _Facts] = {}

    def reseed(self, seed: Path) -> None:
        """Have `restore` make the folder equal to another seed; equal copies stay."""
        self._seed, self._files = seed, None

    def restore(self, aside: Path) -> None:
        """Remove what commands wrote, and put back what they changed.

        No command may be running. Raises OSError if the file system refuses.
        """
        if self._folder.is_symlink() or not self._folder.is_dir():
            self._folder.unlink(missing_ok=True)
            self._folder.mkdir(mode=0o700)
        if self._files is None:  # a later run may remove the seed; what was copied of it stays
            self._files = _files_of(self._seed) if self._seed else {}
            self._folders = {str(each) for name in self._files for each in PurePath(name).parents}
        expected = self._files
        there = self._keep_known("", self._folders, aside)
        for name, source in expected.items():
            if name not in there:
                self._copy(name, source)
        if expected and self._trims:
            (self._folder / _TRIMMED).write_text(str(int(time.time())))

    def _keep_known(self, inside: str, folders: set[str], aside: Path) -> set[str]:
        """Remove all but unchanged copies, and return the names of those; no link is followed."""
        here = self._folder / inside
        regain(here)
        kept = set()
        for entry in tuple(os.scandir(here)):
            name = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_dir(follow_symlinks=False):
                if name in folders:
                    kept |= self._keep_known(name, folders, aside)
                else:
                    put_aside(Path(entry.path), aside)
            elif name in self._copied and _facts_of(entry.path) == self._copied[name]:
                kept.add(name)
            else:
                Path(entry.path).unlink()
        return kept

    def _copy(self, name: str, source: str) -> None:
        place = self._folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(source, place)  # with its mode: a build script is run
            os.utime(place, ns=(self._time, self._time))
            self._copied[name] = _facts_of(place)


_MOST_DEEP: Final = 16


def _files_of(seed: Path) -> dict[str, str]:
    """Return the regular files of a seed, or of a cache, by their names in it.

    A link, and what is nested too deep or may not be read, is left out.
    """
    found: dict[str, str] = {}
    waiting = [""]
    while waiting:
        here = waiting.pop()
        with contextlib.suppress(FileNotFoundError, PermissionError):
            for entry in os.scandir(seed / here):
                if entry.is_file(follow_symlinks=False) and entry.name != _TRIMMED:
                    found[here + entry.name] = entry.path
                elif entry.is_dir(follow_symlinks=False) and here.count("/") < _MOST_DEEP:
                    waiting.append(f"{here}{entry.name}/")
    return found


_MOST_BYTES: Final = 4 * 1024**3


def keep_files(cache: Path, folder: Path) -> bool:
    """Copy the regular files of a cache, which commands filled, to the new seed `folder`.

    Commands may have left links to files that only llmch may read, FIFOs, modes and depths that
    stop whoever copies them: none of them is in a seed. Return whether there is room for them.
    Raises OSError if the file system refuses.
    """
    files = {each: path for each, path in _files_of(cache).items() if os.access(path, os.R_OK)}
    if sum(os.lstat(each).st_size for each in files.values()) > _MOST_BYTES:
        return False
    for name, path in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        place.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
    return True


def _facts_of(path: str | Path) -> _Facts:
    """Return facts that differ once the file has been written to; the last cannot be set back."""
    facts = os.lstat(path)
    regular = stat.S_ISREG(facts.st_mode)
    return (facts.st_ino if regular else -1, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


SEED_SECONDS = 600.0
"""The limit for compiling a seed; the whole standard library takes a minute of one core."""

_ALWAYS: Final = frozenset(("errors", "fmt", "os", "strings", "testing"))
_IMPORTS: Final = re.compile(r"^import\s*(?:\(([^)]*)\)|([^\n(]*))", re.MULTILINE)
_QUOTED: Final = re.compile(r'"([a-z][a-z0-9]*(?:/[a-z0-9]+)*)"')
_REQUIRED: Final = re.compile(r'"([a-z0-9][a-z0-9-]*\.[a-z0-9.-]+(?:/[\w.~-]+)*)"')
_SEED: Final = re.compile("[0-9a-f]{64}-[0-9a-f]{64}")
_MOST_KEPT: Final = 8
"""How many seeds are kept; one of Go's library has up to 150 MB."""


def standard_imports(sources: Iterable[str], go: Path) -> frozenset[str]:
    """Return the packages of the standard library that Go sources import.

    `go` is the program. A name counts only where Go has a folder of that name, so a repo cannot
    have anything else compiled.
    """
    root = go.resolve().parent.parent / "src"
    names = _imports(sources, _QUOTED)
    private = ("internal", "vendor", "cmd")
    public = (each for each in names if not set(each.split("/")) & set(private))
    return frozenset(each for each in public if (root / each).is_dir())


def required_imports(sources: Iterable[str]) -> frozenset[str]:
    """Return the packages of other modules, and of the repo's own, that Go sources import."""
    return frozenset(_imports(sources, _REQUIRED))


def _imports(sources: Iterable[str], form: re.Pattern[str]) -> set[str]:
    found = (each for text in sources for each in _IMPORTS.findall(text))
    return {name for imported in found for name in form.findall("".join(imported))}


WITHOUT_C: Final = "CGO_ENABLED=0"
"""Among the names of packages, it has the seed hold what commands with this setting compile."""


def go_seed(go: Path, path: str, packages: frozenset[str], kept: Path) -> Path:
    """Return a folder below `kept` that holds the compiled `packages`, made where it is missing.

    `path` is the PATH that commands have, because the C compiler on it is part of what is cached.
    With `WITHOUT_C` among the packages, they are compiled without C as well: `net` and what
    imports it differ. Raises `CommandFailed` if Go refuses or takes too long.
    """
    folder = _go_folder(go, packages, kept)
    return kept_seed(folder, lambda: _make(go, path, sorted(packages | _ALWAYS), folder))


def kept_seed(folder: Path, make: Callable[[], None]) -> Path:
    """Return the seed `folder`, for which `seed_folder` chose the name; `make` makes a missing one.

    Raises what `make` raises, and OSError if the file system refuses.
    """
    kept = folder.parent
    kept.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        with (kept / "go.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be making the seed
            if not folder.is_dir():
                _prune(kept)
                make()
    with contextlib.suppress(FileNotFoundError):  # another run may have removed it since
        os.utime(folder)
    return folder


def seed_folder(kept: Path, by: str, content: str) -> Path:
    """Return where the seed of this `content` is kept. It may begin with another one `by` the same.

    Whoever writes manifests must not find two with the same name, so the hashes are whole.
    """
    return kept / f"{_digest(by)}-{_digest(content)}"


def seed_is_kept(go: Path, packages: frozenset[str], kept: Path) -> bool:
    """Return whether the seed has been made before."""
    return _go_folder(go, packages, kept).is_dir()


def _go_folder(go: Path, packages: frozenset[str], kept: Path) -> Path:
    return seed_folder(kept, _key_of(go), " ".join(sorted(packages | _ALWAYS)))


def _key_of(go: Path) -> str:
    """Return a key of this Go, which an update changes."""
    real = go.resolve()
    facts = real.stat()
    return f"{real} {facts.st_size} {facts.st_mtime_ns}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _make(go: Path, path: str, packages: list[str], folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="making-") as making:
        module, cache = Path(making, "module"), Path(making, "cache")
        module.mkdir()
        (module / "go.mod").write_text("module seed\n")
        imported = (each for each in packages if each not in ("testing", WITHOUT_C))
        imports = "".join(f'import _ "{each}"\n' for each in imported)
        test = 'import "testing"\n\nfunc TestNothing(*testing.T) {}\n'
        (module / "seed_test.go").write_text(f"package seed\n\n{imports}{test}")
        for most in most_alike(folder):
            shutil.copytree(most, cache)  # what it lacks is added
        env = {
            "PATH": path,
            "HOME": making,
            "GOCACHE": str(cache),
            "GOENV": "off",
            "GOFLAGS": "-buildvcs=false -mod=mod",
            "GOPROXY": "off",
            "GOTELEMETRY": "off",
            "GOTOOLCHAIN": "local",
            "LC_ALL": "C",
        }
        _compile(go, module, env, "test", "-run", "^$", ".")
        _compile(go, module, env, "vet", ".")  # it has more checks than those of `go test`
        if WITHOUT_C in packages:
            _compile(go, module, {**env, "CGO_ENABLED": "0"}, "test", "-run", "^$", ".")
        cache.rename(folder)


def _compile(go: Path, module: Path, env: Mapping[str, str], *words: str) -> None:
    argv = [str(go), *words]
    try:
        done = run_tool(argv, cwd=module, env=env, timeout_seconds=SEED_SECONDS)
    except (ProgramMissing, ToolFailed) as error:
        raise CommandFailed(str(error)) from error
    if done.timed_out or done.exit_code:
        said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()[-500:]
        raise CommandFailed(said or f"it did not end within {SEED_SECONDS:g} s")


def most_alike(folder: Path) -> list[Path]:
    """Return the newest seed that was made by the same, if there is one."""
    key = folder.name.partition("-")[0]
    return sorted(folder.parent.glob(f"{key}-*"), key=lambda each: each.stat().st_mtime)[-1:]


def _prune(kept: Path) -> None:
    seeds = [each for each in kept.iterdir() if _SEED.fullmatch(each.name)]
    seeds.sort(key=lambda each: each.stat().st_mtime)
    # Nobody else makes one now, so these are what a killed run was making.
    for each in (*seeds[: -_MOST_KEPT + 1], *kept.glob("making-*")):
        with contextlib.suppress(RecursionError):  # commands may have filled it
            shutil.rmtree(each, ignore_errors=True)


_COPY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Linked:
    """Map the real folder or file `source` to the `path` in the workspace where commands find it.

    `leads_back` says that it holds links to folders beside it, such as the packages of the same
    repo. In the workspace they must lead to the workspace's folders.
    """

    path: str
    source: Path
    leads_back: bool = False

    @property
    def is_file(self) -> bool:
        return self.source.is_file()


def package_links(folder: Path) -> tuple[Path, ...]:
    """Return the packages in `node_modules` that are links.

    Package managers put them at the top of the folder, or one deeper for a scope (`@scope/x`).
    """
    with contextlib.suppress(OSError):
        scopes = [each for each in sorted(folder.iterdir()) if each.name.startswith("@")]
        entries = [*sorted(folder.iterdir())]
        for scope in scopes:
            if not scope.is_symlink() and scope.is_dir():
                entries.extend(sorted(scope.iterdir()))
        return tuple(each for each in entries if each.is_symlink())
    return ()


def target_of(link: Path) -> Path:
    """Return where a link leads, without following it any further."""
    return Path(os.path.normpath(link.parent / link.readlink()))


def linked_modules(path: str, source: Path) -> Linked:
    """Return `node_modules` at `source` as the folder that commands find at `path`."""
    leads_back = any(not target_of(each).is_relative_to(source) for each in package_links(source))
    return Linked(path, source, leads_back)


class Placement(StrEnum):
    """Say how a backend shows a folder at another place."""

    MOUNT = "mount"  # the sandbox mounts it on an empty folder, below a layer for what is written
    SYMLINK = "symlink"  # a folder of links: the kernel refuses writes to what these lead to; one
    # that leads back is copied, because its links would lead to folders beside the original
    COPY = "copy"  # nothing would refuse a write, so commands get a copy without write permission


class LinkedFolders:
    """Hold the linked folders of one workspace. Several threads may use it."""

    def __init__(
        self, folders: Sequence[Linked], workspace: Path, placement: Placement, aside: Path
    ) -> None:
        self._folders = folders
        self._workspace = workspace
        self._placement = placement
        self._aside = aside
        self._copied: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def ensure(self) -> None:
        """Put each folder in its place unless it is there already.

        No command may be running. Raises `CommandFailed` if the file system reports an error.
        """
        with self._lock:
            for each in self._folders:
                try:
                    self._ensure(each)
                except OSError as error:
                    raise _refused(each, error.strerror or str(error)) from error

    def real_path(self, name: str) -> Path:
        """Return the host's path of the file that commands find at `name` in the workspace."""
        path = Path(os.path.normpath(name))
        for each in self._folders:
            if path.is_relative_to(each.path):
                return each.source / path.relative_to(each.path)
        return self._workspace / name

    def _ensure(self, linked: Linked) -> None:
        *parents, name = linked.path.split("/")
        folder = self._workspace
        for parent in parents:
            folder = folder / parent
            _make_folder(folder, self._aside)
        place = folder / name
        placement = self._placement
        if placement is Placement.SYMLINK and linked.leads_back:
            placement = Placement.COPY
        match placement:
            case Placement.MOUNT if linked.is_file:
                _clear(place, self._aside)
                place.touch()
            case Placement.MOUNT:
                if not _is_empty_folder(place):
                    _clear(place, self._aside)
                    place.mkdir()
            case Placement.SYMLINK if linked.is_file:
                _clear(place, self._aside)
                place.symlink_to(linked.source)
            case Placement.SYMLINK:
                wanted = {each.name: each for each in linked.source.iterdir()}
                if _links_in(place) != wanted:
                    _clear(place, self._aside)
                    place.mkdir()
                    for link, target in wanted.items():
                        (place / link).symlink_to(target)
            case Placement.COPY:
                if not os.path.lexists(place) or _identity(place) != self._copied.get(linked.path):
                    _clear(place, self._aside)
                    _copy(linked, place)
                    self._copied[linked.path] = _identity(place)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _links_in(place: Path) -> dict[str, Path | None]:
    """Return what is in a folder by name, with where it leads if it is a link."""
    if not _is_folder(place):
        return {}
    regain(place)
    return {each.name: each.readlink() if each.is_symlink() else None for each in place.iterdir()}


def _is_empty_folder(path: Path) -> bool:
    if not _is_folder(path):
        return False
    regain(path)
    return not any(path.iterdir())


def _identity(folder: Path) -> tuple[int, int]:
    """Return a key that differs between two folders even where an inode number is reused."""
    facts = folder.lstat()
    return facts.st_ino, facts.st_ctime_ns


def _make_folder(path: Path, aside: Path) -> None:
    if _is_folder(path):
        regain(path)
        return
    _clear(path, aside)
    path.mkdir()


def _clear(path: Path, aside: Path) -> None:
    """Remove whatever is at `path`, without following a link."""
    regain(path.parent)
    if _is_folder(path):
        put_aside(path, aside)
    else:
        path.unlink(missing_ok=True)


def _copy(linked: Linked, place: Path) -> None:
    """Copy the folder and remove write permission from the copy, which does not stop root."""
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    for argv in (
        ["cp", "--archive", "--reflink=auto", "--", str(linked.source), str(place)],
        ["chmod", "--recursive", "a-w", "--", str(place)],
    ):
        try:
            done = run_tool(argv, cwd=Path("/"), env=env, timeout_seconds=_COPY_SECONDS)
        except (ProgramMissing, ToolFailed) as error:
            raise _refused(linked, str(error)) from error
        if done.exit_code or done.timed_out:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise _refused(linked, said or f"{argv[0]} did not finish within {_COPY_SECONDS:g} s")


def _refused(linked: Linked, reason: str) -> CommandFailed:
    return CommandFailed(
        f"cannot show {linked.path} of the checkout to commands: {reason}",
        f'remove the cause, or take {linked.path} out of the setting "link"',
    )
