"""Builds the request for a proposal, and the schema of its reply.

Strict servers accept a subset of JSON schema: every object is closed, every property is required,
avoidable references are inlined, and few keywords are known. Such servers guarantee the form of a
reply, but not that it ends: small models have written a string without a bound for ever. So this
module bounds whatever can be bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from factory.orders.documents import (
    FALL_BACK_UP_TO_LINES,
    Form,
    ModelProposal,
    Offer,
    ReplyFormat,
    WritableFile,
)
from factory.orders.model_choice import AskedModel, ModelChoice, choose_offer
from factory.proposal.scope import FileState
from factory.proposal.shown_code import Focus, ShownFile, focus_of
from shared.languages.registry import language_of
from shared.llm.budget import likely_tokens, most_tokens
from shared.llm.model_client import Api, CallPlace, ReplySchema, Request, Role
from shared.work_order.work_order import WorkOrder

if TYPE_CHECKING:
    from pydantic import BaseModel


# The keywords that strict servers know, besides those of the structure itself.
_KEPT = ("enum", "pattern", "minimum", "maximum", "minItems", "maxItems")

# With larger bounds, the grammar that a server compiles from a pattern becomes too large.
_LONGEST_PATTERN_BOUND = 500

_NO_CHOICES: Mapping[str, Sequence[str]] = {}


def reply_schema(
    name: str,
    model: type[BaseModel],
    *,
    omit: Collection[str] = (),
    choices: Mapping[str, Sequence[str]] = _NO_CHOICES,
) -> ReplySchema:
    """Return `strict_schema(model)` under `name`, in the form that a request needs."""
    return ReplySchema(name, strict_schema(model, omit=omit, choices=choices))


def strict_schema(
    model: type[BaseModel],
    *,
    omit: Collection[str] = (),
    choices: Mapping[str, Sequence[str]] = _NO_CHOICES,
) -> dict[str, Any]:
    """Return a schema for a reply from which a value of `model` can be made.

    `omit` names properties, at any depth, that the program fills itself. `choices` maps the name
    of a string property to the only values that it may have: the paths that may be written, the
    hashes that were shown. Raises `ValueError` for models that no strict schema can express:
    recursive models, and mappings with free keys.
    """
    source = model.model_json_schema()
    return _Strict(source.get("$defs", {}), frozenset(omit), choices).node(source, ())


class _Strict:
    def __init__(
        self,
        definitions: Mapping[str, Any],
        omit: Collection[str],
        choices: Mapping[str, Sequence[str]],
    ) -> None:
        self._definitions = definitions
        self._omit = omit
        self._choices = choices

    def node(self, source: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        """Return the strict form of one schema node; `inside` are the references it is within."""
        match source:
            case {"$ref": str(reference)}:
                return self._inlined(reference, inside)
            case {"allOf": [only]}:
                return self.node(only, inside)
            case {"anyOf": [*options]} | {"oneOf": [*options]}:
                return {"anyOf": [self.node(option, inside) for option in options]}
            case {"const": value}:
                return {"type": _json_type(value), "enum": [value]}
            case {"type": "object"}:
                return self._object(source, inside)
            case {"type": "array", "items": {} as items}:
                return {"type": "array", "items": self.node(items, inside), **_kept(source)}
            case {"type": "string"}:
                return {"type": "string", **_bounded(source), **_kept(source)}
            case {"type": "integer" | "number" | "boolean" | "null" as kind}:
                return {"type": kind, **_kept(source)}
            case _:
                raise ValueError(f"no strict schema can express {dict(source)}")

    def _inlined(self, reference: str, inside: tuple[str, ...]) -> dict[str, Any]:
        if reference in inside:
            raise ValueError(f"no strict schema can express the recursion of {reference}")
        name = reference.rpartition("/")[2]
        return self.node(self._definitions[name], (*inside, reference))

    def _object(self, source: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        if "properties" not in source:
            raise ValueError("no strict schema can express a mapping with free keys")
        properties = {
            name: self._property(name, each, inside)
            for name, each in source["properties"].items()
            if name not in self._omit
        }
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
            **_kept(source),
        }

    def _property(
        self, name: str, source: Mapping[str, Any], inside: tuple[str, ...]
    ) -> dict[str, Any]:
        strict = self.node(source, inside)
        if self._choices.get(name) and strict.get("type") == "string":
            return {"type": "string", "enum": list(self._choices[name])}
        return strict


def _kept(source: Mapping[str, Any]) -> dict[str, Any]:
    return {name: source[name] for name in _KEPT if name in source}


def _bounded(source: Mapping[str, Any]) -> dict[str, str]:
    """Return a length bound as a pattern, because strict servers do not know `maxLength`."""
    most = source.get("maxLength")
    if most is None or most > _LONGEST_PATTERN_BOUND:
        return {}
    return {"pattern": rf"^[\s\S]{{{source.get('minLength', 0)},{most}}}$"}


def _json_type(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case None:
            return "null"
        case _:
            return "string"


# A file that an order of the demos creates has 500 to 1,700 bytes, and its reply some marks and a
# sentence besides.
NEW_FILE_BYTES = 1_000
_ASIDE_TOKENS = 80

# A large new file is a module of 100 lines, and a model may reason before it answers.
_LARGE_FILE_BYTES = 4_000
_REASONING_TOKENS = 1_000


def likely_reply_tokens(sizes: Iterable[int | None]) -> int:
    """Return how many tokens a reply probably takes that writes files whole.

    `sizes` are the bytes of the files to write as they are now; `None` is a new file.
    """
    return _ASIDE_TOKENS + sum(likely_tokens(size or NEW_FILE_BYTES) for size in sizes)


def ample_reply_tokens(sizes: Iterable[int | None]) -> int:
    """Return with how many tokens a reply that writes files whole should not be cut short."""
    return _REASONING_TOKENS + sum(most_tokens(size or _LARGE_FILE_BYTES) for size in sizes)


_NEVER_WHOLE = FALL_BACK_UP_TO_LINES + 1
_EDIT_BYTES = 8000
"""How many bytes the edits of one file may take, by a generous guess."""


@dataclass(frozen=True, slots=True)
class Question:
    """Hold one question to the model: whom to ask and how, what is offered, and the prompt.

    `focus` is the definition that the prompt asks for, if it asks for one alone.
    """

    asked: AskedModel
    offer: Offer
    prompt: str
    focus: Focus | None = None


def build_request(
    order: WorkOrder,
    attempt: int,
    question: Question,
    shown: Sequence[ShownFile],
    models: ModelChoice,
) -> Request:
    """Return the request of a question; a JSON reply is bound to the order's paths and hashes."""
    sizes = [
        _written_size(each, question.offer) for each in shown if each.path in order.allowed_files
    ]
    states = [file.state for file in shown]
    return Request(
        api=Api.CHAT,
        model=question.asked.model,
        prompt=question.prompt,
        place=CallPlace(Role.FACTORY, attempt, order.id),
        reply_schema=_schema(order, states) if question.offer.format is ReplyFormat.JSON else None,
        temperature=question.asked.temperature,
        max_output_tokens=models.max_output_tokens,
        reasoning_effort=models.reasoning_effort,
        expected_output_tokens=ample_reply_tokens(sizes),
    )


