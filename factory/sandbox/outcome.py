"""Describes how a command ended and what it printed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from factory.sandbox.policy import Backend


class Cause(StrEnum):
    """Say why a command ended. Only `EXITED` means that the command chose its exit code."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    CPU_LIMIT = "cpu_limit"
    OUTPUT_LIMIT = "output_limit"
    NOT_FOUND = "not_found"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class Captured:
    """Hold one stream. When truncated, `text` is its head and tail with a mark between."""

    text: str
    total_bytes: int
    truncated: bool
    log: Path
    """A file with the stream, bounded too: it holds a longer head, a mark and the tail."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Record how a command ended. `exit_code` is 128 + N when signal N ended it, as in a shell."""

    argv: tuple[str, ...]
    exit_code: int
    cause: Cause
    stdout: Captured
    stderr: Captured
    duration_seconds: float
    backend: Backend
    reason: str = ""
    """Why the command was not started or was ended, or what had to be put back; else empty."""

    @property
    def ok(self) -> bool:
        """Return whether the command ended by itself with exit code 0."""
        return self.cause is Cause.EXITED and self.exit_code == 0


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """Record how an interactive command ended; `reason` is as in `Ended`."""

    exit_code: int
    reason: str = ""
