"""Runs commands in one confinement, also on a terminal of their own.

The command gets a new pseudo-terminal and never a descriptor of the user's terminal. So it cannot
type into the terminal, and cannot leave it in another mode.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import socket
import struct
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from factory.sandbox.lent_folders import LinkedFolders, Placement, regain
from factory.sandbox.policy import Backend, Cause, Ended, Guarantees, Limits, SessionEnded, render
from factory.sandbox.private_folder import Layout
from factory.sandbox.supervision import (
    WARDEN,
    Capture,
    Exit,
    Launch,
    Show,
    Stop,
    end_all,
    exit_of,
    job_descriptors,
    log_files,
    supervise,
)
from factory.sandbox.visible_files import Pointer

_CHUNK = 65536
_ROWS_AND_COLUMNS = struct.Struct("HHHH")


def attach(launch: Launch, keyboard: int, screen: int) -> Exit:
    """Run `launch` until it ends, with input from `keyboard` and output to `screen`.

    `keyboard` must be a terminal. Its mode is restored at the end, whatever happens. The command
    has no deadline; it is killed where the terminal goes away or an exception ends the wait.
    """
    ours, theirs = os.openpty()
    control, supervisor = socket.socketpair()
    with control, _closing(ours):
        with supervisor, _closing(theirs):
            _copy_size(keyboard, ours)
            fds = [theirs, theirs, supervisor.fileno(), *job_descriptors(launch)]
            WARDEN.request(fds)
        with contextlib.suppress(ConnectionError):  # the supervisor died: no report will come
            control.sendall(launch.job())
        with _raw(keyboard), _following_size(keyboard, ours):
            try:
                reply = _relay(ours, keyboard, screen, control)
            except BaseException:
                _end(control)
                raise
    return exit_of(reply, None, clean=True)


def _relay(ours: int, keyboard: int, screen: int, control: socket.socket) -> bytes:
    """Pass bytes both ways until the supervisor has reported; return its report."""
    poll = select.poll()
    for fd in (ours, keyboard, control.fileno()):
        poll.register(fd, select.POLLIN)
    reply = b""
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if ours in ready and not _pass_on(ours, screen):
            poll.unregister(ours)
        if keyboard in ready and not _pass_on(keyboard, ours):
            poll.unregister(keyboard)
            control.shutdown(socket.SHUT_WR)  # nobody is there any more
        if control.fileno() in ready:
            data = _read(control.fileno())
            reply += data
            if not data or reply.endswith(b"\n"):
                _drain(ours, screen)
                return reply


def _drain(ours: int, screen: int) -> None:
    os.set_blocking(ours, False)
    with contextlib.suppress(BlockingIOError):
        while _pass_on(ours, screen):
            pass


def _pass_on(source: int, target: int) -> bool:
    """Copy what can be read; return False at the end of either side."""
    data = _read(source)
    try:
        while data:
            written = os.write(target, data)
            if written == len(data):
                return True
            data = data[written:]
    except BlockingIOError:
        raise
    except OSError:
        pass
    return False


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        raise
    except OSError:  # a pseudo-terminal without any reader, a supervisor that was killed
        return b""


def _end(control: socket.socket) -> None:
    """Kill every process of the command, and wait for that."""
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_WR)
        control.settimeout(_GRACE_SECONDS)
        while control.recv(_CHUNK):
            pass


_GRACE_SECONDS = 5.0


@contextlib.contextmanager
def _raw(keyboard: int) -> Iterator[None]:
    before = termios.tcgetattr(keyboard)
    tty.setraw(keyboard, termios.TCSADRAIN)  # what was typed ahead is kept
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _following_size(keyboard: int, ours: int) -> Iterator[None]:
    """Give the command's terminal the size of the user's whenever that changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGWINCH, lambda *_: _copy_size(keyboard, ours))
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


def _copy_size(source: int, target: int) -> None:
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(_ROWS_AND_COLUMNS.size))
        fcntl.ioctl(target, termios.TIOCSWINSZ, size)


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(fd)


_KILLED = 128 + signal.SIGKILL
_NOT_STARTED = -1  # no exit code of a program: none has run
_NOT_FOUND = 127  # as a shell reports a program that is missing
_SIGNALS = {each.value: each.name for each in signal.Signals}


@dataclass(frozen=True, slots=True)
class Prepared:
    """Hold a command ready to launch; `started` says afterwards whether it was started."""

    launch: Launch
    started: Callable[[], bool]


