"""Reads a specification: plain text, Markdown, or the structured form.

A plan made from these words would be paid for and be of no use. Pure.

`spec_schema.json` beside this file is the schema for editors and other tools. A test checks that
the file holds the text that `render_schema` returns.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.spec.answers import SpecAnswer, read_answers, render_answers
from planner.spec.blocks import visible_lines
from planner.spec.compose_spec import OpenPoint, compose, render_open_points
from planner.spec.requirements import Requirement, derive_requirements
from planner.spec.spec_folders import (
    FolderKind,
    NamedRequirements,
    SpecFolder,
    find_spec_folder,
    stories_in,
)
from planner.spec.strict_yaml import NotText, Tree, parse_spec_json, parse_spec_yaml
from shared.errors import InvalidInput
from shared.files.strict_documents import at
from shared.files.text_sources import read_text_input
from shared.work_order.parse_order import sha256_bytes
from shared.work_order.work_order import MAX_LISTED, question_id

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from shared.projects.conventions import Conventions

SUMMARY: Final = "Say in a few sentences what the product is, who uses it, and what for."
REQUIREMENTS: Final = (
    "Say one thing that the product must do, in words that a command can test.",
    "Say the next thing. Name inputs, results, and what happens when something is wrong.",
)
CONSTRAINTS: Final = ("Say what limits how it is built: language, dependencies, layout.",)


def find_placeholders(text: str) -> Iterator[str]:
    """Yield each of these sentences that ends a line of `text`, once."""
    ends = [line.rstrip() for line in text.splitlines()]
    for sentence in (SUMMARY, *REQUIREMENTS, *CONSTRAINTS):
        if any(line.endswith(sentence) for line in ends):
            yield sentence


MAX_TITLE = 80  # characters; a title is one line on a terminal


@dataclass(frozen=True, slots=True)
class Spec:
    """Represent a specification of what is to be built.

    `text` is the text that the model gets. `sha256` is the hash of the file's bytes, and of those
    of its answers where there are any; that of a folder covers what is read of its files. Each of
    `requirements` says whether its id is the author's.
    """

    path: Path
    title: str
    text: str
    sha256: str
    requirements: tuple[Requirement, ...] = ()
    answers: tuple[SpecAnswer, ...] = ()
    """What a person answered; each of them is among the requirements, too."""
    open_points: tuple[OpenPoint, ...] = ()
    """What the specification itself asks, and nobody has answered."""
    rules: Conventions | None = None
    """The rules of the house that are kept with it."""
    remarks: tuple[str, ...] = ()
    """Sentences for the person on what is beside it."""
    untouched: int = 0
    """How many of the requirements it leaves as they were, where it is a change."""

    @property
    def ids_given(self) -> bool:
        """Say whether there are requirements and all their ids are the author's."""
        return bool(self.requirements) and all(each.given for each in self.requirements)


def read_spec(path: Path) -> Spec:
    """Return the spec at `path`; `.yaml`, `.yml` and `.json` have a form, all else is text.

    A folder is one as `planner.spec.spec_folders` knows them. Raises `InvalidInput` where the file
    is missing, unreadable, not a regular file, over 1 MB, not UTF-8 or blank, departs from the
    form, gives an id twice, or still has words that `llmch init` wrote. A file of answers beside
    the spec is read as well.
    """
    spec = _read_folder(path) if path.is_dir() else _read(path)
    left = list(find_placeholders(spec.text))
    if left:
        raise InvalidInput(
            f"spec {path} still has words that `llmch init` wrote: {left[0]!r}",
            "write your own in their place, or remove what you do not need"
            + (f" ({len(left)} such sentences are left)" if len(left) > 1 else ""),
        )
    spec = _answered(spec)
    answered = {each.id for each in spec.answers}
    left_open = tuple(e for e in spec.open_points if question_id(e.text) not in answered)
    return replace(spec, text=spec.text + render_open_points(left_open), open_points=left_open)


