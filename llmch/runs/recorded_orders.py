"""Reads the orders of a run, their summaries, and the requirements that they carry out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from factory.batch.order_graph import derive_graph
from factory.orders.order_commit import NOTES_REF, parse_proof
from factory.record.runs_on_record import RunOnRecord
from llmch.runs.record_files import Fields, read_fields
from llmch.runs.recorded_attempts import (
    AttemptGround,
    as_written,
    attempts_of,
    brief_of,
    change_of_commit,
    trials_of_order,
)
from llmch.runs.run_model import Change, Flag, OrderView, TimeSpan, UsageView
from planner.rules.coverage import coverage_of_folder
from shared.errors import LlmchError
from shared.git import commits
from shared.git.client import Git
from shared.work_order.parse_order import DocumentInvalid, parse_document
from shared.work_order.work_order import CoveredRequirement, CoveringOrder, WorkOrder, order_number

_MOST_LISTED = 100  # warnings or flags of an order


def summary_of(run: RunOnRecord, order: str) -> Fields:
    """Return the summary of an order, out of its own folder or out of that of the run."""
    if own := read_fields(run.summary_folder_of(order) / "run_summary.json"):
        return own
    whole = Fields(run.head).fields("summary")
    return next((each for each in whole.many("orders") if each.text("work_order") == order), own)


def proof_of(summary: Fields) -> str:
    """Return what verified the order's commit, in one line; "" where the summary does not say."""
    verified = summary.fields("verified_by")
    if verified.is_true("rests_on_acceptance"):
        number = len(verified.many("acceptance"))
        return (
            "the verification ran no test: the order rests on "
            f"{number} acceptance command{'' if number == 1 else 's'}"
        )
    commands = verified.many("verification")
    tested = [each for each in commands if each.fields("tests")] or commands
    return f"verified by {'; '.join(map(_with_tests, tested))}" if tested else ""


def warnings_of(summary: Fields) -> Iterator[str]:
    """Yield the first warnings, as many as a person may read, and how many more there are."""
    warnings = summary.texts("warnings")
    yield from warnings[:_MOST_LISTED]
    if len(warnings) > _MOST_LISTED:
        yield f"and {len(warnings) - _MOST_LISTED:,} more"


def flags_of(summary: Fields) -> Iterator[Flag]:
    """Yield the commands that prove less than they should."""
    for each in summary.many("flags")[:_MOST_LISTED]:
        yield Flag(each.text("code"), each.text("command"), each.text("message"))


def usage_of(record: Fields) -> UsageView:
    """Return the usage that a record states; its cost is unknown where it states none."""
    return UsageView(
        calls=record.whole("calls") or 0,
        replayed=record.whole("replayed_calls") or 0,
        input_tokens=record.whole("input_tokens") or 0,
        cached_tokens=record.whole("cached_tokens") or 0,
        output_tokens=record.whole("output_tokens") or 0,
        reasoning_tokens=record.whole("reasoning_tokens") or 0,
        cost_usd=record.number("cost_usd"),
    )


