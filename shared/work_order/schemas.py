"""Defines the documents that pass between planner and factory: work orders and their manifest.

Types are strict and values frozen. Unknown keys are dropped, because a model writes these
documents; `unknown_keys` names them. Paths are normalised when a document is parsed. A path with
glob characters passes unchanged, because a rule of its own judges it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shared.files.paths import PathProblem, check_path, glob_characters
from shared.work_order.acceptance_text import check_acceptance_path, check_acceptance_text
from shared.work_order.field_path import FieldPath, at
from shared.work_order.schema_words import describe

SCHEMA_VERSION: Final = "1.0"

# The script that verifies a whole project, where the project has it.
VERIFY_SCRIPT: Final = "scripts/verify.sh"

# The work order format sets this limit.
MAX_CONTEXT_FILES: Final = 10
# No honest plan comes near these limits: a reply of 64,000 tokens holds some hundred orders, a
# proposal some hundred files. The limits keep ten megabytes of nonsense from costing minutes of
# time and gigabytes of memory.
MAX_ORDERS: Final = 2000
MAX_COMMANDS: Final = 100
# With the limit of each text (`acceptance_text`), all files of an order fit into one prompt.
MAX_ACCEPTANCE_FILES: Final = 10
MAX_LISTED: Final = 1000
"""The limit of any other list in an order or contract."""

# The limits of a report on a faulty document. More than 500 faults are not even listed: that alone
# would take a minute for ten megabytes of faults.
_MAX_UNKNOWN: Final = 50
_MAX_PROBLEMS: Final = 50
_MAX_FAULTS: Final = 500

# An id has at most nine digits: ten would number more orders than a document can hold.
_ORDER_ID = re.compile(r"WO-(0[0-9]|[1-9][0-9]{1,8})")

T = TypeVar("T")


def _check_order_path(text: str) -> str:
    try:
        return check_path(text)
    except PathProblem:
        if glob_characters(text):
            return text
        raise


OrderPath = Annotated[str, AfterValidator(_check_order_path)]


def _normal_path(text: str) -> str:
    try:
        return _check_order_path(text)
    except PathProblem:
        return text


# Strict mode would refuse the lists that JSON has in the place of tuples. Only the list itself is
# not strict; its elements are.
Listed = Annotated[tuple[T, ...], Field(strict=False, max_length=MAX_LISTED)]


# Models write either one paragraph or a list of paragraphs.
Overview = Annotated[
    Listed[str], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


def _is_empty(value: object) -> bool:
    return value == ()


def _is_false(value: object) -> bool:
    return value is False


def _is_none(value: object) -> bool:
    return value is None


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


# Commit trailers hold ids in a comma separated list, so an id has no comma.
RequirementId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class Condition(_Document):
    """State a fact about the repo's files that holds before or after an order."""

    kind: Literal["file_exists", "file_absent"]
    path: OrderPath


class Postcondition(Condition):
    """State a promise of an order: a file that it creates or changes is there afterwards."""

    kind: Literal["file_exists"]


class Provenance(_Document):
    """Say where a plan or an order comes from.

    `bootstrap` marks an order that is planned before `verify.sh` exists. `edited` marks an order
    that a person has changed since it was planned.
    """

    planner_run_id: str
    compile_hash: str
    manifest_sha256: str
    bootstrap: bool = False
    edited: Annotated[bool, Field(exclude_if=_is_false)] = False


class Interface(_Document):
    """Declare, as a stub, the names that an order adds to a Python file or changes in it.

    Any string is accepted as `path`, because a rule of its own judges it; a valid path is
    normalised.
    """

    path: Annotated[str, AfterValidator(_normal_path)]
    stub: str


class AcceptanceFile(_Document):
    """Hold a test that the planner wrote: the factory puts it in place, and no model changes it."""

    path: Annotated[OrderPath, AfterValidator(check_acceptance_path)]
    content: Annotated[str, AfterValidator(check_acceptance_text)]


class RequirementEntry(_Document):
    """State one thing that the specification requires.

    `line` is its line in a specification that is text.
    """

    id: RequirementId
    text: str
    line: int | None = None


