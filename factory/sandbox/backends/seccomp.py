"""Builds system call filters for x86_64 and aarch64, as programs for the kernel's packet filter.

A filter refuses what a namespace or a Landlock ruleset does not cover: sockets of families that
no namespace isolates, keyrings, System V objects, ways around the filter itself.
"""

from __future__ import annotations

import errno
import platform
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

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
class _Machine:
    audit: int  # AUDIT_ARCH_* of linux/audit.h
    calls: MappingProxyType[str, int]


_MACHINES = MappingProxyType(
    {
        "x86_64": _Machine(
            0xC000003E,
            MappingProxyType(
                {
                    "shmget": 29,
                    "socket": 41,
                    "clone": 56,
                    "semget": 64,
                    "msgget": 68,
                    "mq_open": 240,
                    "add_key": 248,
                    "request_key": 249,
                    "keyctl": 250,
                    "unshare": 272,
                    "perf_event_open": 298,
                    "prlimit64": 302,
                    "setns": 308,
                    "bpf": 321,
                    "userfaultfd": 323,
                    "io_uring_setup": 425,
                    "clone3": 435,
                }
            ),
        ),
        "aarch64": _Machine(
            0xC00000B7,
            MappingProxyType(
                {
                    "unshare": 97,
                    "mq_open": 180,
                    "msgget": 186,
                    "semget": 190,
                    "shmget": 194,
                    "socket": 198,
                    "add_key": 217,
                    "request_key": 218,
                    "keyctl": 219,
                    "clone": 220,
                    "perf_event_open": 241,
                    "prlimit64": 261,
                    "setns": 268,
                    "bpf": 280,
                    "userfaultfd": 282,
                    "io_uring_setup": 425,
                    "clone3": 435,
                }
            ),
        ),
    }
)

_UNISOLATED = ("add_key", "request_key", "keyctl", "perf_event_open", "bpf", "userfaultfd")
_SHARED_OBJECTS = ("shmget", "semget", "msgget", "mq_open")


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


def _machine() -> _Machine:
    return _MACHINES[platform.machine()]


def _step(code: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one struct sock_filter; the jumps count the steps to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, operand)