def _written_size(file: ShownFile, offer: Offer) -> int:
    """Return how many bytes a reply needs for a change of a file."""
    size = len(file.text.encode())
    in_part = offer.forms.get(file.path, Form.WHOLE) is not Form.WHOLE
    return min(size, _EDIT_BYTES) if in_part else size


def _schema(order: WorkOrder, shown: Sequence[FileState]) -> ReplySchema:
    hashes = sorted({state.sha256 for state in shown})
    choices = {"path": order.allowed_files, "base_sha256": hashes}
    asked = reply_schema("write_proposal", ModelProposal, choices=choices)
    properties = {"impossible": _CLAIM, **asked.schema["properties"]}
    del properties["writes"]["minItems"]  # a claim comes without files
    keys = {"properties": properties, "required": list(properties)}
    return replace(asked, schema={**asked.schema, **keys})


_CLAIM: Final[Mapping[str, Any]] = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "reason": {"type": "string"},
                "command": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["reason", "command"],
            "additionalProperties": False,
        },
        {"type": "null"},
    ]
}
"""The schema of what `parse_claim` reads."""


def offer_for(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    asked: ReplyFormat,
    forced: ReplyFormat | None,
    model: str,
    misfits: Iterable[tuple[str, Form]],
) -> Offer:
    """Return how `model` is asked for the files of an order.

    `asked` and `forced` are those of `choose_offer`. `misfits` names by path the forms in which
    earlier replies could not be applied.
    """
    focus = focus_of(order, shown)
    failed: dict[str, Collection[Form]] = {}
    for path, form in misfits:
        failed[path] = {*failed.get(path, ()), form}
    files = [_writable(each, order, focus) for each in shown if each.path in order.allowed_files]
    return choose_offer(asked, forced, files, model, failed)


def _writable(file: ShownFile, order: WorkOrder, focus: Focus | None) -> WritableFile:
    named = any(each.path == file.path for each in order.interfaces) or bool(order.changes)
    language = language_of(file.path)
    return WritableFile(
        path=file.path,
        # What is not shown whole cannot be written whole.
        lines=max(len(file.text.splitlines()), 0 if file.parts is None else _NEVER_WHOLE),
        size=len(file.text.encode()),
        has_outline=language is not None and language.edits is not None,
        is_named=named,
        has_focus=focus is not None and focus.path == file.path,
    )
