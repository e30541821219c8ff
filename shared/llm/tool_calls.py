"""Tools that a model may call before it replies, as servers take them and as plain text.

A server that refuses tools gets them described in the prompt, and so does a model that is too small
for them. A call is then a reply of one JSON object, which also models write whose server does not
read their calls.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.llm.model_client import (
    ModelTool,
    ReplyMalformed,
    Request,
    ToolCall,
    ToolTurn,
    strip_reasoning,
)

MOST_CALLS = 16
"""How many calls of one reply are answered; a model that makes more has lost its way."""


def chat_messages(prompt: str, exchanges: Sequence[ToolTurn]) -> list[dict[str, Any]]:
    """Return the messages of Chat Completions: the prompt, then each exchange."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for each in exchanges:
        called = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in each.calls
        ]
        messages.append({"role": "assistant", "content": each.text or None, "tool_calls": called})
        messages += (
            {"role": "tool", "tool_call_id": call.id, "content": result}
            for call, result in zip(each.calls, each.results, strict=True)
        )
    return messages


def chat_tools(tools: Iterable[ModelTool]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": _function(each)} for each in tools]


def response_input(prompt: str, exchanges: Sequence[ToolTurn]) -> str | list[dict[str, Any]]:
    """Return the input of the Responses API: the prompt alone, or with the items that followed."""
    if not exchanges:
        return prompt
    items: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for each in exchanges:
        if each.text:
            items.append({"role": "assistant", "content": each.text})
        for call in each.calls:
            called = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
            items.append({"type": "function_call", **called})
        for call, result in zip(each.calls, each.results, strict=True):
            items.append({"type": "function_call_output", "call_id": call.id, "output": result})
    return items


def response_tools(tools: Iterable[ModelTool]) -> list[dict[str, Any]]:
    return [{"type": "function", **_function(each), "strict": False} for each in tools]


def messages_tools(tools: Iterable[ModelTool]) -> list[dict[str, Any]]:
    """Return the tools as Anthropic's Messages have them."""
    functions = [_function(each) for each in tools]
    return [
        {"name": f["name"], "description": f["description"], "input_schema": f["parameters"]}
        for f in functions
    ]


def called_tools(exchanges: Iterable[ToolTurn]) -> list[dict[str, Any]]:
    """Return the names of the tools that were called, as Anthropic's Messages have tools."""
    names = dict.fromkeys(call.name for each in exchanges for call in each.calls)
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def messages_turn(turn: ToolTurn) -> list[dict[str, Any]]:
    """Return an exchange as messages: what the model said, then the results of its calls."""
    said = _sealed(turn, "messages") or [
        *([{"type": "text", "text": turn.text}] if turn.text.strip() else []),
        *(
            {"type": "tool_use", "id": e.id, "name": e.name, "input": arguments_of(e.arguments)}
            for e in turn.calls
        ),
    ]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": result}
        for call, result in zip(turn.calls, turn.results, strict=True)
    ]
    return [{"role": "assistant", "content": said}, {"role": "user", "content": results}]


_GEMINI_SCHEMA = ("type", "description", "enum", "items")


def gemini_tools(tools: Iterable[ModelTool]) -> list[dict[str, Any]]:
    """Return the tools as Gemini has them, whose schemas know few words."""
    declared = [
        {
            "name": each.name,
            "description": each.description,
            "parameters": {
                "type": "object",
                "properties": {
                    name: {word: schema[word] for word in _GEMINI_SCHEMA if word in schema}
                    for name, schema in each.parameters.items()
                },
                "required": [*each.required],
            },
        }
        for each in tools
    ]
    return [{"functionDeclarations": declared}]


def gemini_turn(turn: ToolTurn) -> list[dict[str, Any]]:
    """Return an exchange as contents: what the model said, then the results of its calls."""
    said = _sealed(turn, "gemini") or [
        *([{"text": turn.text}] if turn.text.strip() else []),
        *(
            {"functionCall": {**_gemini_call(each), "args": arguments_of(each.arguments)}}
            for each in turn.calls
        ),
    ]
    results = [
        {"functionResponse": {**_gemini_call(call), "response": {"result": result}}}
        for call, result in zip(turn.calls, turn.results, strict=True)
    ]
    return [{"role": "model", "parts": said}, {"role": "user", "parts": results}]


def numbered(number: int) -> str:
    """Return the id of a call whose server gave it none."""
    return f"call_{number}"


def _gemini_call(call: ToolCall) -> dict[str, str]:
    """Return the name of a call and its id: newer models match a result with its call by it."""
    given = {} if re.fullmatch(r"call_\d+", call.id) else {"id": call.id}
    return given | {"name": call.name}


