"""Speaks the two APIs: makes request bodies, and reads documents and events as answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.events.events import Channel
from shared.llm import tool_calls
from shared.llm.model_client import ReplyBroken, Request, ToolTurn, Usage
from shared.llm.reply_bodies import Document
from shared.llm.request_forms import Quirks, Structure, effective_limit, prompt_for, tools_are_sent
from shared.llm.server_replies import (
    JUST_ENDS,
    Answer,
    Watch,
    answer_usage,
    count,
    cut_short,
    detail_count,
    error_document,
    failed,
    just_ended,
    read_through,
    text_of,
)


def chat_body(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return the body of a request in the form that `quirks` allow."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": tool_calls.chat_messages(prompt_for(quirks, request), _said(request, quirks)),
    }
    if request.tools and tools_are_sent(quirks, request):
        body["tools"] = tool_calls.chat_tools(request.tools)
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


def _said(request: Request, quirks: Quirks) -> tuple[ToolTurn, ...]:
    """Return the exchanges that are sent on their own."""
    return request.exchanges if tools_are_sent(quirks, request) else ()


def _response_format(request: Request, quirks: Quirks) -> dict[str, Any] | None:
    match _text_format(request, quirks):
        case {"type": "json_schema" as kind, **schema}:
            return {"type": kind, "json_schema": schema}
        case other:
            return other


@dataclass(slots=True)
class _Gathered:
    """Collect the parts of one reply, from a whole document or from chunks."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    called: tool_calls.CallPieces = field(default_factory=tool_calls.CallPieces)
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
        self.usage = usage_of(document.get("usage")) or self.usage
        match document.get("choices"):
            case [{} as choice, *_]:
                self._take_choice(choice, watch)
            case _:
                pass

    def answer(self, request: Request) -> Answer:
        return Answer(
            text="".join(self.text),
            reasoning="".join(self.reasoning),
            model=self.model or request.model,
            usage=self.usage,
            calls=self.called.calls if request.tools else (),
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
        if pieces := said.get("tool_calls"):
            self.called.take(pieces)


def read_chat(documents: Iterable[Document], request: Request, watch: Watch) -> Answer:
    """Return the answer that the documents of one reply make up.

    Raises `ReplyFailed`, or a subclass, where they make up no complete answer. Raises `Refusal`
    if the server sends an error under a good status before any part of a reply.
    """
    gathered = _Gathered()
    answer = read_through(
        documents,
        lambda document: gathered.take(document, watch),
        lambda: gathered.answer(request),
        request,
    )
    return _judged(gathered, answer, request)


def _judged(gathered: _Gathered, answer: Answer, request: Request) -> Answer:
    if gathered.refusal:
        raise failed(answer, request, f"the model refused: {''.join(gathered.refusal)}")
    match gathered.finish_reason:
        case None if gathered.choices == 0 and gathered.usage is not None:
            raise failed(answer, request, "the server's reply holds no choice")
        case None:
            raise just_ended(answer, request)
        case "length":
            raise cut_short(answer, request)
        case "content_filter":
            raise failed(answer, request, "the server's content filter stopped the reply")
        case "insufficient_system_resource" | "abort" | "error" as reason:
            # DeepSeek, vLLM and OpenRouter say so of a reply that they gave up.
            raise just_ended(answer, request, f"the server broke off the reply ({reason})")
        case _ if answer.calls:
            return answer
        case "tool_calls" | "function_call":
            raise failed(answer, request, "the model called a tool instead of replying")
        case _ if not answer.text:
            raise failed(answer, request, "the model's reply is empty")
        case _:
            return answer


_TERMINAL = frozenset({"completed", "incomplete", "failed", "cancelled"})
_PENDING = frozenset({"queued", "in_progress"})
_MAY_PASS = frozenset({"server_error", "rate_limit_exceeded", "server_is_overloaded", "slow_down"})
_CHANNELS = {
    "response.output_text.delta": Channel.TEXT,
    "response.reasoning_summary_text.delta": Channel.REASONING,
    "response.reasoning_text.delta": Channel.REASONING,
}


def response_body(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return the body of a request in the form that `quirks` allow.

    The server makes the reply in the background where it can. A stream that breaks is then
    resumed, a reply that is not streamed is polled for, and no reply is lost.
    """
    asked = tool_calls.response_input(prompt_for(quirks, request), _said(request, quirks))
    body: dict[str, Any] = {"model": request.model, "input": asked}
    if request.tools and tools_are_sent(quirks, request):
        body["tools"] = tool_calls.response_tools(request.tools)
    if quirks.stream:
        body["stream"] = True
    if quirks.background:
        body |= {"background": True, "store": True}
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    if request.reasoning_effort is not None and quirks.reasoning_effort:
        body["reasoning"] = {"effort": request.reasoning_effort}
        if quirks.reasoning_summary:
            body["reasoning"]["summary"] = "auto"
    if (limit := effective_limit(quirks, request)) is not None:
        body["max_output_tokens"] = limit
    if text_format := _text_format(request, quirks):
        body["text"] = {"format": text_format}
    return body


def _text_format(request: Request, quirks: Quirks) -> dict[str, Any] | None:
    schema = request.reply_schema
    if schema is None:
        return None
    match quirks.structure:
        case Structure.SCHEMA:
            return {
                "type": "json_schema",
                "name": schema.name,
                "strict": True,
                "schema": dict(schema.schema),
            }
        case Structure.OBJECT | Structure.TOOL:
            return {"type": "json_object"}
        case Structure.PROMPT:
            return None


class ResponseStream:
    """Collect the events of one response, from one connection or several.

    `response_id` and `last_sequence` say where to resume after a break. `final` is the response
    document once the response is in a terminal state.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._text: list[str] = []
        self.response_id: str | None = None
        self.last_sequence: int | None = None
        self.final: Document | None = None

    @property
    def text(self) -> str:
        return "".join(self._text)

    def read(self, documents: Iterable[Document]) -> None:
        """Take events until the response is final; raise `ReplyBroken` if they end before."""
        for document in documents:
            self.take(document)
            if self.final is not None:
                return
        raise ReplyBroken(JUST_ENDS)

    def take(self, document: Document) -> None:
        """Take one event, or a whole response from a server that does not stream."""
        if type(sequence := document.get("sequence_number")) is int:
            self.last_sequence = sequence
        match document:
            case {"type": str(kind), "delta": str(piece)} if kind in _CHANNELS:
                self._take_piece(_CHANNELS[kind], piece)
            case {"type": "error", **rest}:  # OpenAI documents it flat and sends it nested
                nested = rest.get("error")
                raise self._broken_by(nested if isinstance(nested, Mapping) else document)
            case {"error": {} as error, **rest} if error and "status" not in rest:
                raise self._broken_by(error)
            case {"response": {} as response}:
                self._take_response(response)
            case {"status": str()}:
                self._take_response(document)
            case _:
                pass

    def _take_piece(self, channel: Channel, piece: str) -> None:
        if channel is Channel.TEXT:
            self._text.append(piece)
        self._watch(channel, piece)

    def _take_response(self, response: Document) -> None:
        if identity := text_of(response.get("id")):
            self.response_id = identity
        if text_of(response.get("status")) in _TERMINAL:
            self.final = response

    def _broken_by(self, error: Mapping[str, Any]) -> Exception:
        refused = error_document(error)
        if self.response_id is None or not refused.may_pass:
            return refused
        return ReplyBroken(f"the server broke off the reply ({refused.body.text})")


def is_pending(response: Document) -> bool:
    return text_of(response.get("status")) in _PENDING


def read_response(response: Document, request: Request, streamed_text: str = "") -> Answer:
    """Return the answer that a response in a terminal state holds.

    `streamed_text` is used where a server leaves the output out of its final document. Raises
    `ReplyFailed`, or a subclass, where the answer is not complete. Raises `Refusal` if the
    server reports that the account has no quota left, that the prompt is too long, or, before any
    part of a reply, that it had too many requests.
    """
    called = tool_calls.calls_of_response(_items(response.get("output")))
    answer = Answer(
        text="".join(_output(response, "message", "output_text", "text")) or streamed_text,
        reasoning="\n\n".join(_reasoning(response)),
        model=text_of(response.get("model")) or request.model,
        usage=usage_of(response.get("usage")),
        calls=called if request.tools else (),
    )
    match response:
        case {"status": "incomplete"}:
            raise _incomplete(response, answer, request)
        case {"status": "failed"}:
            raise _failure(response, answer, request)
        case {"status": "cancelled"}:
            raise failed(answer, request, "the reply was cancelled on the server")
        case {"status": "completed"}:
            return _completed(response, answer, request)
        case _:
            raise failed(answer, request, "the server names no known status for its reply")


def _completed(response: Document, answer: Answer, request: Request) -> Answer:
    if refusal := "".join(_output(response, "message", "refusal", "refusal")):
        raise failed(answer, request, f"the model refused: {refusal}")
    if not answer.text and not answer.calls:
        raise failed(answer, request, "the model's reply is empty")
    return answer


def _incomplete(response: Document, answer: Answer, request: Request) -> Exception:
    match response.get("incomplete_details"):
        case {"reason": "max_output_tokens"}:
            return cut_short(answer, request)
        case {"reason": "content_filter"}:
            return failed(answer, request, "the server's content filter stopped the reply")
        case _:
            return failed(answer, request, "the reply is incomplete, for no stated reason")


def _failure(response: Document, answer: Answer, request: Request) -> Exception:
    error = response.get("error")
    refused = error_document(error if isinstance(error, Mapping) else {})
    is_held_back = refused.status == 429 and not answer_usage(answer, request).output_tokens
    if refused.body.is_spent or refused.body.is_too_long or is_held_back:
        return refused
    why = refused.body.text or "for no stated reason"
    message = f"the server failed to make the reply: {why}"
    if refused.body.code in _MAY_PASS:
        return just_ended(answer, request, message)
    return failed(answer, request, message)


def _output(response: Document, kind: str, part_kind: str, name: str) -> Iterator[str]:
    for item in _items(response.get("output")):
        if item.get("type") == kind:
            for part in _items(item.get("content")):
                if part.get("type") == part_kind:
                    yield text_of(part.get(name))


def _reasoning(response: Document) -> Iterator[str]:
    for item in _items(response.get("output")):
        if item.get("type") == "reasoning":
            for part in (*_items(item.get("summary")), *_items(item.get("content"))):
                yield text_of(part.get("text"))


def _items(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, Mapping))


def usage_of(value: object) -> Usage | None:
    """Return the usage that a server reports in the words of its API; `None` if it reports none."""
    if not isinstance(value, Mapping) or not value:
        return None

    def counted(*names: str) -> int:  # a gateway may use the words of two APIs for one number
        return next(filter(None, (count(value.get(name)) for name in names)), 0)

    asked = value.get("prompt_tokens_details") or value.get("input_tokens_details")
    said = value.get("completion_tokens_details") or value.get("output_tokens_details")
    # Anthropic's input is without what its cache read and wrote, Gemini's output without thoughts.
    # LiteLLM has Anthropic's counts of the cache beside a prompt that includes them.
    cached = counted("cache_read_input_tokens")
    written = counted("cache_creation_input_tokens")
    whole = counted("prompt_tokens", "promptTokenCount")
    thoughts = counted("thoughtsTokenCount")
    written_out = counted("completion_tokens", "output_tokens", "candidatesTokenCount")
    reasoned = detail_count(said, "reasoning_tokens")
    # xAI's completion is without its reasoning; the total tells.
    if whole and counted("total_tokens") - whole - written_out >= reasoned:
        thoughts += reasoned
    return Usage(
        calls=1,
        input_tokens=whole or counted("input_tokens") + cached + written,
        cached_tokens=detail_count(asked, "cached_tokens")
        or cached
        or counted("cachedContentTokenCount"),
        output_tokens=written_out + thoughts,
        reasoning_tokens=reasoned or thoughts,
        written_tokens=written,
    )
