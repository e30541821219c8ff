"""Defines the form of a structured spec, and says where a document departs from it.

`spec_schema.json` beside this file is the schema for editors and other tools. A test checks that
the file holds the text that `render_schema` returns.
"""

from __future__ import annotations

import difflib
import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from planner.spec.syntax import NotText, Tree
from shared.errors import InvalidInput
from shared.work_order.schemas import MAX_LISTED

# An id goes into commit trailers as one of a comma separated list.
REQUIREMENT_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

# Spelled out, since dialects disagree on which control characters `\s` takes for space.
NonBlank = Annotated[str, Field(pattern=r"[^\s\u0000-\u001f\u007f-\u009f\ufeff]")]


class RequirementEntry(BaseModel):
    """One thing the product must do."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[
        str,
        Field(
            pattern=REQUIREMENT_ID,
            description="Unique in the spec: letters, digits, dot, dash, underscore; at most 64.",
        ),
    ]
    text: Annotated[NonBlank, Field(description="A demand in words that can be tested.")]


class SpecDocument(BaseModel):
    """A product specification for llmch, as YAML or JSON."""

    model_config = ConfigDict(extra="forbid", strict=True, title="llmch product specification")

    name: Annotated[NonBlank, Field(max_length=200, description="The name of the product.")]
    summary: Annotated[NonBlank, Field(description="The product, its users and its purpose.")]
    requirements: Annotated[
        list[RequirementEntry],
        Field(min_length=1, max_length=MAX_LISTED, description="All that the product must do."),
    ]
    constraints: Annotated[
        list[NonBlank],
        Field(description="Limits on how it is built: language, dependencies, layout."),
    ] = []


def parse_spec_document(tree: Tree, named: str) -> SpecDocument:
    """Return the typed document. Raises `InvalidInput`, which names the fields at fault."""
    if isinstance(tree, NotText) and tree.kind == "empty":
        raise InvalidInput(f"{named} is empty", "describe the product in it")
    try:
        document = SpecDocument.model_validate(tree)
    except ValidationError as error:
        raise InvalidInput(_complaint(error, named), _hint(error)) from error
    _require_unique_ids(document, named)
    return document


def render_schema() -> str:
    """Return the published JSON schema (draft 2020-12) as the text of its file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **SpecDocument.model_json_schema(),
    }
    return json.dumps(schema, indent=2) + "\n"


def _require_unique_ids(document: SpecDocument, named: str) -> None:
    seen: dict[str, int] = {}
    for index, entry in enumerate(document.requirements):
        first = seen.setdefault(entry.id, index)
        if first != index:
            raise InvalidInput(
                f"{named}: requirements[{index}].id: {entry.id!r} is already the id of "
                f"requirements[{first}]",
                "give each requirement its own id",
            )


def _complaint(error: ValidationError, named: str, most: int = 5) -> str:
    faults = error.errors(include_url=False)
    listed = "; ".join(f"{_where(fault)}{_problem(fault)}" for fault in faults[:most])
    more = len(faults) - most
    return f"{named}: {listed}" + (f"; and {more} more" if more > 0 else "")


def _where(fault: ErrorDetails) -> str:
    path = ""
    for part in fault["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return f"{path.removeprefix('.')}: " if path else ""


def _problem(fault: ErrorDetails) -> str:
    match fault["type"]:
        case "extra_forbidden":
            return "unknown field"
        case "missing":
            return "is missing"
        case "string_type":
            return f"must be text, not {_kind(fault['input'])}"
        case "list_type":
            return f"must be a list, not {_kind(fault['input'])}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"must be an object with named fields, not {_kind(fault['input'])}"
        case "too_short":
            return "must have at least one entry"
        case "too_long":
            return f"may have at most {fault['ctx']['max_length']} entries"
        case "string_too_long":
            return f"is over {fault['ctx']['max_length']} characters"
        case "string_pattern_mismatch" if fault["loc"][-1] == "id":
            return "may hold only letters, digits, dots, dashes and underscores, at most 64"
        case "string_pattern_mismatch":
            return "is blank"
        case _:
            return fault["msg"]


def _kind(value: object) -> str:
    match value:
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return str(value)


def _hint(error: ValidationError) -> str:
    """Return the remedy for the first fault."""
    fault = error.errors(include_url=False)[0]
    if fault["type"] == "extra_forbidden":
        inner = len(fault["loc"]) > 1
        known = list((RequirementEntry if inner else SpecDocument).model_fields)
        near = difflib.get_close_matches(str(fault["loc"][-1]), known, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        return f"{guess}the fields are {', '.join(known)}"
    if fault["type"] == "string_type" and isinstance(fault["input"], NotText):
        return "put the value in quotes"
    return "the form is name, summary, requirements (each with id and text) and constraints"
