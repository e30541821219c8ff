"""Runs commands under Landlock and a system call filter, or without isolation.

A filter refuses what a namespace or a Landlock ruleset does not cover: sockets of families that
no namespace isolates, keyrings, System V objects, ways around the filter itself.

Landlock needs no privilege and no program, so it works where user namespaces are switched off. It
grants access to a folder and cannot take back access to a part of it; the guarantees say what
does not hold because of that.

Environment, limits and deadline are those of every backend.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import socket
import struct
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from types import MappingProxyType

from factory.sandbox.lent_folders import Placement
from factory.sandbox.policy import Backend, Guarantee, Guarantees, holding
from factory.sandbox.private_folder import Layout
from factory.sandbox.runner import Prepared
from factory.sandbox.supervision import Launch, of_each_process, of_the_user
from factory.sandbox.visible_files import FILES as HOST_FILES
from factory.sandbox.visible_files import FOLDERS as HOST_FOLDERS
from factory.sandbox.visible_files import Pointer

# linux/filter.h, linux/seccomp.h: the offsets are those of struct seccomp_data.
_LOAD = 0x20
_AND = 0x54
_EQUAL = 0x15
_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000  # with the error number in the low bits
_NUMBER = 0
_ARCHITECTURE = 4
_ARGUMENTS = 16

# x32 calls carry this bit. They are the same calls under other numbers, so all are refused.
_X32 = 0x40000000

# CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET of linux/sched.h.
_NEW_NAMESPACES = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000
_NEW_NAMESPACES |= 0x20000000 | 0x40000000


@dataclass(frozen=True, slots=True)
class _Architecture:
    audit: int  # AUDIT_ARCH_* of linux/audit.h
    calls: MappingProxyType[str, int]


_NEWER = {
    "io_uring_setup": 425, "clone3": 435,
    "setxattrat": 463, "getxattrat": 464, "listxattrat": 465, "removexattrat": 466,
}  # fmt: skip
"""The calls that have one number everywhere."""
# fmt: off
_MACHINES = MappingProxyType({
    "x86_64": _Architecture(
        0xC000003E,
        MappingProxyType(dict(
            _NEWER,
            shmget=29, socket=41, clone=56, semget=64, msgget=68, setpriority=141,
            sched_setparam=142, sched_setscheduler=144, setxattr=188, lsetxattr=189,
            getxattr=191, lgetxattr=192, listxattr=194, llistxattr=195, removexattr=197,
            lremovexattr=198, sched_setaffinity=203, mq_open=240, add_key=248, request_key=249,
            keyctl=250, ioprio_set=251, unshare=272, perf_event_open=298, fanotify_init=300,
            prlimit64=302, setns=308, sched_setattr=314, bpf=321, userfaultfd=323,
        )),
    ),
    "aarch64": _Architecture(
        0xC00000B7,
        MappingProxyType(dict(
            _NEWER,
            setxattr=5, lsetxattr=6, getxattr=8, lgetxattr=9, listxattr=11, llistxattr=12,
            removexattr=14, lremovexattr=15, ioprio_set=30, unshare=97, sched_setparam=118,
            sched_setscheduler=119, sched_setaffinity=122, setpriority=140, mq_open=180,
            msgget=186, semget=190, shmget=194, socket=198, add_key=217, request_key=218,
            keyctl=219, clone=220, perf_event_open=241, prlimit64=261, fanotify_init=262,
            setns=268, sched_setattr=274, bpf=280, userfaultfd=282,
        )),
    ),
})
# fmt: on

_UNISOLATED = ("add_key", "request_key", "keyctl", "perf_event_open", "bpf", "userfaultfd")
_SHARED_OBJECTS = ("shmget", "semget", "msgget", "mq_open")
# Landlock has no right for the extended attributes of a path. Programs take this error for a file
# system without any. By a descriptor, they are those of a file that could be opened.
_ATTRIBUTES = tuple(f"{do}xattr" for do in ("set", "lset", "get", "lget", "list", "llist"))
_ATTRIBUTES += ("removexattr", "lremovexattr")
_ATTRIBUTES += ("setxattrat", "getxattrat", "listxattrat", "removexattrat")
# These act on any process of the user, by its id. A thread of the command's own has to say 0.
_ON_ITSELF = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
_IOPRIO_WHO_PROCESS = 1


def supported() -> bool:
    """Return whether this machine's call numbers are known."""
    return platform.machine() in _MACHINES


def inside_namespaces() -> bytes:
    """Return bwrap's filter, which refuses what namespaces leave shared, such as AF_VSOCK."""
    families = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
    return _program(_common(families))


