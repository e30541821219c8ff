"""Writes the JSON schema of statements: `python -m tests.provenance_schema`."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter

from factory.statement.statement import Acceptance, AnyStatement, Statement

PATH = Path(__file__).parents[1] / "docs" / "provenance.schema.json"


def schema() -> str:
    """Return the schema as the file has it."""
    adapter: TypeAdapter[Statement | Acceptance] = TypeAdapter(AnyStatement)
    document = adapter.json_schema(by_alias=True, mode="serialization")
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(schema())
