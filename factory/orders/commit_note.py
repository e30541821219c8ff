"""Renders the note on a landed commit, and reads from it what verified the commit. Pure."""

from __future__ import annotations

import re

_PROOF = re.compile(r"^proof: (\S.*)$", re.MULTILINE)


def render_note(run_id: str, model: str, attempts: int, proof: str) -> str:
    """Return the text of a note; `proof` is one line, empty where nothing is known."""
    lines = [f"run: {run_id}", f"model: {model}", f"attempts: {attempts}"]
    if proof:
        lines.append(f"proof: {proof}")
    return "".join(f"{line}\n" for line in lines)


def parse_proof(note: str) -> str:
    """Return what a note says of the proof; "" where it says nothing, as older notes do."""
    found = _PROOF.search(note)
    return found[1].rstrip() if found else ""
