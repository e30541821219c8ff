"""Starts each untrusted command and leaves none of its processes behind.

The warden is a program of its own (`python -I -S warden.py FD`). It has the standard library only,
one thread and an empty environment. So it can fork where a threaded llmch cannot, costs no
interpreter start per command, and holds no secret that a command could find in its parent.

Requests arrive on FD. Each holds two descriptors for output, a control socket, and what else the
command needs. A fork serves it: the command's supervisor. One supervisor is forked in advance and
waits for the next request, so that no command waits for a fork. It reads the job from the control
socket, runs it, and answers with one JSON report. When the command ends, or the other side
of the socket closes (deadline, interrupt, death of llmch), the supervisor kills every descendant:
as their subreaper it inherits even those that left their session. When a supervisor itself is
killed, the warden inherits the processes that it leaves.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Set
from typing import NoReturn, TypedDict

REQUEST_FDS = 3  # stdout, stderr, control; further ones are the job's own
MAX_FDS = 8
_PID_BYTES = 4

# linux/prctl.h, linux/capability.h, asm-generic/unistd.h, asm-generic/ioctls.h
_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_SYS_LANDLOCK_RESTRICT_SELF = 446
_TIOCSCTTY = 0x540E

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)


class WardenJob(TypedDict):
    """Describe what to run; as JSON text it comes first on the control socket."""

    program: str  # absolute path
    argv: list[str]
    cwd: str
    env: dict[str, str]
    rlimits: list[tuple[int, int, int]]  # resource, soft, hard
    confine: bool  # by a Landlock ruleset, which is the job's first descriptor
    seccomp: str  # BPF program in hexadecimal, or empty
    terminal: bool  # stdout is a terminal, for this job alone


class Report(TypedDict):
    """Report how a job went. After a `failure` to start the program, `status` means nothing."""

    failure: str
    not_found: bool
    status: int  # as waitpid gives it


def main() -> None:
    """Keep a supervisor for the next request, until the other side closes the socket."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    # A fork copies each page that it writes to, and a collection writes to all of them.
    gc.disable()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # so that it writes to the wakeup descriptor
    wake = _wake_when_children_end()
    taken, taken_write = os.pipe2(os.O_CLOEXEC)
    poll = select.poll()
    poll.register(requests, 0)  # its end alone
    poll.register(taken, select.POLLIN)
    poll.register(wake, select.POLLIN)
    supervisors: set[int] = set()
    idle = 0
    while True:
        if idle not in supervisors:
            idle = _fork_supervisor(requests, taken_write, (wake, taken))
            supervisors.add(idle)
        ready = [fd for fd, _ in poll.poll()]
        if wake in ready:
            os.read(wake, 4096)
            _end_orphans(supervisors)
        if taken in ready:
            # It may have ended and been reaped by now, and another one may be idle.
            idle = 0 if int.from_bytes(os.read(taken, _PID_BYTES), "little") == idle else idle
        elif requests.fileno() in ready:
            return


def _fork_supervisor(requests: socket.socket, taken: int, wardens: tuple[int, ...]) -> int:
    """Return a process that serves one request, and writes its id when it has taken that."""
    warden = os.getpid()
    if pid := os.fork():
        return pid
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # nobody would inherit from it
    if os.getppid() != warden:
        os._exit(1)
    for fd in wardens:
        os.close(fd)
    if fds := _receive(requests):
        _prctl(_PR_SET_PDEATHSIG, 0)
        os.write(taken, os.getpid().to_bytes(_PID_BYTES, "little"))
        os.close(taken)
        requests.close()
        _supervise(fds)
    os._exit(0)


def _receive(requests: socket.socket) -> list[int]:
    _, fds, _, _ = socket.recv_fds(requests, 1, MAX_FDS)
    for fd in fds:  # recv_fds takes MSG_CMSG_CLOEXEC and, in Python 3.11, forgets it
        os.set_inheritable(fd, False)
    return fds


def _end_orphans(supervisors: set[int]) -> None:
    """Reap the children that have ended; kill what a supervisor left that did not end normally.

    Each orphan that dies leads to another call, so what an orphan forks meanwhile is killed too.
    """
    ended = _reap()
    failed = any(pid not in supervisors or status != 0 for pid, status in ended.items())
    supervisors.difference_update(ended)
    if failed:
        _kill(_living_descendants(supervisors))


def _wake_when_children_end() -> int:
    """Return a descriptor that has something to read when a child has ended."""
    wake, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(write)
    return wake


def _supervise(fds: list[int]) -> NoReturn:
    code = 1
    try:
        control = socket.socket(fileno=fds[2])
        report = _run(_read_job(control), control, fds)
        with contextlib.suppress(OSError):  # llmch may be gone
            control.sendall(json.dumps(report).encode() + b"\n")
        code = 0
    finally:
        os._exit(code)


