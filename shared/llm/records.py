"""The lines of a transcript: requests, replies and failures as JSON and back. Pure.

A transcript is JSONL: a header, then for each call an `intent` before it and a `response` or a
`failure` after it. Text is ASCII-escaped, so that whatever a model emits (lone surrogates too)
can be written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.llm.client import Completion, Place, ReplyFailed, Request, Role, Usage
from shared.llm.redaction import redact

FORMAT = 1

# Where the replies of a transcript come from. `origin` is "authored" or "live"; what is said
# besides (model, date, server) is free and shown to the user as it is.
Origin = Mapping[str, str]

AUTHORED: Origin = {"origin": "authored"}


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a transcript."""

    origin: Origin


@dataclass(frozen=True, slots=True)
class Intent:
    """A call is about to be made. `request` holds its parts as JSON values."""

    key: str
    place: Place
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Response:
    """The reply to the call of `key`."""

    key: str
    completion: Completion


@dataclass(frozen=True, slots=True)
class Failure:
    """The call of `key` brought no reply.

    A `handed_on` failure used up an attempt, so a resumed run meets it again; any other one ended
    the run, and a resumed run asks anew.
    """

    key: str
    failed: ReplyFailed
    handed_on: bool


Record = Header | Intent | Response | Failure


def request_key(request: Request) -> str:
    """Return the hex SHA-256 of the canonical request and its place: its name in a transcript."""
    document = {"place": _place_to_json(request.place), "request": request_to_json(request)}
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def request_to_json(request: Request) -> dict[str, Any]:
    """Return all parts of the request but its place, as JSON values."""
    schema = request.reply_schema
    temperature = request.temperature
    return {
        "api": request.api.value,
        "model": request.model,
        "temperature": None if temperature is None else float(temperature),
        "max_output_tokens": request.max_output_tokens,
        "reasoning_effort": request.reasoning_effort,
        "reply_schema": None
        if schema is None
        else {"name": schema.name, "schema": dict(schema.schema)},
        "prompt": request.prompt,
    }


def describe_origin(origin: Origin) -> str:
    """Return where replies come from, in words: "authored", or "live (model: m, date: d)"."""
    rest = ", ".join(f"{name}: {value}" for name, value in origin.items() if name != "origin")
    kind = origin.get("origin", "unknown")
    return f"{kind} ({rest})" if rest else kind


def render_record(record: Record, secrets: Sequence[str] = (), date: str | None = None) -> bytes:
    """Return the record as one line, newline included, with `secrets` redacted throughout."""
    document = _record_to_json(_redacted(record, secrets))
    if date is not None:
        document["date"] = date
    return (json.dumps(document) + "\n").encode("ascii")


def parse_record(line: bytes) -> Record:
    """Return the record on a line of a transcript; `ValueError` says what is wrong with it."""
    try:
        document = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    match document.get("record"):
        case "header":
            return _parse_header(document)
        case "intent":
            place = _parse_place(_mapping(document, "place"))
            return Intent(_text(document, "key"), place, _mapping(document, "request"))
        case "response":
            return Response(_text(document, "key"), _parse_completion(document))
        case "failure":
            failed = ReplyFailed(_text(document, "message"), _parse_usage(document))
            return Failure(_text(document, "key"), failed, document.get("handed_on") is True)
        case other:
            raise ValueError(f"unknown kind of record: {other!r}")


def changed_parts(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words, one part of the request a time, how `wanted` differs from `recorded`."""
    for name, value in wanted.items():
        before = recorded.get(name)
        if before == value:
            continue
        if name == "prompt":
            yield _prompt_difference(str(before), str(value))
        elif name == "reply_schema":
            yield "the reply schema differs"
        else:
            yield f"{name} was {before!r} and is now {value!r}"


def _prompt_difference(before: str, now: str) -> str:
    old, new = before.split("\n"), now.split("\n")
    same = next(
        (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    return (
        f"the prompt differs from line {same + 1} on: "
        f"was {_line_excerpt(old, same)} and is now {_line_excerpt(new, same)}"
    )


def _line_excerpt(lines: Sequence[str], index: int) -> str:
    if index >= len(lines):
        return "at its end"
    line = lines[index]
    return repr(line if len(line) <= 120 else f"{line[:117]}...")


def _record_to_json(record: Record) -> dict[str, Any]:
    match record:
        case Header(origin):
            return {"record": "header", "format": FORMAT, "origin": dict(origin)}
        case Intent(key, place, request):
            return {
                "record": "intent",
                "key": key,
                "place": _place_to_json(place),
                "request": dict(request),
            }
        case Response(key, completion):
            return {
                "record": "response",
                "key": key,
                "text": completion.text,
                "model": completion.model,
                "reasoning": completion.reasoning,
                "usage": _usage_to_json(completion.usage),
                "adjustments": list(completion.adjustments),
            }
        case Failure(key, failed, handed_on):
            return {
                "record": "failure",
                "key": key,
                "message": failed.message,
                "usage": _usage_to_json(failed.usage),
                "handed_on": handed_on,
            }


def _place_to_json(place: Place) -> dict[str, Any]:
    return {"role": place.role.value, "order": place.order, "attempt": place.attempt}


def _usage_to_json(usage: Usage) -> dict[str, int]:
    """Return the tokens alone: what they cost is a matter of the price table of the day."""
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def _redacted(record: Record, secrets: Sequence[str]) -> Record:
    """Return the record with secrets out of whatever a person, a model or a server wrote."""

    def clean(text: str) -> str:
        return redact(text, secrets)

    match record:
        case Header(origin):
            return Header({clean(name): clean(value) for name, value in origin.items()})
        case Intent():
            prompt = clean(str(record.request["prompt"]))
            return replace(record, request={**record.request, "prompt": prompt})
        case Response(key, completion):
            return Response(
                key,
                replace(
                    completion,
                    text=clean(completion.text),
                    reasoning=clean(completion.reasoning),
                    adjustments=tuple(map(clean, completion.adjustments)),
                ),
            )
        case Failure(key, failed, handed_on):
            return Failure(key, ReplyFailed(clean(failed.message), failed.usage), handed_on)


def _parse_header(document: Mapping[str, Any]) -> Header:
    if document.get("format") != FORMAT:
        raise ValueError(f"format {document.get('format')!r}; this version reads format {FORMAT}")
    origin = _mapping(document, "origin")
    return Header({str(name): str(value) for name, value in origin.items()})


def _parse_place(document: Mapping[str, Any]) -> Place:
    order, attempt = document.get("order"), document.get("attempt")
    if not (order is None or isinstance(order, str)) or type(attempt) is not int:
        raise ValueError("malformed place")
    return Place(Role(_text(document, "role")), attempt, order)


def _parse_completion(document: Mapping[str, Any]) -> Completion:
    adjustments = document.get("adjustments", [])
    if not isinstance(adjustments, list):
        raise ValueError("adjustments is no list")
    return Completion(
        text=_text(document, "text"),
        model=_text(document, "model"),
        usage=_parse_usage(document),
        reasoning=_text(document, "reasoning"),
        replayed=True,
        adjustments=tuple(str(each) for each in adjustments),
    )


def _parse_usage(document: Mapping[str, Any]) -> Usage:
    tokens = _mapping(document, "usage")
    if not all(type(count) is int and count >= 0 for count in tokens.values()):
        raise ValueError("usage holds something other than counts")
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
    return Usage(**{name: tokens.get(name, 0) for name in names})


def _mapping(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return value


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is no string")
    return value
