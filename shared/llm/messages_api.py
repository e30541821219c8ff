"""Speaks Anthropic's Messages: makes request bodies, and reads documents and events as answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from shared.events.events import Channel
from shared.llm import tool_calls
from shared.llm.budget import DEFAULT_OUTPUT_LIMIT, likely_tokens
from shared.llm.model_client import ReplyBroken, Request, ToolCall
from shared.llm.reply_bodies import Document
from shared.llm.request_forms import (
    NO_THINKING,
    Quirks,
    Structure,
    effective_limit,
    prompt_for,
    thinking_tokens,
    tools_are_sent,
)
from shared.llm.server_apis import usage_of
from shared.llm.server_replies import (
    Answer,
    Watch,
    cut_short,
    error_document,
    failed,
    just_ended,
    read_through,
    text_of,
)

PATH: Final = "/messages"

_LEAST_THINKING: Final = 1_024

_MARK: Final = {"cache_control": {"type": "ephemeral"}}
# How long a beginning must be for the server to keep it, in tokens; it keeps no shorter one.
_LEAST_KEPT: Final = 1_024
_LEAST_KEPT_OF: Final = (
    (re.compile(r"opus-4[-.][56]|haiku-4[-.]5"), 4_096),
    (re.compile(r"opus-4[-.]7|3[-.]5-haiku|3-haiku"), 2_048),
)


def message_body(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return the body of a request in the form that `quirks` allow."""
    limit = effective_limit(quirks, request) or DEFAULT_OUTPUT_LIMIT
    body: dict[str, Any] = {"model": request.model, "max_tokens": limit}
    body |= _thinking(request, quirks, limit)
    if request.temperature is not None and quirks.temperature and "thinking" not in body:
        body["temperature"] = request.temperature
    if request.tools and tools_are_sent(quirks, request):
        body["tools"] = tool_calls.messages_tools(request.tools)
    elif request.exchanges and tools_are_sent(quirks, request):
        # The server wants to know of the tools that were called, also where none may be any more.
        body["tools"] = tool_calls.called_tools(request.exchanges)
        body["tool_choice"] = {"type": "none"}
    if (schema := request.reply_schema) is not None:
        form = dict(schema.schema)
        if quirks.structure is Structure.SCHEMA:
            asked = {"format": {"type": "json_schema", "schema": form}}
            body["output_config"] = body.get("output_config", {}) | asked
        elif is_forced(request, quirks):
            reply = {"name": schema.name, "description": "Gives the reply.", "input_schema": form}
            body["tools"] = [reply]
            body["tool_choice"] = {"type": "tool", "name": schema.name}
            quirks = replace(quirks, structure=Structure.SCHEMA)  # the prompt need not have it too
    body["messages"] = _messages(request, quirks)
    if quirks.stream:
        body["stream"] = True
    return body


def is_forced(request: Request, quirks: Quirks) -> bool:
    """Return whether the reply is asked for as the arguments of a tool that has to be called.

    A model that thinks cannot be forced.
    """
    return (
        request.reply_schema is not None
        and quirks.structure is Structure.TOOL
        and not (request.tools or request.exchanges)
        and not _thinking(request, quirks, DEFAULT_OUTPUT_LIMIT)
    )


def _thinking(request: Request, quirks: Quirks, limit: int) -> dict[str, Any]:
    effort = request.reasoning_effort
    if effort is None or not quirks.reasoning_effort:
        return {}
    if quirks.thinking_budget:
        tokens = 0 if effort in NO_THINKING else thinking_tokens(effort, limit)
        if tokens < _LEAST_THINKING:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
    if effort in NO_THINKING:
        return {"thinking": {"type": "disabled"}}
    shown = {"display": "summarized"} if quirks.reasoning_summary else {}
    return {"thinking": {"type": "adaptive", **shown}, "output_config": {"effort": effort}}


