"""Parses work orders, names each field at fault, and hashes what they say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ValidationError

from shared.files.paths import glob_characters
from shared.files.strict_documents import FieldPath, at
from shared.work_order.work_order import MAX_LISTED, NOTHING_TO_CHANGE, WorkOrder, describe

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


_OF_PATHS: Final = (
    *("preconditions", "postconditions", "allowed_files"),
    *("context_files", "removed_files", "acceptance_files"),
)


def glob_paths(order: WorkOrder) -> tuple[tuple[FieldPath, str], ...]:
    """Return each path of the order that holds glob characters, after the path of its field."""
    return tuple(each for each in _paths(order) if glob_characters(each[1]))


def _paths(order: WorkOrder) -> Iterator[tuple[FieldPath, str]]:
    for key in _OF_PATHS:
        for index, each in enumerate(getattr(order, key)):
            if isinstance(each, str):
                yield at(key, index), each
            else:
                yield at(key, index, "path"), each.path


EMPTY_SHA256: Final = hashlib.sha256(b"").hexdigest()

# These keys differ between two runs that compiled the same plan. `manifest_sha256` is one of them
# because a hash cannot cover itself.
_PROVENANCE_OF_THE_RUN = frozenset({"planner_run_id", "manifest_sha256"})

# These keys do not change the work: it is the same whoever planned it, and whether or not the rest
# of the plan exempts the order from verification.
_NOT_THE_WORK = {"provenance", "verify_exempt"}


def sha256_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: object) -> bytes:
    """Return the canonical text of a JSON value: sorted keys, no spaces, UTF-8, no NaN.

    Raises `ValueError` for a value that JSON cannot express (NaN, infinity, a lone surrogate).
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def order_key(order: WorkOrder) -> str:
    """Return the hash of an order's work: all fields except `provenance` and `verify_exempt`."""
    return sha256_bytes(canonical_json(order.model_dump(mode="json", exclude=_NOT_THE_WORK)))


def manifest_sha256(document: Mapping[str, object]) -> str:
    """Return the hash of a manifest document as its file holds it.

    The run's id and the hash itself are left out of every `provenance` object. Two runs with equal
    content therefore have the same hash, and the hash can be computed from the file that holds it.
    """
    return sha256_bytes(canonical_json(_without_run(document)))


def _without_run(value: object, *, provenance: bool = False) -> object:
    match value:
        case Mapping():
            return {
                key: _without_run(each, provenance=key == "provenance")
                for key, each in value.items()
                if not (provenance and key in _PROVENANCE_OF_THE_RUN)
            }
        case list() | tuple():
            return [_without_run(each) for each in value]
        case _:
            return value
