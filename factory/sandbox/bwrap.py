"""Runs commands in bubblewrap."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from factory.sandbox.landlock import inside_namespaces
from factory.sandbox.landlock import supported as seccomp_supported
from factory.sandbox.lent_folders import Placement
from factory.sandbox.policy import Backend, Guarantee, Guarantees, holding
from factory.sandbox.private_folder import Layout
from factory.sandbox.runner import Prepared
from factory.sandbox.supervision import Launch, of_each_process
from factory.sandbox.visible_files import FOLDERS as HOST_FOLDERS
from factory.sandbox.visible_files import ROOT as HOST_ROOT
from factory.sandbox.visible_files import SandboxView, links_on
from factory.sandbox.visible_files import copy_to as copy_host_files
from shared.processes.process import ProgramMissing, ToolFailed, run_tool

TEMPORARY = Path("/tmp")  # noqa: S108  # inside, it is the private directory
_DEVICES_AND_PROCESSES = (Path("/dev"), Path("/proc"))


@dataclass(frozen=True, slots=True)
class _Mount:
    place: Path
    arguments: tuple[str, ...]


# It mounts each folder below a private layer that takes what commands write. A namespace of its own
# holds the mounts, and the layers are in memory: both end with the command. bwrap has overlays
# itself from 0.11 on only, which most machines do not have yet.
_IN_LAYERS = """set -e
/bin/mount -t tmpfs -o "size=$1,mode=700" tmpfs "$2"
cd "$2"; shift 2; n=0
while [ "$1" != -- ]; do
/bin/mkdir "l$n" "u$n" "w$n" "$n"
/bin/mount --bind "$1" "l$n"
/bin/mount -t overlay -o "lowerdir=l$n,upperdir=u$n,workdir=w$n,userxattr" overlay "$n"
shift; n=$((n+1))
done
shift; exec "$@"
"""
_UNSHARE = Path("/usr/bin/unshare")
_LAYERS_SECONDS = 10.0


def _in_layers(folders: Iterable[Path], place: Path, most_bytes: int) -> tuple[str, ...]:
    """Return what starts a command that finds each folder, writable, at its number in `place`."""
    script = ("/bin/sh", "-c", _IN_LAYERS, "sh", str(most_bytes), str(place))
    alone = (str(_UNSHARE), "--user", "--map-root-user", "--mount")
    return (*alone, *script, *map(str, folders), "--")


@functools.cache
def layers_work() -> bool:
    """Return whether this machine lets a user mount one folder above another."""
    if not _UNSHARE.exists():
        return False
    with tempfile.TemporaryDirectory(prefix="llmch-probe-") as folder:
        argv = [*_in_layers([Path("/usr")], Path(folder), 2**20), "/bin/mkdir", f"{folder}/0/probe"]
        try:
            return not run_tool(
                argv, cwd=Path("/"), env={}, timeout_seconds=_LAYERS_SECONDS
            ).exit_code
        except (ProgramMissing, ToolFailed):
            return False


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
    closed: tuple[str, ...] = ("--remount-ro", str(layout.git.root)) if layout.git else ()
    # Without --remount-ro the root is a writable tmpfs, where a write seems to succeed.
    closed += ("--remount-ro", str(_DEVICES_AND_PROCESSES[0]), "--remount-ro", "/")
    return (*placed, *closed, "--chdir", str(layout.policy.seen))


def _depth(mount: _Mount) -> int:
    return len(mount.place.parts)


def _own_mounts(layout: Layout) -> Iterator[_Mount]:
    policy = layout.policy
    yield _bind(policy.temporary, TEMPORARY, writable=True)
    if policy.place:
        yield _bind(policy.workspace, policy.place, writable=True)
    for place, source in policy.shown.items():
        yield _bind(source, place, writable=False)
    dev, proc = _DEVICES_AND_PROCESSES
    # Its tmpfs has half of the machine's memory, so it is closed, and /dev/shm has a bound.
    shared = ("--size", str(policy.limits.shared_bytes), "--tmpfs", str(dev / "shm"))
    yield _Mount(dev, ("--dev", str(dev), *shared))
    yield _Mount(proc, ("--proc", str(proc)))
    # Root could write to it even without capabilities.
    yield _Mount(Path("/proc/sys"), ("--ro-bind", "/proc/sys", "/proc/sys"))


def _etc_mounts(layout: Layout) -> Iterator[_Mount]:
    view = layout.view
    if view.readable(HOST_ROOT):  # the policy shows the host's /etc
        return
    trees = [each for each in HOST_FOLDERS if each.is_dir()]
    named = [each for each in (*view.read, *view.write) if each.is_relative_to(HOST_ROOT)]
    folder = layout.policy.private / "etc"
    like = layout.policy.like_private
    if like and not named and (like / "etc").is_dir():
        folder = like / "etc"  # no command can write to it
    else:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        copy_host_files(folder, (*trees, *named))
    yield _bind(folder, HOST_ROOT, writable=False)
    for tree in trees:
        yield _bind(tree, tree, writable=False)


def _view_mounts(view: SandboxView) -> Iterator[_Mount]:
    """Yield the mounts of the view: each real path is bound once, the links to it made again."""
    writable = {path.resolve(): False for path in view.read}
    writable |= {path.resolve(): True for path in view.write}
    shown: dict[Path, bool | None] = dict.fromkeys((TEMPORARY, HOST_ROOT, *_DEVICES_AND_PROCESSES))
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
    """Return whether `path` is shown writable; None if the host's `path` is not shown."""
    return next((shown[each] for each in (path, *path.parents) if each in shown), None)


