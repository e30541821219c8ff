"""The origin of a transcript's replies, as the transcript's header gives it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum


class OriginKind(StrEnum):
    """Whether replies were written for a purpose, or given by a model."""

    AUTHORED = "authored"
    LIVE = "live"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReplyOrigin:
    """The kind of a transcript's replies, and what its header says about the models behind them.

    `model` answers for every role that has no model of its own here. A field is empty where the
    header does not say it; the date is an ISO date.
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
    """Return where replies come from, in words: "authored", or "live (model: m, date: d)"."""
    rest = ", ".join(f"{name}: {value}" for name, value in _said(origin).items())
    return f"{origin.kind} ({rest})" if rest else origin.kind.value


def origin_to_json(origin: ReplyOrigin) -> dict[str, str]:
    """Return the origin as a header holds it; what is not said is left out."""
    return {"origin": origin.kind.value, **_said(origin)}


def parse_origin(document: Mapping[str, object]) -> ReplyOrigin:
    """Return the origin that a header holds; a kind that is not known here is `UNKNOWN`."""
    try:
        kind = OriginKind(str(document.get("origin")))
    except ValueError:
        kind = OriginKind.UNKNOWN
    return ReplyOrigin(kind, **{name: str(document.get(name, "")) for name in _DETAILS})


def cleaned_origin(origin: ReplyOrigin, clean: Callable[[str], str]) -> ReplyOrigin:
    """Return the origin with `clean` applied to all that a person or a server may have put in."""
    return ReplyOrigin(origin.kind, **{name: clean(value) for name, value in _said(origin).items()})


def _said(origin: ReplyOrigin) -> dict[str, str]:
    values = {name: str(getattr(origin, name)) for name in _DETAILS}
    return {name: value for name, value in values.items() if value}
