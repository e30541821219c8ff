"""The schema that binds a reply in JSON to what may be written and what was shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from factory.proposal.request import write_schema

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
}
SHA = "0" * 64
SCHEMA = dict(write_schema(["a.py", "b.py"], [SHA]).schema)
WRITE = {"path": "a.py", "base_sha256": SHA, "content": "x = 1\n"}
REPLY: dict[str, Any] = {"impossible": None, "summary": "s", "writes": [WRITE]}


@pytest.mark.parametrize("schema", [SCHEMA, dict(write_schema(["a.py"], []).schema)])
def test_the_schema_uses_only_what_strict_servers_know(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    for node in _nodes(schema):
        assert node.keys() <= SUPPORTED
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"impossible": {"reason": "r", "command": None}, "writes": []}, True),
        ({"writes": [WRITE | {"path": "c.py"}]}, False),
        ({"writes": [WRITE | {"base_sha256": "1" * 64}]}, False),
        ({"writes": [{"path": "a.py", "content": ""}]}, False),
        ({"impossible": {"reason": "r"}}, False),
        ({"more": 1}, False),
    ],
)
def test_a_reply_is_tied_to_paths_and_hashes(change: dict[str, Any], fits: bool) -> None:
    assert Draft202012Validator(SCHEMA).is_valid(REPLY | change) is fits


def test_without_hashes_any_is_taken() -> None:
    schema = dict(write_schema(["a.py"], []).schema)
    assert Draft202012Validator(schema).is_valid(REPLY)
    changed = REPLY | {"writes": [WRITE | {"base_sha256": "none"}]}
    assert not Draft202012Validator(schema).is_valid(changed)


def _nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for each in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from _nodes(each)
