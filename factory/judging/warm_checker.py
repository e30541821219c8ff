"""Keeps one type checker of each language running for all orders of a run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from factory.workbench.tool_runner import SandboxRunner
from shared.languages.capabilities.checking import CheckerFailed, CheckerProcess, Diagnostic
from shared.languages.capabilities.conformance import Conformance
from shared.languages.capabilities.tools import Tools
from shared.languages.registry import language_of
from shared.settings.sandbox import SandboxSettings

_LOOK_EVERY_SECONDS: Final = 0.05


class WarmChecker:
    """Serve a type checker to several threads; its process starts with the first question.

    Closing it ends a question that another thread is waiting for.
    """

    def __init__(self, open_checker: Callable[[], CheckerProcess]) -> None:
        self._open = open_checker
        self._lock = threading.Lock()
        self._checker: CheckerProcess | None = None
        self._closed = False

    @property
    def is_running(self) -> bool:
        """Return whether the process runs: from the first question until it is closed."""
        return self._checker is not None and self._checker.is_running

    def check(
        self, files: Mapping[str, str], targets: Sequence[str], roots: Sequence[str] = ("",)
    ) -> tuple[Diagnostic, ...]:
        """Return the problems in `targets`, as a `Checker` does."""
        with self._lock:
            if self._closed:
                raise CheckerFailed("the type checker was ended with the run")
            if self._checker is None:
                self._checker = self._open()
            return self._checker.check(files, targets, roots)

    def abort(self) -> None:
        """End the process from another thread. A question that is being answered fails."""
        if self._checker is not None:
            self._checker.abort()

    def close(self) -> None:
        """End the type checker for good."""
        self._closed = True
        while not self._lock.acquire(timeout=_LOOK_EVERY_SECONDS):
            self.abort()
        try:
            if self._checker is not None:
                self._checker.close()
        finally:
            self._lock.release()


def warm_tools(settings: SandboxSettings, checkout: Path) -> Tools:
    """Return what judges the code of all languages, for several threads. Nothing starts yet.

    Tools run in the sandbox of `settings`, and none is taken from the folder `checkout`.
    """
    return Tools(SandboxRunner(settings, checkout), keep=WarmChecker)


def warm_up(tools: Tools, paths: Iterable[str]) -> None:
    """Start the checkers for these files in the background, so that first questions are quick."""
    languages = {each.name: each for path in paths if (each := language_of(path)) is not None}
    for name, language in languages.items():
        if language.conformance is not None and not tools.is_warm(name):
            arguments = (language.conformance, tools)
            threading.Thread(
                target=_ask_nothing, args=arguments, name="type checker", daemon=True
            ).start()


def _ask_nothing(conformance: Conformance, tools: Tools) -> None:
    # The first real question reports what is wrong with the checker, if anything is.
    with contextlib.suppress(CheckerFailed):
        conformance.warm_up(tools)
