"""Defines a file as the model sees it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from factory.proposal.scope import FileKind, FileState
from factory.proposal.windows import Window
from shared.languages.capabilities.edits import OutlineEntry


@dataclass(frozen=True, slots=True)
class ShownFile:
    """Hold a file as the model sees it: whole, in parts, or known to be absent.

    `text` is the whole text in any case. `parts` are the windows that are shown of a large file.
    """

    path: str
    state: FileState
    text: str
    parts: tuple[Window, ...] | None = None
    outline: tuple[OutlineEntry, ...] = ()
    may_ask: bool = True
    """Whether the model may still ask for more parts."""


def hashes_of(shown: Sequence[ShownFile]) -> Mapping[str, FileState]:
    """Return the state of each file that the prompt shows, by its path."""
    return {file.path: file.state for file in shown}


def texts_of(shown: Sequence[ShownFile]) -> Mapping[str, str]:
    """Return the text of each shown file that exists, by its path."""
    return {file.path: file.text for file in shown if file.state.kind is FileKind.FILE}
