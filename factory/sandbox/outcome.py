"""How a command ended and what it printed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from factory.sandbox.policy import Backend


class Cause(StrEnum):
    """Why a command ended. Only `EXITED` means that its exit code is its own choice."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    CPU_LIMIT = "cpu_limit"
    OUTPUT_LIMIT = "output_limit"
    NOT_FOUND = "not_found"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class Captured:
    """One stream: `text` is all of it, or its head and tail with a mark between when truncated."""

    text: str
    total_bytes: int
    truncated: bool
    log: Path
    """A file with the stream, bounded too: a longer head, a mark, the tail."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One command's record. `exit_code` is 128 + N when signal N ended it, as in a shell."""

    argv: tuple[str, ...]
    exit_code: int
    cause: Cause
    stdout: Captured
    stderr: Captured
    duration_seconds: float
    backend: Backend
    reason: str = ""
    """Why it was not started, or what had to be ended or put back; empty when all is well."""

    @property
    def ok(self) -> bool:
        """Whether the command ran to its own end and said success."""
        return self.cause is Cause.EXITED and self.exit_code == 0
