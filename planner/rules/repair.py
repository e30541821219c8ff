"""Repairs faults that have one certain remedy, without a model.

Where a fault could be repaired in two ways, the model or the user has to choose.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.plan import parse_plan, plan_edits
from planner.plan.file_projection import exempted_orders
from planner.plan.manifest import reseal
from planner.rules import order_sizes
from planner.rules.judge_plan import Report
from shared.errors import quoted
from shared.files.paths import PathProblem, check_path
from shared.files.strict_documents import FieldPath, JsonObject, JsonValue, at
from shared.work_order import plan_folder
from shared.work_order.work_order import MAX_LISTED, BaseFile, order_id

if TYPE_CHECKING:
    from planner.plan.parse_plan import Plan
    from planner.rules.rule_model import Finding

Judge = Callable[[parse_plan.Plan], Report]
Entry = dict[str, JsonValue]

# `WO-1`, `WO-001`, `wo_1` and `1` all mean a number.
_MEANT_ID = re.compile(r"(?:WO)?[-_ ]?0*([1-9][0-9]{0,8})", re.IGNORECASE | re.ASCII)
_ANY_ID = re.compile(r"WO-[0-9]+")
_OF_PATHS = frozenset({"E005", "E202"})
# Each try is judged by all rules.
_MOST_TRIED = 10


@dataclass(frozen=True, slots=True)
class Fix:
    """Represent one repaired fault: its rule, its place, and the value before and after.

    `order` is the label that the order has after all fixes. `before` or `after` is `None` if
    the place had no value.
    """

    code: str
    order: str
    at: FieldPath
    before: str | None
    after: str | None

    def render(self) -> str:
        """Return the fix on one line."""
        change = " -> ".join(
            "nothing" if v is None else quoted(v) for v in (self.before, self.after)
        )
        return f"[{self.code}] {self.order} {self.at}: {change}"

    def to_json(self) -> dict[str, str | None]:
        """Return the fix as an entry of `fixes` in `compile_summary.json`."""
        return {
            "code": self.code,
            "order": self.order,
            "field": str(self.at),
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True, slots=True)
class RepairedPlan:
    """Hold a plan after its repair, its new report, and the fixes."""

    plan: Plan
    report: Report
    fixes: tuple[Fix, ...] = ()


def repair_plan(plan: Plan, judge: Judge, *, joins: bool = False) -> RepairedPlan:
    """Return the plan, judged again, with all faults repaired that have one certain remedy.

    Paths and ids come first, because the other rules read an order only once it fits the schema.
    Paths come twice, because only the first repair shows where the interfaces belong. Any other
    step is taken only if it removes errors and adds none; otherwise its remedy was not certain.
    With `joins`, orders of a plan without errors that are too small are joined with others.
    """
    repaired = RepairedPlan(plan, judge(plan))
    steps = (_normalise_paths, _normalise_paths, _renumber, _promise_files, _drop_verification)
    for step in steps:
        repaired = _taken(repaired, step(repaired.plan, repaired.report.errors), judge, step)
    return _with_joined(repaired, judge) if joins else repaired


def _with_joined(repaired: RepairedPlan, judge: Judge) -> RepairedPlan:
    """Join small orders, pair by pair, where no rule says anything of it that it did not before.

    Nothing is joined where a text names an order, since its meaning would be unclear.
    """
    refused: set[frozenset[str]] = set()
    entries = _entries(repaired.plan) or []
    if repaired.report.errors or any(name for each in entries for name in _ids_in_texts(each)):
        return repaired
    for _ in range(_MOST_TRIED):
        plan = repaired.plan
        names = {pair: _files_of(plan, pair) for pair in order_sizes.small_pairs(plan)}
        pair = next((each for each, files in names.items() if files not in refused), None)
        document = order_sizes.joined(plan, pair) if pair else None
        if pair is None or document is None:
            break
        shorter = _parsed_like(plan, document)
        report = judge(shorter)
        before = Counter(each.code for each in repaired.report.findings)
        if Counter(each.code for each in report.findings) <= before:
            labels = " and ".join(plan.drafts[each - 1].label for each in pair)
            now = shorter.drafts[pair[1] - 2].label
            fix = Fix("W304", now, at("id"), labels, now)
            repaired = RepairedPlan(shorter, report, (*repaired.fixes, fix))
        else:
            refused.add(names[pair])
    return repaired


def _files_of(plan: Plan, pair: order_sizes.Pair) -> frozenset[str]:
    orders = (plan.drafts[each - 1].order for each in pair)
    return frozenset(path for each in orders if each for path in each.allowed_files)


def _taken(
    before: RepairedPlan, change: tuple[list[Entry], list[Fix]] | None, judge: Judge, step: object
) -> RepairedPlan:
    if change is None or not change[1] or not isinstance(before.plan.document, dict):
        return before
    orders, fixes = change
    renamed = {each.before: each.after for each in fixes if each.code == "E001"}
    document: Entry = plan_edits.resting_on(
        {**before.plan.document, "work_orders": list(orders)}, lambda name: renamed.get(name, name)
    )
    plan = _parsed_like(before.plan, document)
    report = judge(plan)
    # An order that could not be read before shows the rest of its faults only now.
    if step is not _normalise_paths and not _codes(report) < _codes(before.report):
        return before
    return RepairedPlan(plan, report, (*before.fixes, *fixes))


def _parsed_like(plan: Plan, document: JsonObject) -> Plan:
    """Return the plan of a document that was made from that of `plan`."""
    return replace(
        parse_plan.parse_plan(document),
        requirements=plan.requirements,
        require_coverage=plan.require_coverage,
        succession=plan.succession,
        problems=plan.problems,
        unknown=plan.unknown,
    )


def _codes(report: Report) -> Counter[str]:
    return Counter(each.code for each in report.errors)


def _entries(plan: Plan) -> list[Entry] | None:
    """Return copies of the orders to change; `None` if one of them is not an object."""
    if not plan.drafts or not all(draft.is_object for draft in plan.drafts):
        return None
    return [dict(draft.raw) for draft in plan.drafts]


def _normalise_paths(plan: Plan, errors: Sequence[Finding]) -> tuple[list[Entry], list[Fix]] | None:
    if (orders := _entries(plan)) is None:
        return None
    fixes: list[Fix] = []
    for finding in errors:
        if finding.code not in _OF_PATHS or not finding.position:
            continue
        order = orders[finding.position - 1]
        match finding.at.parts:
            case (("allowed_files" | "context_files" | "removed_files") as key, int(index)):
                pass
            case (("preconditions" | "postconditions" | "interfaces") as key, int(index), "path"):
                pass
            case _:
                continue
        listed = order.get(key)
        if not isinstance(listed, list) or index >= len(listed):
            continue
        entry = listed[index]
        given = entry.get("path") if isinstance(entry, dict) else entry
        if (path := _with_slashes(given)) is None:
            continue
        repaired: JsonValue = {**entry, "path": path} if isinstance(entry, dict) else path
        order[key] = [*listed[:index], repaired, *listed[index + 1 :]]
        fixes.append(Fix(finding.code, finding.order, finding.at, str(given), path))
    return orders, fixes


def _with_slashes(given: JsonValue) -> str | None:
    if not isinstance(given, str) or "\\" not in given or given.startswith("\\"):
        return None
    try:
        return check_path(given.replace("\\", "/"))
    except PathProblem:
        return None


def _renumber(plan: Plan, errors: Sequence[Finding]) -> tuple[list[Entry], list[Fix]] | None:
    """Number the orders as they are listed, where their own numbers rise in that order.

    Return `None` if a text mentions an id that would change, because its meaning is unclear.
    Orders of a plan that follows another one keep their ids, since commits may carry them.
    """
    orders = _entries(plan)
    if orders is None or not any(each.code == "E001" for each in errors):
        return None
    if plan.succession.supersedes is not None:
        return None
    given = [order.get("id") for order in orders]
    numbers = [_meant_number(each) for each in given]
    known = [each for each in numbers if each is not None]
    if len(known) < len(orders) or any(a >= b for a, b in itertools.pairwise(known)):
        return None
    renamed = {
        str(old): order_id(position)
        for position, old in enumerate(given, 1)
        if old != order_id(position)
    }
    if any(name in renamed for order in orders for name in _ids_in_texts(order)):
        return None
    fixes = []
    for position, order in enumerate(orders, 1):
        if (old := str(order["id"])) in renamed:
            fixes.append(Fix("E001", order_id(position), at("id"), old, renamed[old]))
        order["id"] = order_id(position)
        if isinstance(needed := order.get("depends_on"), list):
            order["depends_on"] = [
                renamed.get(each, each) if isinstance(each, str) else each for each in needed
            ]
    return orders, fixes


def _meant_number(value: JsonValue) -> int | None:
    match = _MEANT_ID.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def _ids_in_texts(order: Entry) -> Iterator[str]:
    for key, value in order.items():
        if key not in ("id", "depends_on"):
            yield from _ANY_ID.findall(str(value))


def _promise_files(plan: Plan, errors: Sequence[Finding]) -> tuple[list[Entry], list[Fix]] | None:
    if (orders := _entries(plan)) is None:
        return None
    fixes: list[Fix] = []
    for finding in errors:
        draft = plan.drafts[finding.position - 1] if finding.position else None
        if finding.code != "E104" or draft is None or draft.order is None:
            continue
        match finding.at.parts:
            case ("allowed_files", int(index)):
                path = draft.order.allowed_files[index]
            case _:
                continue
        order = orders[finding.position - 1]
        promised = order.get("postconditions")
        listed = promised if isinstance(promised, list) else []
        order["postconditions"] = [*listed, {"kind": "file_exists", "path": path}]
        added = at("postconditions", len(listed))
        fixes.append(Fix("E104", finding.order, added, None, f"file_exists {path}"))
    return orders, fixes


def _drop_verification(
    plan: Plan, errors: Sequence[Finding]
) -> tuple[list[Entry], list[Fix]] | None:
    if (orders := _entries(plan)) is None:
        return None
    surplus: dict[int, dict[int, FieldPath]] = {}
    for finding in errors:
        match finding.at.parts:
            case ("acceptance_commands", int(index)) if finding.code == "E105":
                surplus.setdefault(finding.position, {})[index] = finding.at
            case _:
                pass
    fixes: list[Fix] = []
    for position, dropped in surplus.items():
        order = orders[position - 1]
        commands = order.get("acceptance_commands")
        if not isinstance(commands, list) or len(dropped) == len(commands):
            continue
        order["acceptance_commands"] = [
            each for index, each in enumerate(commands) if index not in dropped
        ]
        label = plan.drafts[position - 1].label
        fixes += [
            Fix("E105", label, where, str(commands[index]), None)
            for index, where in dropped.items()
        ]
    return orders, fixes


def rewrite_plan_folder(
    folder: Path,
    before: Plan,
    after: Plan,
    repo_files: Collection[str] | None = None,
    *,
    verified: bool = False,
) -> None:
    """Replace the files of the plan `before`, as it was read from `folder`, by those of `after`.

    Files whose content stays the same are left alone. A manifest gets a hash that recomputes, and
    the exemptions that follow from its orders. Without `repo_files` no exemption is added, since
    the repo may have what verification needs; none is where it is `verified` by known commands.
    Raises `CommandFailed` if the disk refuses; then
    nothing has changed.
    """
    old, new = _document(before), _document(after)
    if plan_folder.MANIFEST_NAME in plan_folder.list_plan_files(folder):
        new = reseal(new, _exemptions(after, new, repo_files, verified))
    plan_folder.rewrite_plan(folder, old, new)


def write_edits(
    folder: Path,
    read: Mapping[str, JsonValue],
    plan: Plan,
    repo_files: Collection[str] | None,
    base: Sequence[BaseFile] = (),
    *,
    verified: bool = False,
) -> None:
    """Write an edited plan over the documents `read` from `folder`, with a hash that recomputes.

    Exemptions follow as in `rewrite_plan_folder`. Where the plan records files that it was made
    for, those of `base` that it does not name are added. Raises as `rewrite_plan_folder` does.
    """
    document = _document(plan)
    document = reseal(_with_base(document, base), _exemptions(plan, document, repo_files, verified))
    plan_folder.write_edited_plan(folder, read, document)


def _with_base(document: JsonObject, base: Sequence[BaseFile]) -> JsonObject:
    match document:
        case {"base_files": [_, *_] as listed}:
            named = {each.get("path") for each in listed if isinstance(each, dict)}
            new: list[JsonValue] = [
                {"path": each.path, "sha256": each.sha256}
                for each in base
                if each.path not in named
            ]
            return {**document, "base_files": [*listed, *new][:MAX_LISTED]}
        case _:
            return document


def _document(plan: Plan) -> JsonObject:
    assert isinstance(plan.document, dict), "only a plan that is an object is ever repaired"
    return plan.document


def _exemptions(
    plan: Plan, document: JsonObject, repo_files: Collection[str] | None, verified: bool
) -> Sequence[bool]:
    """Return, for each order, whether it is exempt from verification.

    An order gains an exemption only where the repo's files are known and the manifest has
    provenance. No order is exempt where one of them does not parse.
    """
    was = [draft.raw.get("verify_exempt") is True for draft in plan.drafts]
    if not all(draft.order for draft in plan.drafts):
        return [False for _ in was]
    orders = exempted_orders(plan, repo_files or (), verified=verified)
    computed = [order.verify_exempt for order in orders]
    may_gain = repo_files is not None and isinstance(document.get("provenance"), dict)
    return [now and (may_gain or old) for old, now in zip(was, computed, strict=True)]
