"""Defines the exit codes, the errors that carry them, and the text that explains a code.

An expected failure of a run is a value (a report, a verdict). An `LlmchError` says that a
command cannot go on. It is caught once, in `llmch.entry.boundary`, and printed as a message and a
hint.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import ClassVar, Final, Literal


class ExitCode(IntEnum):
    """List the codes that the process returns; `EXIT_CODE_MEANINGS` says when."""

    OK = 0
    FAILED = 1
    INVALID = 2
    MODEL = 3
    UNPARSEABLE = 4
    PREFLIGHT = 5
    SANDBOX = 6
    BUDGET = 7
    BUSY = 8
    FLEET = 9
    INTERNAL = 70
    INTERRUPTED = 130


EXIT_CODE_MEANINGS: Final = {
    ExitCode.OK: "the command did what it was asked to do",
    ExitCode.FAILED: "an order failed, or cannot be made because one that it needs is left out; "
    "all that `accept` was given fails; the command of `repro` fails again; a claim that `verify` "
    "looks into is contradicted, or one that `--require` names is not proven; a requirement that "
    "`drift` looks at is broken, gone or weakened, or cannot be read; a person answered `build` "
    "that nothing is to be executed; a general error",
    ExitCode.INVALID: "usage; the specification or the plan is invalid (also one that `show` "
    "shows); errors left after the last attempt",
    ExitCode.MODEL: "the key is missing; authentication or quota was refused; transport failed "
    "after its retries",
    ExitCode.UNPARSEABLE: "the planner's last reply was not JSON",
    ExitCode.PREFLIGHT: "the repo was refused before anything changed, also because its "
    "verification fails; an order ended at the stage `environment`; the disk is full",
    ExitCode.SANDBOX: "no sandbox works here and none was waived",
    ExitCode.BUDGET: "the token or cost cap was reached",
    ExitCode.BUSY: "another run holds this repo, or the run's state cannot be read",
    ExitCode.FLEET: "the fleet's database cannot be reached, or is not one that this llmch can "
    "use; or no worker is alive, with `--no-wait`",
    ExitCode.INTERNAL: "a bug; the traceback is in the run's record",
    ExitCode.INTERRUPTED: "Ctrl-C, SIGTERM or a closed terminal; the state is kept, and the next "
    "run goes on",
}
"""When the process returns each code, for `llmch help exit-codes` and `docs/commands.md`."""


class LlmchError(Exception):
    """Say that a command cannot go on.

    `message` says what is wrong and where, and `hint` what to do about it.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CommandFailed(LlmchError):
    """Say that the command failed for a reason that no other error class names."""


class InvalidInput(LlmchError):
    """Say that a flag, a spec, an order file or a manifest cannot be used as it is."""

    exit_code = ExitCode.INVALID


class ModelUnavailable(LlmchError):
    """Say that the model cannot be reached or refuses us, and that a retry would not help."""

    exit_code = ExitCode.MODEL


class ReplyUnparseable(LlmchError):
    """Say that the planner's last reply held no JSON document."""

    exit_code = ExitCode.UNPARSEABLE


class PreflightRefused(LlmchError):
    """Say that the repo is not in a state to work on; nothing was changed."""

    exit_code = ExitCode.PREFLIGHT


class EnvironmentFault(CommandFailed):
    """Say that the environment, not the work, is at fault: no room on the disk, no program."""

    exit_code = ExitCode.PREFLIGHT


class SandboxUnavailable(LlmchError):
    """Say that no sandbox works here and that the user did not waive it."""

    exit_code = ExitCode.SANDBOX


class AgentUnavailable(LlmchError):
    """Say that no agent can be held here. To run without a sandbox would not help."""

    exit_code = ExitCode.SANDBOX


class BudgetReached(LlmchError):
    """Say that the next model call could exceed the token or cost cap."""

    exit_code = ExitCode.BUDGET


class Busy(LlmchError):
    """Say that another run holds the repo, or that a run's state cannot be read."""

    exit_code = ExitCode.BUSY


class FleetUnavailable(LlmchError):
    """Say that the fleet's database cannot be reached, or is not one that this llmch can use."""

    exit_code = ExitCode.FLEET


class Interrupted(LlmchError):
    """Say that Ctrl-C or another signal ended the command; the next run goes on from its state."""

    exit_code = ExitCode.INTERRUPTED


class InterruptedRun(KeyboardInterrupt):
    """Say that Ctrl-C or another signal ended a run that had begun; `hint` says how it goes on."""

    def __init__(self, hint: str) -> None:
        super().__init__()
        self.hint = hint


Severity = Literal["error", "warning"]

_MAX_QUOTED: Final = 120


def severity_of(code: str) -> Severity:
    """Return the severity of a finding with this code; the code's first letter says it."""
    return "warning" if code.startswith("W") else "error"


@dataclass(frozen=True, slots=True)
class Example:
    """Show what breaks a rule and what keeps it.

    Both are JSON: a plan, or the fields of one order, and a `repo` where its content matters.
    """

    bad: str
    good: str


@dataclass(frozen=True, slots=True)
class RuleText:
    """Explain a code.

    `why` says what goes wrong without the rule, `remedy` what to do. `bad` and `good` are the two
    sides of an `Example`. They are empty if languages decide the code: each of them then has an
    example of its own (`shared.languages.capabilities`).
    """

    code: str
    title: str
    why: str
    remedy: str
    bad: str = ""
    good: str = ""

    @property
    def severity(self) -> Severity:
        return severity_of(self.code)


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """Represent a finding as all commands show it, as text or as JSON, with its rule's remedy.

    `work_order` is `None` if the finding is about the whole plan, and `field` is `None` if
    it is about no single field.
    """

    code: str
    severity: Severity
    work_order: str | None
    field: str | None
    message: str
    remedy: str

    def to_json(self) -> dict[str, str | None]:
        """Return the finding as an entry of `findings` in a JSON document."""
        return asdict(self)


def quoted(text: str) -> str:
    """Return `text` quoted on one line, cut to the length that a message can hold."""
    line = json.dumps(text, ensure_ascii=False)
    return line if len(line) <= _MAX_QUOTED else f'{line[:_MAX_QUOTED]}..."'


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of llmch, which no index of packages has."""
    return f"in a clone of llmch: pip install '.[{extra}]'"
