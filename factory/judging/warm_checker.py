"""One type checker for all orders of a run, warm from one to the next."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shared.languages.python.checker.checker import Diagnostic, TypeChecker

_LOOK_EVERY_SECONDS: Final = 0.05


class WarmChecker:
    """A `TypeChecker` for several threads; its process starts with the first question.

    Closing it ends a question that is under way in another thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checker: TypeChecker | None = None
        self._closed = False

    @property
    def is_running(self) -> bool:
        """True once a question has been asked, until it is closed."""
        return self._checker is not None and self._checker.is_running

    def check(
        self, files: Mapping[str, str], targets: Sequence[str], roots: Sequence[str] = ("",)
    ) -> tuple[Diagnostic, ...]:
        """Return what is wrong in `targets`; see `TypeChecker.check`."""
        from shared.languages.python.checker.checker import TypeChecker
        from shared.languages.python.checker.worker_process import CheckerFailed

        with self._lock:
            if self._closed:
                raise CheckerFailed("the type checker was ended with the run")
            if self._checker is None:
                self._checker = TypeChecker()
            return self._checker.check(files, targets, roots)

    def warm_up(self) -> None:
        """Start the process beside what is going on, so that the first question is quick."""
        if self._checker is None and not self._closed:
            threading.Thread(target=self._ask_nothing, name="type checker", daemon=True).start()

    def _ask_nothing(self) -> None:
        from shared.languages.python.checker.worker_process import CheckerFailed
        from shared.languages.python.views.views import ROOTS

        # What is wrong with it, if anything, the first real question tells.
        with contextlib.suppress(CheckerFailed):
            self.check({"nothing.py": ""}, ["nothing.py"], ROOTS)

    def close(self) -> None:
        """End it for good."""
        self._closed = True
        while not self._lock.acquire(timeout=_LOOK_EVERY_SECONDS):
            if self._checker is not None:
                self._checker.abort()
        try:
            if self._checker is not None:
                self._checker.close()
        finally:
            self._lock.release()