class Confinement(Protocol):
    """Define what the backends differ in: how they contain a command."""

    @property
    def backend(self) -> Backend: ...
    @property
    def version(self) -> str: ...
    @property
    def placement(self) -> Placement: ...
    @property
    def guarantees(self) -> Guarantees: ...
    @property
    def environment(self) -> dict[str, str]: ...

    def prepare(
        self, program: str, argv: Sequence[str], *, terminal: bool = False
    ) -> AbstractContextManager[Prepared]:
        """Open what one command needs, and close it when the block ends.

        With `terminal`, the command may keep the terminal that it is started on.
        """

    def admit_temporary(self) -> None:
        """Let commands use the directory that has become their /tmp."""


class Sandbox:
    """Run untrusted commands in one confinement. Nothing else in llmch runs one.

    `backend` is never `AUTO`, and `version`, the backend's own, is empty for `OFF`. `guarantees`
    says which hold here, `limits` apply to each command, and `environment` has its variables.
    """

    def __init__(self, layout: Layout, confinement: Confinement, instead: str = "") -> None:
        """Use `confinement` for every command; `instead` says why no better one is used."""
        policy = layout.policy
        self._instead = instead
        self._layout = layout
        self._policy = policy
        self._confinement = confinement
        self._pointer = Pointer.of(policy.workspace)
        self._linked = LinkedFolders(
            policy.linked, policy.workspace, confinement.placement, layout.aside
        )
        self.backend = confinement.backend
        self.version = confinement.version
        self.guarantees = confinement.guarantees
        self.limits: Limits = policy.limits
        self.environment: Mapping[str, str] = confinement.environment

    def describe(self) -> str:
        """Return one line that says what holds and what does not."""
        name = f"{self.backend} {self.version}".strip()
        name += f" ({self._instead})" if self._instead else ""
        return f"sandbox {name}: {render(self.guarantees)}"

    def has_program(self, name: str) -> bool:
        """Return whether a command that begins with `name` can be started."""
        return self._find(name) is not None

    def run(
        self, argv: Sequence[str], *, timeout_seconds: float, log: Path, show: Show | None = None
    ) -> Ended:
        """Run `argv` in the workspace and return within a second of the deadline.

        Whatever happens to the command is part of the result. Its output goes to
        `<log>.stdout.log` and `<log>.stderr.log`, in a folder that must exist, and to `show` as
        it comes. Raises OSError, with nothing left running, if these logs cannot be written, and
        `CommandFailed` if a linked folder cannot be shown. Several threads may call this.
        """
        started = time.monotonic()
        out, err = log_files(log)
        with Capture(out, show) as stdout, Capture(err, show) as stderr:

            def follow(launch: Launch) -> Exit:
                return supervise(
                    launch,
                    deadline=started + timeout_seconds,
                    stdout=stdout,
                    stderr=stderr,
                    output_bytes=self.limits.output_bytes,
                )

            end = self._run(tuple(argv), follow)
            printed, complained = stdout.captured(), stderr.captured()
        reason = end.reason
        if end.cause is Cause.NOT_STARTED and not reason:
            reason = complained.text.strip()
        return Ended(
            argv=tuple(argv),
            exit_code=end.exit_code,
            cause=end.cause,
            stdout=printed,
            stderr=complained,
            duration_seconds=time.monotonic() - started,
            backend=self.backend,
            reason=reason,
        )

    def end_commands(self) -> None:
        """Kill the running commands, as if their time were up. Any thread may call this."""
        end_all(within=self._policy.workspace)

    def clear(self) -> None:
        """Do what `renew_temporary` does, and make build caches equal to their seeds."""
        self.renew_temporary()
        self._layout.restore_caches()

    def renew_temporary(self) -> None:
        """Replace /tmp, which is HOME too, by an empty directory for the commands that follow.

        No command may be running. Raises OSError if the file system refuses.
        """
        if self._layout.renew_temporary():
            self._confinement.admit_temporary()

    def reseed(self, seeds: Mapping[str, Path]) -> None:
        """Make build caches of the policy equal to seeds that have more than the last ones.

        No command may be running. Raises OSError if the file system refuses.
        """
        for name, cache in self._layout.caches.items():
            if name in seeds:
                cache.reseed(seeds[name])
                cache.restore(self._layout.aside)

    def attach(self, argv: Sequence[str], keyboard: int, screen: int) -> SessionEnded:
        """Run `argv` in the workspace, interactively, on a terminal of its own.

        The command reads from `keyboard`, which must be a terminal, and prints to the descriptor
        `screen`. It has no deadline.
        """
        end = self._run(
            tuple(argv), lambda launch: attach(replace(launch, terminal=True), keyboard, screen),
            terminal=True,
        )  # fmt: skip
        return SessionEnded(end.exit_code, end.reason)

    def _run(
        self, argv: tuple[str, ...], follow: Callable[[Launch], Exit], *, terminal: bool = False
    ) -> _End:
        self._linked.ensure()
        program = self._find(argv[0])
        if program is None:
            return _End(_NOT_FOUND, Cause.NOT_FOUND, f"{argv[0]}: no such program")
        if "/" in argv[0] and (fault := self._start_fault(argv[0])):
            return _End(_NOT_STARTED, Cause.NOT_STARTED, fault)
        note = ""
        try:
            with self._confinement.prepare(program, argv, terminal=terminal) as prepared:
                done = follow(prepared.launch)
                end = _judge(done, self.limits, started=prepared.started())
        finally:  # after an interrupt too, because git runs next
            regain(self._policy.workspace)
            if self._pointer.restore(self._layout.aside):
                note = "it changed the workspace's .git, which was put back"
        notes = (end.reason, "" if done.clean else "some of its processes may still run", note)
        return replace(end, reason="; ".join(filter(None, notes)))

    def _start_fault(self, name: str) -> str:
        """Return why a file that is there cannot be started; "" where nothing speaks against it.

        bwrap reports such a start as the end of a program of its own. Only files of the workspace
        are read, because the reason is shown to the model.
        """
        path = self._linked.real_path(name)
        if not path.is_file():
            return f"{name} is there, but it is not a file."
        run_by = f"run it by `{_RUN_BY.get(path.suffix, 'bash')} {name.removeprefix('./')}`"
        if not os.access(path, os.X_OK):
            return f"{name} is there, but it is not executable: {run_by}, or set its mode."
        if not path.resolve().is_relative_to(self._policy.workspace.resolve()):
            return ""
        fault = _interpreter_fault(path)
        return f"{name} is there, but {fault}: {run_by}." if fault else ""

    def _find(self, name: str) -> str | None:
        """Return the path of a program, or None; a relative one starts from the workspace."""
        if "\0" in name:
            return None
        if "/" in name:
            there = os.path.lexists(self._linked.real_path(name))
            return str(self._policy.seen / name) if there else None
        return shutil.which(name, path=self._confinement.environment["PATH"])


