"""Speaks Gemini's `generateContent`: makes request bodies, and reads documents as answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from shared.events.events import Channel
from shared.llm import tool_calls
from shared.llm.budget import DEFAULT_OUTPUT_LIMIT
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
    Refusal,
    Watch,
    cut_short,
    failed,
    just_ended,
    parse_error_body,
    read_through,
    text_of,
)

_LEVELS: Final = {"none": "minimal", "off": "minimal", "xhigh": "high", "max": "high"}


def generate_path(request: Request, quirks: Quirks) -> str:
    """Return the path of a request, which names the model."""
    model = quote(request.model.removeprefix("models/"), safe="")
    action = "streamGenerateContent?alt=sse" if quirks.stream else "generateContent"
    return f"/models/{model}:{action}"


def generate_body(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return the body of a request in the form that `quirks` allow.

    The server keeps what requests begin with by itself.
    """
    sent = tools_are_sent(quirks, request)
    contents: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": prompt_for(quirks, request)}]}
    ]
    for each in request.exchanges if sent else ():
        contents += tool_calls.gemini_turn(each)
    body: dict[str, Any] = {"contents": contents}
    if request.tools and sent:
        body["tools"] = tool_calls.gemini_tools(request.tools)
    if config := _config(request, quirks):
        body["generationConfig"] = config
    return body


def _config(request: Request, quirks: Quirks) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if request.temperature is not None and quirks.temperature:
        config["temperature"] = request.temperature
    limit = effective_limit(quirks, request)
    if limit is not None:
        config["maxOutputTokens"] = limit
    if request.reply_schema is not None and quirks.structure is not Structure.PROMPT:
        config["responseMimeType"] = "application/json"
        if quirks.structure is Structure.SCHEMA:
            config["responseJsonSchema"] = dict(request.reply_schema.schema)
    effort = request.reasoning_effort
    if effort is not None and quirks.reasoning_effort:
        thinking: dict[str, Any] = {"thinkingLevel": _LEVELS.get(effort, effort)}
        if quirks.thinking_budget:
            room = limit or DEFAULT_OUTPUT_LIMIT
            tokens = 0 if effort in NO_THINKING else thinking_tokens(effort, room)
            thinking = {"thinkingBudget": tokens}
        shown = {"includeThoughts": True} if quirks.reasoning_summary else {}
        config["thinkingConfig"] = thinking | shown
    return config


_STOPPED: Final = {
    "SAFETY": "the server's content filter stopped the reply",
    "RECITATION": "the server stopped the reply, because it repeats a known text",
    "BLOCKLIST": "the server's content filter stopped the reply",
    "PROHIBITED_CONTENT": "the server's content filter stopped the reply",
    "SPII": "the server's content filter stopped the reply, because it holds personal data",
    "LANGUAGE": "the server does not know the reply's language",
    "MALFORMED_FUNCTION_CALL": "the model called a tool in a form that cannot be read",
    "UNEXPECTED_TOOL_CALL": "the model called a tool instead of replying",
    "TOO_MANY_TOOL_CALLS": "the model called too many tools at once",
}


