"""Builds the arguments of bwrap that make a sandbox's file system."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from factory.sandbox.visible import etc
from factory.sandbox.visible.layout import Layout
from factory.sandbox.visible.view import SandboxView, links_on

TEMPORARY = Path("/tmp")  # noqa: S108  # inside, it is the private directory
_DEVICES_AND_PROCESSES = (Path("/dev"), Path("/proc"))


@dataclass(frozen=True, slots=True)
class _Mount:
    place: Path
    arguments: tuple[str, ...]


def mount_arguments(layout: Layout) -> tuple[str, ...]:
    """Return bwrap's mounts and working directory. Fills the private copy of /etc."""
    # Outer folders come first: mounting a folder hides what was mounted in it before.
    mounts = (
        *_own_mounts(layout),
        *_etc_mounts(layout),
        *_view_mounts(layout.view),
        *_linked_mounts(layout),
        *_git_mounts(layout),
    )
    placed = (each for mount in sorted(mounts, key=_depth) for each in mount.arguments)
    closed = ("--remount-ro", str(layout.git.root)) if layout.git else ()
    # Without --remount-ro the root is a writable tmpfs, where a write seems to succeed.
    return (*placed, *closed, "--remount-ro", "/", "--chdir", str(layout.policy.workspace))


def _depth(mount: _Mount) -> int:
    return len(mount.place.parts)


def _own_mounts(layout: Layout) -> Iterator[_Mount]:
    """Yield the mounts of the sandbox's own /tmp, /dev and /proc."""
    yield _bind(layout.policy.temporary, TEMPORARY, writable=True)
    dev, proc = _DEVICES_AND_PROCESSES
    yield _Mount(dev, ("--dev", str(dev)))
    yield _Mount(proc, ("--proc", str(proc)))
    # Root could write to it even without capabilities.
    yield _Mount(Path("/proc/sys"), ("--ro-bind", "/proc/sys", "/proc/sys"))


def _etc_mounts(layout: Layout) -> Iterator[_Mount]:
    view = layout.view
    if view.readable(etc.ROOT):  # the policy shows the host's /etc
        return
    folder = layout.policy.private / "etc"
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    trees = [each for each in etc.FOLDERS if each.is_dir()]
    named = (each for each in (*view.read, *view.write) if each.is_relative_to(etc.ROOT))
    etc.copy_to(folder, (*trees, *named))
    yield _bind(folder, etc.ROOT, writable=False)
    for tree in trees:
        yield _bind(tree, tree, writable=False)


def _view_mounts(view: SandboxView) -> Iterator[_Mount]:
    """Yield the mounts of the view: each real path is bound once, the links to it made again."""
    writable = {path.resolve(): False for path in view.read}
    writable |= {path.resolve(): True for path in view.write}
    shown: dict[Path, bool | None] = dict.fromkeys((TEMPORARY, etc.ROOT, *_DEVICES_AND_PROCESSES))
    for path in sorted(writable, key=lambda path: len(path.parts)):
        if _nearest(path, shown) is not writable[path]:
            shown[path] = writable[path]
            yield _bind(path, path, writable=writable[path])
    links = {link: target for path in (*view.read, *view.write) for link, target in links_on(path)}
    for link, target in links.items():
        if _nearest(link, shown) is not None:  # it lies in a folder that is shown
            continue
        if link.is_relative_to(TEMPORARY):  # a link made there would stay for the next command
            yield _bind(link.resolve(), link, writable=False)
        else:
            yield _Mount(link, ("--symlink", target, str(link)))


def _nearest(path: Path, shown: Mapping[Path, bool | None]) -> bool | None:
    """Return whether `path` is shown writable; None where the host's `path` is not shown."""
    return next((shown[each] for each in (path, *path.parents) if each in shown), None)


def _bind(source: Path, place: Path, *, writable: bool) -> _Mount:
    return _Mount(place, ("--bind" if writable else "--ro-bind", str(source), str(place)))


def _linked_mounts(layout: Layout) -> Iterator[_Mount]:
    for each in layout.policy.linked:
        yield _bind(each.source, layout.policy.workspace / each.path, writable=False)


def _git_mounts(layout: Layout) -> Iterator[_Mount]:
    pointer = layout.policy.workspace / ".git"
    if pointer.is_file():
        yield _bind(pointer, pointer, writable=False)
    if git := layout.git:
        yield _Mount(git.root, ("--tmpfs", str(git.root)))
        for part in git.parts:  # `git pack-refs` makes and removes some of them
            yield _Mount(part, ("--ro-bind-try", str(part), str(part)))
        yield _bind(git.config, git.root / "config", writable=False)
