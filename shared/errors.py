"""The exit codes and the errors that carry them.

An expected failure of a run is a value (a report, a verdict). An `LlmchError` says that a
command cannot go on; it is caught once, in `llmch.cli`, and printed as message and hint.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What the process returns; the table in `docs/commands.md` says when."""

    OK = 0
    FAILED = 1
    INVALID = 2
    MODEL = 3
    UNPARSEABLE = 4
    PREFLIGHT = 5
    SANDBOX = 6
    BUDGET = 7
    BUSY = 8
    INTERNAL = 70
    INTERRUPTED = 130


class LlmchError(Exception):
    """Inability to go on: `message` says what is wrong and where, `hint` what to do about it."""

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CommandFailed(LlmchError):
    """The command could not do what it was asked, for a reason of none of the kinds below."""


class InvalidInput(LlmchError):
    """A flag, a spec, an order file or a manifest cannot be used as it is."""

    exit_code = ExitCode.INVALID


class ModelUnavailable(LlmchError):
    """The model cannot be reached or refuses us, and asking again would not help."""

    exit_code = ExitCode.MODEL


class ReplyUnparseable(LlmchError):
    """The planner's last reply held no JSON document."""

    exit_code = ExitCode.UNPARSEABLE


class PreflightRefused(LlmchError):
    """The repo is not in a state to work on; nothing was changed."""

    exit_code = ExitCode.PREFLIGHT


class SandboxUnavailable(LlmchError):
    """No sandbox works here and none was waived."""

    exit_code = ExitCode.SANDBOX


class BudgetReached(LlmchError):
    """The next model call could exceed the token or cost cap."""

    exit_code = ExitCode.BUDGET


class Busy(LlmchError):
    """Another run holds the repo, or a run's state cannot be read."""

    exit_code = ExitCode.BUSY


class Interrupted(LlmchError):
    """Ctrl-C or SIGTERM: the state is kept and the next run goes on."""

    exit_code = ExitCode.INTERRUPTED
