"""The processes of a test: none outlives it, nor the pytest that runs it, however that ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from factory.sandbox.supervision import WARDEN

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_SECONDS = 60.0  # a process that was killed needs a moment, on a loaded machine a long one
_LOOK_EVERY_SECONDS = 0.005
_AGAIN_SECONDS = 10.0  # far longer than what was interrupted takes to end

# The shortest first: a machine at rest starts a command in a few milliseconds.
_DEADLINES_SECONDS = (0.3, 2.0, 10.0, 60.0)

Ended = TypeVar("Ended")

lasting: set[int] = set()
"""The processes that several tests share: the fixture that started one ends it."""


def ended_by_its_deadline(run: Callable[[float], Ended], begun: Callable[[], bool]) -> Ended:
    """Return what came of a command that never ends by itself and had begun before its deadline.

    `run` runs it with a deadline in seconds, and `begun` says whether it got as far as it should:
    on a loaded machine only a later deadline gives it the time.
    """
    for seconds in _DEADLINES_SECONDS:
        ended = run(seconds)
        if begun():
            return ended
    raise AssertionError(f"the command did not begin within {_DEADLINES_SECONDS[-1]} seconds")


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
    before = children()
    yield
    lasting.update(children() - before)


def adopt_orphans() -> None:
    """Become the parent of each descendant whose own parent ends, so that it can be found."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def none_left(patience_seconds: float = _PATIENCE_SECONDS) -> Iterator[None]:
    """Fail where the block leaves a process behind, and kill that process."""
    before = children()
    yield
    until = time.monotonic() + patience_seconds
    while (left := _living(children() - before - _kept())) and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_SECONDS)
    named = [_command_line(pid) for pid in left]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left, f"the test left processes behind: {named}"


def _kept() -> set[int]:
    """Return what is to stay: also the warden of this process, which ends with it."""
    return lasting if WARDEN.pid is None else {*lasting, WARDEN.pid}


def children() -> set[int]:
    """Return the processes that this one started and has not waited for."""
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


@contextlib.contextmanager
def interrupted_after(waits: Callable[[], object]) -> Iterator[None]:
    """Interrupt this process once `waits` has returned, and again while the block goes on.

    A signal that comes just before a read begins does not end the read.
    """
    ended = threading.Event()

    def interrupt() -> None:
        waits()
        while not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(_AGAIN_SECONDS)

    person = threading.Thread(target=interrupt)
    person.start()
    try:
        yield
    finally:
        ended.set()
        person.join()
