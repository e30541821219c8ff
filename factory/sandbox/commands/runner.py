"""Runs commands in one confinement and reports how each ended."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from factory.sandbox.commands.capture import Capture, Show, log_files
from factory.sandbox.commands.supervision import Exit, Launch, Stop, end_all, supervise
from factory.sandbox.commands.terminal import attach
from factory.sandbox.guarantees import Guarantees, render
from factory.sandbox.linked import LinkedFolders, Placement
from factory.sandbox.outcome import Cause, Ended, SessionEnded
from factory.sandbox.policy import Backend, Limits
from factory.sandbox.reclaim import regain
from factory.sandbox.visible.git_view import Pointer
from factory.sandbox.visible.layout import Layout

_KILLED = 128 + signal.SIGKILL
_NOT_STARTED = 126  # as a shell reports a program that cannot be run, and one that is missing
_NOT_FOUND = 127
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


class Runner:
    """Implement `Sandbox` for one confinement."""

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
        """Run one command in the workspace; see `Sandbox.run`."""
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
        """Kill the running commands; see `Sandbox.end_commands`."""
        end_all(within=self._policy.workspace)

    def clear(self) -> None:
        """Replace /tmp by an empty directory; see `Sandbox.clear`."""
        self._layout.renew_temporary()
        self._confinement.admit_temporary()

    def attach(self, argv: Sequence[str], keyboard: int, screen: int) -> SessionEnded:
        """Run one command on a terminal of its own; see `Sandbox.attach`."""
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

    def _find(self, name: str) -> str | None:
        """Return the path of a program, or None; a relative one starts from the workspace."""
        if "\0" in name:
            return None
        if "/" in name:
            path = self._linked.real_path(name)
            runnable = os.access(path, os.X_OK) and path.is_file()
            return str(self._policy.workspace / name) if runnable else None
        return shutil.which(name, path=self._confinement.environment["PATH"])


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
