"""Implements `llmch repro`: runs the command that failed again, on the rejected attempt's files."""

from __future__ import annotations

import argparse
import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from factory import preflight, run_flags
from factory.orders import task
from factory.run import reproduce
from factory.sandbox import policy
from factory.workbench import dependencies
from llmch.console import Console
from llmch.console.console import terminal_descriptors
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark, Shape
from llmch.entry import wiring
from llmch.entry.command_line import add_attempt_arguments, attempt_asked_for
from shared.errors import ExitCode, InvalidInput

if TYPE_CHECKING:
    from factory.record.runs_on_record import AttemptOnRecord


_ATTEMPT = ("run_id=attempt.run.run_id", "work_order=attempt.order", "attempt=attempt.number")
_REPRODUCED = Shape(
    *_ATTEMPT,
    "command",
    "cause=ended.cause",
    "exit_code=ended.exit_code",
    "exit_code_in_run=attempt.brief.exit_code",
    "reason=ended.reason",
    "duration_seconds=ended.duration_seconds",
    "stdout=ended.stdout.text",
    "stderr=ended.stderr.text",
    duration_seconds=lambda seconds: round(seconds, 3),
)


@dataclass(frozen=True, slots=True)
class ReproDocument(Document):
    """Represent the answer of `repro`: the command, and how it ended now and in the run."""

    reproduced: reproduce.Reproduced

    def to_json(self) -> object:
        return _REPRODUCED(self.reproduced)

    def blocks(self) -> Iterator[Block]:
        ended, brief = self.reproduced.ended, self.reproduced.attempt.brief
        reason = f" ({ended.reason})" if ended.reason else ""
        before = brief.exit_code if brief else None
        if ended.exit_code == before:
            text = f"it ended with exit code {ended.exit_code}, as in the run{reason}"
        elif ended.ok:
            text = f"it passes now; in the run it ended with exit code {before}"
        else:
            text = f"it ended with exit code {ended.exit_code}, in the run with {before}{reason}"
        yield Paragraph((f"`{self.reproduced.command}`: {text}",))


@dataclass(frozen=True, slots=True)
class ShellDocument(Document):
    """Represent the answer of `repro --shell`: the attempt, and how the shell ended."""

    shape = Shape(*_ATTEMPT, "exit_code=ended.exit_code", "reason=ended.reason")

    attempt: AttemptOnRecord
    ended: policy.SessionEnded

    def blocks(self) -> Iterator[Block]:
        reason = f" ({self.ended.reason})" if self.ended.reason else ""
        yield Remark((f"the shell has ended{reason}, and its files are removed",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_attempt_arguments(parser, "; without words, the last that failed")
    parser.add_argument(
        "--run", metavar="RUN", help="the run, if it is not among the words that name the attempt"
    )
    parser.add_argument(
        "--shell",
        action="store_true",
        help="open a shell on the files instead, in the same sandbox",
    )


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Run the command that failed, or a shell.

    The exit code is 0 if the command passes now or the shell has ended, and 1 if the command
    fails again.
    """
    settings = wiring.settings_for(args, console, repo=args.repo)
    place = preflight.find_repo(args.repo)
    attempt = attempt_asked_for(args, settings, place, failed=True)
    python = dependencies.choose_python(settings.python, args.repo).python
    options = task.RunOptions(args.repo, settings, run_flags.model_choice(settings), python)
    options = reproduce.recorded_options(attempt, options, place, console)
    place = preflight.find_repo(args.repo, allow_repo_filters=options.allow_repo_filters)
    return (_shell if args.shell else _command)(attempt, place, options, console)


def _command(
    attempt: AttemptOnRecord, place: preflight.RepoPlace, options: task.RunOptions, console: Console
) -> Outcome:
    command = reproduce.failed_command(attempt)
    console.say(Remark((f"{_about(attempt)}:", f"$ {command}")))
    output = LiveOutput(console)
    reproduced = reproduce.reproduce(attempt, place, options, console, output.take)
    output.close()
    code = ExitCode.OK if reproduced.ended.ok else ExitCode.FAILED
    return Outcome(ReproDocument(reproduced), code)


def _shell(
    attempt: AttemptOnRecord, place: preflight.RepoPlace, options: task.RunOptions, console: Console
) -> Outcome:
    descriptors = terminal_descriptors()
    if descriptors is None:
        raise InvalidInput(
            "a shell needs a terminal, and stdin or stdout is not one",
            f"without --shell, `llmch repro {attempt.order}` runs the command that failed",
        )

    def announce() -> None:
        command = attempt.brief.command if attempt.brief else None
        failed = (f"the command that failed: {command}",) if command else ()
        console.say(
            Remark((f"{_about(attempt)}; `exit` ends the shell and removes the files", *failed))
        )

    terminal = reproduce.UserTerminal(*descriptors, announce)
    return Outcome(
        ShellDocument(attempt, reproduce.open_shell(attempt, place, options, console, terminal))
    )


def _about(attempt: AttemptOnRecord) -> str:
    return f"{attempt.describe()}, on {attempt.baseline[:12]}"


class LiveOutput:
    """Show a command's output line by line as it comes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        if lines:
            self._console.say(Remark(tuple(lines)))

    def close(self) -> None:
        """Show what follows the last line break."""
        rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
        if rest:
            self._console.say(Remark((rest,)))
