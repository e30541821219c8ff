"""Defines the values that say how the attempts of an order ended."""

from __future__ import annotations

from dataclasses import dataclass

from factory.orders.documents import FailureBrief
from shared.errors import LlmchError


@dataclass(frozen=True, slots=True)
class Passed:
    """Hold a verified commit in the workspace, which is not on the branch yet.

    `summary` is what the model says of its change. `verified` is the key of the verification; it is
    empty where the commit did not pass all of it. `files` were written, and `removed` are gone.
    """

    commit: str
    tree: str
    files: tuple[str, ...]
    summary: str
    verified: str = ""
    removed: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        """Return the paths that the commit touches, sorted."""
        return tuple(sorted((*self.files, *self.removed)))


@dataclass(frozen=True, slots=True)
class Failed:
    """Say that all attempts failed, or that one failed in a way that no other attempt can fix."""

    brief: FailureBrief


@dataclass(frozen=True, slots=True)
class Errored:
    """Say that the order could not be judged, because the harness or its environment failed."""

    cause: str
    error: LlmchError | None = None
    """The error that ends the whole run; `None` if the run goes on."""


Verdict = Passed | Failed | Errored
