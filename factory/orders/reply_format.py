"""Chooses how a model is asked to write its proposal: the format, and each file's form. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from factory.orders.limits import MAX_WRITE_BYTES
from factory.orders.model_size import SMALL_BELOW, parameters_of

WHOLE_UP_TO_LINES: Final = 150
"""Files of up to so many lines are written whole: every model can, and it costs little."""
FALL_BACK_UP_TO_LINES: Final = 1000
"""Files of up to so many lines are written whole by a model that failed to write parts of them."""
SEARCH_FROM: Final = 30.0
"""Models of at least so many billion parameters write search texts; smaller ones definitions.

Of published replies in search texts, 73% of a 70B model's were well-formed, and 0 of 8 of a 0.5B
model's could be applied.
"""


class ReplyFormat(StrEnum):
    """Name a reply format: `json` is a strict document, the others are fenced blocks.

    In `files` each block holds a whole file, in `edits` a block may hold a part of one. Both begin
    with a summary.
    """

    JSON = "json"
    FILES = "files"
    EDITS = "edits"


class Form(StrEnum):
    """Name what a fenced block holds: a whole file, a definition, or search texts."""

    WHOLE = "whole"
    DEFINITION = "definition"
    SEARCH = "search"


@dataclass(frozen=True, slots=True)
class WritableFile:
    """Hold what the choice of a form depends on, for a file that an order may write.

    A file that does not exist has no lines. `has_outline` says whether definitions of the file can
    be named: whether it has a language. `is_named` says whether the order names some of them, and
    `has_focus` that it names the one that changes.
    """

    path: str
    lines: int
    size: int
    has_outline: bool
    is_named: bool = False
    has_focus: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """Hold how a reply is asked for: its format, and for `edits` the form of each file."""

    format: ReplyFormat
    forms: Mapping[str, Form] = field(default_factory=dict)


def choose_reply_format(
    forced: ReplyFormat | None, *, trusted_schemas: bool, invalid_replies: int
) -> ReplyFormat:
    """Return the format to ask for: `forced` if it is given, else JSON or fenced files.

    JSON needs a server that enforces its schemas, and a model without an invalid reply so far.
    With code inside JSON strings a small model solved 0 of 12 tasks, with fenced code 10 of 12.
    """
    if forced is not None:
        return forced
    return ReplyFormat.JSON if trusted_schemas and invalid_replies == 0 else ReplyFormat.FILES


def choose_offer(
    asked: ReplyFormat,
    forced: ReplyFormat | None,
    files: Sequence[WritableFile],
    model: str,
    failed: Mapping[str, Collection[Form]],
) -> Offer:
    """Return how to ask `model` for changes to `files`.

    `asked` is the format by `choose_reply_format`, and `forced` what the user wants, `None` for
    `auto`. `failed` has by path the forms in which this order's earlier replies could not be
    applied. Left to itself, a reply gets the format `edits` where any file is better changed in
    parts: a JSON document has whole files alone.
    """
    if forced in (ReplyFormat.JSON, ReplyFormat.FILES) or not files:
        return Offer(asked)
    size = parameters_of(model)
    forms = {
        each.path: choose_form(
            each, size, failed.get(each.path, ()), in_parts=forced is ReplyFormat.EDITS
        )
        for each in files
    }
    in_parts = any(form is not Form.WHOLE for form in forms.values())
    return Offer(ReplyFormat.EDITS, forms) if in_parts or forced is not None else Offer(asked)


def choose_form(
    file: WritableFile,
    parameters: float | None,
    failed: Collection[Form] = (),
    *,
    in_parts: bool = False,
) -> Form:
    """Return the form in which a model is asked to write a file.

    `parameters` is the model's size in billions, `None` if unknown. With `in_parts` short files
    are changed in parts, too.
    """
    if file.lines == 0:
        return Form.WHOLE
    small = parameters is not None and parameters < SEARCH_FROM
    focused = file.has_focus and parameters is not None and parameters < SMALL_BELOW
    order = [Form.SEARCH, Form.DEFINITION, Form.WHOLE]
    if focused or (small and not in_parts):
        order = [Form.DEFINITION, Form.WHOLE, Form.SEARCH]
    elif small or file.is_named:
        order = [Form.DEFINITION, Form.SEARCH, Form.WHOLE]
    short = file.lines <= WHOLE_UP_TO_LINES and file.size <= MAX_WRITE_BYTES
    if short and not in_parts and not focused:
        order = [Form.WHOLE]
    possible = [form for form in order if _is_possible(form, file)]
    untried = [form for form in possible if form not in failed]
    return (untried or possible or [Form.SEARCH])[0]


def _is_possible(form: Form, file: WritableFile) -> bool:
    match form:
        case Form.DEFINITION:
            return file.has_outline
        case Form.WHOLE:
            return file.lines <= FALL_BACK_UP_TO_LINES and file.size <= MAX_WRITE_BYTES
        case Form.SEARCH:
            return True
