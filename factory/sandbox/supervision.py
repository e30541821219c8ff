"""Runs one command through the warden and keeps its deadline."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeAlias

from factory.sandbox.policy import Captured, Limits
from factory.sandbox.warden import Report as WardenReport
from factory.sandbox.warden import WardenJob as WardenJob
from factory.sandbox.warden import __file__ as warden_file
from shared.processes.process import Service, start_service

# Bytes of each stream that are kept in memory: far more than an excerpt needs. The tail is enough
# for the message of an error and several hundred frames of its stack.
HEAD_BYTES = 32 * 1024
TAIL_BYTES = 128 * 1024
# Bytes of each stream that the log keeps before the mark and the tail.
LOG_BYTES = 8 * 1024 * 1024

Show: TypeAlias = Callable[[bytes], None]
"""Takes each piece of a command's output, of either stream, as it comes."""


class Capture:
    """Take one stream's bytes as they come; `captured` returns at the end what was kept.

    `show` is given each piece as well, as it comes.
    """

    def __init__(self, log: Path, show: Show | None = None) -> None:
        self._log = log
        self._show = show
        self._file: BinaryIO = log.open("wb")
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        if self._show is not None:
            self._show(data)
        room = LOG_BYTES - self.total_bytes
        if room > 0:
            self._file.write(data[:room])
        self.total_bytes += len(data)
        missing = HEAD_BYTES - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        self._tail += data[-TAIL_BYTES:]
        del self._tail[:-TAIL_BYTES]

    def captured(self) -> Captured:
        """Complete the log of a stream that has ended, and return what was kept."""
        cut = self.total_bytes - len(self._head) - len(self._tail)
        if self.total_bytes > LOG_BYTES:
            tail = self._tail[-(self.total_bytes - LOG_BYTES) :]
            self._file.write(_mark(self.total_bytes - LOG_BYTES - len(tail)) + tail)
        kept = self._head + (_mark(cut) if cut else b"") + self._tail
        return Captured(kept.decode("utf-8", "replace"), self.total_bytes, cut > 0, self._log)


def _mark(cut: int) -> bytes:
    return b"\n[... %d bytes cut ...]\n" % cut if cut else b""


def log_files(log: Path) -> tuple[Path, Path]:
    """Return the files for a command's stdout and stderr, whose names begin with that of `log`."""
    return log.with_name(f"{log.name}.stdout.log"), log.with_name(f"{log.name}.stderr.log")


# After the order to end, a tree of processes is normally gone in milliseconds. Callers are
# promised an answer within a second of the deadline, so they get one either way.
GRACE_SECONDS = 0.8
_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Launch:
    """Describe a command made ready: nothing in it has to be looked up any more."""

    program: str
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    rlimits: tuple[tuple[int, int, int], ...]
    inherit: tuple[int, ...] = ()
    """Descriptors that the program finds at 3, 4, ..."""
    ruleset: int | None = None
    """A Landlock ruleset that confines the program, together with `seccomp`."""
    seccomp: bytes = b""
    terminal: bool = False
    """Whether stdout is a terminal, which becomes the program's own and its stdin as well."""

    def job(self) -> bytes:
        """Return the job in the warden's form, with its length in front."""
        job = WardenJob(
            program=self.program,
            argv=list(self.argv),
            cwd=str(self.cwd),
            env=dict(self.env),
            rlimits=list(self.rlimits),
            confine=self.ruleset is not None,
            seccomp=self.seccomp.hex(),
            terminal=self.terminal,
        )
        text = json.dumps(job).encode()
        return len(text).to_bytes(4, "little") + text


class Stop(Enum):
    """Say why a command was made to end."""

    DEADLINE = auto()
    OUTPUT = auto()


@dataclass(frozen=True, slots=True)
class Exit:
    """Report how a command ended; `status` is as `os.waitpid` gives it."""

    status: int
    stop: Stop | None = None
    failure: str = ""
    """Why the program was not started."""
    not_found: bool = False
    clean: bool = True
    """Whether every process of the command is known to be gone."""


