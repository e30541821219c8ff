"""The processes of a test: none outlives it, nor the pytest that runs it, however that ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from factory.sandbox.commands.supervision import WARDEN

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_SECONDS = 20.0  # a process that was killed needs a moment, on a loaded machine a long one
_LOOK_EVERY_SECONDS = 0.005

lasting: set[int] = set()
"""The processes that several tests share: the fixture that started one ends it."""


def start(arguments: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
    """Start a process that the system kills when this one ends, also by SIGKILL.

    `options` are those of `subprocess.Popen`. Call it in a thread that lasts: the system watches
    the thread.
    """
    return subprocess.Popen([*_bound(), *map(str, arguments)], **options)


@cache
def _bound() -> tuple[str, ...]:
    program = shutil.which("setpriv")  # util-linux; without it a killed pytest may leave processes
    return (program, "--pdeathsig", "KILL", "--") if program else ()


@contextlib.contextmanager
def lasting_ones() -> Iterator[None]:
    """Let what the block starts run on after the test: its fixture is one of several tests."""
    before = _children()
    yield
    lasting.update(_children() - before)


def adopt_orphans() -> None:
    """Become the parent of each descendant whose own parent ends, so that it can be found."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def none_left(patience_seconds: float = _PATIENCE_SECONDS) -> Iterator[None]:
    """Fail where the block leaves a process behind, and kill that process."""
    before = _children()
    yield
    until = time.monotonic() + patience_seconds
    while (left := _living(_children() - before - _kept())) and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_SECONDS)
    named = [_command_line(pid) for pid in left]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left, f"the test left processes behind: {named}"


def _kept() -> set[int]:
    """Return what is to stay: also the warden of this process, which ends with it."""
    return lasting if WARDEN.pid is None else {*lasting, WARDEN.pid}


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has ended, or the kernel keeps no list
            found.update(map(int, (task / "children").read_text().split()))
    return found


def _living(pids: set[int]) -> list[int]:
    return sorted(pid for pid in pids if _state(pid) not in ("", "Z", "X"))


def _state(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    return ""


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b" ".join(words).decode(errors="replace")
    return str(pid)
