"""Converts requests to the JSON of a transcript and back, keys them and compares them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Any

from shared.llm.client import Api, CallPlace, ReplySchema, Request, Role


def request_key(request: Request) -> str:
    """Return the key of a request in a transcript: the hex SHA-256 of the request and its place."""
    document = {"place": place_to_json(request.place), "request": request_to_json(request)}
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def request_to_json(request: Request) -> dict[str, Any]:
    """Return all parts of the request except its place, as JSON values."""
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


def parse_request(document: Mapping[str, Any], place: CallPlace) -> Request:
    """Return the request that was made at `place`; raise `ValueError` where it is malformed."""
    model, prompt = document.get("model"), document.get("prompt")
    temperature, limit = document.get("temperature"), document.get("max_output_tokens")
    effort = document.get("reasoning_effort")
    if not (isinstance(model, str) and isinstance(prompt, str) and isinstance(effort, str | None)):
        raise ValueError("malformed request")
    if type(temperature) not in (float, int, NoneType) or type(limit) not in (int, NoneType):
        raise ValueError("malformed request")
    return Request(
        api=Api(str(document.get("api"))),
        model=model,
        prompt=prompt,
        place=place,
        reply_schema=_parse_schema(document.get("reply_schema")),
        max_output_tokens=limit,
        temperature=temperature,
        reasoning_effort=effort,
    )


def _parse_schema(value: object) -> ReplySchema | None:
    match value:
        case None:
            return None
        case {"name": str(name), "schema": dict(schema)}:
            return ReplySchema(name, schema)
        case _:
            raise ValueError("malformed reply schema")


def place_to_json(place: CallPlace) -> dict[str, Any]:
    """Return the place as JSON values."""
    return {"role": place.role.value, "order": place.order, "attempt": place.attempt}


def parse_place(document: Mapping[str, Any]) -> CallPlace:
    """Return the place of a call; raise `ValueError` where it is malformed."""
    order, attempt = document.get("order"), document.get("attempt")
    if not isinstance(order, str | None) or type(attempt) is not int:
        raise ValueError("malformed place")
    return CallPlace(Role(str(document.get("role"))), attempt, order)


def changed_parts(recorded: Request, wanted: Request) -> Iterator[str]:
    """Yield in words, one part of the request at a time, how `wanted` differs from `recorded`."""
    before = request_to_json(recorded)
    for name, value in request_to_json(wanted).items():
        if before[name] == value:
            continue
        if name == "prompt":
            yield _prompt_difference(recorded.prompt, wanted.prompt)
        elif name == "reply_schema":
            yield "the reply schema differs"
        else:
            yield f"{name} was {before[name]!r} and is now {value!r}"


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
