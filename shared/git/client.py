"""Runs git in one folder.

The other files of this room ask the questions and do the acts, each a function of a `Git` with a
plain answer; they are grouped by what they are about. These functions raise `GitFailed` unless
they say otherwise.

Git runs with our own environment and settings. Inherited `GIT_*` variables could point it at
another repo. Hooks, file-system monitors and filters that only the target's own config defines
are code of the target, which never runs outside the sandbox.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from shared.errors import CommandFailed
from shared.git.config import FIXED_CONFIG, Setting, as_environment, clean_environment
from shared.process import Finished, ToolFailed, ToolMissing, run_tool

TIMEOUT_SECONDS = 600.0
"""The limit of one call: a checkout of a very large repo on a slow disk takes less."""


class GitFailed(CommandFailed):
    """Say that a git command that had to succeed failed; the message has git's own words."""

    def __init__(self, done: Finished, hint: str = "") -> None:
        said = done.stderr.decode(errors="replace").strip()
        reason = "timed out" if done.timed_out else said or f"exit code {done.exit_code}"
        super().__init__(f"git {_subcommand(done.argv)} failed: {reason}", hint)
        self.done = done


@dataclass(frozen=True, slots=True)
class Git:
    """Say in which folder git runs, and with which settings and environment.

    `held` are file descriptors that git has open as long as it runs.
    """

    folder: Path
    config: tuple[Setting, ...] = ()
    held: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: clean_environment(os.environ))

    def at(self, folder: Path) -> Git:
        """Return the same git for another folder."""
        return replace(self, folder=folder)

    def with_config(self, entries: Iterable[Setting]) -> Git:
        """Return the same git with more settings."""
        return replace(self, config=(*self.config, *entries))

    def holding(self, descriptor: int) -> Git:
        """Return the same git, which keeps the lock of `descriptor` even after our process ends."""
        return replace(self, held=(*self.held, descriptor))

    def try_run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run one git command and return how it ended.

        Raises `CommandFailed` where git cannot be started.
        """
        settings = as_environment((*FIXED_CONFIG, *self.config))
        try:
            return run_tool(
                [_program(self.environment.get("PATH", "")), *arguments],
                cwd=self.folder,
                env={**self.environment, **settings, **(environment or {})},
                timeout_seconds=TIMEOUT_SECONDS,
                stdin=stdin,
                pass_fds=self.held,
            )
        except (ToolMissing, ToolFailed) as error:
            raise CommandFailed(
                str(error), "install git, or check that the folder exists"
            ) from error

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run one git command and return its output without the last newline.

        Raises `GitFailed` where it failed or timed out.
        """
        done = self.try_run(*arguments, stdin=stdin, environment=environment)
        if done.exit_code or done.timed_out:
            raise GitFailed(done)
        return text_of(done.stdout).removesuffix("\n")


def text_of(output: bytes) -> str:
    """Return git's output as text that can be encoded again unchanged: file names are bytes."""
    return output.decode("utf-8", "surrogateescape")


@cache
def _program(path: str) -> str:
    """Return where git is on `path`; the result is cached, so that not every call searches."""
    found = shutil.which("git", path=path) if path else None
    return found if found and Path(found).is_absolute() else "git"


def _subcommand(argv: Sequence[str]) -> str:
    return next(iter(argv[1:]), "")
