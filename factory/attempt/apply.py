"""Applies a proposal (the node TR): every check first, then every write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from factory.attempt.removing import keep_removed
from factory.attempt.staging import stage_files, write_files
from factory.attempt.state import Attempt, FactoryContext, FactoryState, StateUpdate
from factory.judging.brief import brief_of, brief_of_fault
from factory.judging.environment import full_disk
from factory.orders.documents import FailureBrief, WriteProposal
from factory.orders.stages import AttemptStage, Stage
from factory.proposal.scope import WriteRefusal, check_proposal
from factory.proposal.shown import hashes_of
from factory.record.attempts_on_record import PLACED_FILES, REMOVED_FILES, WRITE_RESULT
from shared.events.attempts import WritesApplied
from shared.files.atomic_io import write_json
from shared.work_order.schemas import WorkOrder


def apply(state: FactoryState, runtime: Runtime[FactoryContext]) -> StateUpdate:
    """Put the proposal's files and the plan's acceptance files into the workspace.

    The files that the order removes are taken out of it first. Return a brief that says why not,
    where that cannot be done.
    """
    context, attempt = runtime.context, state["attempt"]
    order, proposal = context.order, attempt.proposed
    context.progress.begin_stage(attempt.number, AttemptStage.APPLY)
    files, git = context.workspace.tree, context.workspace.git
    keep_removed(order, files)
    violations = check_proposal(order, proposal, hashes_of(attempt.shown), files)
    attempt = replace(attempt, touched=attempt.touched or not violations)
    tree = ""
    if not violations:
        violations = write_files(files, attempt.writes)
    if not violations:
        tree, violations = stage_files(git, attempt.writes, order.removed_files)
    if violations:
        attempt = replace(attempt, brief=_refused(violations, order))
    else:
        attempt = replace(attempt, tree=tree)
    _record(context, attempt)
    if not violations:
        context.emit(WritesApplied(order.id, attempt.number, proposal.paths, proposal.summary))
    return {"attempt": attempt}


def _refused(violations: Sequence[WriteRefusal], order: WorkOrder) -> FailureBrief:
    account = "\n".join(each.message for each in violations)
    brief = brief_of(violations[0].stage, order, account)
    return brief_of_fault(full_disk(), brief) if brief.stage is Stage.ENVIRONMENT else brief


def _record(context: FactoryContext, attempt: Attempt) -> None:
    brief, folder = attempt.brief, context.attempt_folder(attempt)
    if attempt.placed:
        placed = WriteProposal(summary="acceptance files of the plan", writes=attempt.placed)
        write_json(folder / PLACED_FILES, placed.model_dump(mode="json"), sync=False)
    result: dict[str, object] = {
        "write_ok": brief is None,
        "touched_files": list(attempt.proposed.paths),
        "errors": [] if brief is None else brief.primary_error_excerpt.splitlines(),
    }
    if removed := context.order.removed_files:
        result[REMOVED_FILES] = list(removed)
    write_json(folder / WRITE_RESULT, result, sync=False)
