"""Reads and describes the origin of replies, which a transcript's header gives. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum


class OriginKind(StrEnum):
    """Represent whether replies were authored for a purpose or given by a model."""

    AUTHORED = "authored"
    LIVE = "live"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReplyOrigin:
    """Hold the kind of a transcript's replies and what its header says about their models.

    `model` is the model of every role that has no field of its own filled in here. A field is
    empty where the header does not have it. `date` is an ISO date.
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
