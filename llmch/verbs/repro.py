"""Implements `llmch repro`: runs the command that failed again, on the rejected attempt's files."""

from __future__ import annotations

import argparse
import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.document import Block, Outcome, Paragraph, Remark
from llmch.entry.attempt_words import add_attempt_arguments, attempt_asked_for
from shared.errors import ExitCode

if TYPE_CHECKING:
    from factory.run.repro import Reproduced


@dataclass(frozen=True, slots=True)
class ReproDocument:
    """Represent the answer of `repro`: the command, and how it ended now and in the run."""

    reproduced: Reproduced

    def to_json(self) -> object:
        """Return the attempt, the command, and how the command ended, as plain values."""
        attempt, ended = self.reproduced.attempt, self.reproduced.ended
        return {
            "run_id": attempt.run.run_id,
            "work_order": attempt.order,
            "attempt": attempt.number,
            "command": self.reproduced.command,
            "cause": ended.cause,
            "exit_code": ended.exit_code,
            "exit_code_in_run": attempt.brief.exit_code if attempt.brief else None,
            "reason": ended.reason,
            "duration_seconds": round(ended.duration_seconds, 3),
            "stdout": ended.stdout.text,
            "stderr": ended.stderr.text,
        }

    def blocks(self) -> Iterator[Block]:
        """Return a line that says how the command ended; its output was shown before."""
        ended, brief = self.reproduced.ended, self.reproduced.attempt.brief
        reason = f" ({ended.reason})" if ended.reason else ""
        before = brief.exit_code if brief else None
        if ended.ok:
            text = f"it passes now; in the run it ended with exit code {before}"
        elif ended.exit_code == before:
            text = f"it ended with exit code {ended.exit_code}, as in the run{reason}"
        else:
            text = f"it ended with exit code {ended.exit_code}, in the run with {before}{reason}"
        yield Paragraph((f"`{self.reproduced.command}`: {text}",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `repro`."""
    add_attempt_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Run the command. The exit code is 0 where it passes now, and 1 where it fails again."""
    from factory.cli import find_interpreter, model_choice
    from factory.orders.options import RunOptions
    from factory.repo.preflight import find_repo
    from factory.run.repro import failed_command, recorded_options, reproduce
    from llmch.entry.wiring import settings_for

    settings = settings_for(args, console, repo=args.repo)
    place = find_repo(args.repo)
    attempt = attempt_asked_for(args, settings, place)
    command = failed_command(attempt)
    python = find_interpreter(settings.python)
    options = RunOptions(args.repo, settings, model_choice(settings), python)
    options = recorded_options(attempt, options, place, console)
    place = find_repo(args.repo, allow_repo_filters=options.allow_repo_filters)
    console.say(Remark((f"{attempt.describe()}, on {attempt.baseline[:12]}:", f"$ {command}")))
    output = LiveOutput(console)
    reproduced = reproduce(attempt, place, options, console, output.take)
    output.close()
    code = ExitCode.OK if reproduced.ended.ok else ExitCode.FAILED
    return Outcome(ReproDocument(reproduced), code)


class LiveOutput:
    """Show a command's output line by line as it comes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def take(self, data: bytes) -> None:
        """Show the lines that this piece completes."""
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        if lines:
            self._console.say(Remark(tuple(lines)))

    def close(self) -> None:
        """Show what follows the last line break."""
        rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
        if rest:
            self._console.say(Remark((rest,)))
