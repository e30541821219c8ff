"""Reads the orders of a run: what each asks for, how it stands, and what was tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from factory.batch.order_graph import derive_graph
from factory.orders.commit_note import parse_proof
from factory.orders.identity import NOTES_REF
from factory.record.runs_on_record import RunOnRecord
from llmch.run_view.attempts import AttemptGround, attempts_of, brief_of, change_of_commit
from llmch.run_view.commands import as_written, trials_of_order
from llmch.run_view.documents import read_fields
from llmch.run_view.fields import Fields
from llmch.run_view.model.attempts import Change
from llmch.run_view.model.orders import OrderView
from llmch.run_view.model.time_spans import Span
from llmch.run_view.model.usage import UsageView
from llmch.run_view.summaries import flags_of, proof_of, summary_of, usage_of, warnings_of
from shared.git import commits
from shared.git.client import Git
from shared.work_order.parsing import DocumentInvalid, parse_document
from shared.work_order.schemas import WorkOrder, order_number


@dataclass(frozen=True, slots=True)
class Ground:
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
    ground: Ground
    times: Mapping[tuple[str, int], Span]
    needs: Mapping[str, tuple[str, ...]]
    skipped: Mapping[str, Fields]
    begun: Mapping[str, Fields]
    notes: Mapping[str, str]


def read_orders(
    run: RunOnRecord,
    ground: Ground,
    plan: Sequence[WorkOrder],
    events: Sequence[Fields],
    times: Mapping[tuple[str, int], Span],
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
