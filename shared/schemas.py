"""The documents that pass between planner and factory: work orders and their manifest.

Types are strict and values frozen. Unknown keys are dropped, because a model writes these
documents; `unknown_keys` names them. Paths are normalised on the way in. A path with glob
characters is let through as it is: it has a rule, and a name, of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shared.paths import PathProblem, check_path, glob_characters

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SCHEMA_VERSION: Final = "1.0"

# Verifies a whole project, where a project has it.
VERIFY_SCRIPT: Final = "scripts/verify.sh"

# Limits, in bytes unless named otherwise. The figures are those of the work order format; a
# document has to be read whole before it can be judged, hence its bound.
MAX_DOCUMENT_BYTES: Final = 10 * 1024 * 1024
MAX_CONTEXT_FILES: Final = 10
MAX_CONTEXT_BYTES: Final = 200 * 1024
"""Of one context file, and of all of an order's together."""
MAX_WRITE_BYTES: Final = 200 * 1024
"""Of one proposed file."""
MAX_PROPOSAL_BYTES: Final = 500 * 1024
"""Of all files of a proposal together."""
MAX_EXCERPT_CHARACTERS: Final = 2000

# Ten digits would number more orders than a document can hold.
_ORDER_ID = re.compile(r"WO-(0[0-9]|[1-9][0-9]{1,8})")

T = TypeVar("T")


def _check_order_path(text: str) -> str:
    return text if glob_characters(text) else check_path(text)


OrderPath = Annotated[str, AfterValidator(_check_order_path)]


def _normal_path(text: str) -> str:
    try:
        return _check_order_path(text)
    except PathProblem:
        return text


# Strict mode would refuse the lists that JSON gives for tuples; what they hold stays strict.
Listed = Annotated[tuple[T, ...], Field(strict=False)]