class Warden:
    """Start this process's warden with the first request, and again when it has died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[socket.socket, Service] | None = None

    @property
    def pid(self) -> int | None:
        """Return the warden's process id, or None before it is started."""
        return self._running[1].pid if self._running else None

    def request(self, fds: Sequence[int]) -> None:
        """Start a supervisor that owns `fds`: stdout, stderr, control and the job's own."""
        with self._lock:
            try:
                self._send(fds)
            except ConnectionError:
                self.close()
                self._send(fds)

    def _send(self, fds: Sequence[int]) -> None:
        # The supervisor that a dead warden had ready may hold the socket for a moment longer.
        if self._running is not None and self._running[1].poll() is not None:
            self.close()
        if self._running is None:
            self._running = self._start()
        socket.send_fds(self._running[0], [b"+"], fds)

    def _start(self) -> tuple[socket.socket, Service]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            fd = theirs.fileno()
            program = [sys.executable, "-I", "-S", warden_file, str(fd)]
            service = start_service(program, cwd=Path("/"), env={}, pass_fds=[fd])
        atexit.register(self.close)
        return ours, service

    def close(self) -> None:
        """End the warden; running commands go on under their supervisors."""
        if self._running is not None:
            requests, service = self._running
            self._running = None
            requests.close()
            service.wait()


WARDEN = Warden()


def supervise(
    launch: Launch, *, deadline: float, stdout: Capture, stderr: Capture, output_bytes: int
) -> Exit:
    """Run `launch` until it ends, `deadline` (of `time.monotonic`) comes or it prints too much.

    Returns how it ended, when all its processes are gone and the output is read; at the latest
    `GRACE_SECONDS` after they were ordered to end. Raises OSError when a log cannot be written.
    """
    with contextlib.ExitStack() as stack:
        out, out_write = _pipe(stack)
        err, err_write = _pipe(stack)
        control, theirs = socket.socketpair()
        stack.enter_context(control)
        stack.enter_context(theirs)
        own = job_descriptors(launch)
        WARDEN.request([out_write.fileno(), err_write.fileno(), theirs.fileno(), *own])
        for handed_over in (out_write, err_write, theirs):
            handed_over.close()
        watch = _Watch(control, {out.fileno(): stdout, err.fileno(): stderr}, output_bytes)
        _UNDER_WAY[watch] = launch.cwd
        try:
            with contextlib.suppress(ConnectionError):  # the supervisor died: no report will come
                control.sendall(launch.job())
            return watch.follow(deadline)
        except BaseException:  # Ctrl-C, a full disk under the log: nothing is left running
            watch.abandon()
            raise
        finally:
            _UNDER_WAY.pop(watch, None)


_UNDER_WAY: dict[_Watch, Path] = {}
"""The running commands of this process, each with the folder where it was started."""


def end_all(within: Path | None = None) -> None:
    """Kill every running command, whichever thread of this process waits for it.

    With `within`, only the commands that were started in that folder are killed.
    """
    for watch, folder in tuple(_UNDER_WAY.items()):
        if within in (None, folder):
            watch.end(Stop.DEADLINE)


def job_descriptors(launch: Launch) -> tuple[int, ...]:
    """Return the descriptors that the warden expects after the control socket."""
    return launch.inherit if launch.ruleset is None else (launch.ruleset, *launch.inherit)


def exit_of(reply: bytes, stop: Stop | None, *, clean: bool) -> Exit:
    """Return how a command ended by its supervisor's report, which is torn if that was killed."""
    if not reply.endswith(b"\n"):
        lost = "" if stop else "its supervisor was killed"
        return Exit(status=signal.SIGKILL, stop=stop, failure=lost, clean=False)
    report: WardenReport = json.loads(reply)
    return Exit(
        status=report["status"],
        stop=stop,
        failure=report["failure"],
        not_found=report["not_found"],
        clean=clean,
    )


