"""Defines what is shown of a command that ran, and of the sandbox that it ran in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Output:
    """Hold what a command printed on one stream, as far as the record quotes it.

    `size` is that of the whole log in bytes, and `path` names the log; `size` is `None` where the
    log is gone.
    """

    text: str
    path: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class SandboxView:
    """Hold what a sandbox guaranteed; `commands` is the number of commands that ran in it."""

    backend: str
    version: str
    held: tuple[str, ...]
    missing: tuple[str, ...]
    limits: tuple[tuple[str, int], ...]
    commands: int = 1


@dataclass(frozen=True, slots=True)
class CommandView:
    """Hold one run of a command; `purpose` says what it was run for."""

    purpose: str
    text: str
    exit_code: int | None
    seconds: float | None
    stdout: Output
    stderr: Output
    tests: str = ""
    note: str = ""
    sandbox: SandboxView | None = None
    by_itself: bool = True
    """Whether the command chose its exit code: it was started, and nothing ended it."""

    @property
    def passed(self) -> bool:
        """Return whether the command passed; a failure that counts for nothing has a note."""
        return self.by_itself and (self.exit_code == 0 or bool(self.note))
