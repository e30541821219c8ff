"""Parses JSON values into work orders and manifests, and names each field that is at fault."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ValidationError

from shared.work_order.field_path import FieldPath, at
from shared.work_order.schema_words import NOTHING_TO_CHANGE, describe
from shared.work_order.schemas import MAX_LISTED

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# The limits of a report on a faulty document. More than 500 faults are not even listed: that alone
# would take a minute for ten megabytes of faults.
_MAX_UNKNOWN: Final = 50
_MAX_PROBLEMS: Final = 50
_MAX_FAULTS: Final = 500

D = TypeVar("D", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """Name one field that does not conform to the schema, and say why."""

    at: FieldPath
    message: str

    @property
    def field(self) -> str:
        """Return the field as text: `acceptance_commands[0]`; empty for the document itself."""
        return str(self.at)


class DocumentInvalid(ValueError):
    """Say that a document does not conform to its schema.

    `problems` has one entry per field, and at most 50 entries.
    """

    def __init__(self, problems: tuple[SchemaProblem, ...]) -> None:
        super().__init__(
            "; ".join(f"{each.field or 'the document'}: {each.message}" for each in problems)
        )
        self.problems = problems


def parse_document(schema: type[D], value: object) -> D:
    """Return the JSON value `value` as a `schema` document.

    Raises `DocumentInvalid`, with one problem for each field that is at fault.
    """
    if problems := _oversized_lists(value):
        raise DocumentInvalid(problems)
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        raise DocumentInvalid(_problems(error)) from None


def _oversized_lists(value: object) -> tuple[SchemaProblem, ...]:
    """Return a problem for each list that is far too long.

    The validator would look at every element before it refuses such a list.
    """
    if not isinstance(value, dict):
        return ()
    return tuple(
        SchemaProblem(at(str(key)), f"has {len(each)} entries, at most {MAX_LISTED} may be")
        for key, each in value.items()
        if isinstance(each, list) and len(each) > MAX_LISTED and key != "work_orders"
    )


def unknown_keys(schema: type[BaseModel], value: object) -> tuple[str, ...]:
    """Return the keys of the JSON object `value` that `schema` does not have.

    The keys are sorted, and at most 50 are returned.
    """
    known = _keys_of(schema)
    if not isinstance(value, dict) or value.keys() <= known:
        return ()
    return tuple(sorted(value.keys() - known)[:_MAX_UNKNOWN])


@cache
def _keys_of(schema: type[BaseModel]) -> frozenset[str]:
    return frozenset(schema.model_fields)


def _place_of(error: ErrorDetails) -> FieldPath:
    """Return the field at fault, which is not always the one whose validator found the fault."""
    if error["type"] == NOTHING_TO_CHANGE:
        return FieldPath((*error["loc"][:-1], "allowed_files"))
    return FieldPath(error["loc"])


def _problems(error: ValidationError) -> tuple[SchemaProblem, ...]:
    if error.error_count() > _MAX_FAULTS:
        message = f"does not fit the schema in over {_MAX_FAULTS} places"
        return (SchemaProblem(at(), message),)
    first: dict[FieldPath, str] = {}
    for each in error.errors(include_url=False):
        if each["type"] == "too_short" and each["input"]:
            continue  # every element of the list has a problem of its own, so none was left
        first.setdefault(_place_of(each), describe(each))
    problems = (SchemaProblem(where, message) for where, message in first.items())
    return tuple(islice(problems, _MAX_PROBLEMS))
