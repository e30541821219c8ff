"""Defines what is recorded of a model's reply: enough to find it again, and to read it alike."""

from __future__ import annotations

import hashlib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from factory.orders.reply_format import ReplyFormat


class ReplyRecord(BaseModel):
    """Name a reply by the hash of its text.

    `asked` is the format that the prompt asked for. `focused` says that it asked for the one
    definition which the order names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    model: str
    asked: ReplyFormat
    focused: bool = False


def reply_sha256(text: str) -> str:
    """Return the hash of a reply; also half of a surrogate pair, which is no text, has one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
