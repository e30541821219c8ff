"""Requests and replies as lines of a transcript, and back.

A transcript is JSONL. It starts with a header. For each call it has an `intent`, written before
the call, and a `response` or a `failure`, written after it. Text is ASCII-escaped, so that
anything a model emits can be written, lone surrogates too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any

from shared.files.secret_values import redact
from shared.files.typed_documents import read_as
from shared.llm import model_client


class OriginKind(StrEnum):
    """Represent whether replies were authored for a purpose or given by a model."""

    AUTHORED = "authored"
    LIVE = "live"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReplyOrigin:
    """Hold the kind of a transcript's replies and what its header says about their models.

    `model` is the model of every role that has no field of its own filled in here. A field is
    empty if the header does not have it. `date` is an ISO date.
    """

    kind: OriginKind
    model: str = ""
    planner_model: str = ""
    factory_model: str = ""
    reply_format: str = ""
    server: str = ""
    date: str = ""


AUTHORED = ReplyOrigin(OriginKind.AUTHORED)
LIVE = ReplyOrigin(OriginKind.LIVE)

_DETAILS = tuple(each.name for each in fields(ReplyOrigin) if each.name != "kind")


def describe_origin(origin: ReplyOrigin) -> str:
    """Return in words where replies come from: "authored", or "live (model: m, date: d)"."""
    rest = ", ".join(f"{name}: {value}" for name, value in _known_details(origin).items())
    return f"{origin.kind} ({rest})" if rest else origin.kind.value


def origin_to_json(origin: ReplyOrigin) -> dict[str, str]:
    """Return the origin as a header holds it, without its empty fields."""
    return {"origin": origin.kind.value, **_known_details(origin)}


def parse_origin(document: Mapping[str, object]) -> ReplyOrigin:
    """Return the origin that a header holds; any other kind than those here is `UNKNOWN`."""
    try:
        kind = OriginKind(str(document.get("origin")))
    except ValueError:
        kind = OriginKind.UNKNOWN
    return ReplyOrigin(kind, **{name: str(document.get(name, "")) for name in _DETAILS})


def cleaned_origin(origin: ReplyOrigin, clean: Callable[[str], str]) -> ReplyOrigin:
    """Return the origin with `clean` applied to every field but the kind."""
    return ReplyOrigin(
        origin.kind, **{name: clean(value) for name, value in _known_details(origin).items()}
    )


def _known_details(origin: ReplyOrigin) -> dict[str, str]:
    values = {name: str(getattr(origin, name)) for name in _DETAILS}
    return {name: value for name, value in values.items() if value}


def request_key(request: model_client.Request) -> str:
    """Return the key of a request in a transcript: the hex SHA-256 of the request and its place."""
    parts, place = request_to_json(request), request.place
    if relayed := request.relayed:
        place = replace(place, turn=0)  # calls made side by side arrive in any sequence
        parts["relayed"] = _present(replace(relayed, body="", masks=()))
    document = {"place": place_to_json(place), "request": parts}
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def request_to_json(request: model_client.Request) -> dict[str, Any]:
    """Return all parts of the request except its place, as JSON values.

    Parts that only calls of agents have are absent from other requests, whose keys stay.
    """
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
        **({"relayed": _present(request.relayed)} if request.relayed else {}),
        **({"tools": [asdict(each) for each in request.tools]} if request.tools else {}),
        **({"exchanges": [*map(_turn_to_json, request.exchanges)]} if request.exchanges else {}),
        **({"tools_in_text": True} if request.tools_in_text else {}),
    }


def _turn_to_json(turn: model_client.ToolTurn) -> dict[str, Any]:
    return {name: value for name, value in asdict(turn).items() if value or name != "sealed"}


def _present(relayed: model_client.Relayed) -> dict[str, Any]:
    return {name: value for name, value in asdict(relayed).items() if value or name == "body"}


def place_to_json(place: model_client.CallPlace) -> dict[str, Any]:
    at = {"role": place.role.value, "order": place.order, "attempt": place.attempt}
    return at | ({"turn": place.turn} if place.turn else {})


def changed_parts(recorded: model_client.Request, wanted: model_client.Request) -> Iterator[str]:
    """Yield in words, one part of the request at a time, how `wanted` differs from `recorded`."""
    before = request_to_json(recorded)
    for name, value in request_to_json(wanted).items():
        if before.get(name) == value:
            continue
        if name == "relayed":
            yield _call_difference(recorded.relayed, wanted.relayed)
        elif name == "prompt":
            yield _prompt_difference(recorded.prompt, wanted.prompt)
        elif name == "reply_schema":
            yield "the reply schema differs"
        else:
            yield f"{name} was {_in_short(before.get(name))} and is now {_in_short(value)}"


def _in_short(value: object) -> str:
    said = repr(value)
    return said if len(said) <= 200 else f"{said[:197]}..."


def _call_difference(before: model_client.Relayed | None, now: model_client.Relayed | None) -> str:
    old, new = before.body if before else "", now.body if now else ""
    same = _first_difference(old, new)
    was, is_now = (repr(each[max(0, same - 40) : same + 40]) for each in (old, new))
    return f"the agent's call differs from its character {same + 1:,} on: was {was}, is {is_now}"


def _prompt_difference(before: str, now: str) -> str:
    old, new = before.split("\n"), now.split("\n")
    same = _first_difference(old, new)
    return (
        f"the prompt differs from line {same + 1} on: "
        f"was {_line_excerpt(old, same)} and is now {_line_excerpt(new, same)}"
    )


def _first_difference(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))


def _line_excerpt(lines: Sequence[str], index: int) -> str:
    if index >= len(lines):
        return "at its end"
    line = lines[index]
    return repr(line if len(line) <= 120 else f"{line[:117]}...")


FORMAT = 1


@dataclass(frozen=True, slots=True)
class Header:
    """Represent the first line of a transcript."""

    origin: ReplyOrigin


@dataclass(frozen=True, slots=True)
class Intent:
    """Represent a call that is about to be made."""

    key: str
    request: model_client.Request


@dataclass(frozen=True, slots=True)
class Response:
    """Represent the reply to the call that has this `key`."""

    key: str
    completion: model_client.Completion


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Represent the failure of the call that has this `key`.

    A `handed_on` failure used up an attempt, so a resumed run gets the same failure again. Any
    other failure ended the run, and a resumed run makes the call again.
    """

    key: str
    failed: model_client.ReplyFailed
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
            parts = {**_mapping(document, "request"), "place": _mapping(document, "place")}
            return Intent(_text(document, "key"), read_as(model_client.Request, parts))
        case "response":
            return Response(_text(document, "key"), _parse_completion(document))
        case "failure":
            usage, lost = _parse_usage(document), _texts(document, "lost")
            is_cut = document.get("cut_short") is True
            kind = model_client.ReplyCutShort if is_cut else model_client.ReplyFailed
            failed = kind(_text(document, "message"), usage, lost=lost)
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
                **_lost_to_json(completion.lost),
                **({"document": completion.document} if completion.document else {}),
                **({"calls": [*map(asdict, completion.calls)]} if completion.calls else {}),
                **({"sealed": completion.sealed} if completion.sealed else {}),
            }
        case CallFailure(key, failed, handed_on):
            return {
                "record": "failure",
                "key": key,
                "message": failed.message,
                "usage": _usage_to_json(failed.usage),
                "handed_on": handed_on,
                **({"cut_short": True} if isinstance(failed, model_client.ReplyCutShort) else {}),
                **_lost_to_json(failed.lost),
            }


