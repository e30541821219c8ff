"""No isolation, only by the explicit choice `off`: the same environment, limits and deadline."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from factory.sandbox import environment
from factory.sandbox.capture import Capture, log_files
from factory.sandbox.guarantees import Guarantee, Guarantees, holding, render
from factory.sandbox.outcome import Cause, Ended
from factory.sandbox.policy import Backend, Policy
from shared.process import ToolFailed, ToolMissing, start_child


class Bare:
    """Runs a command with the user's own rights."""

    backend = Backend.OFF
    version = ""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._programs = policy.python.parent
        self.limits = policy.limits
        self.guarantees: Guarantees = holding(Guarantee.LOOPBACK, Guarantee.MULTIPROCESSING)

    def describe(self) -> str:
        """One line: what holds and what does not."""
        return f"sandbox off: {render(self.guarantees)}"

    def run(self, argv: Sequence[str], *, timeout_seconds: float, log: Path) -> Ended:
        """Run one command in the workspace; see `Sandbox.run`."""
        started = time.monotonic()
        out, err = log_files(log)
        with Capture(out) as stdout, Capture(err) as stderr:
            exit_code, cause, reason = self._watch(argv, started + timeout_seconds, stdout, stderr)
            elapsed = time.monotonic() - started
            return Ended(
                tuple(argv),
                exit_code,
                cause,
                stdout.captured(),
                stderr.captured(),
                elapsed,
                self.backend,
                reason,
            )

    def _watch(
        self, argv: Sequence[str], deadline: float, stdout: Capture, stderr: Capture
    ) -> tuple[int, Cause, str]:
        policy = self._policy
        env = environment.build(
            workspace=policy.workspace,
            private=policy.private,
            programs=self._programs,
            extra=policy.environment,
        )
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        try:
            child = start_child(
                argv, cwd=policy.workspace, env=env, stdout=out_write, stderr=err_write
            )
        except ToolMissing as error:
            return 127, Cause.NOT_FOUND, str(error)
        except ToolFailed as error:
            return 126, Cause.NOT_STARTED, str(error)
        finally:
            os.close(out_write)
            os.close(err_write)
        cause = Cause.EXITED
        with selectors.DefaultSelector() as selector:
            selector.register(out_read, selectors.EVENT_READ, stdout)
            selector.register(err_read, selectors.EVENT_READ, stderr)
            while selector.get_map():
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    cause = Cause.TIMED_OUT
                    break
                for key, _ in selector.select(remaining):
                    data = os.read(key.fd, 65536)
                    key.data.add(data)
                    if not data:
                        selector.unregister(key.fd)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        code = child.wait()
        os.close(out_read)
        os.close(err_read)
        if code < 0 and cause is Cause.EXITED:
            cause = Cause.SIGNALLED
        return (128 - code if code < 0 else code), cause, ""
