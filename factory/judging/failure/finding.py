"""Defines what a reader of output finds: the lines that matter, and what they say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Hold the lines of an output that tell one failure, and a sentence that says it.

    `lines` are numbers from 0. `fact` is empty where the lines say nothing that can be acted on.
    """

    lines: range
    fact: str = ""


def at_place(path: str, line: str | int, source: str = "") -> str:
    """Return the words for a line of a file, with its text where it is known."""
    shown = f": `{source.strip()}`" if source.strip() else ""
    return f"{path.removeprefix('./')}, line {line}{shown}"
