"""Makes JSON schemas for a model's reply from pydantic models.

Strict servers accept a subset of JSON schema: every object is closed, every property is required,
avoidable references are inlined, and few keywords are known. Such servers guarantee the form of a
reply, but not that it ends: small models have written a string without a bound for ever. So this
module bounds whatever can be bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.llm.client import ReplySchema

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