def _lost_to_json(lost: tuple[str, ...]) -> dict[str, list[str]]:
    return {"lost": list(lost)} if lost else {}


def reply_of(outcome: Response | CallFailure) -> model_client.Completion:
    """Return the reply on record. Raises `ReplyFailed` again where a failure is."""
    match outcome:
        case Response(_, completion):
            return completion
        case CallFailure(_, failed):
            raise _kind(failed)(failed.message, failed.usage, replayed=True, lost=failed.lost)


def _kind(failed: model_client.ReplyFailed) -> type[model_client.ReplyFailed]:
    """Return the class that a failure has on record: a reply that was cut short is told apart."""
    is_cut = isinstance(failed, model_client.ReplyCutShort)
    return model_client.ReplyCutShort if is_cut else model_client.ReplyFailed


_COUNTS = ("calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_RARE_COUNTS = ("estimated_calls", "written_tokens")  # only written where there are any


def _usage_to_json(usage: model_client.Usage) -> dict[str, int]:
    """Return the tokens without their cost, which depends on the price table in use."""
    counts = {name: getattr(usage, name) for name in _COUNTS}
    return counts | {name: each for name in _RARE_COUNTS if (each := getattr(usage, name))}


def _redacted(record: Record, secrets: Sequence[str]) -> Record:
    """Return the record with secrets redacted in all text by a person, a model or a server."""

    def clean(text: str) -> str:
        return redact(text, secrets)

    match record:
        case Header(origin):
            return Header(cleaned_origin(origin, clean))
        case Intent(key, request):
            relayed = request.relayed
            relayed = relayed and replace(relayed, body=clean(relayed.body))
            said = tuple(
                replace(
                    each,
                    text=clean(each.text),
                    calls=_clean_calls(each.calls, clean),
                    results=tuple(map(clean, each.results)),
                    sealed=clean(each.sealed),
                )
                for each in request.exchanges
            )
            prompt = clean(request.prompt)
            return Intent(key, replace(request, prompt=prompt, relayed=relayed, exchanges=said))
        case Response(key, completion):
            return Response(
                key,
                replace(
                    completion,
                    text=clean(completion.text),
                    reasoning=clean(completion.reasoning),
                    adjustments=tuple(map(clean, completion.adjustments)),
                    lost=tuple(map(clean, completion.lost)),
                    document=clean(completion.document),
                    calls=_clean_calls(completion.calls, clean),
                    sealed=clean(completion.sealed),
                ),
            )
        case CallFailure(key, failed, handed_on):
            lost = tuple(map(clean, failed.lost))
            cleaned = _kind(failed)(clean(failed.message), failed.usage, lost=lost)
            return CallFailure(key, cleaned, handed_on)


def _clean_calls(
    calls: Sequence[model_client.ToolCall], clean: Callable[[str], str]
) -> tuple[model_client.ToolCall, ...]:
    return tuple(replace(each, arguments=clean(each.arguments)) for each in calls)


def _parse_header(document: Mapping[str, Any]) -> Header:
    if document.get("format") != FORMAT:
        raise ValueError(f"format {document.get('format')!r}; this version reads format {FORMAT}")
    return Header(parse_origin(_mapping(document, "origin")))


def _parse_completion(document: Mapping[str, Any]) -> model_client.Completion:
    return model_client.Completion(
        text=_text(document, "text"),
        model=_text(document, "model"),
        usage=_parse_usage(document),
        reasoning=_text(document, "reasoning"),
        replayed=True,
        adjustments=_texts(document, "adjustments"),
        lost=_texts(document, "lost"),
        document=_text(document, "document") if "document" in document else "",
        calls=read_as(tuple[model_client.ToolCall, ...], document.get("calls", [])),
        sealed=_text(document, "sealed") if "sealed" in document else "",
    )


def _texts(document: Mapping[str, Any], name: str) -> tuple[str, ...]:
    texts = document.get(name, [])
    if not isinstance(texts, list):
        raise ValueError(f"{name} is not a list")
    return tuple(str(each) for each in texts)


def _parse_usage(document: Mapping[str, Any]) -> model_client.Usage:
    tokens = _mapping(document, "usage")
    if not all(type(count) is int and count >= 0 for count in tokens.values()):
        raise ValueError("usage holds something other than counts")
    return model_client.Usage(**{name: tokens.get(name, 0) for name in (*_COUNTS, *_RARE_COUNTS)})


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