def _sealed(turn: ToolTurn, wire: str) -> list[dict[str, Any]]:
    """Return what a server of this wire wants back as it was; nothing if another one sealed it."""
    parts = arguments_of(turn.sealed).get(wire)
    return parts if isinstance(parts, list) else []


def written_of(value: object) -> str:
    """Return a value of a reply as JSON; "" where it is nested too deep."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def arguments_of(written: str) -> dict[str, Any]:
    """Return what a JSON object holds, such as arguments; nothing where a text is none."""
    try:
        given = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _function(tool: ModelTool) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {name: dict(each) for name, each in tool.parameters.items()},
        "required": [*tool.required],
        "additionalProperties": False,
    }
    return {"name": tool.name, "description": tool.description, "parameters": schema}


@dataclass(slots=True)
class CallPieces:
    """Put the calls of a chat reply together from its chunks, or from its one message."""

    found: dict[tuple[int, int], dict[str, str]] = field(default_factory=dict)
    _begun: Counter[int] = field(default_factory=Counter)

    def take(self, pieces: object) -> None:
        """Add the `tool_calls` of a message or of a chunk; whatever has another form is ignored."""
        for position, piece in enumerate(pieces if isinstance(pieces, list) else ()):
            match piece:
                case {"function": {**function}}:
                    pass
                case _:
                    continue
            index = piece.get("index")
            at = index if type(index) is int else position
            identity, name = _text(piece.get("id")), _text(function.get("name"))
            held = self.found.get((at, self._begun[at]), {}).get("id")
            if held and identity and name and identity != held:
                self._begun[at] += 1  # Ollama has the index 0 for each of several calls
            call = self.found.setdefault((at, self._begun[at]), {})
            call["id"] = identity or call.get("id", "")
            call["name"] = call.get("name", "") + name
            call["arguments"] = call.get("arguments", "") + _text(function.get("arguments"))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        made = (self.found[each] for each in sorted(self.found))
        return tuple(
            ToolCall(each["id"] or numbered(number), each["name"], each["arguments"])
            for number, each in enumerate(made, 1)
            if each["name"]
        )


def calls_of_response(items: Iterable[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    """Return the calls among the output items of a response."""
    made = (each for each in items if each.get("type") == "function_call")
    named = (each for each in made if _text(each.get("name")))
    return tuple(
        ToolCall(
            _text(each.get("call_id")) or numbered(number),
            _text(each.get("name")),
            _text(each.get("arguments")),
        )
        for number, each in enumerate(named, 1)
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_text(request: Request, prompt: str) -> str:
    """Return the prompt with the tools, and with what they have answered, as text."""
    parts = [prompt.rstrip()]
    if request.tools:
        listed = "\n".join(map(_described, request.tools))
        parts.append(
            "# Tools\n\nYou may look before you reply. To do so, reply with one JSON object of a "
            "line below and with nothing else; you get its answer, and are asked again.\n\n"
            f"{listed}"
        )
    for each in request.exchanges:
        for call, result in zip(each.calls, each.results, strict=True):
            parts.append(f"You called {_called(call)}, and this is the answer:\n\n{result}")
    return "\n\n".join(parts) + "\n"


def _described(tool: ModelTool) -> str:
    example = {"tool": tool.name, **{n: each["examples"][0] for n, each in tool.parameters.items()}}
    return f"{json.dumps(example)}: {tool.description}"


def _called(call: ToolCall) -> str:
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        given = None
    return json.dumps({"tool": call.name, **given} if isinstance(given, dict) else call.name)


def calls_in_text(text: str, tools: Sequence[ModelTool]) -> tuple[ToolCall, ...]:
    """Return the call that a reply consists of; a reply that has anything else is no call."""
    if not tools:
        return ()
    try:
        bare = strip_reasoning(text).strip()
    except ReplyMalformed:
        return ()
    bare = bare.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not (bare.startswith("{") and bare.endswith("}")):
        return ()
    document = arguments_of(bare)
    if "tool" not in document and isinstance(document.get("name"), str):  # as chat templates say
        inner = document.get("arguments", document.get("parameters"))
        document = {"tool": document["name"], **(inner if isinstance(inner, dict) else {})}
    name = document.pop("tool", None)
    if name not in [each.name for each in tools]:
        return ()
    return (ToolCall("call_1", name, json.dumps(document)),)


def conversation_text(request: Request) -> str:
    """Return all text of the tools and of their answers, from which tokens are estimated."""
    said = [part for each in request.exchanges for part in (each.text, *each.results)]
    called = [part for each in request.exchanges for call in each.calls for part in call.arguments]
    tools = json.dumps(chat_tools(request.tools)) if request.tools else ""
    return "\n".join(filter(None, (tools, *said, "".join(called))))