def beside_landlock(*, network: bool) -> bytes:
    """Return Landlock's filter: Landlock covers files, signals and TCP, the filter all else.

    Unix sockets are refused by family, because no Landlock rule covers a path's socket. Pairs of
    connected sockets are made by another call, which is allowed. With bwrap, namespaces hide what
    is refused here.
    """
    families = (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK) if network else ()
    return _program(
        (
            *_common(families),
            *_refuse(_SHARED_OBJECTS, errno.EPERM),
            *_refuse(("unshare", "setns"), errno.EPERM),
            # A filter cannot read its flags in memory; the C library falls back to clone.
            *_refuse(("clone3",), errno.ENOSYS),
            *_only("clone", 0, mask=_NEW_NAMESPACES, allowed=(0,), error=errno.EPERM),
            # On another process it could make that process end.
            *_only("prlimit64", 0, allowed=(0,), error=errno.EPERM),
            *(step for call in _ON_ITSELF for step in _exactly(call, 0)),
            *_exactly("setpriority", os.PRIO_PROCESS, 0),
            *_exactly("ioprio_set", _IOPRIO_WHO_PROCESS, 0),
            *_refuse(_ATTRIBUTES, errno.EOPNOTSUPP),
            *_refuse(("fanotify_init",), errno.EPERM),
        )
    )


def _common(families: Iterable[int]) -> Iterator[bytes]:
    yield from _refuse(_UNISOLATED, errno.EPERM)
    # This call opens sockets and files past any filter.
    yield from _refuse(("io_uring_setup",), errno.ENOSYS)
    yield from _only("socket", 0, allowed=families, error=errno.EACCES)


def _program(rules: Iterable[bytes]) -> bytes:
    machine = _machine()
    return b"".join(
        (
            _step(_LOAD, _ARCHITECTURE),
            _step(_EQUAL, machine.audit, if_true=1),
            _step(_RETURN, _REFUSE | errno.ENOSYS),
            _step(_LOAD, _NUMBER),
            _step(_AT_LEAST, _X32, if_false=1),
            _step(_RETURN, _REFUSE | errno.ENOSYS),
            *rules,
            _step(_RETURN, _ALLOW),
        )
    )


def _refuse(calls: Iterable[str], error: int) -> Iterator[bytes]:
    for call in calls:
        yield _step(_EQUAL, _machine().calls[call], if_false=1)
        yield _step(_RETURN, _REFUSE | error)


def _only(
    call: str, argument: int, *, allowed: Iterable[int], error: int, mask: int = 0xFFFFFFFF
) -> Iterator[bytes]:
    """Allow `call` where the masked argument is one of `allowed`, refuse it otherwise."""
    body = [_step(_LOAD, _ARGUMENTS + 8 * argument), _step(_AND, mask)]
    for value in allowed:
        body += [_step(_EQUAL, value, if_false=1), _step(_RETURN, _ALLOW)]
    body.append(_step(_RETURN, _REFUSE | error))
    yield _step(_EQUAL, _machine().calls[call], if_false=len(body))
    yield from body


def _exactly(call: str, *arguments: int) -> Iterator[bytes]:
    """Allow `call` where its first arguments are these, refuse it otherwise."""
    body: list[bytes] = []
    for left, value in zip(range(len(arguments) - 1, -1, -1), arguments, strict=True):
        body.append(_step(_LOAD, _ARGUMENTS + 8 * (len(arguments) - 1 - left)))
        body.append(_step(_EQUAL, value, if_false=2 * left + 1))
    body += [_step(_RETURN, _ALLOW), _step(_RETURN, _REFUSE | errno.EPERM)]
    yield _step(_EQUAL, _machine().calls[call], if_false=len(body))
    yield from body


def _machine() -> _Architecture:
    return _MACHINES[platform.machine()]


def _step(code: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one struct sock_filter; the jumps count the steps to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, operand)


MINIMUM_ABI = 3  # the first that stops a file from being emptied by truncate
_SIGNALS_ABI = 6

# linux/landlock.h; the numbers of the calls are the same on every architecture.
_CREATE_RULESET = 444
_ADD_RULE = 445
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
_RIGHTS = {3: (1 << 15) - 1, 5: (1 << 16) - 1}  # all rights, by the ABI that knows them
_TCP_ABI = 4
_BIND_AND_CONNECT = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3

_READ_ONLY = _EXECUTE | _READ_FILE | _READ_DIR
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_DEVICE = _WRITE_FILE | _READ_FILE | _IOCTL_DEV

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# These files describe the machine. No file of /proc that belongs to a process is shown.
_FACTS = (
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime"),
    *("/proc/version", "/proc/filesystems", "/proc/sys/kernel/osrelease"),
    "/sys/devices/system/cpu",
)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def abi() -> int:
    """Return the kernel's Landlock ABI. Raises OSError if it has none or it is switched off."""
    return _checked(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG))


