"""Work orders and manifests, the documents between planner and factory; requirements with what
carries them out.

Types are strict and values frozen. Unknown keys are dropped, because a model writes these
documents; `parsing` reads them and names such keys. Paths are normalised when a document is parsed.
A path with glob characters passes unchanged, because a rule of its own judges it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from operator import not_
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from shared.files.paths import PathProblem, check_path, glob_characters, is_git_path

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


MAX_ACCEPTANCE_BYTES: Final = 16 * 1024
"""The limit of one file. A test of this length can still be reviewed, and costs 4,000 tokens."""


def check_acceptance_path(path: str) -> str:
    """Return `path`. Raises `ValueError`, which says why, for a path inside git's own folder."""
    if is_git_path(path):
        raise ValueError("belongs to git")
    return path


def check_acceptance_text(text: str) -> str:
    """Return `text`. Raises `ValueError`, which says why, where it cannot be a file of the repo."""
    if not text.strip():
        raise ValueError("is empty: a test has to assert something")
    if "\0" in text:
        raise ValueError("holds a NUL: only text can be written")
    if "\r" in text:
        raise ValueError("has CRLF line ends, which git may store as LF: use LF")
    if (size := len(text.encode())) > MAX_ACCEPTANCE_BYTES:
        raise ValueError(f"has {size:,} bytes, over the limit of {MAX_ACCEPTANCE_BYTES:,}")
    return text


