"""Writes request bodies for Chat Completions and reads its documents as answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.events.model_calls import Channel
from shared.llm.client import ReplyBroken, Request, Usage
from shared.llm.wire.quirks import Quirks, Structure, effective_limit, prompt_for
from shared.llm.wire.reply_reading import (
    JUST_ENDS,
    Answer,
    Watch,
    answer_usage,
    count,
    cut_short,
    detail_count,
    error_document,
    failed,
    text_of,
)
from shared.llm.wire.sse import Document


def chat_body(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return the body of a request in the form that `quirks` allow."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": "user", "content": prompt_for(quirks, request)}],
    }
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    if request.reasoning_effort is not None and quirks.reasoning_effort:
        body["reasoning_effort"] = request.reasoning_effort
    if (limit := effective_limit(quirks, request)) is not None:
        body[quirks.limit_name.value] = limit
    if response_format := _response_format(request, quirks):
        body["response_format"] = response_format
    if quirks.stream:
        body["stream"] = True
        if quirks.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def _response_format(request: Request, quirks: Quirks) -> dict[str, Any] | None:
    schema = request.reply_schema
    if schema is None:
        return None
    match quirks.structure:
        case Structure.SCHEMA:
            return {
                "type": "json_schema",
                "json_schema": {"name": schema.name, "strict": True, "schema": dict(schema.schema)},
            }
        case Structure.OBJECT:
            return {"type": "json_object"}
        case Structure.PROMPT:
            return None


@dataclass(slots=True)
class _Gathered:
    """Collect the parts of one reply, from a whole document or from chunks."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    choices: int = 0
    finish_reason: str | None = None
    model: str = ""
    usage: Usage | None = None

    def take(self, document: Document, watch: Watch) -> None:
        """Add one document: a chunk of a stream, or a whole completion."""
        if isinstance(error := document.get("error"), Mapping) and error:
            refused = error_document(error)
            if self.choices:
                raise ReplyBroken(f"the server broke off the reply ({refused.body.text})")
            raise refused
        self.model = text_of(document.get("model")) or self.model
        self.usage = _usage(document.get("usage")) or self.usage
        match document.get("choices"):
            case [{} as choice, *_]:
                self._take_choice(choice, watch)
            case _:
                pass

    def answer(self, request: Request) -> Answer:
        """Return the answer that the parts so far make up."""
        return Answer(
            text="".join(self.text),
            reasoning="".join(self.reasoning),
            model=self.model or request.model,
            usage=self.usage,
        )

    def _take_choice(self, choice: Mapping[str, Any], watch: Watch) -> None:
        self.choices += 1
        self.finish_reason = text_of(choice.get("finish_reason")) or self.finish_reason
        match choice:
            case {"delta": {} as said} | {"message": {} as said}:
                pass
            case _:
                return
        # Servers of open models use one of these two names for their reasoning.
        if reasoning := text_of(said.get("reasoning_content") or said.get("reasoning")):
            self.reasoning.append(reasoning)
            watch(Channel.REASONING, reasoning)
        if text := text_of(said.get("content")):
            self.text.append(text)
            watch(Channel.TEXT, text)
        if refusal := text_of(said.get("refusal")):
            self.refusal.append(refusal)


def read_chat(documents: Iterable[Document], request: Request, watch: Watch) -> Answer:
    """Return the answer that the documents of one reply make up.

    Raises `ReplyFailed`, or a subclass, where they make up no complete answer. Raises `Refused`
    where the server sends an error under a good status before any part of a reply.
    """
    gathered = _Gathered()
    try:
        for document in documents:
            gathered.take(document, watch)
    except ReplyBroken as broken:
        usage = answer_usage(gathered.answer(request), request)
        raise ReplyBroken(broken.message, usage) from None
    return _judged(gathered, gathered.answer(request), request)


def _judged(gathered: _Gathered, answer: Answer, request: Request) -> Answer:
    if gathered.refusal:
        raise failed(answer, request, f"the model refused: {''.join(gathered.refusal)}")
    match gathered.finish_reason:
        case None if gathered.choices == 0 and gathered.usage is not None:
            raise failed(answer, request, "the server's reply holds no choice")
        case None:
            raise ReplyBroken(JUST_ENDS, answer_usage(answer, request))
        case "length":
            raise cut_short(answer, request)
        case "content_filter":
            raise failed(answer, request, "the server's content filter stopped the reply")
        case "tool_calls" | "function_call":
            raise failed(answer, request, "the model called a tool instead of replying")
        case _ if not answer.text:
            raise failed(answer, request, "the model's reply is empty")
        case _:
            return answer


def _usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping) or not value:
        return None
    input_details = value.get("prompt_tokens_details")
    output_details = value.get("completion_tokens_details")
    return Usage(
        calls=1,
        input_tokens=count(value.get("prompt_tokens")),
        cached_tokens=detail_count(input_details, "cached_tokens"),
        output_tokens=count(value.get("completion_tokens")),
        reasoning_tokens=detail_count(output_details, "reasoning_tokens"),
    )