class Landlocked:
    """Run commands with the user's identity and a fraction of the user's rights."""

    backend = Backend.LANDLOCK
    placement = Placement.SYMLINK

    def __init__(self, layout: Layout) -> None:
        policy = layout.policy
        level = abi()
        network = policy.network == "host"
        self.version = f"ABI {level}"
        self.guarantees = _guarantees(layout, level)
        self.environment = layout.environment(policy.temporary)
        self._limits = policy.limits
        self._cwd = policy.workspace
        self._seccomp = beside_landlock(network=network)
        self._every = _RIGHTS[5] if level >= 5 else _RIGHTS[3]
        self._temporary = policy.temporary
        self._ruleset = _ruleset(layout, level, self._every, network=network)
        self.admit_temporary()
        weakref.finalize(self, os.close, self._ruleset)
        self._rlimits = of_each_process(policy.limits)

    def admit_temporary(self) -> None:
        """Add the new /tmp to the ruleset, which identifies directories, not paths."""
        _grant(self._ruleset, [self._temporary], self._every)

    @contextlib.contextmanager
    def prepare(
        self, program: str, argv: Sequence[str], *, terminal: bool = False
    ) -> Iterator[Prepared]:
        """Yield the command as it is; its supervisor confines it."""
        launch = Launch(
            program,
            argv,
            self._cwd,
            self.environment,
            (*self._rlimits, *of_the_user(self._limits)),
            ruleset=self._ruleset,
            seccomp=self._seccomp,
        )
        yield Prepared(launch, started=lambda: True)


def _guarantees(layout: Layout, level: int) -> Guarantees:
    policy, view = layout.policy, layout.view
    git_dir = policy.git_dir
    guarded = git_dir is None or (
        Pointer.of(policy.workspace).guarded and not view.writable(git_dir)
    )
    held = {
        Guarantee.FILES: True,
        Guarantee.SECRETS: True,
        Guarantee.GIT_DIR: guarded,
        Guarantee.GIT_CREDENTIALS: git_dir is None or not view.readable(git_dir),
        Guarantee.NETWORK: policy.network == "none",
        Guarantee.UNIX_SOCKETS: True,
        Guarantee.PROCESSES: level >= _SIGNALS_ABI,
        Guarantee.PROCESS_LIMIT: os.geteuid() != 0,
        Guarantee.LIMITS: True,
        Guarantee.NAMESPACES: True,
        Guarantee.SURVIVORS: level >= _SIGNALS_ABI,  # else a command could kill its supervisor
        Guarantee.LOOPBACK: policy.network == "host",
    }
    return holding(*(each for each, holds in held.items() if holds))


def _ruleset(layout: Layout, level: int, every: int, *, network: bool) -> int:
    view = layout.view
    ruleset = _create(every, level, network=network)
    try:
        _grant(ruleset, map(Path, _FACTS), _READ_ONLY)
        _grant(ruleset, map(Path, _DEVICES), _DEVICE & every)
        _grant(ruleset, (*HOST_FILES, *HOST_FOLDERS, *view.read), _READ_ONLY)
        _grant(ruleset, view.write, every)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _create(every: int, level: int, *, network: bool) -> int:
    """Return a ruleset that refuses all that this ABI can; its descriptor is closed on exec."""
    fields = [every]
    if level >= _TCP_ABI:
        fields.append(0 if network else _BIND_AND_CONNECT)
    if level >= _SIGNALS_ABI:
        fields.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    size = ctypes.c_size_t(len(attributes))
    return _checked(_libc.syscall(_CREATE_RULESET, attributes, size, 0))


def _grant(ruleset: int, paths: Iterable[Path], rights: int) -> None:
    for path in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            allowed = rights if S_ISDIR(os.fstat(place).st_mode) else rights & _OF_A_FILE
            rule = struct.pack("=Qi", allowed, place)
            _checked(_libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
        finally:
            os.close(place)


def _checked(result: int) -> int:
    if result >= 0:
        return result
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EOPNOTSUPP):
        raise OSError(number, "the kernel has no Landlock, or it is not switched on (lsm=)")
    raise OSError(number, os.strerror(number))


class Bare:
    """Run commands with the user's own rights."""

    backend = Backend.OFF
    placement = Placement.COPY
    version = ""
    guarantees: Guarantees = holding(
        Guarantee.LIMITS, Guarantee.LOOPBACK, Guarantee.MULTIPROCESSING
    )

    def __init__(self, layout: Layout) -> None:
        self._cwd = layout.policy.workspace
        self._rlimits = of_each_process(layout.policy.limits)
        self.environment = layout.bare_environment()

    def admit_temporary(self) -> None:
        """Do nothing: the command's access was never restricted."""

    @contextlib.contextmanager
    def prepare(
        self, program: str, argv: Sequence[str], *, terminal: bool = False
    ) -> Iterator[Prepared]:
        launch = Launch(program, argv, self._cwd, self.environment, self._rlimits)
        yield Prepared(launch, started=lambda: True)
