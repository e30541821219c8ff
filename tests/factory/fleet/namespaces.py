"""Machines of a test: network namespaces that reach one another, and nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests import processes
from tests.factory.fleet.fleet_of_processes import until

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_NETWORK = "10.213.77"
HUB = f"{_NETWORK}.1"
"""The address of the machine that has the database, the remote and the model."""


@contextlib.contextmanager
def machines(count: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Make a hub and `count` machines around it, and give their names.

    The test is skipped where the system does not let us.
    """
    prefix = f"llmch-{os.getpid()}"
    hub, others = f"{prefix}-hub", [f"{prefix}-{number}" for number in range(count)]
    try:
        for each in (hub, *others):
            _ip("netns", "add", each)
            _ip("-n", each, "link", "set", "lo", "up")
        _ip("-n", hub, "link", "add", "bridge", "type", "bridge")
        _ip("-n", hub, "addr", "add", f"{HUB}/24", "dev", "bridge")
        _ip("-n", hub, "link", "set", "bridge", "up")
        for number, each in enumerate(others):
            _connect(hub, each, number)
        yield hub, others
    finally:
        for each in (hub, *others):
            subprocess.run(["ip", "netns", "del", each], check=False, capture_output=True)


def _connect(hub: str, machine: str, number: int) -> None:
    port = f"port{number}"
    _ip("-n", hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", machine)
    _ip("-n", hub, "link", "set", port, "master", "bridge", "up")
    _ip("-n", machine, "addr", "add", f"{_NETWORK}.{number + 2}/24", "dev", "eth0")
    _ip("-n", machine, "link", "set", "eth0", "up")


def _ip(*words: str) -> None:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no network namespaces here: ip {' '.join(words)}: {done.stderr.strip()}")


@contextlib.contextmanager
def inside(machine: str) -> Iterator[None]:
    """Have this thread, and what it starts, use the network of a machine while the block runs."""
    with Path("/proc/thread-self/ns/net").open() as ours, Path("/run/netns", machine).open() as its:
        _enter(its.fileno())
        try:
            yield
        finally:
            _enter(ours.fileno())


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def git_daemon(folder: Path) -> Iterator[str]:
    """Serve the repos below a folder from the hub, whose network this thread has; yield the URL."""
    log, port = folder / "git-daemon.log", 9418
    with log.open("ab") as output:
        process = processes.start(
            [
                *("git", "daemon", "--verbose", f"--listen={HUB}", f"--port={port}"),
                *("--export-all", "--enable=receive-pack", f"--base-path={folder}", folder),
            ],
            stdout=output,
            stderr=output,
        )
    try:
        until(lambda: "Ready to rumble" in log.read_text(), "git daemon is ready")
        yield f"git://{HUB}:{port}"
    finally:
        process.terminate()
        process.wait()
