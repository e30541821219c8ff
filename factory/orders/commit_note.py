"""Renders the note on a landed commit, and reads from it what verified the commit. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_ACCEPTED: Final = "accepted: {}"
_PROOF = re.compile(r"^proof: (\S.*)$", re.MULTILINE)


def render_note(run_id: str, model: str, attempts: int, proof: str) -> str:
    """Return the text of a note; `proof` is one line, empty where nothing is known."""
    lines = [f"run: {run_id}", f"model: {model}", f"attempts: {attempts}"]
    if proof:
        lines.append(f"proof: {proof}")
    return "".join(f"{line}\n" for line in lines)


def add_acceptance(note: str, order: str, facts: Mapping[str, str]) -> str:
    """Return a note on a person's commit with a paragraph that says that it stands for an order.

    `facts` are the other lines of the paragraph, by name. A paragraph of the same order is
    replaced, and all else in the note stays.
    """
    lines = (f"{name}: {' '.join(value.split())}" for name, value in facts.items() if value)
    paragraph = "\n".join([_ACCEPTED.format(order), *lines])
    return "\n\n".join([*_without_acceptance(note, order), paragraph]) + "\n"


def drop_acceptance(note: str, order: str) -> str:
    """Return the note without the paragraph of `order`; "" where nothing else was in it."""
    kept = _without_acceptance(note, order)
    return "\n\n".join(kept) + "\n" if kept else ""


def _without_acceptance(note: str, order: str) -> list[str]:
    """Return the paragraphs of a note but for the one that says that it stands for `order`."""
    kept = [each.strip("\n") for each in note.split("\n\n") if each.strip()]
    return [each for each in kept if each.partition("\n")[0] != _ACCEPTED.format(order)]


def parse_proof(note: str) -> str:
    """Return what a note says of the proof; "" where it says nothing, as older notes do."""
    found = _PROOF.search(note)
    return found[1].rstrip() if found else ""