# One paragraph or several: models write either.
Overview = Annotated[
    Listed[str], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


def _is_empty(value: object) -> bool:
    return value == ()


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Condition(_Document):
    """A fact about the repo's files that holds before or after an order."""

    kind: Literal["file_exists", "file_absent"]
    path: OrderPath


class Postcondition(Condition):
    """What an order promises: orders create and change files, they never remove one."""

    kind: Literal["file_exists"]


class Provenance(_Document):
    """Where a planned order comes from; `bootstrap` marks an order planned before `verify.sh`."""

    planner_run_id: str
    compile_hash: str
    manifest_sha256: str
    bootstrap: bool = False


class Interface(_Document):
    """What an order declares of a Python file: a stub, only of the names it adds or changes.

    Any string is taken for the `path`, which has a rule of its own; a good one is normalised.
    """

    path: Annotated[str, AfterValidator(_normal_path)]
    stub: str


class WorkOrder(_Document):
    """One step of a plan: what to do, where it may write, and how it is judged.

    Any string is taken for an `id` and any path may hold glob characters: `blockers` names what
    of that keeps an order from being executed. `changes` names what `interfaces` declare anew on
    purpose, and what of earlier ones the order takes away. An order without the two is the same
    document, with the same hash, as before there were any.
    """

    id: str
    title: str
    intent: str
    preconditions: Listed[Condition] = ()
    postconditions: Listed[Postcondition] = ()
    allowed_files: Listed[OrderPath]
    forbidden: Listed[str] = ()
    acceptance_commands: Annotated[Listed[str], Field(min_length=1)]
    context_files: Annotated[Listed[OrderPath], Field(max_length=MAX_CONTEXT_FILES)] = ()
    depends_on: Listed[str] = ()
    interfaces: Annotated[Listed[Interface], Field(exclude_if=_is_empty)] = ()
    changes: Annotated[Listed[str], Field(exclude_if=_is_empty)] = ()
    notes: str | None = None
    verify_exempt: bool = False
    provenance: Provenance | None = None


class VerifyContract(_Document):
    """The command that verifies the whole project and what must be there for it to run."""

    command: str | None = None
    requires: Listed[Condition] = ()


class Manifest(_Document):
    """A valid plan with its provenance, as `WORK_ORDERS_MANIFEST.json` holds it."""

    schema_version: str = SCHEMA_VERSION
    system_overview: Overview = ()
    verify_contract: VerifyContract | None = None
    work_orders: Listed[WorkOrder]
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One field that does not conform: `field` as in `acceptance_commands[0]`, and why."""

    field: str
    message: str


class DocumentInvalid(ValueError):
    """A document does not conform to its schema; `problems` has one entry per field."""

    def __init__(self, problems: tuple[SchemaProblem, ...]) -> None:
        super().__init__("; ".join(f"{each.field}: {each.message}" for each in problems))
        self.problems = problems


D = TypeVar("D", bound=_Document)


def parse_document(schema: type[D], value: object) -> D:
    """Return the JSON value `value` as a `schema` document.

    Raises `DocumentInvalid`, with one problem for each field that is at fault.
    """
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        raise DocumentInvalid(_problems(error)) from None


def unknown_keys(schema: type[BaseModel], value: object) -> tuple[str, ...]:
    """Return the keys of the JSON object `value` that `schema` does not have, sorted."""
    known = _keys_of(schema)
    if not isinstance(value, Mapping) or value.keys() <= known:
        return ()
    return tuple(sorted(value.keys() - known))


@cache
def _keys_of(schema: type[BaseModel]) -> frozenset[str]:
    return frozenset(schema.model_fields)


def order_number(order_id: str) -> int | None:
    """Return the number in an id of the form `WO-07` or `WO-100`; None for any other form."""
    return int(order_id[3:]) if _ORDER_ID.fullmatch(order_id) else None


def order_id(number: int) -> str:
    """Return the id of the order with that number: `WO-07`, `WO-100`."""
    return f"WO-{number:02d}"


def glob_paths(order: WorkOrder) -> tuple[tuple[str, str], ...]:
    """Return field and path of every path of the order that holds glob characters."""
    return tuple(each for each in order_paths(order) if glob_characters(each[1]))


def order_paths(order: WorkOrder) -> tuple[tuple[str, str], ...]:
    """Return field and path of every path in the order, in the order of the schema."""
    return (
        *((f"preconditions[{i}].path", each.path) for i, each in enumerate(order.preconditions)),
        *((f"postconditions[{i}].path", each.path) for i, each in enumerate(order.postconditions)),
        *((f"allowed_files[{i}]", path) for i, path in enumerate(order.allowed_files)),
        *((f"context_files[{i}]", path) for i, path in enumerate(order.context_files)),
    )


def blockers(order: WorkOrder) -> tuple[SchemaProblem, ...]:
    """Return what keeps an order that fits the schema from being executed."""
    found = [
        SchemaProblem(field, f"`{path}` has glob characters: name each file")
        for field, path in glob_paths(order)
    ]
    if order_number(order.id) is None:
        found.insert(0, SchemaProblem("id", f"{order.id!r} is not of the form WO-01"))
    return tuple(found)


def _problems(error: ValidationError) -> tuple[SchemaProblem, ...]:
    first: dict[str, str] = {}
    for each in error.errors(include_url=False):
        if each["type"] == "too_short" and each["input"]:
            continue  # what the list holds has problems of its own, and nothing else is left
        first.setdefault(_field(each["loc"]), _message(each))
    return tuple(SchemaProblem(field, message) for field, message in first.items())


def _field(location: tuple[int | str, ...]) -> str:
    """Spell a location as `preconditions[0].path`; the document itself is the empty string."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _message(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "value_error":
            return f"{_shown(error['input'])} {context['error']}"
        case "literal_error":
            return f"must be {context['expected']}, not {_shown(error['input'])}"
        case "too_short":
            return "must not be empty"
        case "too_long":
            return f"has {context['actual_length']} entries, at most {context['max_length']} may be"
        case kind:
            wanted = _WANTED.get(kind, "of another type")
            return f"must be {wanted}, not {_kind(error['input'])}"


_WANTED = {
    "string_type": "a string",
    "string_unicode": "a string of valid Unicode",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_MAX_SHOWN = 80


def _shown(value: object) -> str:
    """Quote a value for a message, cut to what a line can hold."""
    text = json.dumps(value, default=str) if isinstance(value, str) else _kind(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return type(value).__name__
