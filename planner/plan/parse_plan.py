"""Parses a plan as a model wrote it; does not judge it.

Each order keeps its raw fields beside the parsed order, so that a rule can still read the rest of
an order that has one field at fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from planner.spec.requirements import Requirement
from shared.files.paths import glob_characters
from shared.files.strict_documents import FieldPath, JsonProblem, JsonValue, at, parse_json
from shared.llm.model_client import ReplyIsArray, ReplyMalformed, extract_json_object
from shared.work_order.parse_order import (
    DocumentInvalid,
    SchemaProblem,
    glob_paths,
    parse_document,
    unknown_keys,
)
from shared.work_order.work_order import (
    MAX_ASSUMPTIONS,
    MAX_COMMANDS,
    MAX_LISTED,
    MAX_ORDERS,
    AcceptanceFile,
    Assumption,
    Condition,
    Interface,
    Manifest,
    NotRemoved,
    RequirementEntry,
    Supersedes,
    VerifyContract,
    WithdrawnOrder,
    WorkOrder,
    order_number,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

E = TypeVar("E", Assumption, WithdrawnOrder, NotRemoved)


@dataclass(frozen=True, slots=True)
class Succession:
    """Hold what a plan says of the plans before it; all is empty if it follows none.

    `withdrawn` are the orders that no plan carries out any more, and `not_removed` the requirements
    that are gone while their code stays.
    """

    supersedes: Supersedes | None = None
    withdrawn: tuple[WithdrawnOrder, ...] = ()
    not_removed: tuple[NotRemoved, ...] = ()

    @property
    def lineage(self) -> tuple[str, ...]:
        return self.supersedes.lineage if self.supersedes else ()

    @property
    def withdrawn_numbers(self) -> frozenset[int]:
        """Return the numbers of the withdrawn orders, which no order has again."""
        numbers = (order_number(each.id) for each in self.withdrawn)
        return frozenset(each for each in numbers if each is not None)


NO_SUCCESSION = Succession()


def is_inherited(order: WorkOrder, succession: Succession) -> bool:
    """Say whether an order of a plan that follows another one was in the plan before."""
    if succession.supersedes is None:
        return False
    made_by = order.provenance.manifest_sha256 if order.provenance else ""
    return not made_by or made_by in succession.lineage


def parse_succession(
    document: Mapping[str, JsonValue],
) -> tuple[Succession, tuple[SchemaProblem, ...]]:
    """Return what a plan's document says, and its faults. Nothing counts without `supersedes`."""
    stated = document.get("supersedes")
    if stated is None:
        return NO_SUCCESSION, ()
    try:
        supersedes = parse_document(Supersedes, stated)
    except DocumentInvalid as error:
        return NO_SUCCESSION, (SchemaProblem(at("supersedes"), str(error)),)
    withdrawn, problems = parse_entries(WithdrawnOrder, "withdrawn", document.get("withdrawn"))
    left, more = parse_entries(NotRemoved, "not_removed", document.get("not_removed"))
    return Succession(supersedes, withdrawn, left), (*problems, *more)


def parse_entries(
    schema: type[E], key: str, value: JsonValue, most: int = MAX_LISTED
) -> tuple[tuple[E, ...], tuple[SchemaProblem, ...]]:
    """Return the entries of the list at `key` that can be read, and the faults of the others."""
    if value is None:
        return (), ()
    if not isinstance(value, list) or len(value) > most:
        return (), (SchemaProblem(at(key), f"is not a list of at most {most} entries"),)
    entries: list[E] = []
    problems: list[SchemaProblem] = []
    for index, each in enumerate(value):
        try:
            entries.append(parse_document(schema, each))
        except DocumentInvalid as error:
            problems.append(SchemaProblem(at(key, index), str(error)))
    return tuple(entries), tuple(problems)


RawOrder = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Draft:
    """Represent one entry of `work_orders`, at `position` (from 1).

    `label` names the entry in findings: its id where that has the right form, else `#3`. `raw` is
    empty if the entry is not an object. `order` is `None` if the entry does not fit the
    schema, and `problems` then say why. `globs` are the paths with glob characters, with their
    fields. `unknown` are the keys that no schema has. An order that `landed` is history: its files
    are in the repo, and nothing is said of it any more.
    """

    position: int
    label: str
    raw: RawOrder
    is_object: bool
    order: WorkOrder | None
    problems: tuple[SchemaProblem, ...] = ()
    globs: tuple[tuple[FieldPath, str], ...] = ()
    unknown: tuple[FieldPath, ...] = ()
    landed: bool = False

    def commands(self) -> Iterator[tuple[int, str]]:
        """Return the index and text of each acceptance command that can be read."""
        if self.order is not None:
            return enumerate(self.order.acceptance_commands)
        return islice(strings(self.raw.get("acceptance_commands")), MAX_COMMANDS)


