"""Reads JSON documents from HTTP bodies: one whole document, or many as server-sent events.

A body that is not JSON is told apart by its kind: an HTML page, a damaged chunk, an endless body.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shared.llm.client import ReplyBroken
from shared.llm.wire.transport import HttpReply

EVENT_STREAM = "text/event-stream"

# This is far above any reply that a model can write. A longer body is taken for endless.
_LONGEST_BODY_BYTES = 64 * 1024 * 1024

Document = Mapping[str, Any]


class NotJson(Exception):
    """Raised when a body under a good status is not JSON: another kind of server answered.

    `what` says what came instead.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def read_document(reply: HttpReply) -> Document:
    """Return the body as one JSON object; raise `NotJson` or `ReplyBroken` where it is not one."""
    return _parsed(b"".join(_bounded(reply.chunks)), reply.media_type)


def iter_documents(reply: HttpReply) -> Iterator[Document]:
    """Yield the JSON objects of an event stream, up to `[DONE]` or the stream's end.

    A server that does not stream sends one whole document, which is yielded. Raises `NotJson` for
    a body that is neither, and `ReplyBroken` for an event that is not a JSON object.
    """
    if reply.media_type != EVENT_STREAM:
        yield read_document(reply)
        return
    for data in iter_event_data(_bounded(reply.chunks)):
        if data.strip() == "[DONE]":
            return
        yield _event_document(data)


def iter_event_data(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the data of each server-sent event, however the bytes are cut into chunks.

    An event that the end of the stream cuts off is dropped, as the standard requires.
    """
    data: list[str] = []
    for line in _lines(chunks):
        if not line:
            if data:
                yield "\n".join(data)
            data = []
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield whole lines without their ends; LF, CRLF and CR all end a line."""
    pieces: list[bytes] = []
    ended_in_return = False
    for chunk in chunks:
        if not chunk:
            continue
        # `splitlines` of bytes splits at exactly these three ends.
        rest = chunk[1:] if ended_in_return and chunk.startswith(b"\n") else chunk
        for piece in rest.splitlines(keepends=True):
            pieces.append(piece)
            if piece.endswith((b"\n", b"\r")):
                yield b"".join(pieces).rstrip(b"\r\n").decode("utf-8", "replace")
                pieces = []
        ended_in_return = chunk.endswith(b"\r")


def _bounded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > _LONGEST_BODY_BYTES:
            raise ReplyBroken(f"the reply has no end: over {_LONGEST_BODY_BYTES:,} bytes came")
        yield chunk


def _parsed(body: bytes, media_type: str) -> Document:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise _not_json(body, media_type) from None
    if not isinstance(document, dict):
        raise NotJson("JSON that is not an object")
    return document


def _not_json(body: bytes, media_type: str) -> Exception:
    start = body[:200].lstrip().lower()
    if "html" in media_type or start.startswith((b"<!doctype", b"<html", b"<head", b"<body")):
        return NotJson("an HTML page")
    if not start:
        return ReplyBroken("the reply's body is empty")
    if "json" in media_type:
        return ReplyBroken("the reply's body is damaged: it is no JSON")
    return NotJson("something other than JSON")


def _event_document(data: str) -> Document:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise ReplyBroken("a damaged chunk came in the middle of the reply") from None
    if not isinstance(document, dict):
        raise ReplyBroken("a chunk that is no JSON object came in the middle of the reply")
    return document
