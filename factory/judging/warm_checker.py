"""Keeps one type checker running for all orders of a run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import Final

from shared.languages.base import CheckerFailed, CheckerProcess, Diagnostic, Language

_LOOK_EVERY_SECONDS: Final = 0.05


class WarmChecker:
    """Serve a type checker to several threads; its process starts with the first question.

    Closing it ends a question that another thread is waiting for.
    """

    def __init__(self, language: Language) -> None:
        self.language = language
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
        """Return the problems in `targets`; see `shared.languages.base.Checker`."""
        with self._lock:
            if self._closed:
                raise CheckerFailed("the type checker was ended with the run")
            if self._checker is None:
                self._checker = self.language.open_checker()
            return self._checker.check(files, targets, roots)

    def warm_up(self) -> None:
        """Start the process in the background, so that the first question is quick."""
        if self._checker is None and not self._closed:
            threading.Thread(target=self._ask_nothing, name="type checker", daemon=True).start()

    def _ask_nothing(self) -> None:
        # The first real question reports what is wrong with the checker, if anything is.
        with contextlib.suppress(CheckerFailed):
            self.language.warm_up(self)

    def close(self) -> None:
        """End the type checker for good."""
        self._closed = True
        while not self._lock.acquire(timeout=_LOOK_EVERY_SECONDS):
            if self._checker is not None:
                self._checker.abort()
        try:
            if self._checker is not None:
                self._checker.close()
        finally:
            self._lock.release()
