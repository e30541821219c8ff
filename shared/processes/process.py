"""Starts processes; no other module uses `subprocess`."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a system has its programs, in the order in which they are looked for."""

_NOWHERE = subprocess.DEVNULL
# The time that a killed group may keep the output pipes open before we close them.
_DRAIN_SECONDS = 0.5


class _Process(subprocess.Popen[bytes]):
    """Wait for the end of a process without looking again and again.

    `Popen` sleeps a millisecond and more between two looks, which is as long as most git calls.
    """

    def wait(self, timeout: float | None = None) -> int:
        if timeout is not None and self.returncode is None:
            with contextlib.suppress(OSError):  # an old kernel, or a process that was waited for
                descriptor = os.pidfd_open(self.pid)
                try:
                    ended = select.poll()  # `select.select` refuses descriptors from 1,024 on
                    ended.register(descriptor, select.POLLIN)
                    ended.poll(max(timeout, 0) * 1000)
                finally:
                    os.close(descriptor)
        return super().wait(timeout)


Service: TypeAlias = subprocess.Popen[bytes]


class ProgramMissing(Exception):
    """Say that a program does not exist or may not be executed."""


class ToolFailed(Exception):
    """Say that a program could not be started for another reason (folder, memory, ...)."""


@dataclass(frozen=True, slots=True)
class Finished:
    """Hold how a tool ended and its whole output; `exit_code` is -N where signal N ended it."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    duration_seconds: float
    timed_out: bool


def run_tool(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_seconds: float,
    stdin: bytes = b"",
    pass_fds: Sequence[int] = (),
) -> Finished:
    """Run a trusted tool, such as git, to its end or its deadline, with exactly `env`.

    The tool also has the descriptors `pass_fds` open, even after this process has died.

    The tool runs in a session of its own, so it cannot ask on the terminal. At the deadline its
    whole process group is killed and `timed_out` is set. Raises `ProgramMissing` or `ToolFailed`
    if the tool cannot be started.
    """
    started = time.monotonic()
    source = subprocess.PIPE if stdin else _NOWHERE
    pipe = subprocess.PIPE
    with _start(argv, cwd, env, stdin=source, output=pipe, pass_fds=pass_fds) as process:
        timed_out = False
        try:
            stdout, stderr = process.communicate(stdin or None, timeout_seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
            stdout, stderr = _kill(process)
        except BaseException:  # also on Ctrl-C, the tool must not be left running
            _kill(process)
            raise
    elapsed = time.monotonic() - started
    return Finished(tuple(argv), process.returncode, stdout, stderr, elapsed, timed_out)


def _start(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    *,
    stdin: int,
    output: int,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    try:
        return _Process(  # no preexec_fn: CPython then uses vfork
            argv,
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=pass_fds,
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError) as error:
        if cwd.is_dir():
            raise ProgramMissing(f"cannot run {argv[0]}: {error.strerror}") from error
        raise ToolFailed(f"cannot run {argv[0]} in {cwd}: {error.strerror}") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
        raise ToolFailed(f"cannot run {argv[0]}: {error}") from error


def _kill(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Kill the process's whole group and return its output so far."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=_DRAIN_SECONDS)
    except subprocess.TimeoutExpired as held:  # a grandchild in its own session holds the pipes
        process.wait()
        return held.output or b"", held.stderr or b""


def start_service(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], pass_fds: Sequence[int]
) -> Service:
    """Start a process in a session of its own; callers talk to it through `pass_fds` alone.

    The caller ends and reaps the process. Raises as `run_tool` does where it does not start.
    """
    return _start(argv, cwd, env, stdin=_NOWHERE, output=_NOWHERE, pass_fds=pass_fds)
