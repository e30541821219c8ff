"""Reads the bodies of a server's answers: one document, or server-sent events.

A body that is not JSON is reported by its kind: an HTML page, a damaged chunk, an endless body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any

from shared.files.secret_values import redact
from shared.llm.model_client import ReplyBroken


@dataclass(frozen=True, slots=True)
class HttpReply:
    """Hold an answer with a good status: its media type, and the chunks of its body.

    `secrets` are left out of the texts in the documents of its body.
    """

    media_type: str
    chunks: Iterator[bytes]
    secrets: tuple[str, ...] = ()

    def parse(self, source: bytes | str) -> object:
        """Return a JSON document of the body; raise `ValueError` or `RecursionError` if not one."""
        return json.loads(source, object_hook=self._cleaned)

    def _cleaned(self, document: dict[str, Any]) -> dict[str, Any]:
        for name, value in document.items():
            if isinstance(value, str):
                document[name] = redact(value, self.secrets)
        return document


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
    """Return the body as one JSON object; raise `NotJson` or `ReplyBroken` if it is not one."""
    return parse_document(reply, b"".join(bounded(reply.chunks)))


def parse_document(reply: HttpReply, body: bytes) -> Document:
    """Return the whole body of a reply as one JSON object, with errors as `read_document`."""
    try:
        document = reply.parse(body)
    except (ValueError, RecursionError):
        raise _not_json(body, reply.media_type) from None
    if not isinstance(document, dict):
        raise NotJson("JSON that is not an object")
    return document


def iter_documents(reply: HttpReply) -> Iterator[Document]:
    """Yield the JSON objects of an event stream, up to `[DONE]` or the stream's end.

    A server that does not stream sends one whole document, which is yielded. Raises `NotJson` for
    a body that is neither, and `ReplyBroken` for an event that is not a JSON object.
    """
    if reply.media_type != EVENT_STREAM:
        yield read_document(reply)
        return
    for data in iter_event_data(bounded(reply.chunks)):
        if data.strip() == "[DONE]":
            return
        yield event_document(reply, data)


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


def bounded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks; raise `ReplyBroken` where they have no end."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > _LONGEST_BODY_BYTES:
            raise ReplyBroken(f"the reply has no end: over {_LONGEST_BODY_BYTES:,} bytes came")
        yield chunk


_PAGE_STARTS = (b"<!doctype", b"<html", b"<head", b"<body")
_BEFORE_PAGE = re.compile(r"\ufeff?(?:\s+|<\?[^>]*\?>|<!--.*?-->)*", re.DOTALL)
_TITLE = re.compile(r"<(title|h1)[^<>]{0,200}>([^<]{1,200})", re.IGNORECASE)


def page_in_words(text: str) -> str:
    """Return what an HTML page is, with its title; "" where a text is not a page."""
    start = _BEFORE_PAGE.sub("", text[:2_000], count=1)[:20].lower()
    if not start.encode(errors="replace").startswith(_PAGE_STARTS):
        return ""
    found = _TITLE.search(text)
    title = " ".join(unescape(found[2]).split()) if found else ""
    return f"an HTML page, {title!r}" if title else "an HTML page"


def _not_json(body: bytes, media_type: str) -> Exception:
    start = body[:200].lstrip().lower()
    if "html" in media_type or start.startswith(_PAGE_STARTS):
        return NotJson("an HTML page")
    if not start:
        return ReplyBroken("the reply's body is empty")
    if "json" in media_type:
        return ReplyBroken("the reply's body is damaged: it is not JSON")
    return NotJson("something other than JSON")


def event_document(reply: HttpReply, data: str) -> Document:
    """Return the JSON object in an event's data; raise `ReplyBroken` if it is not one."""
    try:
        document = reply.parse(data)
    except (ValueError, RecursionError):
        raise ReplyBroken("a damaged chunk came in the middle of the reply") from None
    if not isinstance(document, dict):
        raise ReplyBroken("a chunk that is not a JSON object came in the middle of the reply")
    return document


_LONGEST_EVENT = 8 * 1024 * 1024
_EVENT_END = re.compile(rb"\r?\n\r?\n|\r\r")


def iter_events(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each whole event with its end, as its bytes came; what is cut off is dropped."""
    rest = b""
    for chunk in chunks:
        start, begin = max(0, len(rest) - 3), 0
        rest += chunk
        while found := _EVENT_END.search(rest, max(start, begin)):
            yield rest[begin : found.end()]
            begin = found.end()
        rest = rest[begin:]
        if len(rest) > _LONGEST_EVENT:
            raise ReplyBroken(
                f"an event of the reply has no end: over {_LONGEST_EVENT:,} bytes came"
            )
