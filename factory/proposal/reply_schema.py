"""JSON schemas that bind a model's reply, made from pydantic models.

Strict servers take a subset of JSON schema: every object closed, every property required, no
references that can be avoided, few keywords. They guarantee form, not an end: a string without a
bound has let small models write for ever. So what can be bounded is bounded here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.llm.client import ReplySchema

if TYPE_CHECKING:
    from pydantic import BaseModel

# What strict servers know, beside the structure itself.
_KEPT = ("enum", "pattern", "minimum", "maximum", "minItems", "maxItems")

# Larger bounds make the grammars that servers compile from a pattern too large.
_LONGEST_PATTERN_BOUND = 500

_NO_CHOICES: Mapping[str, Sequence[str]] = {}


def reply_schema(
    name: str,
    model: type[BaseModel],
    *,
    omit: Collection[str] = (),
    choices: Mapping[str, Sequence[str]] = _NO_CHOICES,
) -> ReplySchema:
    """Return `strict_schema(model)` under `name`, as a request takes it."""
    return ReplySchema(name, strict_schema(model, omit=omit, choices=choices))


def strict_schema(
    model: type[BaseModel],
    *,
    omit: Collection[str] = (),
    choices: Mapping[str, Sequence[str]] = _NO_CHOICES,
) -> dict[str, Any]:
    """Return a schema for what a model should write to make up a `model`.

    `omit` names properties that are the program's own to fill, at any depth. `choices` gives the
    only values that a string property of that name may have: the paths that may be written, the
    hashes that were shown. Raises `ValueError` for models that no strict schema can express:
    recursive ones, and mappings with free keys.
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
        """Return the strict form of one schema node; `inside` are the references around it."""
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
    """Return a length bound as a pattern, for strict servers know no `maxLength`."""
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