def _pipe(stack: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    reading, writing = os.pipe()
    return stack.enter_context(FileIO(reading)), stack.enter_context(FileIO(writing, "w"))


class _Watch:
    """Follow one running command through its output and its supervisor's socket."""

    def __init__(
        self, control: socket.socket, streams: Mapping[int, Capture], output_bytes: int
    ) -> None:
        self._control = control
        self._streams: Mapping[int, Capture | None] = streams
        self._room = output_bytes
        self._reply = b""
        self._stop: Stop | None = None
        self._last_moment: float | None = None
        self._open = {control.fileno(), *streams}
        self._poll = select.poll()
        for fd in self._open:
            self._poll.register(fd, select.POLLIN)

    def follow(self, deadline: float) -> Exit:
        """Read until everything has ended, and order the end at the deadline."""
        while self._open:
            remaining = (self._last_moment or deadline) - time.monotonic()
            if remaining > 0:
                for fd, _ in self._poll.poll(remaining * 1000):
                    self._read(fd)
            elif self._last_moment is None:
                self.end(Stop.DEADLINE)
            else:
                break
        return exit_of(self._reply, self._stop, clean=not self._open)

    def abandon(self) -> None:
        """Kill every process, wait for their end, and keep no more of the output."""
        self._streams = dict.fromkeys(self._streams)
        self.end(None)
        self.follow(time.monotonic())

    def end(self, stop: Stop | None) -> None:
        """Kill every process; reading goes on for the grace period and no longer."""
        self._stop = stop
        self._last_moment = time.monotonic() + GRACE_SECONDS
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, _CHUNK)
        except ConnectionResetError:  # the supervisor died before it had read its job
            data = b""
        if fd not in self._streams:
            self._reply += data
            if not data or data.endswith(b"\n"):  # the supervisor's exit need not be awaited
                self._close(fd)
                self._last_moment = self._last_moment or time.monotonic() + GRACE_SECONDS
        elif not data:
            self._close(fd)
        elif capture := self._streams[fd]:
            capture.add(data)
            self._room -= len(data)
            if self._room < 0 and self._last_moment is None:
                self.end(Stop.OUTPUT)

    def _close(self, fd: int) -> None:
        self._poll.unregister(fd)
        self._open.remove(fd)


# RLIMIT_DATA, not RLIMIT_AS, holds the memory: it counts what a process can write to, while
# runtimes such as Go, Java and WebAssembly reserve address space by the dozen GiB and never
# touch it. RLIMIT_AS still bounds shared mappings, which RLIMIT_DATA leaves out.
_ADDRESS_SPACE_PER_MEMORY = 8
# The time between the warning signal (SIGXCPU, which names the cause) and the kernel's SIGKILL.
_CPU_MARGIN_SECONDS = 2

Bounds: TypeAlias = tuple[tuple[int, int, int], ...]
"""For each resource its number, its soft bound and its hard bound."""


def of_each_process(limits: Limits) -> Bounds:
    """Return the bounds that hold for each process by itself."""
    space = limits.memory_bytes * _ADDRESS_SPACE_PER_MEMORY
    return (
        (resource.RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes),
        (resource.RLIMIT_AS, space, space),
        (resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + _CPU_MARGIN_SECONDS),
        (resource.RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes),
        (resource.RLIMIT_CORE, 0, 0),
    )


def of_the_user(limits: Limits) -> Bounds:
    """Return the bound on processes where no namespace counts the command's own.

    The kernel then counts every process and thread of the user, so the number that runs already
    is added. For root the result is empty, because the kernel never applies this bound to root.
    """
    if os.geteuid() == 0:
        return ()
    bound = _tasks_of_the_user() + limits.processes
    return ((resource.RLIMIT_NPROC, bound, bound),)


def _tasks_of_the_user() -> int:
    uid = os.geteuid()
    tasks = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # the process may end meanwhile
                if entry.stat().st_uid == uid:
                    tasks += sum(1 for _ in os.scandir(f"/proc/{entry.name}/task"))
    return tasks