_WANTED = {
    "string_type": "a string",
    "string_unicode": "a string of valid Unicode",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_MAX_SHOWN = 80

NOTHING_TO_CHANGE: Final = "nothing_to_change"
"""The type of the validator's error on an order that neither writes nor removes a file."""


def describe(error: ErrorDetails) -> str:
    """Return a text that can follow the field's name: `must be a string, not null`."""
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "value_error":
            return f"{_shown(error['input'])} {context['error']}"
        case "literal_error":
            return f"must be {context['expected']}, not {_shown(error['input'])}"
        case kind if kind == NOTHING_TO_CHANGE:
            return "must not be empty, unless the order has removed_files"
        case "too_short":
            return "must not be empty"
        case "too_long":
            return f"has {context['actual_length']} entries, at most {context['max_length']} may be"
        case kind:
            wanted = _WANTED.get(kind, "of another type")
            return f"must be {wanted}, not {_kind(error['input'])}"


def _shown(value: object) -> str:
    """Return a value as a message shows it, cut to 80 characters."""
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


SCHEMA_VERSION: Final = "1.0"

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
MAX_ASSUMPTIONS: Final = 50  # a person has to read them all
MAX_SAID: Final = 500  # characters: two or three sentences

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


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


def _with_files_to_change(removed: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    if not removed and info.data.get("allowed_files") == ():
        raise PydanticCustomError(NOTHING_TO_CHANGE, "no file to write or to remove")
    return removed


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
    edited: Annotated[bool, Field(exclude_if=not_)] = False


class Interface(_Document):
    """Declare, as a stub, the names that an order adds to a file or changes in it.

    Any string is accepted as `path`, because a rule of its own judges it; a valid path is
    normalised.
    """

    path: Annotated[str, AfterValidator(_normal_path)]
    stub: str


def _marks_package(path: str) -> bool:
    """Return whether a file of a folder of tests may be empty: it makes the folder a package."""
    return path.rpartition("/")[2] == "__init__.py"


def _check_content(text: str, info: ValidationInfo) -> str:
    append = info.data.get("append", "")
    if append is None or text.strip():
        if append or info.data.get("table"):
            raise ValueError("is beside `append` or `table`: give one of them")
        if not text.strip() and _marks_package(info.data.get("path", "")):
            return text
        if text == "":
            raise PydanticCustomError("missing", "neither content nor append")
        return check_acceptance_text(text)
    return text


class AcceptanceFile(_Document):
    """Hold a test that the planner wrote: the factory puts it in place, and no model changes it.

    It is a file of its own, or what is added to one that is there: tests, or cases of a `table`.
    """

    path: Annotated[OrderPath, AfterValidator(check_acceptance_path)]
    append: Annotated[
        Annotated[str, AfterValidator(check_acceptance_text)] | None, Field(exclude_if=not_)
    ] = None
    table: Annotated[str, Field(exclude_if=not_, max_length=200)] = ""
    content: Annotated[
        str, Field(exclude_if=not_, validate_default=True), AfterValidator(_check_content)
    ] = ""

    @property
    def text(self) -> str:
        """Return what the planner wrote."""
        return self.content if self.append is None else self.append


class RequirementEntry(_Document):
    """State one thing that the specification requires.

    `line` is its line in a specification that is text; `file` is the file where it has several.
    """

    id: RequirementId
    text: str
    line: int | None = None
    file: Annotated[str, Field(exclude_if=not_)] = ""


def place_of(file: str, line: int | None) -> str:
    """Return a place in a specification as people read it."""
    return f"line {line} of {file}" if file and line else f"line {line}" if line else ""


class WorkOrder(_Document):
    """Describe one step of a plan: what to do, where it may write, and how it is judged.

    Any string is accepted as `id`, and any path may hold glob characters: rules of the planner
    judge both, and the factory refuses them. `changes` lists the names that `interfaces` redeclare
    on purpose, and the names of earlier interfaces that the order removes. `regression` repeats
    the acceptance commands that are meant to pass before the order too. `removed_files` are files
    that the harness deletes; only with them may `allowed_files` be empty. An order without
    `interfaces`, `changes`, `regression`, `acceptance_files` and `removed_files` has the same hash
    as before these fields existed.
    """

    id: str
    title: str
    intent: str
    preconditions: Listed[Condition] = ()
    postconditions: Listed[Postcondition] = ()
    allowed_files: Listed[OrderPath]
    forbidden: Listed[str]
    acceptance_commands: Annotated[Listed[str], Field(min_length=1, max_length=MAX_COMMANDS)]
    acceptance_files: Annotated[
        Listed[AcceptanceFile], Field(max_length=MAX_ACCEPTANCE_FILES, exclude_if=not_)
    ] = ()
    removed_files: Annotated[
        Listed[OrderPath],
        Field(exclude_if=not_, validate_default=True),
        AfterValidator(_with_files_to_change),
    ] = ()
    regression: Annotated[Listed[str], Field(exclude_if=not_)] = ()
    context_files: Annotated[Listed[OrderPath], Field(max_length=MAX_CONTEXT_FILES)]
    depends_on: Listed[str] = ()
    covers: Annotated[Listed[RequirementId], Field(exclude_if=not_)] = ()
    interfaces: Annotated[Listed[Interface], Field(exclude_if=not_)] = ()
    changes: Annotated[Listed[str], Field(exclude_if=not_)] = ()
    notes: str | None = None
    verify_exempt: bool = False
    provenance: Provenance | None = None

    @property
    def asks_model(self) -> bool:
        """Return whether a model has something to write: the harness alone removes files."""
        return bool(self.allowed_files)


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


def _check_said(text: str) -> str:
    if not text.strip():
        raise ValueError("says nothing")
    if len(text) > MAX_SAID:
        raise ValueError(f"has {len(text):,} characters, over the limit of {MAX_SAID}")
    return text


class Assumption(_Document):
    """State what a plan reads into the specification, and the orders that rest on it.

    `text` says what is open or contradicts itself, and `reading` how the plan takes it.
    """

    kind: Literal["assumption", "contradiction", "question"]
    text: Annotated[str, AfterValidator(_check_said)]
    reading: Annotated[str, AfterValidator(_check_said)]
    requirements: Listed[RequirementId] = ()
    work_orders: Listed[str] = ()

    @property
    def id(self) -> str:
        """Return the id that follows from the words, such as `A-1a2b3c`."""
        return question_id(self.text)

    def render(self) -> str:
        """Return what is open and how it is read, on one line."""
        return " ".join(f"{self.text} -> {self.reading}".split())

    def to_json(self) -> dict[str, object]:
        """Return the assumption as verbs print it: with its id."""
        return {"id": self.id, **self.model_dump(mode="json")}


def question_id(text: str) -> str:
    """Return the id of a question on the specification; white space and case do not count."""
    words = " ".join(text.split()).casefold()
    return f"A-{sha256(words.encode('utf-8', 'replace')).hexdigest()[:6]}"


class BaseFile(_Document):
    """Hold the hash of a file as it was when the plan was made."""

    path: OrderPath
    sha256: str


class Manifest(_Document):
    """Describe a valid plan with its provenance, as `WORK_ORDERS_MANIFEST.json` holds it.

    `assumptions` are what it reads into the specification; older plans have none.
    `base_files` are the files that were there when the plan was made and that its orders touch or
    read. `supersedes`, `withdrawn` and `not_removed` are for a plan that follows another one.
    `name` is what the specification calls itself; older plans have none.
    """

    schema_version: str = SCHEMA_VERSION
    name: Annotated[str, Field(exclude_if=not_)] = ""
    system_overview: Overview = ()
    verify_contract: VerifyContract | None = None
    work_orders: Annotated[Listed[WorkOrder], Field(max_length=MAX_ORDERS)]
    requirements: Annotated[Listed[RequirementEntry], Field(exclude_if=not_)] = ()
    require_coverage: Annotated[bool, Field(exclude_if=not_)] = False
    assumptions: Annotated[
        Listed[Assumption], Field(max_length=MAX_ASSUMPTIONS, exclude_if=not_)
    ] = ()
    base_files: Annotated[Listed[BaseFile], Field(exclude_if=not_)] = ()
    supersedes: Annotated[Supersedes | None, Field(exclude_if=not_)] = None
    withdrawn: Annotated[Listed[WithdrawnOrder], Field(exclude_if=not_)] = ()
    not_removed: Annotated[Listed[NotRemoved], Field(exclude_if=not_)] = ()
    provenance: Provenance | None = None


def order_number(order_id: str) -> int | None:
    """Return the number in an id of the form `WO-07` or `WO-100`; None for any other form."""
    return int(order_id[3:]) if _ORDER_ID.fullmatch(order_id) else None


def order_id(number: int) -> str:
    """Return the id of the order with that number: `WO-07`, `WO-100`."""
    return f"WO-{number:02d}"


class Asserted(StrEnum):
    """Name what of an order asserts a requirement, the strongest first.

    A test or a command of the plan names it. Or they name none of the order's requirements, and
    test the order as a whole. Or a comment, or a test that cannot fail, mentions it.
    """

    TEST = "test"
    COMMAND = "command"
    ORDER = "order"
    COMMENT = "comment"
    NOTHING = "nothing"

    @property
    def can_fail(self) -> bool:
        """Return whether something runs that may fail where the requirement is not met."""
        return self in (Asserted.TEST, Asserted.COMMAND, Asserted.ORDER)

    @property
    def short(self) -> str:
        """Return what can follow `covers R1`."""
        return _ASSERTED[self][0]

    def describe(self) -> str:
        """Return what can follow the id of a requirement or of an order."""
        return _ASSERTED[self][1]


_ASSERTED: Final = {
    Asserted.TEST: ("by a test", "asserted by a test of the plan"),
    Asserted.COMMAND: ("by a command", "asserted by a command"),
    Asserted.ORDER: (
        "by its order's tests, not by name",
        "tested with its order, not by name",
    ),
    Asserted.COMMENT: (
        "by a mention only",
        "mentioned only: in a comment, or in a test that is skipped or asserts nothing",
    ),
    Asserted.NOTHING: (
        "by a claim only",
        "claimed only: no test of the plan and no command asserts it",
    ),
}


@dataclass(frozen=True, slots=True)
class CoveringOrder:
    """Describe an order that carries out a requirement: its acceptance commands and its commits.

    `proofs` says what verified each of the commits, one line each; "" where nobody recorded it.
    `asserted_by` is `None` where the order itself is not known, but only its commits.
    """

    id: str
    title: str
    commands: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()
    asserted_by: Asserted | None = None


@dataclass(frozen=True, slots=True)
class CoveredRequirement:
    """Describe a requirement with its orders, and its text and line as far as they are known.

    `removed` says that an earlier specification had it and the one of the plan does not.
    """

    id: str
    text: str = ""
    line: int | None = None
    orders: tuple[CoveringOrder, ...] = ()
    removed: bool = False
    file: str = ""

    @property
    def asserted_by(self) -> Asserted | None:
        """Return the strongest assertion of any order; `None` where there is nothing to assert."""
        if self.removed:
            return None
        known = {each.asserted_by for each in self.orders}
        return next((each for each in Asserted if each in known), None)


def with_proofs(
    rows: Iterable[CoveredRequirement], proofs: Mapping[str, str]
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements with what verified each commit; `proofs` says it by commit."""

    def proven(order: CoveringOrder) -> CoveringOrder:
        return replace(order, proofs=tuple(proofs.get(each, "") for each in order.commits))

    return tuple(replace(row, orders=tuple(map(proven, row.orders))) for row in rows)