@dataclass(slots=True)
class _CandidateParts:
    """Collect the parts of one reply: its first candidate, from one document or several."""

    watch: Watch
    parts: list[dict[str, Any]] = field(default_factory=list)
    texts: list[list[str]] = field(default_factory=list)
    finish: str = ""
    why: str = ""
    blocked: str = ""
    model: str = ""
    usage: dict[str, Any] = field(default_factory=dict)

    def take(self, document: Document) -> None:
        match document:
            case {"error": {} as error}:
                raise self._refused(error)
            case _:
                pass
        self.model = text_of(document.get("modelVersion")) or self.model
        if isinstance(usage := document.get("usageMetadata"), dict):
            self.usage |= usage
        match document.get("promptFeedback"):
            case {"blockReason": str(reason)}:
                self.blocked = reason
            case _:
                pass
        match document.get("candidates"):
            case [{} as candidate, *_]:
                self._take_candidate(candidate)
            case _:
                pass

    def _take_candidate(self, candidate: Mapping[str, Any]) -> None:
        self.finish = text_of(candidate.get("finishReason")) or self.finish
        self.why = text_of(candidate.get("finishMessage")) or self.why
        match candidate.get("content"):
            case {"parts": [*parts]}:
                for part in parts:
                    if isinstance(part, Mapping):
                        self._take_part(part)
            case _:
                pass

    def _take_part(self, part: Mapping[str, Any]) -> None:
        if text := text_of(part.get("text")):
            self.watch(Channel.REASONING if part.get("thought") is True else Channel.TEXT, text)
        last = self.parts[-1] if self.parts else {}
        begun = {name: value for name, value in last.items() if name != "text"}
        rest = {name: value for name, value in part.items() if name != "text"}
        if text and "text" in last and begun == rest and "thoughtSignature" not in rest:
            self.texts[-1].append(text)  # a stream of small pieces
        else:
            self.parts.append(dict(part))
            self.texts.append([text])

    def _refused(self, error: Mapping[str, Any]) -> Exception:
        body = parse_error_body(error)
        if self.parts:
            return ReplyBroken(f"the server broke off the reply ({body.text})")
        status = error.get("code")
        return Refusal(status if type(status) is int and 400 <= status < 600 else 500, body)

    def _joined(self, *, thought: bool) -> str:
        parts = zip(self.parts, self.texts, strict=True)
        said = ("".join(text) for each, text in parts if (each.get("thought") is True) is thought)
        return "".join(said)

    def answer(self, request: Request) -> Answer:
        calls = tuple(self._calls()) if request.tools else ()
        return Answer(
            text=self._joined(thought=False),
            reasoning=self._joined(thought=True),
            model=self.model or request.model,
            usage=usage_of(self.usage),
            calls=calls,
            sealed=self._sealed() if calls else "",
        )

    def _calls(self) -> Iterator[ToolCall]:
        for number, part in enumerate(self.parts, 1):
            match part.get("functionCall"):
                case {"name": str(name), **call} if name:
                    args = call.get("args")
                    written = tool_calls.written_of(args if isinstance(args, dict) else {})
                    yield ToolCall(
                        text_of(call.get("id")) or tool_calls.numbered(number), name, written
                    )
                case _:
                    pass

    def _sealed(self) -> str:
        """Return the parts where some are signed: the server refuses results without them."""
        if not any("thoughtSignature" in each for each in self.parts):
            return ""
        kept = [
            each | ({"text": "".join(text)} if "text" in each else {})
            for each, text in zip(self.parts, self.texts, strict=True)
            if each.get("thought") is not True
        ]
        return tool_calls.written_of({"gemini": kept})


def read_generated(documents: Iterable[Document], request: Request, watch: Watch) -> Answer:
    """Return the answer that the documents of one reply make up; raises as `read_chat` does."""
    gathered = _CandidateParts(watch)
    answer = partial(gathered.answer, request)
    return _judged(gathered, read_through(documents, gathered.take, answer, request), request)


def _judged(gathered: _CandidateParts, answer: Answer, request: Request) -> Answer:
    if gathered.blocked:
        said = f"the server refused the prompt by its content policy ({gathered.blocked})"
        raise failed(answer, request, said)
    match gathered.finish:
        case "":
            raise just_ended(answer, request)
        case "MAX_TOKENS":
            raise cut_short(answer, request)
        case stopped if stopped in _STOPPED:
            why = f": {gathered.why}" if gathered.why else ""
            raise failed(answer, request, f"{_STOPPED[stopped]} ({stopped}){why}")
        case "STOP" | "FINISH_REASON_UNSPECIFIED" if answer.calls or answer.text:
            return answer
        case "STOP" if any("functionCall" in each for each in gathered.parts):
            raise failed(answer, request, "the model called a tool instead of replying")
        case "STOP":
            raise failed(answer, request, "the model's reply is empty")
        case other:
            raise failed(answer, request, f"the server stopped the reply: {other[:60]}")