_RUN_BY = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".rb": "ruby"}
_INTERPRETER = re.compile(rb"#![ \t]*([^ \t\n]*)")
_READ_BYTES = 256  # as much as the kernel reads of a script's first line


def _interpreter_fault(path: Path) -> str:
    """Return what is wrong with the interpreter that a script names; "" for any other program."""
    try:
        with path.open("rb") as file:
            start = file.read(_READ_BYTES)
    except OSError:
        return ""
    found = _INTERPRETER.match(start)
    if found is None:
        return "" if b"\0" in start else "no first line names its interpreter"
    interpreter = os.fsdecode(found[1])
    if interpreter.endswith("\r"):
        return "its lines end as on Windows, also the one that names its interpreter"
    there = os.path.lexists(path.parent / interpreter)
    return "" if there else f"its interpreter {interpreter!r} is not"


@dataclass(frozen=True, slots=True)
class _End:
    exit_code: int
    cause: Cause
    reason: str = ""


def _judge(done: Exit, limits: Limits, *, started: bool) -> _End:
    """Return how a command ended; its confinement says whether it was `started`."""
    if done.failure or not (started or done.stop):
        if done.not_found and started:  # the program itself is missing, not bwrap
            return _End(_NOT_FOUND, Cause.NOT_FOUND, done.failure)
        return _End(_NOT_STARTED, Cause.NOT_STARTED, done.failure)
    if done.stop is Stop.DEADLINE:
        return _End(_KILLED, Cause.TIMED_OUT)
    if done.stop is Stop.OUTPUT:
        reason = f"the command printed over {limits.output_bytes} bytes"
        return _End(_KILLED, Cause.OUTPUT_LIMIT, reason)
    code = os.waitstatus_to_exitcode(done.status)
    # bwrap reports a death by signal as a shell does, which looks like an exit code.
    number = -code if code < 0 else code - 128
    if number == signal.SIGXCPU:
        return _End(128 + number, Cause.CPU_LIMIT, f"it used {limits.cpu_seconds} s of CPU time")
    if number in _SIGNALS:
        return _End(128 + number, Cause.SIGNALLED, f"ended by {_SIGNALS[number]}")
    return _End(code, Cause.EXITED)
