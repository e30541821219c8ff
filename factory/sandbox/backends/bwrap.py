"""Runs commands in bubblewrap: namespaces with a file system of their own, made from the view."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path

from factory.sandbox.backends import seccomp
from factory.sandbox.commands import limits
from factory.sandbox.commands.runner import Prepared
from factory.sandbox.commands.supervision import Launch
from factory.sandbox.guarantees import Guarantee, Guarantees, holding
from factory.sandbox.linked import Placement
from factory.sandbox.policy import Backend
from factory.sandbox.visible.layout import Layout
from factory.sandbox.visible.mounts import TEMPORARY, mount_arguments

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


class Bubblewrapped:
    """Run commands in namespaces that hold what the policy shows and nothing else."""

    backend = Backend.BWRAP
    placement = Placement.MOUNT

    def __init__(self, layout: Layout, program: Path, version: str) -> None:
        policy = layout.policy
        self.version = version
        self.environment = layout.environment(TEMPORARY)
        self._program = str(program)
        self._cwd = policy.workspace
        self._rlimits = limits.of_each_process(policy.limits)
        self._seccomp = seccomp.inside_namespaces() if seccomp.supported() else b""
        # In the user namespace the limit counts the command's own processes; outside, it
        # counts all of the user's. So a program that bwrap starts sets it.
        prlimit = shutil.which("prlimit", path="/usr/bin:/bin")
        bound = (prlimit, f"--nproc={policy.limits.processes}", "--") if prlimit else ()
        self._arguments = (
            *_NAMESPACES,
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
                self._program,
                ("bwrap", *self._arguments_for(terminal), program, *argv[1:]),
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
    isolated = layout.policy.network == "none" and seccomp.supported()  # else AF_VSOCK is open
    lacking = {
        Guarantee.NETWORK: not isolated,
        Guarantee.UNIX_SOCKETS: not isolated,  # abstract names belong to the network namespace
        Guarantee.PROCESS_LIMIT: os.geteuid() == 0 or not limited,  # never applies to root
    }
    return holding(*(each for each in Guarantee if not lacking.get(each, False)))