@dataclass(frozen=True, slots=True)
class Plan:
    """Represent a plan: `document` as it was written, and its parts as far as they could be read.

    `problems` are faults of the document itself, by field. `is_json` is false where the plan was
    to be read from a text that held no JSON document. `requirements` are the specification's
    requirements that the plan is traced to; with `require_coverage` each of them has to be covered.
    `succession` is what it says of the plans before it, and `assumptions` what it reads into the
    specification.
    """

    document: JsonValue
    overview: tuple[str, ...] = ()
    contract: VerifyContract | None = None
    drafts: tuple[Draft, ...] = ()
    problems: tuple[SchemaProblem, ...] = ()
    unknown: tuple[FieldPath, ...] = ()
    is_json: bool = True
    requirements: tuple[Requirement, ...] = ()
    require_coverage: bool = False
    succession: Succession = NO_SUCCESSION
    assumptions: tuple[Assumption, ...] = ()


def with_history(plan: Plan, landed: Collection[str]) -> Plan:
    """Return the plan with the orders marked that landed; `landed` has their ids."""
    if not landed:
        return plan
    drafts = (replace(each, landed=each.label in landed) for each in plan.drafts)
    return replace(plan, drafts=tuple(drafts))


def unreadable_plan(problem: str) -> Plan:
    """Return the empty plan of a text that holds no JSON document, with that as its problem."""
    return Plan(None, problems=(SchemaProblem(at(), problem),), is_json=False)


def parse_plan(document: JsonValue) -> Plan:
    """Return the plan in a JSON document. Never raises: each fault becomes a problem."""
    if not isinstance(document, dict):
        return Plan(document, problems=(SchemaProblem(at(), "the document is no JSON object"),))
    contract, contract_problems = _parse_contract(document.get("verify_contract"))
    entries, entry_problems = _read_entries(document)
    requirements, requirement_problems = _parse_requirements(document.get("requirements"))
    succession, succession_problems = parse_succession(document)
    assumptions, misread = parse_entries(
        Assumption, "assumptions", document.get("assumptions"), MAX_ASSUMPTIONS
    )
    return Plan(
        document=document,
        overview=_overview(document.get("system_overview")),
        contract=contract,
        drafts=tuple(parse_draft(position, entry) for position, entry in enumerate(entries, 1)),
        problems=(
            *(*contract_problems, *entry_problems),
            *(*requirement_problems, *succession_problems, *misread),
        ),
        unknown=(*map(at, unknown_keys(Manifest, document)), *_unknown_in_contract(document)),
        requirements=requirements,
        require_coverage=document.get("require_coverage") is True,
        succession=succession,
        assumptions=assumptions,
    )


def _read_entries(document: RawOrder) -> tuple[list[JsonValue], tuple[SchemaProblem, ...]]:
    match document:
        case {"work_orders": [_, *_] as entries} if len(entries) <= MAX_ORDERS:
            return entries, ()
        case {"work_orders": [_, *_] as entries}:
            problem = f"has {len(entries)} entries, at most {MAX_ORDERS} may be"
        case {"work_orders": []}:
            problem = "is empty: a plan has at least one order"
        case {"work_orders": _}:
            problem = "must be a list"
        case {"look": _}:
            problem = "is missing, and no look is left: reply with the plan"
        case _:
            problem = "is missing"
    return [], (SchemaProblem(at("work_orders"), problem),)


def parse_draft(position: int, entry: JsonValue) -> Draft:
    """Return the entry of `work_orders` at `position`, parsed as far as possible."""
    if not isinstance(entry, dict):
        return Draft(position, f"#{position}", {}, False, None)
    label, unknown = _label(position, entry), _unknown_in_order(entry)
    try:
        order = parse_document(WorkOrder, entry)
    except DocumentInvalid as error:
        globs = tuple(each for each in _readable_paths(entry) if glob_characters(each[1]))
        return Draft(position, label, entry, True, None, error.problems, globs, unknown)
    return Draft(position, label, entry, True, order, (), glob_paths(order), unknown)


def _label(position: int, raw: RawOrder) -> str:
    given = raw.get("id")
    if isinstance(given, str) and order_number(given) is not None:
        return given
    return f"#{position}"


def _overview(value: JsonValue) -> tuple[str, ...]:
    """Return the paragraphs of an overview. It is for people, so its form is never a fault."""
    if isinstance(value, str):
        return (value,)
    return tuple(text for _, text in strings(value))


