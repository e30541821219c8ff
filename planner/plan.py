"""A plan as a model wrote it: parsed as far as it goes, not yet judged.

Each order keeps its raw fields beside the parsed order, so that a rule can still read the rest of
an order that has one field at fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shared.paths import PathProblem, check_path, glob_characters
from shared.schemas import (
    Condition,
    DocumentInvalid,
    Manifest,
    SchemaProblem,
    VerifyContract,
    WorkOrder,
    order_number,
    order_paths,
    parse_document,
    unknown_keys,
)
from shared.strict_json import JsonValue

RawOrder = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Draft:
    """One entry of `work_orders`, at `position` (from 1).

    `label` names it in findings: its id where that has the right form, else `#3`. `raw` is empty
    where the entry is no object; `order` is None where it does not fit the schema, and `problems`
    then say why. `unknown` are the keys that no schema has.
    """

    position: int
    label: str
    raw: RawOrder
    is_object: bool
    order: WorkOrder | None
    problems: tuple[SchemaProblem, ...]
    unknown: tuple[str, ...]

    def commands(self) -> Iterator[tuple[int, str]]:
        """Yield index and text of each acceptance command that can be read."""
        if self.order is not None:
            yield from enumerate(self.order.acceptance_commands)
        else:
            yield from _strings(self.raw.get("acceptance_commands"))

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield field and text of each path that can be read."""
        if self.order is not None:
            yield from order_paths(self.order)
            return
        for key in ("preconditions", "postconditions"):
            for index, path in _condition_paths(self.raw.get(key)):
                yield f"{key}[{index}].path", path
        for key in ("allowed_files", "context_files"):
            for index, path in _strings(self.raw.get(key)):
                yield f"{key}[{index}]", path


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan document. `problems` are faults of the document itself, by field.

    `is_json` is false where the plan was to be read from a text that held no JSON document.
    """

    overview: tuple[str, ...]
    contract: VerifyContract | None
    drafts: tuple[Draft, ...]
    problems: tuple[SchemaProblem, ...] = ()
    unknown: tuple[str, ...] = ()
    is_json: bool = True


def unreadable_plan(problem: str) -> Plan:
    """Return the plan that a text holds which is no JSON document: none, and why."""
    return Plan((), None, (), (SchemaProblem("", problem),), is_json=False)


def parse_plan(document: JsonValue) -> Plan:
    """Return the plan in a JSON document. Never raises: what is at fault becomes a problem."""
    if not isinstance(document, dict):
        return Plan((), None, (), (SchemaProblem("", "the document is no JSON object"),))
    contract, problems = _parse_contract(document.get("verify_contract"))
    orders = document.get("work_orders")
    if "work_orders" not in document:
        problems += (SchemaProblem("work_orders", "is missing"),)
    elif not isinstance(orders, list):
        problems += (SchemaProblem("work_orders", "must be a list"),)
    elif not orders:
        problems += (SchemaProblem("work_orders", "is empty: a plan has at least one order"),)
    return Plan(
        overview=_overview(document.get("system_overview")),
        contract=contract,
        drafts=tuple(
            parse_draft(position, entry)
            for position, entry in enumerate(orders if isinstance(orders, list) else (), 1)
        ),
        problems=problems,
        unknown=unknown_keys(Manifest, document) + _unknown_in_contract(document),
    )


def parse_draft(position: int, entry: JsonValue) -> Draft:
    """Return the entry of `work_orders` at `position`, parsed as far as it goes."""
    if not isinstance(entry, dict):
        return Draft(position, f"#{position}", {}, False, None, (), ())
    order: WorkOrder | None = None
    problems: tuple[SchemaProblem, ...] = ()
    try:
        order = parse_document(WorkOrder, entry)
    except DocumentInvalid as error:
        problems = error.problems
    return Draft(
        position, _label(position, entry), entry, True, order, problems, _unknown_in_order(entry)
    )


def _label(position: int, raw: RawOrder) -> str:
    given = raw.get("id")
    if isinstance(given, str) and order_number(given) is not None:
        return given
    return f"#{position}"


def _overview(value: JsonValue) -> tuple[str, ...]:
    """Read one paragraph or a list of them; an overview is for people, so no fault is made of it."""
    if isinstance(value, str):
        return (value,)
    return tuple(text for _, text in _strings(value))


def _parse_contract(
    value: JsonValue,
) -> tuple[VerifyContract | None, tuple[SchemaProblem, ...]]:
    if value is None:
        return None, ()
    try:
        return parse_document(VerifyContract, value), ()
    except DocumentInvalid as error:
        return None, tuple(
            SchemaProblem(f"verify_contract.{each.field}".rstrip("."), each.message)
            for each in error.problems
        )


def _unknown_in_order(raw: RawOrder) -> tuple[str, ...]:
    return (
        *unknown_keys(WorkOrder, raw),
        *_unknown_in_conditions("preconditions", raw.get("preconditions")),
        *_unknown_in_conditions("postconditions", raw.get("postconditions")),
    )


def _unknown_in_contract(document: RawOrder) -> tuple[str, ...]:
    contract = document.get("verify_contract")
    if not isinstance(contract, dict):
        return ()
    return (
        *(f"verify_contract.{key}" for key in unknown_keys(VerifyContract, contract)),
        *_unknown_in_conditions("verify_contract.requires", contract.get("requires")),
    )


def _unknown_in_conditions(field: str, value: JsonValue) -> Iterator[str]:
    for index, condition in enumerate(value if isinstance(value, list) else ()):
        for key in unknown_keys(Condition, condition):
            yield f"{field}[{index}].{key}"


def _strings(value: JsonValue) -> Iterator[tuple[int, str]]:
    for index, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, str):
            yield index, each


def _condition_paths(value: JsonValue) -> Iterator[tuple[int, str]]:
    for index, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, dict) and isinstance(path := each.get("path"), str):
            yield index, path


@dataclass(frozen=True, slots=True)
class Promise:
    """What an order leaves behind, as far as it can be read.

    `files` will be there; `possible` may be; `patterns` are paths with glob characters, which may
    stand for any file they match. `readable` is false where more was meant than could be read.
    """

    files: Sequence[str]
    possible: Sequence[str] = ()
    patterns: Sequence[str] = ()
    readable: bool = True


def promise_of(draft: Draft) -> Promise:
    """Return what the order promises.

    A valid order promises its postconditions, and may create what it is allowed to where it has
    none. Of an order with a fault, every path that can be read counts as promised: the fault has
    its own finding, and its consequences must not have more.
    """
    if draft.order is None:
        return _promise_of_raw(draft)
    files = [each.path for each in draft.order.postconditions]
    possible = () if files else draft.order.allowed_files
    patterns = [each for each in (*files, *draft.order.allowed_files) if glob_characters(each)]
    return Promise(files, possible, patterns)


def _promise_of_raw(draft: Draft) -> Promise:
    conditions = draft.raw.get("postconditions", [])
    allowed = draft.raw.get("allowed_files", [])
    written = [
        *(path for _, path in _condition_paths(conditions)),
        *(path for _, path in _strings(allowed)),
    ]
    meant = sum(len(each) if isinstance(each, list) else 1 for each in (conditions, allowed))
    files: list[str] = []
    patterns: list[str] = []
    for path in written:
        if glob_characters(path):
            patterns.append(path)
            continue
        try:
            files.append(check_path(path))
        except PathProblem:
            continue
    readable = draft.is_object and len(files) + len(patterns) == meant
    return Promise(files, (), patterns, readable)