def _with_tests(command: Fields) -> str:
    passed = command.fields("tests").whole("passed")
    if passed is None:
        return command.text("command")
    return f"{command.text('command')}: {passed:,} test{'' if passed == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class RunRepo:
    """Hold where runs and their repo are; `git` is `None` where the repo is not here.

    `earlier` are the runs before the one that is shown, newest first.
    """

    git: Git | None
    common_dir: Path
    earlier: tuple[RunOnRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """Hold what reading one order needs to know of the whole run.

    `skipped` and `begun` have the events of orders that had landed before and of those that were
    begun, by order. `needs` and `notes` are by order and by commit.
    """

    run: RunOnRecord
    ground: RunRepo
    times: Mapping[tuple[str, int], TimeSpan]
    needs: Mapping[str, tuple[str, ...]]
    skipped: Mapping[str, Fields]
    begun: Mapping[str, Fields]
    notes: Mapping[str, str]


def read_orders(
    run: RunOnRecord,
    ground: RunRepo,
    plan: Sequence[WorkOrder],
    events: Sequence[Fields],
    times: Mapping[tuple[str, int], TimeSpan],
) -> tuple[OrderView, ...]:
    """Return the orders that the run was asked for, in their sequence."""
    planned = {each.id: each for each in plan}
    names = [each for each in run.orders() if order_number(each) is not None]
    asked = {name: planned.get(name) or _recorded(run, name) for name in names}
    skipped = _by_order(events, "order_skipped")
    landed = [each.object_id("commit") for each in skipped.values()]
    reading = _Reading(
        run,
        ground,
        times,
        needs_of([each for each in asked.values() if each is not None]),
        skipped,
        _by_order(events, "order_started"),
        commits.notes(ground.git, NOTES_REF, landed) if ground.git and landed else {},
    )
    return tuple(_order(reading, name, asked[name]) for name in names)


def _by_order(events: Iterable[Fields], kind: str) -> Mapping[str, Fields]:
    return {each.text("order"): each for each in events if each.text("event") == kind}


def _recorded(run: RunOnRecord, name: str) -> WorkOrder | None:
    record = read_fields(run.summary_folder_of(name) / "work_order.json")
    try:
        return parse_document(WorkOrder, dict(record.value)) if record else None
    except DocumentInvalid:
        return None


def needs_of(orders: Sequence[WorkOrder]) -> Mapping[str, tuple[str, ...]]:
    """Return the orders that each order needs, by its id; ids have to differ."""
    graph = derive_graph(orders)
    return {
        name: tuple(graph.ids[each] for each in sorted(needed))
        for name, needed in zip(graph.ids, graph.needs, strict=True)
    }


def _order(reading: _Reading, name: str, order: WorkOrder | None) -> OrderView:
    skipped = reading.skipped.get(name)
    maker = _maker(reading, name) if skipped else None
    view = _as_made(reading, name, order, maker or reading.run)
    if skipped:
        commit = view.commit or skipped.object_id("commit")
        proof = view.proof or parse_proof(reading.notes.get(commit, ""))
        earlier = maker.run_id if maker else ""
        view = replace(view, commit=commit, proof=proof, earlier_run=earlier, usage=UsageView())
    titled = skipped or reading.begun.get(name) or Fields()
    view = replace(
        view,
        title=titled.text("title"),
        state=_state(reading, name),
        needs=reading.needs.get(name, ()),
        change=_change(reading.ground.git, view.parent, view.commit),
    )
    return as_asked(view, order) if order else view


def _as_made(reading: _Reading, name: str, order: WorkOrder | None, run: RunOnRecord) -> OrderView:
    """Return an order as the run that made it recorded it."""
    ground = reading.ground
    summary = summary_of(run, name)
    written = as_written(order.acceptance_commands if order else ())
    attempts = AttemptGround(run, name, ground.git, ground.common_dir, summary, written)
    commit = summary.object_id("commit")
    return OrderView(
        id=name,
        title="",
        state="",
        commit=commit,
        parent=summary.object_id("parent") if summary.text("state") == "landed" else "",
        proof=proof_of(summary),
        attempts=attempts_of(attempts, reading.times if run == reading.run else {}),
        trials=trials_of_order(run.folder_of(name), written),
        failure=brief_of(summary.fields("failure")),
        warnings=tuple(warnings_of(summary)),
        flags=tuple(flags_of(summary)),
        usage=usage_of(summary.fields("usage")),
    )


def as_asked(view: OrderView, order: WorkOrder) -> OrderView:
    """Return an order with what it asks for."""
    return replace(
        view,
        title=order.title,
        intent=order.intent,
        notes=order.notes or "",
        allowed_files=order.allowed_files,
        removed_files=order.removed_files,
        context_files=order.context_files,
        acceptance_commands=order.acceptance_commands,
        acceptance_files=tuple(each.path for each in order.acceptance_files),
        covers=order.covers,
    )


def _change(git: Git | None, parent: str, commit: str) -> Change:
    return change_of_commit(git, parent, commit) if commit else Change()


def _maker(reading: _Reading, name: str) -> RunOnRecord | None:
    """Return the newest earlier run on the same branch that landed an order."""
    branch = reading.run.head.get("branch")
    made = (each for each in reading.ground.earlier if each.head.get("branch") == branch)
    landed = (each for each in made if summary_of(each, name).text("state") == "landed")
    return next(landed, None)


def _state(reading: _Reading, name: str) -> str:
    if state := summary_of(reading.run, name).text("state"):
        return state
    if name in reading.skipped:
        return "skipped"
    return "begun" if name in reading.begun else "waiting"


def requirements_of(head: Fields, orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    """Return the requirements with their orders, and the commits of those that are on the branch.

    Without the plan, only those are known that an order on record names, and no text of them.
    """
    by_id = {each.id: each for each in orders}
    return tuple(_with_commits(row, by_id) for row in _rows(head, orders))


def _rows(head: Fields, orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    if folder := head.path("workdir"):
        try:
            return coverage_of_folder(folder)
        except LlmchError:
            pass
    return _named_by(orders)


def requirements_of_orders(orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    """Return the requirements that orders name, with their commits and without any text."""
    by_id = {each.id: each for each in orders}
    return tuple(_with_commits(row, by_id) for row in _named_by(orders))


def _named_by(orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    found: dict[str, list[CoveringOrder]] = {}
    for order in orders:
        for name in order.covers:
            covering = CoveringOrder(order.id, order.title, order.acceptance_commands)
            found.setdefault(name, []).append(covering)
    return tuple(CoveredRequirement(name, orders=tuple(each)) for name, each in found.items())


def _with_commits(row: CoveredRequirement, orders: Mapping[str, OrderView]) -> CoveredRequirement:
    return replace(row, orders=tuple(_with_commit(each, orders) for each in row.orders))


def _with_commit(covering: CoveringOrder, orders: Mapping[str, OrderView]) -> CoveringOrder:
    order = orders.get(covering.id)
    if order is None or not order.commit or not order.is_on_branch:
        return covering
    return replace(covering, commits=(order.commit,), proofs=(order.proof,))