def _read_job(control: socket.socket) -> WardenJob:
    size = int.from_bytes(control.recv(4, socket.MSG_WAITALL), "little")
    job: WardenJob = json.loads(control.recv(size, socket.MSG_WAITALL))
    return job


def _run(job: WardenJob, control: socket.socket, fds: list[int]) -> Report:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake = _wake_when_children_end()
    failed, failed_write = os.pipe2(os.O_CLOEXEC)
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(job, fds, supervisor, failed_write)
    os.close(failed_write)
    for fd in (*fds[:2], *fds[REQUEST_FDS:]):  # while they are open here, the output does not end
        os.close(fd)
    failure = _read_all(failed)
    status = _wait(pid, control, wake)
    status = _end_tree(wake).get(pid, status)
    return Report(
        failure=failure.partition(b" ")[2].decode("utf-8", "replace"),
        not_found=failure.startswith(b"%d " % errno.ENOENT),
        status=status,
    )


def _read_all(fd: int) -> bytes:
    data = b""
    while piece := os.read(fd, 4096):
        data += piece
    os.close(fd)
    return data


def _wait(pid: int, control: socket.socket, wake: int) -> int:
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if any(fd != wake for fd, _ in poll.poll()):
            return signal.SIGKILL
        os.read(wake, 4096)


def _end_tree(wake: int) -> dict[int, int]:
    """Kill every descendant, and return the wait statuses of those that were reaped.

    All are killed before any is reaped. Dead processes count against the limit on processes until
    they are reaped, so a fork bomb cannot refill the gaps.
    """
    ended: dict[int, int] = {}
    pause = 0.001
    while _has_children():
        while living := _living_descendants():
            _kill(living)
            if select.select([wake], [], [], pause)[0]:
                os.read(wake, 4096)
            pause = min(2 * pause, 0.1)  # a process that hangs in the kernel must not cost a core
        ended |= _reap()
    return ended


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _reap() -> dict[int, int]:
    """Wait for every child that is dead already, and return the wait statuses."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            ended[dead[0]] = dead[1]
    return ended


def _living_descendants(sparing: Set[int] = frozenset()) -> list[int]:
    """Return all living descendants except `sparing` and the descendants of those."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) not in sparing:
            with contextlib.suppress(OSError):
                parent = _living_parent(entry.name)
                children.setdefault(parent, []).append(int(entry.name))
    found = children.get(os.getpid(), [])
    for pid in found:  # grows while it is walked
        found += children.get(pid, [])
    return found


def _living_parent(name: str) -> int:
    """Return the parent of a process that can still run, or 0 for one that cannot."""
    with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  # pathlib is slow to import
        fields = file.read().rpartition(b")")[2].split()  # a name may have brackets
    state, parent, threads = fields[0], int(fields[1]), int(fields[17])
    # A process whose first thread has left looks dead while its other threads run on.
    return 0 if state in b"ZX" and threads <= 1 else parent


def _become(job: WardenJob, fds: list[int], supervisor: int, failed: int) -> NoReturn:
    """Turn this fork into the command, or report through `failed` why that is not possible."""
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
        own = fds[REQUEST_FDS:]
        # These numbers are out of the way of those where the command finds its descriptors.
        failed, *own = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (failed, *own))
        ruleset = own.pop(0) if job["confine"] else -1
        for number, fd in enumerate((*fds[:2], *own), start=1):
            os.dup2(fd, number)
        if job["terminal"]:
            os.dup2(1, 0)
            fcntl.ioctl(0, _TIOCSCTTY, 0)
        os.chdir(job["cwd"])
        for kind, soft, hard in job["rlimits"]:
            _limit(kind, soft, hard)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        if job["confine"]:
            _confine(ruleset, bytes.fromhex(job["seccomp"]))
        os.execve(job["program"], job["argv"], job["env"])  # noqa: S606  # runs it without a shell
    except (OSError, ValueError) as error:  # ValueError: a NUL or a lone surrogate
        code = error.errno if isinstance(error, OSError) else None
        os.write(failed, b"%d %s" % (code or 0, str(error).encode("utf-8", "replace")))
    finally:
        os._exit(127)


def _limit(kind: int, soft: int, hard: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:  # which is -1
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


def _confine(ruleset: int, program: bytes) -> None:
    """Give up every capability and the way back to them, then enter ruleset and filter."""
    for capability in range(64):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # an ordinary user has none to drop
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _checked(_libc.syscall(_SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0))
    code = ctypes.create_string_buffer(program, len(program))
    filter_ = _Filter(len(program) // 8, ctypes.addressof(code))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(filter_))


class _Filter(ctypes.Structure):
    """Represent struct sock_fprog of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _prctl(option: int, value: int, extra: int = 0) -> None:
    _checked(_libc.prctl(option, value, extra, 0, 0))


def _checked(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
