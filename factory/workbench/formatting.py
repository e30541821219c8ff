"""Formats what an order writes by the project's own formatter, in the sandbox.

Gates of a project refuse code that its formatter would change, and no executor may touch the tests
of a plan. So the formatter that the project's files name, out of its own dependencies, is given
each file that is written on its standard input. It gets no path to write to: only what it prints is
used. What it does elsewhere is undone, and then its output is not used either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from factory.orders.documents import MAX_WRITE_BYTES, FileWrite
from factory.sandbox.policy import Cause, Ended
from factory.sandbox.supervision import log_files
from factory.workbench.pool import Workbench
from shared.projects.project_tools import Formatter, keeps_lines, same_code

SECONDS: Final = 60.0
"""The limit for all files of an attempt, where a command may take longer."""


@dataclass(slots=True)
class Formatting:
    """Format files of a workspace in which git has them staged, and `expect` knows them.

    `formatted` has the new texts by path. `warnings` say in sentences what could not be used.
    """

    bench: Workbench
    log: Path
    seconds: float = SECONDS
    formatted: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def format(
        self,
        formatters: Mapping[str, Formatter],
        writes: Sequence[FileWrite],
        tests: frozenset[str],
        before: Callable[[str], str],
    ) -> None:
        """Format what is written by path. The `tests` of the plan have to stay the same code.

        `before` returns the text that a path had before the order, "" for a new file.
        """
        left, failed = self.seconds, set[Formatter]()
        for number, write in enumerate(writes):
            own = formatters.get(write.path)
            if own is None or own in failed or not write.content.strip():
                continue
            log = self.log.with_name(f"{self.log.name}_{number}")
            argv = own.command(write.path)
            ended = self.bench.sandbox.run(argv, timeout_seconds=max(left, 1.0), log=log)
            left -= ended.duration_seconds
            text, problem = _printed(log) if ended.ok else ("", _why(ended, self.seconds))
            if not problem and self.bench.undo():
                problem = "it changes other files"
            if problem:
                self._warn(own, "", problem)
                failed.add(own)
                self.bench.undo()
            elif write.path in tests and not same_code(write.path, write.content, text):
                changes = "it changes what the file says, which is a test of the plan"
                self._warn(own, f" on {write.path}", changes)
            elif text != write.content and (
                own.named or keeps_lines(before(write.path), write.content, text)
            ):
                self.formatted[write.path] = text

    def _warn(self, formatter: Formatter, where: str, problem: str) -> None:
        if formatter.named:  # nobody asked for another one
            said = f"`{formatter.name}` of the project was not used{where}: {problem}"
            self.warnings.append(said)


def _printed(log: Path) -> tuple[str, str]:
    """Return what a formatter printed, or why that cannot be a file."""
    out, _ = log_files(log)
    try:
        data = out.read_bytes()
        text = data.decode()
    except (OSError, UnicodeDecodeError):
        return "", "it printed something that is not text"
    if not text.strip() or "\0" in text or len(data) > MAX_WRITE_BYTES:
        return "", f"what it printed is empty, or has over {MAX_WRITE_BYTES:,} bytes"
    return text, ""


def _why(ended: Ended, seconds: float) -> str:
    match ended.cause:
        case Cause.TIMED_OUT:
            return f"it did not end within {seconds:.0f} seconds"
        case Cause.EXITED:
            return f"it failed with exit code {ended.exit_code}; is it installed?"
        case _:
            return "it could not be run"