class WorkOrder(_Document):
    """Describe one step of a plan: what to do, where it may write, and how it is judged.

    Any string is accepted as `id`, and any path may hold glob characters: rules of the planner
    judge both, and the factory refuses them. `changes` lists the names that `interfaces` redeclare
    on purpose, and the names of earlier interfaces that the order removes. `regression` repeats
    the acceptance commands that are meant to pass before the order too. `removed_files` are files
    that the harness deletes. An order without `interfaces`, `changes`, `regression`,
    `acceptance_files` and `removed_files` has the same hash as before these fields existed.
    """

    id: str
    title: str
    intent: str
    preconditions: Listed[Condition] = ()
    postconditions: Listed[Postcondition] = ()
    allowed_files: Annotated[Listed[OrderPath], Field(min_length=1)]
    forbidden: Listed[str]
    acceptance_commands: Annotated[Listed[str], Field(min_length=1, max_length=MAX_COMMANDS)]
    acceptance_files: Annotated[
        Listed[AcceptanceFile], Field(max_length=MAX_ACCEPTANCE_FILES, exclude_if=_is_empty)
    ] = ()
    removed_files: Annotated[Listed[OrderPath], Field(exclude_if=_is_empty)] = ()
    regression: Annotated[Listed[str], Field(exclude_if=_is_empty)] = ()
    context_files: Annotated[Listed[OrderPath], Field(max_length=MAX_CONTEXT_FILES)]
    depends_on: Listed[str] = ()
    covers: Annotated[Listed[RequirementId], Field(exclude_if=_is_empty)] = ()
    interfaces: Annotated[Listed[Interface], Field(exclude_if=_is_empty)] = ()
    changes: Annotated[Listed[str], Field(exclude_if=_is_empty)] = ()
    notes: str | None = None
    verify_exempt: bool = False
    provenance: Provenance | None = None


class VerifyContract(_Document):
    """Name the command that verifies the whole project, and the files that it needs to run."""

    command: str | None = None
    requires: Listed[Condition] = ()


class Supersedes(_Document):
    """Name the plan that a plan follows, and all plans before that one.

    `earlier` are their hashes, oldest first. `title` is the title of the oldest plan: it names the
    branch that all of them share.
    """

    manifest_sha256: str
    earlier: Listed[str] = ()
    title: str = ""

    @property
    def lineage(self) -> tuple[str, ...]:
        """Return the hashes of all plans before this one, oldest first."""
        return (*self.earlier, self.manifest_sha256)


class WithdrawnOrder(_Document):
    """Name an order of an earlier plan that is not to be carried out any more, and say why."""

    id: str
    reason: str


class NotRemoved(_Document):
    """Name a requirement that the specification no longer has, and say why no code goes with it."""

    requirement: RequirementId
    reason: str


class BaseFile(_Document):
    """Hold the hash of a file as it was when the plan was made."""

    path: OrderPath
    sha256: str


class Manifest(_Document):
    """Describe a valid plan with its provenance, as `WORK_ORDERS_MANIFEST.json` holds it.

    `base_files` are the files that were there when the plan was made and that its orders touch or
    read. `supersedes`, `withdrawn` and `not_removed` are for a plan that follows another one.
    """

    schema_version: str = SCHEMA_VERSION
    system_overview: Overview = ()
    verify_contract: VerifyContract | None = None
    work_orders: Annotated[Listed[WorkOrder], Field(max_length=MAX_ORDERS)]
    requirements: Annotated[Listed[RequirementEntry], Field(exclude_if=_is_empty)] = ()
    require_coverage: Annotated[bool, Field(exclude_if=_is_false)] = False
    base_files: Annotated[Listed[BaseFile], Field(exclude_if=_is_empty)] = ()
    supersedes: Annotated[Supersedes | None, Field(exclude_if=_is_none)] = None
    withdrawn: Annotated[Listed[WithdrawnOrder], Field(exclude_if=_is_empty)] = ()
    not_removed: Annotated[Listed[NotRemoved], Field(exclude_if=_is_empty)] = ()
    provenance: Provenance | None = None


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


D = TypeVar("D", bound=_Document)


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


def order_number(order_id: str) -> int | None:
    """Return the number in an id of the form `WO-07` or `WO-100`; None for any other form."""
    return int(order_id[3:]) if _ORDER_ID.fullmatch(order_id) else None


def order_id(number: int) -> str:
    """Return the id of the order with that number: `WO-07`, `WO-100`."""
    return f"WO-{number:02d}"


def _problems(error: ValidationError) -> tuple[SchemaProblem, ...]:
    if error.error_count() > _MAX_FAULTS:
        message = f"does not fit the schema in over {_MAX_FAULTS} places"
        return (SchemaProblem(at(), message),)
    first: dict[FieldPath, str] = {}
    for each in error.errors(include_url=False):
        if each["type"] == "too_short" and each["input"]:
            continue  # every element of the list has a problem of its own, so none was left
        first.setdefault(FieldPath(each["loc"]), describe(each))
    problems = (SchemaProblem(where, message) for where, message in first.items())
    return tuple(islice(problems, _MAX_PROBLEMS))