def _parse_contract(value: JsonValue) -> tuple[VerifyContract | None, tuple[SchemaProblem, ...]]:
    if value is None:
        return None, ()
    try:
        return parse_document(VerifyContract, value), ()
    except DocumentInvalid as error:
        return None, tuple(
            SchemaProblem(at("verify_contract", *each.at.parts), each.message)
            for each in error.problems
        )


def _parse_requirements(
    value: JsonValue,
) -> tuple[tuple[Requirement, ...], tuple[SchemaProblem, ...]]:
    if value is None:
        return (), ()
    try:
        if not isinstance(value, list) or len(value) > MAX_LISTED:
            raise DocumentInvalid((SchemaProblem(at(), f"is no list of {MAX_LISTED} at most"),))
        entries = [parse_document(RequirementEntry, each) for each in value]
    except DocumentInvalid as error:
        return (), (SchemaProblem(at("requirements"), str(error)),)
    return tuple(Requirement(each.id, each.text, each.line, file=each.file) for each in entries), ()


def _unknown_in_order(raw: RawOrder) -> tuple[FieldPath, ...]:
    return (
        *map(at, unknown_keys(WorkOrder, raw)),
        *_unknown_in(Condition, at("preconditions"), raw.get("preconditions")),
        *_unknown_in(Condition, at("postconditions"), raw.get("postconditions")),
        *_unknown_in(Interface, at("interfaces"), raw.get("interfaces")),
        *_unknown_in(AcceptanceFile, at("acceptance_files"), raw.get("acceptance_files")),
    )


def _unknown_in_contract(document: RawOrder) -> tuple[FieldPath, ...]:
    contract = document.get("verify_contract")
    if not isinstance(contract, dict):
        return ()
    return (
        *(at("verify_contract", key) for key in unknown_keys(VerifyContract, contract)),
        *_unknown_in(Condition, at("verify_contract", "requires"), contract.get("requires")),
    )


def _unknown_in(schema: type[BaseModel], field: FieldPath, value: JsonValue) -> list[FieldPath]:
    return [
        field.below(index, key)
        for index, entry in enumerate(_first_of(value))
        for key in unknown_keys(schema, entry)
    ]


def _readable_paths(raw: RawOrder) -> Iterator[tuple[FieldPath, str]]:
    for key in ("preconditions", "postconditions", "acceptance_files"):
        for index, path in condition_paths(raw.get(key)):
            yield at(key, index, "path"), path
    for key in ("allowed_files", "context_files", "removed_files"):
        for index, path in strings(raw.get(key)):
            yield at(key, index), path


def strings(value: JsonValue) -> Iterator[tuple[int, str]]:
    """Yield the index and text of each string in a value that should be a list of strings."""
    for index, each in enumerate(_first_of(value)):
        if isinstance(each, str):
            yield index, each


def condition_paths(value: JsonValue) -> Iterator[tuple[int, str]]:
    """Yield the index and `path` of each object in a value that should be a list of objects."""
    for index, each in enumerate(_first_of(value)):
        if isinstance(each, dict) and isinstance(path := each.get("path"), str):
            yield index, path


def _first_of(value: JsonValue) -> list[JsonValue]:
    """Return at most `MAX_LISTED` entries of a list, as the schema allows; none if not a list."""
    return value[:MAX_LISTED] if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Reply:
    """Hold the text of the JSON document in a model's reply, and the plan in that text.

    `source` is empty if the reply holds no JSON document. The plan's `is_json` is false then.
    """

    source: str
    plan: Plan


def read_reply(text: str) -> Reply:
    """Return the plan in a model's reply, whatever prose, fence or reasoning surrounds it.

    Never raises: a reply without exactly one JSON document gives a plan with that as its problem.
    A JSON array, number, text or `null` is a document too, although it is not a plan.
    """
    try:
        source = extract_json_object(text)
        return Reply(source, parse_plan(parse_json(source)))
    except ReplyIsArray as array:
        return _read_array(array)
    except ReplyMalformed as problem:
        return _read_scalar(text) or Reply("", unreadable_plan(problem.reason))
    except JsonProblem as problem:
        return Reply("", unreadable_plan(str(problem)))


def _read_scalar(text: str) -> Reply | None:
    """Return a reply that is one JSON value and not an object, or `None` if it is not JSON."""
    source = text.strip().removeprefix("```json").strip("`").strip()
    try:
        return Reply(source, parse_plan(parse_json(source)))
    except JsonProblem:
        return None


def _read_array(array: ReplyIsArray) -> Reply:
    try:
        plan = parse_plan(parse_json(array.source))
    except JsonProblem as problem:
        return Reply("", unreadable_plan(str(problem)))
    return Reply(array.source, replace(plan, problems=(SchemaProblem(at(), array.reason),)))
