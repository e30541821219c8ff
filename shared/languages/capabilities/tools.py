"""Defines what a language may use to judge code: type checkers that stay warm, and tools."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from shared.languages.capabilities.checking import CheckerFailed, CheckerProcess


class ToolMissing(Exception):
    """Raised when a program is not installed, or cannot be run. The message names it."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Hold how a tool ended: `exit_code` is `None` where it was killed at its time limit."""

    exit_code: int | None
    stdout: str
    stderr: str


class ToolRunner(Protocol):
    """Run a tool on a few files. The one who wires it holds the tool in a sandbox."""

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        """Run `argv` in a folder that holds `files`, texts by path, and return how it ended.

        The tool has no network. It may write to the folder; only the folder `target` in it, and the
        tool's own build cache, last as long as the runner. Raises `ToolMissing` where the program
        of `argv` is not installed, or cannot be run.
        """

    def close(self) -> None:
        """Remove what the runs left."""


def _as_it_is(open_checker: Callable[[], CheckerProcess]) -> CheckerProcess:
    return open_checker()


class Tools:
    """Keep what judges code running from one question to the next. Use it as a context manager.

    `runner` is `None` where the caller cannot hold a tool in a sandbox. The code of languages that
    need one is then left unjudged.
    """

    def __init__(
        self,
        runner: ToolRunner | None = None,
        keep: Callable[[Callable[[], CheckerProcess]], CheckerProcess] = _as_it_is,
    ) -> None:
        """Have `keep` make each checker that stays: it is given how the checker is opened.

        A run in which several threads ask gives something that has them take turns.
        """
        self.runner = runner
        self._keep = keep
        self._checkers: dict[str, CheckerProcess] = {}
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def checker(self, language: str, open_checker: Callable[[], CheckerProcess]) -> CheckerProcess:
        """Return the checker of a language; the first question about it opens the checker.

        Raises `CheckerFailed` once the tools are closed.
        """
        with self._lock:
            if self._closed:
                raise CheckerFailed("the type checker was ended with the run")
            if language not in self._checkers:
                self._checkers[language] = self._keep(open_checker)
            return self._checkers[language]

    def is_warm(self, language: str) -> bool:
        """Return whether the checker of a language has been asked something."""
        return language in self._checkers and self._checkers[language].is_running

    def close(self) -> None:
        """End all checkers and the runner for good."""
        with self._lock:
            self._closed = True
            checkers = tuple(self._checkers.values())
        for each in checkers:
            each.close()
        if self.runner is not None:
            self.runner.close()
