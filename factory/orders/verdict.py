"""How an order's attempts ended, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from factory.orders.documents import FailureBrief
from shared.errors import LlmchError


@dataclass(frozen=True, slots=True)
class Passed:
    """A verified commit in the workspace, not yet on the branch."""

    commit: str
    tree: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """All attempts failed, or one failed in a way that another would not mend."""

    brief: FailureBrief


@dataclass(frozen=True, slots=True)
class Errored:
    """The order could not be judged: the harness or its surroundings failed, not the proposal."""

    cause: str
    error: LlmchError | None = None
    """What ends the whole run, where it does."""


Verdict = Passed | Failed | Errored
