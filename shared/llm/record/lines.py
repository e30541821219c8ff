"""Converts requests, replies and failures to lines of a transcript and back. Pure.

A transcript is JSONL. It starts with a header. For each call it has an `intent`, written before
the call, and a `response` or a `failure`, written after it. Text is ASCII-escaped, so that
anything a model emits can be written, lone surrogates too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.llm.client import Completion, ReplyFailed, Request, Usage
from shared.llm.record.origin import ReplyOrigin, cleaned_origin, origin_to_json, parse_origin
from shared.llm.record.request_json import (
    parse_place,
    parse_request,
    place_to_json,
    request_to_json,
)
from shared.secrets.redaction import redact

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Header:
    """Represent the first line of a transcript."""

    origin: ReplyOrigin


@dataclass(frozen=True, slots=True)
class Intent:
    """Represent a call that is about to be made."""

    key: str
    request: Request


@dataclass(frozen=True, slots=True)
class Response:
    """Represent the reply to the call that has this `key`."""

    key: str
    completion: Completion


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Represent the failure of the call that has this `key`.

    A `handed_on` failure used up an attempt, so a resumed run gets the same failure again. Any
    other failure ended the run, and a resumed run makes the call again.
    """

    key: str
    failed: ReplyFailed
    handed_on: bool


Record = Header | Intent | Response | CallFailure


def render_record(record: Record, secrets: Sequence[str] = (), date: str | None = None) -> bytes:
    """Return the record as one line, newline included, with `secrets` redacted throughout."""
    document = _record_to_json(_redacted(record, secrets))
    if date is not None:
        document["date"] = date
    return (json.dumps(document) + "\n").encode("ascii")


def parse_record(line: bytes) -> Record:
    """Return the record on a line of a transcript.

    Raises `ValueError`, which says what is wrong with the line.
    """
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
            place = parse_place(_mapping(document, "place"))
            request = parse_request(_mapping(document, "request"), place)
            return Intent(_text(document, "key"), request)
        case "response":
            return Response(_text(document, "key"), _parse_completion(document))
        case "failure":
            failed = ReplyFailed(_text(document, "message"), _parse_usage(document))
            return CallFailure(_text(document, "key"), failed, document.get("handed_on") is True)
        case other:
            raise ValueError(f"unknown kind of record: {other!r}")


def _record_to_json(record: Record) -> dict[str, Any]:
    match record:
        case Header(origin):
            return {"record": "header", "format": FORMAT, "origin": origin_to_json(origin)}
        case Intent(key, request):
            return {
                "record": "intent",
                "key": key,
                "place": place_to_json(request.place),
                "request": request_to_json(request),
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
        case CallFailure(key, failed, handed_on):
            return {
                "record": "failure",
                "key": key,
                "message": failed.message,
                "usage": _usage_to_json(failed.usage),
                "handed_on": handed_on,
            }


def _usage_to_json(usage: Usage) -> dict[str, int]:
    """Return the tokens without their cost, which depends on the price table in use."""
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def _redacted(record: Record, secrets: Sequence[str]) -> Record:
    """Return the record with secrets redacted in all text by a person, a model or a server."""

    def clean(text: str) -> str:
        return redact(text, secrets)

    match record:
        case Header(origin):
            return Header(cleaned_origin(origin, clean))
        case Intent(key, request):
            return Intent(key, replace(request, prompt=clean(request.prompt)))
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
        case CallFailure(key, failed, handed_on):
            return CallFailure(key, ReplyFailed(clean(failed.message), failed.usage), handed_on)


def _parse_header(document: Mapping[str, Any]) -> Header:
    if document.get("format") != FORMAT:
        raise ValueError(f"format {document.get('format')!r}; this version reads format {FORMAT}")
    return Header(parse_origin(_mapping(document, "origin")))


def _parse_completion(document: Mapping[str, Any]) -> Completion:
    adjustments = document.get("adjustments", [])
    if not isinstance(adjustments, list):
        raise ValueError("adjustments is not a list")
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
        raise ValueError(f"{name} is not an object")
    return value


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a string")
    return value
