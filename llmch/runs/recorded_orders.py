"""Reads the orders of a run or of commits, and the requirements that they carry out.

A statement can be written by anybody. So an order counts as a commit's own where the commit names
the hash of its content, and whoever wants to know more asks `llmch verify`.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from factory.batch.order_graph import derive_graph
from factory.orders.documents import RunSummary, SandboxRecord
from factory.orders.order_commit import NOTES_REF, OrderIdentity, identify, parse_proof
from factory.orders.stages import OrderState
from factory.record.runs_on_record import RunDocument, RunOnRecord, object_id, order_summary
from factory.statement import statement as statements
from llmch.runs import recorded_attempts
from llmch.runs.recorded_attempts import Written
from llmch.runs.run_model import Change, CommandView, OrderView, Output, TimeSpan
from planner.rules.coverage import coverage_of_folder
from shared.errors import LlmchError
from shared.events.events import OrderSkipped, OrderStarted
from shared.events.run_record import TimedEvent
from shared.files.typed_documents import Faults, read_record
from shared.git import commits
from shared.git.client import Git, GitFailed
from shared.llm.usage import NO_USAGE, UNKNOWN_USAGE
from shared.work_order.parse_order import DocumentInvalid, parse_document
from shared.work_order.work_order import CoveredRequirement, CoveringOrder, WorkOrder, order_number

_MOST_LISTED = 100  # warnings or flags of an order


def warnings_of(summary: RunSummary) -> Iterator[str]:
    """Yield the first warnings, as many as a person may read, and how many more there are."""
    yield from summary.warnings[:_MOST_LISTED]
    if len(summary.warnings) > _MOST_LISTED:
        yield f"and {len(summary.warnings) - _MOST_LISTED:,} more"


@dataclass(frozen=True, slots=True)
class RunRepo:
    """Hold where runs and their repo are; `git` is `None` if the repo is not here.

    `earlier` are the runs before the one that is shown, newest first.
    """

    git: Git | None
    common_dir: Path
    earlier: tuple[RunOnRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """Hold what reading one order needs to know of the whole run.

    `skipped` and `begun` have the events of orders that had landed before and of those that were
    begun, by order. `needs` and `notes` are by order and by commit. `faults` gets what cannot be
    read.
    """

    run: RunOnRecord
    ground: RunRepo
    times: Mapping[tuple[str, int], TimeSpan]
    needs: Mapping[str, tuple[str, ...]]
    skipped: Mapping[str, OrderSkipped]
    begun: Mapping[str, OrderStarted]
    notes: Mapping[str, str]
    faults: Faults


def read_orders(
    run: RunOnRecord,
    ground: RunRepo,
    plan: Sequence[WorkOrder],
    events: Sequence[TimedEvent],
    times: Mapping[tuple[str, int], TimeSpan],
    faults: Faults,
) -> tuple[OrderView, ...]:
    """Return the orders that the run was asked for, in their sequence."""
    planned = {each.id: each for each in plan}
    names = [each for each in run.orders() if order_number(each) is not None]
    asked = {name: planned.get(name) or _recorded(run, name, faults) for name in names}
    skipped = {one.order: one for each in events if isinstance(one := each.event, OrderSkipped)}
    begun = {one.order: one for each in events if isinstance(one := each.event, OrderStarted)}
    landed = [found for each in skipped.values() if (found := object_id(each.commit))]
    reading = _Reading(
        run,
        ground,
        times,
        needs_of([each for each in asked.values() if each is not None]),
        skipped,
        begun,
        commits.notes(ground.git, NOTES_REF, landed) if ground.git and landed else {},
        faults,
    )
    return tuple(_order(reading, name, asked[name]) for name in names)


def _recorded(run: RunOnRecord, name: str, faults: Faults) -> WorkOrder | None:
    path = run.summary_folder_of(name) / "work_order.json"
    record = read_record(path, dict[str, Any], faults)
    try:
        return parse_document(WorkOrder, record) if record else None
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
        commit = view.commit or object_id(skipped.commit)
        proof = view.proof or parse_proof(reading.notes.get(commit, ""))
        earlier = maker.run_id if maker else ""
        view = replace(view, commit=commit, proof=proof, earlier_run=earlier, usage=NO_USAGE)
    titled = skipped or reading.begun.get(name)
    view = replace(
        view,
        title=titled.title if titled else "",
        state=_state(reading, name),
        needs=reading.needs.get(name, ()),
        change=_change(reading.ground.git, view.parent, view.commit),
    )
    return as_asked(view, order) if order else view


def _as_made(reading: _Reading, name: str, order: WorkOrder | None, run: RunOnRecord) -> OrderView:
    ground = reading.ground
    summary = order_summary(run, name, reading.faults)
    written = recorded_attempts.as_written(order.acceptance_commands if order else ())
    attempts = recorded_attempts.AttemptGround(
        run, name, ground.git, ground.common_dir, summary, written, reading.faults
    )
    view = OrderView(
        id=name,
        title="",
        state="",
        attempts=recorded_attempts.attempts_of(
            attempts, reading.times if run == reading.run else {}
        ),
        trials=recorded_attempts.trials_of_order(run.folder_of(name), written, reading.faults),
        usage=UNKNOWN_USAGE,
    )
    return _summarised(view, summary) if summary else view


def _summarised(view: OrderView, summary: RunSummary) -> OrderView:
    return replace(
        view,
        commit=object_id(summary.commit),
        parent=object_id(summary.parent) if summary.state is OrderState.LANDED else "",
        proof=summary.verified_by.describe() if summary.verified_by else "",
        failure=summary.failure,
        warnings=tuple(warnings_of(summary)),
        flags=summary.flags[:_MOST_LISTED],
        usage=summary.usage,
    )


def as_asked(view: OrderView, order: WorkOrder) -> OrderView:
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
    return recorded_attempts.change_of_commit(git, parent, commit) if commit else Change()


def _maker(reading: _Reading, name: str) -> RunOnRecord | None:
    """Return the newest earlier run on the same branch that landed an order."""
    for each in reading.ground.earlier:
        if each.head.branch == reading.run.head.branch:
            summary = order_summary(each, name, Faults())
            if summary is not None and summary.state is OrderState.LANDED:
                return each
    return None


def _state(reading: _Reading, name: str) -> str:
    if summary := order_summary(reading.run, name, Faults()):
        return summary.state
    if name in reading.skipped:
        return "skipped"
    return "begun" if name in reading.begun else "waiting"


def requirements_of(
    head: RunDocument, orders: Sequence[OrderView]
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements with their orders, and the commits of those that are on the branch.

    Without the plan, only those are known that an order on record names, and no text of them.
    """
    by_id = {each.id: each for each in orders}
    return tuple(_with_commits(row, by_id) for row in _rows(head, orders))


