"""Confines commands by a Landlock ruleset, made by system calls, and a seccomp filter.

Landlock needs no privilege and no program, so it works where user namespaces are switched off. It
grants access to a folder and cannot take back access to a part of it; the guarantees say what
does not hold because of that.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from stat import S_ISDIR

from factory.sandbox.backends import seccomp
from factory.sandbox.commands import limits
from factory.sandbox.commands.runner import Prepared
from factory.sandbox.commands.supervision import Launch
from factory.sandbox.guarantees import Guarantee, Guarantees, holding
from factory.sandbox.linked import Placement
from factory.sandbox.policy import Backend
from factory.sandbox.visible import etc
from factory.sandbox.visible.git_view import Pointer
from factory.sandbox.visible.layout import Layout

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
    """Return the kernel's Landlock ABI. Raises OSError where it has none or it is switched off."""
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
        self._seccomp = seccomp.beside_landlock(network=network)
        self._every = _RIGHTS[5] if level >= 5 else _RIGHTS[3]
        self._temporary = policy.temporary
        self._ruleset = _ruleset(layout, level, self._every, network=network)
        self.admit_temporary()
        weakref.finalize(self, os.close, self._ruleset)
        self._rlimits = limits.of_each_process(policy.limits)

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
            (*self._rlimits, *limits.of_the_user(self._limits)),
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
        _grant(ruleset, (*etc.FILES, *etc.FOLDERS, *view.read), _READ_ONLY)
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
