"""Defines what the process of a call says to the server, one line of JSON for each message."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Progressed:
    """Say how far a call has come: `done` only rises, and `total` is `None` while it is unknown."""

    done: float
    total: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Say what the calls of the model took so far, with the most that those under way may take."""

    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Answered:
    """Hold the answer of a call: the document of its verb, and the same in words.

    `is_error` says that the document is about the error that ended the verb.
    """

    document: dict[str, Any]
    text: str
    is_error: bool = False


Message = Progressed | Spent | Answered
_KINDS: dict[str, type[Message]] = {"progressed": Progressed, "spent": Spent, "answered": Answered}


def encode(message: Message) -> bytes:
    """Return the message as one line."""
    return json.dumps([type(message).__name__.lower(), asdict(message)]).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message of a line that `encode` made."""
    kind, values = json.loads(line)
    return _KINDS[kind](**values)