def _messages(request: Request, quirks: Quirks) -> list[dict[str, Any]]:
    """Return the messages, marked where the server should keep all that came before.

    To be kept costs a quarter more, so a mark is set only where another call is to begin so.
    """
    prompt = prompt_for(quirks, request)
    sent = request.exchanges if tools_are_sent(quirks, request) else ()
    least = next((n for name, n in _LEAST_KEPT_OF if name.search(request.model)), _LEAST_KEPT)
    goes_on = bool(request.tools) and tools_are_sent(quirks, request)
    shared = len(prompt) if goes_on else min(request.shared, len(prompt))
    size = len(prompt[:shared].encode("utf-8", "replace"))
    if likely_tokens(size) >= least:
        parts = [{"type": "text", "text": prompt[:shared], **_MARK}]
        parts += [{"type": "text", "text": prompt[shared:]}] if prompt[shared:].strip() else []
    else:
        parts = [{"type": "text", "text": prompt}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": parts}]
    for each in sent:
        messages += tool_calls.messages_turn(each)
        size += sum(len(result.encode("utf-8", "replace")) for result in each.results)
    if sent and goes_on and likely_tokens(size) >= least:
        messages[-1]["content"][-1] |= _MARK
    return messages


_CHANNELS: Final = {"text": Channel.TEXT, "thinking": Channel.REASONING}
_PIECES: Final = (*_CHANNELS, "signature", "partial_json")


@dataclass(slots=True)
class _MessageBlocks:
    """Collect the blocks of one reply, from a whole document or from events."""

    watch: Watch
    blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    pieces: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    stop_reason: str = ""
    explanation: str = ""
    model: str = ""
    usage: dict[str, Any] = field(default_factory=dict)

    def take(self, document: Document) -> None:
        """Add an event, or a whole message from a server that does not stream."""
        match document:
            case {"error": {} as error}:
                raise self._refused(error)
            case {"error": str() as error}:
                raise self._refused({"message": error})
            case {"type": "message_start", "message": {} as message}:
                self._take_message(message)
            case {"type": "content_block_start", "index": int(index), "content_block": {} as block}:
                self._begin(index, block)
            case {"type": "content_block_delta", "index": int(index), "delta": {} as delta}:
                self._add(index, delta)
            case {"type": "message_delta", "delta": {} as delta}:
                self._end(delta, document)
            case {"type": "message"} | {"content": list(), "role": str()}:
                self._take_message(document)
            case _:
                pass  # pings, and what the server may send one day

    def _take_message(self, message: Document) -> None:
        self.model = text_of(message.get("model")) or self.model
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, Mapping):
                self._begin(index, block)
        self._end(message, message)

    def _end(self, ended: Document, message: Document) -> None:
        self.stop_reason = text_of(ended.get("stop_reason")) or self.stop_reason
        match ended.get("stop_details"):
            case {"explanation": str(said)}:
                self.explanation = said
            case _:
                pass
        if isinstance(usage := message.get("usage"), dict):
            self.usage |= {name: each for name, each in usage.items() if each is not None}

    def _begin(self, index: int, block: Mapping[str, Any]) -> None:
        self.blocks[index] = dict(block)
        self._add(index, {name: block.get(name) for name in ("text", "thinking", "signature")})

    def _add(self, index: int, delta: Mapping[str, Any]) -> None:
        self.blocks.setdefault(index, {"type": "text"})
        for name in _PIECES:
            if piece := text_of(delta.get(name)):
                self.pieces.setdefault((index, name), []).append(piece)
                if channel := _CHANNELS.get(name):
                    self.watch(channel, piece)

    def _refused(self, error: Mapping[str, Any]) -> Exception:
        refused = error_document(error)
        if self.blocks:
            return ReplyBroken(f"the server broke off the reply ({refused.body.text})")
        return refused

    def _piece(self, index: int, name: str) -> str:
        return "".join(self.pieces.get((index, name), ()))

    def _joined(self, name: str) -> str:
        return "".join(self._piece(each, name) for each in sorted(self.blocks))

    def answer(self, request: Request, *, forced: bool) -> Answer:
        calls = tuple(self._calls())
        text = self._joined("text")
        if forced and calls:
            text, calls = calls[0].arguments, ()
        return Answer(
            text=text,
            reasoning=self._joined("thinking"),
            model=self.model or request.model,
            usage=usage_of(self.usage),
            calls=calls if request.tools else (),
            sealed=self._sealed() if calls and request.tools else "",
        )

    def _calls(self) -> Iterator[ToolCall]:
        for index in sorted(self.blocks):
            block = self.blocks[index]
            if block.get("type") != "tool_use" or not (name := text_of(block.get("name"))):
                continue
            block |= {"id": text_of(block.get("id")) or tool_calls.numbered(index), "name": name}
            written = self._piece(index, "partial_json")
            yield ToolCall(
                block["id"], name, written or tool_calls.written_of(block.get("input") or {})
            )

    def _sealed(self) -> str:
        """Return the blocks in their sequence where some are signed; nothing is sealed otherwise.

        The server refuses the results of calls without the reasoning that led to them.
        """
        kinds = [each.get("type") for each in self.blocks.values()]
        if not {"thinking", "redacted_thinking"}.intersection(kinds):
            return ""
        blocks = []
        for index in sorted(self.blocks):
            said = {name: self._piece(index, name) for name in ("text", "thinking", "signature")}
            block = self.blocks[index] | {name: text for name, text in said.items() if text}
            if written := self._piece(index, "partial_json"):
                block["input"] = tool_calls.arguments_of(written)
            if block.get("type") != "text" or block.get("text"):
                blocks.append(block)
        return tool_calls.written_of({"messages": blocks})


def read_message(
    documents: Iterable[Document], request: Request, quirks: Quirks, watch: Watch
) -> Answer:
    """Return the answer that the documents of one reply make up; raises as `read_chat` does."""
    gathered = _MessageBlocks(watch)
    forced = is_forced(request, quirks)
    answer = partial(gathered.answer, request, forced=forced)
    return _judged(gathered, read_through(documents, gathered.take, answer, request), request)


def _judged(gathered: _MessageBlocks, answer: Answer, request: Request) -> Answer:
    match gathered.stop_reason:
        case "":
            raise just_ended(answer, request)
        case "refusal":
            said = gathered.explanation or answer.text or "it gave no reason"
            raise failed(answer, request, f"the model refused: {said}")
        case "max_tokens":
            raise cut_short(answer, request)
        case "model_context_window_exceeded":
            raise failed(answer, request, "the reply filled the model's context window")
        case _ if answer.calls:
            return answer
        case _ if answer.text:
            return answer
        case "tool_use" | "pause_turn":
            raise failed(answer, request, "the model called a tool instead of replying")
        case _:
            raise failed(answer, request, "the model's reply is empty")
