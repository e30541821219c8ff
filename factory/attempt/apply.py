"""Applies a proposal (the node TR): every check first, then every write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from factory.attempt.fit_to_parent import fit_to_parent
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
from shared.git import commits
from shared.work_order.schemas import WorkOrder


def apply(state: FactoryState, runtime: Runtime[FactoryContext]) -> StateUpdate:
    """Put the proposal's files and the plan's acceptance files into the workspace.

    The files that the order removes are taken out of it first. The commit of what was written is
    announced before it is judged. Return a brief that says why not, where nothing can be written.
    Raises `DoesNotFit` where the commit that it is to follow is not what the proposal was made for.
    """
    context, attempt = runtime.context, state["attempt"]
    if context.parent != context.task.base:
        attempt = fit_to_parent(attempt, context)
    context.progress.begin_stage(attempt.number, AttemptStage.APPLY)
    attempt = check_writes(attempt, context)
    if attempt.brief is None:
        attempt = _write(replace(attempt, touched=True), context)
        _record(context, attempt)
    if attempt.commit:
        context.known.expect(attempt.commit)
        context.announce(attempt.commit)
        order, proposal = context.order, attempt.proposed
        paths, removed = proposal.paths, order.removed_files
        context.emit(WritesApplied(order.id, attempt.number, paths, proposal.summary, removed))
    return {"attempt": attempt}


def check_writes(attempt: Attempt, context: FactoryContext) -> Attempt:
    """Return the attempt with a brief if the proposal may not be written; nothing is written.

    The files that the order removes are taken out of the tree first.
    """
    order, files = context.order, context.workspace.tree
    keep_removed(order, files)
    violations = check_proposal(order, attempt.proposed, hashes_of(attempt.shown), files)
    if violations:
        attempt = replace(attempt, brief=_refused(violations, order))
        _record(context, attempt)
    return attempt


def _write(attempt: Attempt, context: FactoryContext) -> Attempt:
    """Return the attempt with the tree and the commit of what it writes, or with a brief."""
    order, files, git = context.order, context.workspace.tree, context.workspace.git
    tree, violations = "", write_files(files, attempt.writes)
    if not violations:
        tree, violations = stage_files(git, attempt.writes, order.removed_files)
    if violations:
        return replace(attempt, brief=_refused(violations, order))
    facts = context.task.commit_facts(attempt.proposed.summary)
    commit = commits.write(git, tree, context.parent, facts)
    context.workspace.foresee(commit, [each.path for each in attempt.writes], order.removed_files)
    return replace(attempt, tree=tree, commit=commit)


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