def _rows(head: RunDocument, orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    if folder := head.workdir:
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


@dataclass(frozen=True, slots=True)
class Stated:
    """Hold the statements about one commit: how llmch made it, and what it was accepted for."""

    made: tuple[statements.Statement, ...] = ()
    accepted: tuple[statements.Acceptance, ...] = ()


NOTHING_STATED: Final = Stated()


def statements_on(git: Git, ids: Collection[str]) -> Mapping[str, Stated]:
    """Return the statements that are about the very commits they are attached to."""
    try:
        notes = statements.read_envelopes(git, frozenset(ids))
    except GitFailed:  # a partial clone lacks them
        return {}
    return {commit: _stated(commit, note) for commit, note in notes.items()}


def _stated(commit: str, note: bytes) -> Stated:
    found = (each.statement for each in statements.parse_bundle(note))
    about = [each for each in found if each is not None and each.commit == commit]
    return Stated(
        tuple(each for each in about if isinstance(each, statements.Statement)),
        tuple(each for each in about if isinstance(each, statements.Acceptance)),
    )


def with_stated(view: OrderView, identity: OrderIdentity, stated: Stated) -> OrderView | None:
    """Return an order with what a statement says of it; `None` if none is about this order."""
    for each in stated.made:
        predicate = each.predicate
        if identify(predicate.order.document, identity.plan) == identity:
            models = ", ".join(predicate.models)
            attempts = f"{predicate.attempts} attempt{'' if predicate.attempts == 1 else 's'}"
            maker = f"{models or 'no model'}, {attempts}"
            return replace(
                as_asked(view, predicate.order.document),
                maker=maker,
                stated=_commands_stated(predicate),
            )
    return None


def order_in(identity: OrderIdentity, stated: Stated) -> WorkOrder | None:
    """Return the order of which a commit names the hash; `None` if no statement holds it."""
    documents = (each.predicate.order.document for each in stated.made)
    return next((each for each in documents if identify(each, identity.plan) == identity), None)


def accepted_order(acceptance: statements.Acceptance, commit: str, parent: str) -> OrderView:
    """Return the order that a person's commit carries out, according to its statement."""
    predicate = acceptance.predicate
    order, person = predicate.order.document, predicate.accepted_by
    view = OrderView(order.id, order.title, "accepted", commit=commit, parent=parent)
    return replace(
        as_asked(view, order),
        maker=f"a person; accepted by {person.name} <{person.email}>",
        stated=_commands_stated(predicate),
    )


def _commands_stated(predicate: statements.Judged) -> tuple[CommandView, ...]:
    written = recorded_attempts.as_written(predicate.order.document.acceptance_commands)
    return tuple(_command(each, written, predicate.sandboxes) for each in predicate.commands)


def _command(
    command: statements.CommandPart, written: Written, sandboxes: Sequence[SandboxRecord]
) -> CommandView:
    known = 0 <= command.sandbox < len(sandboxes)
    return CommandView(
        purpose=command.stage,
        text=written.get(command.command) or shlex.join(command.command),
        exit_code=command.exit_code,
        seconds=command.duration_seconds,
        stdout=Output(""),
        stderr=Output(""),
        tests=command.tests.describe() if command.tests else "",
        note=command.note,
        sandbox=sandboxes[command.sandbox] if known else None,
    )