def _bind(source: Path, place: Path, *, writable: bool) -> _Mount:
    return _Mount(place, ("--bind" if writable else "--ro-bind", str(source), str(place)))


def _linked_mounts(layout: Layout) -> Iterator[_Mount]:
    folders = _folders_of(layout)
    for each in layout.policy.linked:
        place = layout.policy.seen / each.path
        if each.is_file:
            yield _bind(each.source, place, writable=False)
            continue
        if layers_work():
            number = folders.index(each.source)
            yield _bind(_layers_of(layout) / str(number), place, writable=True)
            continue
        entries = sorted(each.source.iterdir())
        if len(entries) > _MOST_ENTRIES:
            yield _bind(each.source, place, writable=False)
            continue
        for entry in entries:  # beside them, a command may write into the folder itself
            kind = "--symlink" if entry.is_symlink() else "--ro-bind-try"
            source = entry.readlink() if entry.is_symlink() else entry
            yield _Mount(place / entry.name, (kind, str(source), str(place / entry.name)))


def _folders_of(layout: Layout) -> tuple[Path, ...]:
    return tuple(each.source for each in layout.policy.linked if not each.is_file)


def _layers_of(layout: Layout) -> Path:
    return layout.policy.private / "layers"


def _git_mounts(layout: Layout) -> Iterator[_Mount]:
    pointer = layout.policy.workspace / ".git"
    if pointer.is_file():
        yield _bind(pointer, layout.policy.seen / ".git", writable=False)
    if git := layout.git:
        yield _Mount(git.root, ("--tmpfs", str(git.root)))
        for part in git.parts:  # `git pack-refs` makes and removes some of them
            yield _Mount(part, ("--ro-bind-try", str(part), str(part)))
        yield _bind(git.config, git.root / "config", writable=False)


MINIMUM_VERSION = (0, 8)  # the first with --disable-userns

# The numbers of bwrap's two descriptors: the first after stderr, in the order of `inherit`.
_STATUS_FD = 3
_SECCOMP_FD = 4

_NEW_SESSION = "--new-session"
_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-cgroup-try", "--disable-userns", "--die-with-parent", _NEW_SESSION),
    *("--cap-drop", "ALL"),
)


