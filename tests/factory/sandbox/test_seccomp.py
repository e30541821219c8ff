"""The filters of both architectures, run as the kernel would run them."""

from __future__ import annotations

import errno
import platform
import socket
import struct

import pytest

from factory.sandbox import landlock

ALLOWED = "allowed"
X86_64, AARCH64, I386 = 0xC000003E, 0xC00000B7, 0x40000003
CALLS = ("socket", "clone", "keyctl", "clone3", "read", "execve")
NUMBERS = {
    "x86_64": dict(zip(CALLS, (41, 56, 250, 435, 0, 59), strict=True)),
    "aarch64": dict(zip(CALLS, (198, 220, 219, 435, 63, 221), strict=True)),
}
ARCHITECTURE = {"x86_64": X86_64, "aarch64": AARCH64}


def verdict(program: bytes, architecture: int, number: int, *arguments: int) -> object:
    """What the filter says to a system call."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("=HBBI", program))
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, operand)
            case 0x54:
                accumulator &= operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x06:
                return ALLOWED if operand == 0x7FFF0000 else operand & 0xFFFF
            case _:
                raise AssertionError(f"the filter holds the instruction {code:#x}")


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    return str(request.param)


def ask(machine: str, program: bytes, call: str, *arguments: int) -> object:
    return verdict(program, ARCHITECTURE[machine], NUMBERS[machine][call], *arguments)


def test_ordinary_calls_are_allowed(machine: str) -> None:
    for program in (landlock.inside_namespaces(), landlock.beside_landlock(network=False)):
        assert ask(machine, program, "read") == ALLOWED
        assert ask(machine, program, "execve") == ALLOWED
        assert ask(machine, program, "clone", 17) == ALLOWED
        assert ask(machine, program, "keyctl") == errno.EPERM


def test_sockets_are_chosen_by_family(machine: str) -> None:
    inside = landlock.inside_namespaces()
    host = landlock.beside_landlock(network=True)
    none = landlock.beside_landlock(network=False)
    assert ask(machine, inside, "socket", socket.AF_UNIX) == ALLOWED
    assert ask(machine, inside, "socket", socket.AF_INET6) == ALLOWED
    assert ask(machine, inside, "socket", 40) == errno.EACCES  # AF_VSOCK
    assert ask(machine, host, "socket", socket.AF_INET) == ALLOWED
    assert ask(machine, host, "socket", socket.AF_UNIX) == errno.EACCES
    for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
        assert ask(machine, none, "socket", family) == errno.EACCES


def test_high_bits_do_not_hide_a_family(machine: str) -> None:
    none = landlock.beside_landlock(network=True)
    assert ask(machine, none, "socket", socket.AF_UNIX | 1 << 40) == errno.EACCES


@pytest.mark.parametrize("flag", [0x20000, 0x2000000, 0x10000000, 0x20000000, 0x40000000])
def test_new_namespaces_are_refused_beside_landlock(machine: str, flag: int) -> None:
    program = landlock.beside_landlock(network=False)
    assert ask(machine, program, "clone", flag | 17) == errno.EPERM
    assert ask(machine, program, "clone3", flag | 17) == errno.ENOSYS


def test_no_call_of_another_architecture_gets_past(machine: str) -> None:
    program = landlock.inside_namespaces()
    other = {"x86_64": AARCH64, "aarch64": X86_64}[machine]
    for architecture in (other, I386):
        assert verdict(program, architecture, NUMBERS[machine]["read"]) == errno.ENOSYS
    if machine == "x86_64":
        assert verdict(program, X86_64, 0x40000000 | 41, socket.AF_UNIX) == errno.ENOSYS


def test_other_machines_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert not landlock.supported()
