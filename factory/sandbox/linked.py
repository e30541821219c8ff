"""Puts folders of the user's checkout, such as `.venv`, into the workspace of a sandbox."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from factory.sandbox.reclaim import put_aside, regain
from shared.errors import CommandFailed
from shared.process import ToolFailed, ToolMissing, run_tool

_COPY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Linked:
    """Map the real folder `source` to the `path` in the workspace where commands find it.

    `leads_back` says that it holds links to folders beside it, such as the packages of the same
    repo. In the workspace they must lead to the workspace's folders.
    """

    path: str
    source: Path
    leads_back: bool = False


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

    MOUNT = "mount"  # the sandbox mounts it, read-only, on an empty folder
    SYMLINK = "symlink"  # the kernel refuses writes to what the link leads to; a folder that leads
    # back is copied, because its links would lead to folders beside the original
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

        No command may be running. Raises `CommandFailed` where the file system reports an error.
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
            case Placement.MOUNT:
                if not _is_empty_folder(place):
                    _clear(place, self._aside)
                    place.mkdir()
            case Placement.SYMLINK:
                if not (place.is_symlink() and place.readlink() == linked.source):
                    _clear(place, self._aside)
                    place.symlink_to(linked.source)
            case Placement.COPY:
                if not _is_folder(place) or _identity(place) != self._copied.get(linked.path):
                    _clear(place, self._aside)
                    _copy(linked, place)
                    self._copied[linked.path] = _identity(place)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


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
        except (ToolMissing, ToolFailed) as error:
            raise _refused(linked, str(error)) from error
        if done.exit_code or done.timed_out:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise _refused(linked, said or f"{argv[0]} did not finish within {_COPY_SECONDS:g} s")


def _refused(linked: Linked, reason: str) -> CommandFailed:
    return CommandFailed(
        f"cannot show {linked.path} of the checkout to commands: {reason}",
        f'remove the cause, or take {linked.path} out of the setting "link"',
    )
