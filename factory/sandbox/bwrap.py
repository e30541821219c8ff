"""Bubblewrap: namespaces with a file system of their own, assembled from the view."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from factory.sandbox import limits, seccomp
from factory.sandbox.guarantees import Guarantee, Guarantees, holding
from factory.sandbox.layout import Layout
from factory.sandbox.policy import Backend
from factory.sandbox.runner import Prepared
from factory.sandbox.supervision import Launch
from factory.sandbox.view import View, links_on

MINIMUM_VERSION = (0, 8)  # the first with --disable-userns
_TEMPORARY = Path("/tmp")  # noqa: S108  # inside, it is the private directory

# Where bwrap finds its two descriptors; the first after stderr, in the order of `inherit`.
_STATUS_FD = 3
_SECCOMP_FD = 4

_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL"),
)


class Bubblewrapped:
    """Commands run in namespaces that hold what the policy shows and nothing else."""

    backend = Backend.BWRAP

    def __init__(self, layout: Layout, program: Path, version: str) -> None:
        policy = layout.policy
        self.version = version
        self.environment = layout.environment(_TEMPORARY)
        self._program = str(program)
        self._cwd = policy.workspace
        self._rlimits = limits.of_each_process(policy.limits)
        self._seccomp = seccomp.inside_namespaces() if seccomp.supported() else b""
        # In the user namespace the limit counts the command's own processes, outside of it all
        # of the user's; so it is set by a program that bwrap starts.
        prlimit = shutil.which("prlimit", path="/usr/bin:/bin")
        bound = (prlimit, f"--nproc={policy.limits.processes}", "--") if prlimit else ()
        self._arguments = (*_arguments(layout), "--json-status-fd", str(_STATUS_FD))
        if self._seccomp:
            self._arguments += ("--seccomp", str(_SECCOMP_FD))
        self._arguments += ("--", *bound)
        self.guarantees = _guarantees(layout, limited=bool(bound))

    @contextlib.contextmanager
    def prepare(self, program: str, argv: Sequence[str]) -> Iterator[Prepared]:
        """The command behind bwrap's arguments; bwrap says whether it came to run it."""
        with contextlib.ExitStack() as stack:
            status, status_write = _pipe(stack)
            code, code_write = _pipe(stack)
            code_write.write(self._seccomp)  # a few hundred bytes: a pipe takes them at once
            code_write.close()
            launch = Launch(
                self._program,
                ("bwrap", *self._arguments, program, *argv[1:]),
                self._cwd,
                self.environment,
                self._rlimits,
                inherit=(status_write.fileno(), code.fileno()),
            )

            def started() -> bool:
                status_write.close()
                os.set_blocking(status.fileno(), False)  # a process that is left may hold it
                return b'"exit-code"' in (status.read() or b"")

            yield Prepared(launch, started)


def _pipe(stack: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    reading, writing = os.pipe()
    return stack.enter_context(FileIO(reading)), stack.enter_context(FileIO(writing, "w"))


def _guarantees(layout: Layout, *, limited: bool) -> Guarantees:
    isolated = layout.policy.network == "none"
    lacking = {
        Guarantee.NETWORK: not isolated,
        Guarantee.UNIX_SOCKETS: not isolated,  # abstract names belong to the network namespace
        Guarantee.PROCESS_LIMIT: os.geteuid() == 0 or not limited,  # never applies to root
    }
    return holding(*(each for each in Guarantee if not lacking.get(each, False)))


@dataclass(frozen=True, slots=True)
class _Mount:
    place: Path
    arguments: tuple[str, ...]


def _arguments(layout: Layout) -> tuple[str, ...]:
    """All of the command line that is the same for every command of the policy."""
    isolated = ("--unshare-net",) if layout.policy.network == "none" else ()
    # The outer before the inner, or mounting a folder would hide what was mounted in it before.
    mounts = (*_own_mounts(layout), *_view_mounts(layout.view), *_git_mounts(layout))
    placed = (each for mount in sorted(mounts, key=_depth) for each in mount.arguments)
    closed = ("--remount-ro", str(layout.git.root)) if layout.git else ()
    final = (*closed, "--remount-ro", "/", "--chdir", str(layout.policy.workspace))
    return (*_NAMESPACES, *isolated, *placed, *final)


def _depth(mount: _Mount) -> int:
    return len(mount.place.parts)


def _own_mounts(layout: Layout) -> Iterator[_Mount]:
    """What is not the host's."""
    yield _Mount(_TEMPORARY, ("--bind", str(layout.policy.temporary), str(_TEMPORARY)))
    yield _Mount(Path("/dev"), ("--dev", "/dev"))
    yield _Mount(Path("/proc"), ("--proc", "/proc"))
    # As root it could be written, capabilities or not.
    yield _Mount(Path("/proc/sys"), ("--ro-bind", "/proc/sys", "/proc/sys"))


def _view_mounts(view: View) -> Iterator[_Mount]:
    """The view under its own names: each real place bound once, the links to it made again."""
    writable = {path.resolve(): False for path in view.read}
    writable |= {path.resolve(): True for path in view.write}
    shown: dict[Path, bool | None] = {_TEMPORARY: None, Path("/dev"): None, Path("/proc"): None}
    for path in sorted(writable, key=lambda path: len(path.parts)):
        if _nearest(path, shown) is not writable[path]:
            shown[path] = writable[path]
            yield _bind(path, path, writable=writable[path])
    links = {link: target for path in (*view.read, *view.write) for link, target in links_on(path)}
    for link, target in links.items():
        if link.is_relative_to(_TEMPORARY):  # a link made there would stay for the next command
            yield _bind(link.resolve(), link, writable=False)
        elif _nearest(link, shown) is None:
            yield _Mount(link, ("--symlink", target, str(link)))


def _nearest(path: Path, shown: Mapping[Path, bool | None]) -> bool | None:
    """Whether the place that shows `path` is writable; None where the host's is not shown."""
    return next((shown[each] for each in (path, *path.parents) if each in shown), None)


def _bind(source: Path, place: Path, *, writable: bool) -> _Mount:
    return _Mount(place, ("--bind" if writable else "--ro-bind", str(source), str(place)))


def _git_mounts(layout: Layout) -> Iterator[_Mount]:
    pointer = layout.policy.workspace / ".git"
    if pointer.is_file():
        yield _bind(pointer, pointer, writable=False)
    if git := layout.git:
        yield _Mount(git.root, ("--tmpfs", str(git.root)))
        for part in git.parts:  # some come and go with `git pack-refs`
            yield _Mount(part, ("--ro-bind-try", str(part), str(part)))
        yield _bind(git.config, git.root / "config", writable=False)
