"""Which backend works here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from factory.sandbox.bare import Bare
from factory.sandbox.guarantees import Guarantees
from factory.sandbox.outcome import Ended
from factory.sandbox.policy import Backend, Limits, Policy
from shared.errors import SandboxUnavailable


class Sandbox(Protocol):
    """The one way to run an untrusted command."""

    @property
    def backend(self) -> Backend:
        """Never `AUTO`."""

    @property
    def version(self) -> str:
        """The backend's own version; empty for `OFF`."""

    @property
    def guarantees(self) -> Guarantees:
        """What holds here, each True or False."""

    @property
    def limits(self) -> Limits:
        """What a command may use."""

    def describe(self) -> str:
        """One line: what holds and what does not."""

    def run(self, argv: Sequence[str], *, timeout_seconds: float, log: Path) -> Ended:
        """Run `argv` in the workspace and return within a second of the deadline.

        Whatever happens to the command is in the result, never an exception. Its output goes to
        `<log>.stdout.log` and `<log>.stderr.log`, whose folder exists. Safe from several threads.
        """


def open_sandbox(choice: Backend, policy: Policy) -> Sandbox:
    """The chosen sandbox, or the first that works for `AUTO`.

    Raises `SandboxUnavailable` with the probe's own error and how to mend it.
    """
    match choice:
        case Backend.OFF:
            return Bare(policy)
        case Backend.AUTO | Backend.BWRAP | Backend.LANDLOCK:
            raise SandboxUnavailable(
                f"no sandbox works here: {choice} is not there yet",
                "pass --sandbox off to run without one",
            )
