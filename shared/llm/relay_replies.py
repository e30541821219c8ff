"""Reads the replies to agents' calls, of any wire, and passes streams on as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.llm.model_client import ReplyBroken, ReplyFailed, Request
from shared.llm.relay_wires import names
from shared.llm.reply_bodies import (
    EVENT_STREAM,
    HttpReply,
    bounded,
    event_document,
    iter_event_data,
    iter_events,
    parse_document,
)
from shared.llm.server_apis import usage_of
from shared.llm.server_replies import JUST_ENDS, Answer, answer_usage, error_document, text_of


@dataclass(slots=True)
class _Reply:
    """Collect what the documents of a reply say: its text, its usage, and whether it ended."""

    said: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    has_ended: bool = False

    def take(self, document: Mapping[str, Any]) -> None:
        for each in (document, document.get("response"), document.get("message")):
            if isinstance(each, Mapping):
                self.model = text_of(each.get("model") or each.get("modelVersion")) or self.model
                usage = each.get("usage") or each.get("usageMetadata")
                self.usage |= usage if isinstance(usage, dict) else {}
        kind = text_of(document.get("type"))
        if not kind.endswith((".done", ".added", ".completed", ".incomplete")):
            self.said += filter(None, _said(document))
        match document:
            case {"choices": [{"finish_reason": str()}, *_]}:
                self.has_ended = True
            case {"candidates": [{"finishReason": str()}, *_]}:
                self.has_ended = True
            case {"type": "response.completed" | "response.incomplete" | "response.failed"}:
                self.has_ended = True
            case {"type": "message_stop"}:
                self.has_ended = True
            case _:
                pass

    def answer(self, request: Request, document: str) -> Answer:
        usage = usage_of(self.usage)
        return Answer("".join(self.said), "", self.model or request.model, usage, document)


# Where the texts are that a model wrote, and the objects and lists that hold such.
_SAYS = names("content text reasoning_content reasoning arguments delta partial_json thinking")
_HOLDS = names(
    "choices message delta candidates content parts output tool_calls function content_block "
    "functionCall"
)


def _said(node: Any) -> Iterator[str]:
    """Yield the texts of a document that a model wrote, arguments of tools among them."""
    if isinstance(node, list):
        for each in node:
            yield from _said(each)
    elif isinstance(node, dict):
        for name, value in node.items():
            if isinstance(value, str):
                if name in _SAYS:
                    yield value
            elif name in _HOLDS:
                yield from _said(value)
            elif name in ("args", "input"):
                yield json.dumps(value)


def read_relayed(reply: HttpReply, request: Request, clean: Callable[[str], str]) -> Answer:
    """Return a reply as it is passed to the agent; `clean` removes secrets.

    Each event but the last goes to the request's sink once the model has said something. Raises
    `ReplyBroken` where the reply broke and nothing of it was passed on, so that it may be asked for
    again; a `ReplyFailed` with what was passed as `lost` otherwise; `NotJson` and `Refusal` as
    others do that read replies.
    """
    gathered = _Reply()
    chunks = bounded(reply.chunks)
    if reply.media_type != EVENT_STREAM:
        body = b"".join(chunks)
        _take(gathered, parse_document(reply, body))
        return gathered.answer(request, clean(body.decode("utf-8", "replace")))
    events: list[str] = []
    passed = 0
    try:
        for event in iter_events(chunks):
            data = "".join(iter_event_data([event])).strip()
            if data == "[DONE]":
                gathered.has_ended = True
            elif data:
                _take(gathered, event_document(reply, data))
            events.append(clean(event.decode("utf-8", "replace")))
            while request.sink and gathered.said and passed < len(events) - 1:
                request.sink(events[passed].encode())
                passed += 1
        if not gathered.has_ended:
            raise ReplyBroken(JUST_ENDS)
    except ReplyFailed as broken:
        usage = answer_usage(gathered.answer(request, ""), request)
        if not passed:
            broken.usage = usage
            raise
        lost = ("".join(events[:passed]),)
        raise ReplyFailed(
            f"{broken.message}; a part had been passed on", usage, lost=lost
        ) from None
    return gathered.answer(request, "".join(events))


def _take(gathered: _Reply, document: Mapping[str, Any]) -> None:
    """Add a document; raise `Refusal` for an error that comes in place of a reply."""
    error = document.get("error")
    if isinstance(error, Mapping) and error and not gathered.said:
        raise error_document(error)
    gathered.take(document)
