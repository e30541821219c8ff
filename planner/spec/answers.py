"""Reads and writes a person's answers to what a specification leaves open.

They are in a file beside the specification and belong to it: each is a requirement of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.spec.likeness import folded
from planner.spec.requirements import Requirement
from planner.spec.strict_yaml import parse_spec_yaml
from shared.errors import InvalidInput
from shared.files.atomic_io import write_text
from shared.files.strict_documents import at
from shared.files.text_sources import TextInput, read_text_input
from shared.work_order.work_order import MAX_SAID, question_id

_SUFFIX: Final = ".answers.yaml"
_MOST: Final = 200
_HEAD: Final = """\
# Answers to what the specification beside this file leaves open. They are part of it:
# `llmch plan --spec SPEC --from PLAN` changes the orders that rest on what changes here.
answers:
"""


@dataclass(frozen=True, slots=True)
class SpecAnswer:
    """Hold a question that a plan asked, and what a person answered."""

    question: str
    answer: str

    @property
    def id(self) -> str:
        return question_id(self.question)

    @property
    def requirement(self) -> Requirement:
        """Return what the answer demands; its id is the question's."""
        text = f'The answer to "{self.question}" is: {self.answer}'
        return Requirement(self.id, " ".join(text.split()), given=True)

    def is_reading(self, reading: str) -> bool:
        """Say whether the person took over how a plan reads the specification."""
        return folded(self.answer) == folded(reading)


_Said = Annotated[str, Field(max_length=MAX_SAID, pattern=r"\S")]


class _AnswerEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str = ""
    question: _Said
    answer: _Said


class _Answers(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    answers: Annotated[list[_AnswerEntry], Field(max_length=_MOST)] = []


def answers_path(spec: Path) -> Path:
    """Return the file that has the answers to a specification: `spec.md.answers.yaml`."""
    return spec.with_name(spec.name + _SUFFIX)


def read_answers(spec: Path) -> tuple[tuple[SpecAnswer, ...], TextInput | None]:
    """Return the answers to a specification, and the file that has them, if it is there.

    Raises `InvalidInput`, which names the place, for a file of another form, an id that is not its
    question's, and a question that is answered twice.
    """
    path = answers_path(spec)
    if not os.path.lexists(path):
        return (), None
    source, named = read_text_input(path, "answers"), f"answers {path}"
    if not source.text.strip():
        return (), source
    try:
        document = _Answers.model_validate(parse_spec_yaml(source.text, named))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = str(at(*fault["loc"])) or "the document"
        raise InvalidInput(
            f"{named}: {where}: {fault['msg']}",
            "the form is a list `answers`, each with `question` and `answer`, texts in quotes of "
            f"at most {MAX_SAID} characters; `id` may be left out",
        ) from error
    answers = tuple(SpecAnswer(each.question, each.answer) for each in document.answers)
    _check(document.answers, answers, named)
    return answers, source


def _check(entries: Sequence[_AnswerEntry], answers: Sequence[SpecAnswer], named: str) -> None:
    first: dict[str, int] = {}
    for index, (entry, each) in enumerate(zip(entries, answers, strict=True)):
        if entry.id and entry.id != each.id:
            raise InvalidInput(
                f"{named}: answers[{index}].id: {entry.id!r} is not the id of its question, "
                f"which is {each.id}",
                "put the question back as it was, or remove the id of a question of your own",
            )
        if first.setdefault(each.id, index) != index:
            raise InvalidInput(
                f"{named}: answers[{index}]: the question is that of answers[{first[each.id]}]",
                "keep one of the two",
            )


def render_answers(answers: Iterable[SpecAnswer]) -> str:
    """Return the text that a specification gains by its answers."""
    lines = [f"- {each.id}: {each.requirement.text}" for each in answers]
    return "\n".join(("", "## Answers", "", *lines, "")) if lines else ""


def write_answers(spec: Path, given: Iterable[SpecAnswer]) -> Path:
    """Add answers to those of a specification, and return the file; a new one replaces an old."""
    before, _ = read_answers(spec)
    answers = {each.id: each for each in (*before, *given)}
    path = answers_path(spec)
    entries = (
        f"  - id: {each.id}\n    question: {_quoted(each.question)}\n"
        f"    answer: {_quoted(each.answer)}\n"
        for each in answers.values()
    )
    write_text(path, _HEAD + "".join(entries))
    return path


def _quoted(text: str) -> str:
    """Return a text as a scalar that JSON and YAML read alike."""
    text = text.encode("utf-8", "replace").decode()
    return "".join(
        each if each.isprintable() else f"\\U{ord(each):08x}"
        for each in json.dumps(text, ensure_ascii=False)
    )