def _read_folder(path: Path) -> Spec:
    folder = find_spec_folder(path)
    found = compose(folder)
    said = f"{found.text}{found.rules.text if found.rules else ''}"
    return Spec(
        folder.folder,
        found.title,
        found.text,
        sha256_bytes(said.encode()),
        found.requirements,
        open_points=found.open_points,
        rules=found.rules,
        remarks=found.remarks,
        untouched=found.untouched,
    )


_TITLED: Final = re.compile(r"^### Requirement: (.+) \[([^\]]+)\]$", re.MULTILINE)


def names_in(folder: SpecFolder, spec: Spec) -> NamedRequirements:
    """Return by which names the tasks of a folder speak of its requirements."""
    is_kit = folder.kind is FolderKind.SPEC_KIT
    return NamedRequirements(
        frozenset(each.id for each in spec.requirements),
        stories_in(folder.read(folder.main), spec.requirements) if is_kit else {},
        {name.casefold(): own_id for name, own_id in _TITLED.findall(spec.text)},
    )


def _answered(spec: Spec) -> Spec:
    answers, source = read_answers(spec.path)
    if source is None or not answers:
        return spec
    if len(spec.requirements) + len(answers) > MAX_LISTED:
        raise InvalidInput(
            f"spec {spec.path} and its answers have over {MAX_LISTED:,} requirements together",
            "plan a part of it, or write the answers into the specification",
        )
    return replace(
        spec,
        text=f"{spec.text.rstrip()}\n{render_answers(answers)}",
        sha256=sha256_bytes(f"{spec.sha256} {source.sha256}".encode()),
        requirements=(*spec.requirements, *(each.requirement for each in answers)),
        answers=answers,
    )


def _read(path: Path) -> Spec:
    source = read_text_input(path, "spec")
    if not source.text.strip():
        state = "holds only white space" if source.text else "is empty"
        raise InvalidInput(f"spec {path} {state}", "describe the product in it")
    document = _structured(source.text, path)
    if document is None:
        remarks: list[str] = []
        derived = derive_requirements(source.text, f"spec {path}", remarks.append)
        title = _title(source.text, path)
        return Spec(path, title, source.text, source.sha256, derived, remarks=tuple(remarks))
    requirements = tuple(
        Requirement(entry.id, entry.text.strip(), given=True) for entry in document.requirements
    )
    text = render_document(document)
    return Spec(path, _title(document.name, path), text, source.sha256, requirements)


def render_document(document: SpecDocument) -> str:
    """Return a structured spec as Markdown. The text depends on its values, not on its syntax."""
    parts = [f"# {' '.join(document.name.split())}", document.summary.strip(), "## Requirements"]
    parts.append("\n".join(_item(f"{each.id}: {each.text}") for each in document.requirements))
    if document.constraints:
        parts += ["## Constraints", "\n".join(_item(each) for each in document.constraints)]
    return "\n\n".join(parts) + "\n"


def _structured(text: str, path: Path) -> SpecDocument | None:
    named = f"spec {path}"
    match path.suffix.lower():
        case ".yaml" | ".yml":
            return parse_spec_document(parse_spec_yaml(text, named), named)
        case ".json":
            return parse_spec_document(parse_spec_json(text, named), named)
        case _:
            return None


def _item(text: str) -> str:
    # Further lines are indented, so that a heading inside an entry stays inside its entry.
    return "- " + "\n  ".join(line.rstrip() for line in text.strip().splitlines())


def _title(text: str, path: Path) -> str:
    """Return the first line with a letter or digit, without heading marks and control characters.

    Return the file's name, without its suffix, where the text has no such line.
    """
    for line in visible_lines(text):
        if any(character.isalnum() for character in line):
            bare = line.strip().strip("#").strip()
            return "".join(each for each in bare if each.isprintable())[:MAX_TITLE].rstrip()
    return path.stem


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
    listed = "; ".join(map(_placed, faults[:most]))
    more = len(faults) - most
    return f"{named}: {listed}" + (f"; and {more} more" if more > 0 else "")


def _placed(fault: ErrorDetails) -> str:
    place = at(*fault["loc"])
    return f"{place}: {_problem(fault)}" if place else _problem(fault)


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
