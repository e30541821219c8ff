"""Reads a note that holds one statement on each line: what landed a commit, what it stands for.

Several runs may have made the same commit, and a person's commit may stand for several orders. So a
note is a bundle of envelopes, as in-toto describes it, and two notes are merged line by line. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from factory.statement.document import Acceptance, Statement
from factory.statement.envelope import Envelope, EnvelopeMalformed, parse_envelope, parse_statement

_MOST_STATEMENTS: Final = 10_000  # on one commit: each replay of a run leaves one


@dataclass(frozen=True, slots=True)
class Attached:
    """Hold one line of a note: a statement with its envelope, or why it does not hold one."""

    envelope: Envelope | None = None
    statement: Statement | Acceptance | None = None
    malformed: str = ""


def parse_bundle(note: bytes) -> tuple[Attached, ...]:
    """Return what is attached to a commit; at least one, so that a note is never passed over."""
    lines = tuple(dict.fromkeys(each for each in note.split(b"\n") if each.strip()))
    if not lines:
        return (Attached(malformed="it is empty"),)
    found = tuple(map(_attached, lines[:_MOST_STATEMENTS]))
    if len(lines) > _MOST_STATEMENTS:
        found += (Attached(malformed=f"it has over {_MOST_STATEMENTS} lines"),)
    return found


def bundle_without(note: bytes, unwanted: Callable[[Statement | Acceptance], bool]) -> bytes:
    """Return a note without the statements that are not wanted; what cannot be read stays."""
    kept = []
    for line in filter(bytes.strip, note.split(b"\n")):
        statement = _attached(line).statement
        if statement is None or not unwanted(statement):
            kept.append(line + b"\n")
    return b"".join(kept)


def _attached(line: bytes) -> Attached:
    envelope = None
    try:
        envelope = parse_envelope(line)
        return Attached(envelope, parse_statement(envelope))
    except EnvelopeMalformed as malformed:
        return Attached(envelope, None, str(malformed))
