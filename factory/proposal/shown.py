"""Defines a file as the model sees it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from factory.proposal.scope import FileState


@dataclass(frozen=True, slots=True)
class ShownFile:
    """Hold a file as the model sees it: whole, or known to be absent."""

    path: str
    state: FileState
    text: str


def hashes_of(shown: Sequence[ShownFile]) -> Mapping[str, FileState]:
    """Return the state of each file that the prompt shows, by its path."""
    return {file.path: file.state for file in shown}
