"""Chooses the format in which a model is asked to write its proposal. Pure."""

from __future__ import annotations

from enum import StrEnum


class ReplyFormat(StrEnum):
    """Name a reply format: `json` is a strict document, `files` one fenced block per file.

    A `files` reply begins with a summary.
    """

    JSON = "json"
    FILES = "files"


def choose_reply_format(
    forced: ReplyFormat | None, *, trusted_schemas: bool, invalid_replies: int
) -> ReplyFormat:
    """Return the format to ask for: `forced` if it is given, else JSON or fenced files.

    JSON needs a server that enforces its schemas, and a model without an invalid reply so far.
    With code inside JSON strings a small model solved 0 of 12 tasks, with fenced code 10 of 12.
    """
    if forced is not None:
        return forced
    return ReplyFormat.JSON if trusted_schemas and invalid_replies == 0 else ReplyFormat.FILES