_MOST_ENTRIES = 100  # of a folder, each a mount: a hundred take 50 ms, and a thousand take seconds


class Bubblewrapped:
    """Run commands in namespaces that hold what the policy shows and nothing else."""

    backend = Backend.BWRAP
    placement = Placement.MOUNT

    def __init__(self, layout: Layout, program: Path, version: str) -> None:
        policy = layout.policy
        self.version = version
        self.environment = layout.environment(TEMPORARY)
        self._start: tuple[str, ...] = (str(program),)
        as_user: tuple[str, ...] = ()
        folders = _folders_of(layout)
        if folders and layers_work():
            layers = _layers_of(layout)
            layers.mkdir(exist_ok=True)
            self._start = (*_in_layers(folders, layers, policy.limits.shared_bytes), *self._start)
            as_user = ("--uid", str(os.getuid()), "--gid", str(os.getgid()))
        self._cwd = policy.workspace
        self._rlimits = of_each_process(policy.limits)
        self._seccomp = inside_namespaces() if seccomp_supported() else b""
        # In the user namespace the limit counts the command's own processes; outside, it
        # counts all of the user's. So a program that bwrap starts sets it.
        prlimit = shutil.which("prlimit", path="/usr/bin:/bin")
        bound = (prlimit, f"--nproc={policy.limits.processes}", "--") if prlimit else ()
        self._arguments = (
            *_NAMESPACES,
            *as_user,
            *(("--unshare-net",) if policy.network == "none" else ()),
            *mount_arguments(layout),
            *("--json-status-fd", str(_STATUS_FD)),
        )
        if self._seccomp:
            self._arguments += ("--seccomp", str(_SECCOMP_FD))
        self._arguments += ("--", *bound)
        self.guarantees = _guarantees(layout, limited=bool(bound))

    def admit_temporary(self) -> None:
        """Do nothing: bwrap mounts the directory that it finds under the name."""

    def _arguments_for(self, terminal: bool) -> tuple[str, ...]:
        # A new session would lose the terminal. It belongs to this command alone, so the command
        # can type into nobody else's.
        if not terminal:
            return self._arguments
        return tuple(each for each in self._arguments if each != _NEW_SESSION)

    @contextlib.contextmanager
    def prepare(
        self, program: str, argv: Sequence[str], *, terminal: bool = False
    ) -> Iterator[Prepared]:
        """Yield the command behind bwrap's arguments; bwrap reports whether the command started."""
        with contextlib.ExitStack() as stack:
            status, status_write = _pipe(stack)
            code, code_write = _pipe(stack)
            code_write.write(self._seccomp)  # a pipe takes a few hundred bytes at once
            code_write.close()
            launch = Launch(
                self._start[0],
                (*self._start, *self._arguments_for(terminal), program, *argv[1:]),
                self._cwd,
                self.environment,
                self._rlimits,
                inherit=(status_write.fileno(), code.fileno()),
            )

            def started() -> bool:
                status_write.close()
                os.set_blocking(status.fileno(), False)  # a leftover process may hold it
                return b'"exit-code"' in (status.read() or b"")

            yield Prepared(launch, started)


def _pipe(stack: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    reading, writing = os.pipe()
    return stack.enter_context(FileIO(reading)), stack.enter_context(FileIO(writing, "w"))


def _guarantees(layout: Layout, *, limited: bool) -> Guarantees:
    isolated = layout.policy.network == "none" and seccomp_supported()  # else AF_VSOCK is open
    lacking = {
        Guarantee.NETWORK: not isolated,
        Guarantee.UNIX_SOCKETS: not isolated,  # abstract names belong to the network namespace
        Guarantee.PROCESS_LIMIT: os.geteuid() == 0 or not limited,  # never applies to root
    }
    return holding(*(each for each in Guarantee if not lacking.get(each, False)))
