"""Fixtures for a type checker that stays warm: its first question takes seconds, others no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from shared.languages.language_tools import CheckerProcess, Tools
from shared.languages.python.type_checker import TypeChecker
from tests import processes


@pytest.fixture(scope="session")
def warm_checker() -> Iterator[TypeChecker]:
    """Return a type checker for all tests of the session."""
    with TypeChecker() as warm:
        yield warm


@pytest.fixture
def checker(warm_checker: TypeChecker, no_process_left: None) -> Iterator[TypeChecker]:
    """Return the session's type checker, whose process lasts, also one that was started anew."""
    with processes.lasting_ones():
        yield warm_checker


def tools_with(checker: TypeChecker) -> Tools:
    """Return tools that ask this type checker about Python, and leave it open."""
    return _Shared(checker)


class _Shared(Tools):
    def __init__(self, checker: TypeChecker) -> None:
        super().__init__()
        self._shared = checker

    def checker(self, language: str, open_checker: Callable[[], CheckerProcess]) -> CheckerProcess:
        return self._shared
