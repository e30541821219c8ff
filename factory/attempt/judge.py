"""Judges the files written (the node PO): contract, verification, postconditions, acceptance."""

from __future__ import annotations

from dataclasses import replace

from langgraph.runtime import Runtime

from factory.attempt.state import Attempt, FactoryContext, FactoryState, StateUpdate
from factory.judging.brief import brief_of, with_facts
from factory.judging.commands import Judging
from factory.judging.contract import (
    ContractResult,
    check_declarations,
    check_rewrites,
    is_bound,
    render_violations,
    without_syntax,
)
from factory.judging.failure.notes import notes_on
from factory.judging.judgement import run_checks
from factory.orders.documents import FailureBrief
from factory.orders.stages import AttemptStage, Stage
from factory.record.summary import unjudged_warning
from shared.events.messages import Warned
from shared.files.atomic_io import write_json
from shared.git import trees
from shared.work_order.hashing import sha256_bytes


def judge(state: FactoryState, runtime: Runtime[FactoryContext]) -> StateUpdate:
    """Run every check on the written files and return the results, with a brief on failure.

    The checks that run no code come first: they are quick, and they name what is at fault.
    """
    context, attempt = runtime.context, state["attempt"]
    contract = _judge_contract(attempt, context)
    attempt = replace(attempt, unjudged=contract.unjudged)
    if contract.violations:
        account = render_violations(contract.violations)
        brief = brief_of(Stage.CONTRACT_VIOLATED, context.order, account)
        return {"attempt": replace(attempt, brief=_with_notes(brief, attempt, context))}
    judgement = run_checks(
        Judging(
            context.task,
            context.options,
            context.bench,
            context.emit,
            context.progress,
            folder=context.attempt_folder(attempt),
            attempt=attempt.number,
            written={each.path: sha256_bytes(each.content.encode()) for each in attempt.writes},
            known=lambda: context.known.of(context.parent, context.progress.check_cancelled),
            learn=lambda known: context.known.learn(attempt.commit, known),
            staged=attempt.tree,
            checks=context.verification.checks_with(
                {
                    **dict.fromkeys(context.order.removed_files),
                    **{each.path: each.content for each in attempt.writes},
                }
            ),
            removed=context.order.removed_files,
        )
    )
    failed = judgement.brief
    for warning in judgement.warnings:
        context.emit(Warned(f"{context.order.id}: {warning}"))
    judged = replace(
        attempt,
        verify=judgement.verify,
        acceptance=judgement.acceptance,
        known=judgement.known,
        verified=judgement.verified,
        warnings=judgement.warnings,
        brief=_with_notes(failed, attempt, context) if failed else None,
    )
    return {"attempt": judged}


def _with_notes(brief: FailureBrief, attempt: Attempt, context: FactoryContext) -> FailureBrief:
    """Return the brief with what can be said of the written files without running them."""
    if not context.order.asks_model:
        return brief  # nothing was written
    files = trees.files_of(context.workspace.git, attempt.tree)
    return with_facts(brief, notes_on(context.order, attempt.proposed, attempt.shown, brief, files))


def _judge_contract(attempt: Attempt, context: FactoryContext) -> ContractResult:
    order, workspace, proposal = context.order, context.workspace, attempt.proposed
    binding = context.task.loaded.binding
    if not is_bound(binding, proposal, attempt.shown):
        return ContractResult()
    context.progress.begin_stage(attempt.number, AttemptStage.CONTRACT)
    lost = check_rewrites(order, proposal, attempt.shown)
    result = check_declarations(
        binding,
        proposal.paths,
        workspace.tree,
        lambda: trees.files_of(workspace.git, attempt.tree),
        context.tools,
    )
    if not context.bench.reads_alike:
        result = without_syntax(result)
    # A name that is gone from its file is missing from its contract as well: that is one fault.
    gone = {(each.path, each.name) for each in lost if each.name}
    others = (each for each in result.violations if (each.path, each.name) not in gone)
    result = replace(result, violations=(*lost, *others))
    if result.unjudged:
        context.emit(Warned(f"{order.id}: {unjudged_warning(result.unjudged)}"))
    folder = context.attempt_folder(attempt)
    write_json(folder / "contract_result.json", result.document(), sync=False)
    return result
