"""Strict schemas out of pydantic models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, StringConstraints

from factory.orders.documents import WriteProposal
from factory.proposal.request import reply_schema, strict_schema
from shared.work_order.work_order import Manifest

# What OpenAI's structured outputs document as supported.
SUPPORTED = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
}


class Part(BaseModel):
    """Documentation that no model needs to read."""

    kind: Literal["a"]
    size: Annotated[int, Field(ge=0, le=9)] = 0
    note: str | None = None


class Whole(BaseModel):
    name: Annotated[str, StringConstraints(max_length=40)]
    sha: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    parts: Annotated[tuple[Part, ...], Field(max_length=3)] = ()
    flag: bool = False


class Chain(BaseModel):
    next: Chain | None = None


class Free(BaseModel):
    table: dict[str, int]


class Anything(BaseModel):
    value: Any


@pytest.mark.parametrize("model", [Whole, WriteProposal, Manifest])
def test_a_strict_schema_uses_only_what_strict_servers_know(model: type[BaseModel]) -> None:
    schema = strict_schema(model)
    Draft202012Validator.check_schema(schema)
    for node in _nodes(schema):
        assert node.keys() <= SUPPORTED
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


def test_what_fits_the_schema_fits_the_model() -> None:
    document = {
        "name": "x",
        "sha": "0" * 64,
        "parts": [{"kind": "a", "size": 3, "note": None}],
        "flag": True,
    }
    assert Draft202012Validator(strict_schema(Whole)).is_valid(document)
    assert Whole.model_validate(document).parts[0].size == 3


@pytest.mark.parametrize(
    "change",
    [
        {"name": "x" * 41},
        {"sha": "0" * 65},
        {"parts": [{"kind": "b", "size": 3, "note": None}]},
        {"parts": [{"kind": "a", "size": 3}]},
        {"parts": [{"kind": "a", "size": 10, "note": None}]},
        {"more": 1},
    ],
)
def test_bounds_stay_bounds(change: dict[str, Any]) -> None:
    document = {"name": "x", "sha": "0" * 64, "parts": [], "flag": True} | change
    assert not Draft202012Validator(strict_schema(Whole)).is_valid(document)


def test_paths_and_hashes_can_be_tied_to_what_was_shown() -> None:
    shown = {"path": ["a.py", "b.py"], "base_sha256": ["0" * 64]}
    write = strict_schema(WriteProposal, choices=shown)["properties"]["writes"]["items"]
    assert write["properties"]["path"] == {"type": "string", "enum": ["a.py", "b.py"]}
    assert write["properties"]["base_sha256"] == {"type": "string", "enum": ["0" * 64]}
    assert write["properties"]["content"] == {"type": "string"}


def test_what_the_program_fills_in_itself_is_left_out() -> None:
    schema = reply_schema("plan", Manifest, omit=["provenance", "verify_exempt"])
    assert schema.name == "plan"
    assert "provenance" not in str(schema.schema)
    assert "verify_exempt" not in str(schema.schema)


@pytest.mark.parametrize("model", [Chain, Free, Anything])
def test_what_no_strict_schema_can_say_is_refused(model: type[BaseModel]) -> None:
    with pytest.raises(ValueError, match="no strict schema can express"):
        strict_schema(model)


def _nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for each in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from _nodes(each)
