"""Judges the files written, and concludes: a commit, or another attempt."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from factory.attempt.apply_proposal import with_remedy
from factory.attempt.attempt_state import Attempt, FactoryState, StateUpdate, Step
from factory.judging.contract import (
    ContractResult,
    check_declarations,
    check_rewrites,
    is_bound,
    notes_on,
    render_violations,
    without_syntax,
)
from factory.judging.failure_brief import brief_of, with_facts
from factory.judging.judgement import run_checks
from factory.judging.run_checks import Trial
from factory.judging.strength import Measured, measure, written_since
from factory.orders.documents import AttemptRecord, FailureBrief, QuotedFile
from factory.orders.model_choice import PastAttempt, first_model, is_stuck
from factory.orders.stages import AttemptStage, Stage
from factory.orders.task import Failed, Passed
from factory.preflight import name_paths
from factory.record.runs_on_record import REJECTED_PATCH
from factory.record.summary import drift_warning, unjudged_warning
from factory.workbench.tree import patch_of_proposal
from shared.errors import CommandFailed
from shared.events.events import Noted, Warned
from shared.files.atomic_io import write_bytes, write_json
from shared.git import trees
from shared.work_order.parse_order import sha256_bytes


def judge(state: FactoryState, step: Step) -> StateUpdate:
    """Run every check on the written files and return the results, with a brief on failure.

    The checks that run no code come first: they are quick, and they name what is at fault.
    """
    attempt = state["attempt"]
    contract = _judge_contract(attempt, step)
    attempt = replace(attempt, unjudged=contract.unjudged)
    if contract.violations:
        account = render_violations(contract.violations)
        brief = brief_of(Stage.CONTRACT_VIOLATED, step.order, account)
        return {"attempt": replace(attempt, brief=_with_notes(brief, attempt, step))}
    checks = step.verification.checks_with(
        {
            **dict.fromkeys(step.order.removed_files),
            **{each.path: each.content for each in attempt.writes},
        }
    )
    judgement = run_checks(
        Trial(
            step.task,
            step.run.options,
            step.bench,
            step.emit,
            step.progress,
            folder=step.attempt_folder(attempt),
            attempt=attempt.number,
            written={each.path: sha256_bytes(each.content.encode()) for each in attempt.writes},
            known=lambda: step.run.known.of(step.parent, step.progress.check_cancelled),
            learn=lambda known: step.run.known.learn(attempt.commit, known),
            staged=attempt.tree,
            checks=checks.commands,
            exempt=checks.exempt,
            removed=step.order.removed_files,
        )
    )
    failed = judgement.brief
    for warning in judgement.warnings:
        step.emit(Warned(f"{step.order.id}: {warning}"))
    judged = replace(
        attempt,
        verify=judgement.verify,
        acceptance=judgement.acceptance,
        exempt=judgement.exempt,
        known=judgement.known,
        verified=judgement.verified,
        warnings=judgement.warnings,
        brief=_with_notes(failed, attempt, step) if failed else None,
    )
    return {"attempt": judged if failed else _with_strength(judged, step)}


def _with_strength(attempt: Attempt, step: Step) -> Attempt:
    """Return an attempt that passed, with the strength of its commands where it is asked for."""
    options, order = step.run.options, step.order
    wanted = options.settings.strength
    if not wanted.least:
        return attempt
    step.emit(Noted(f"{order.id}: measuring how many small faults its commands notice"))
    strength = measure(
        Measured(
            step.workspace.git,
            order,
            attempt.commit,
            written_since(step.workspace.git, step.parent, attempt.commit),
            step.run.pool.lend,
            wanted,
            options.settings.timeout_seconds,
            options.jobs,
            check_cancelled=step.progress.check_cancelled,
        )
    )
    step.emit(Noted(f"{order.id}: {strength.describe()}"))
    if strength.reaches(wanted.least):
        return replace(attempt, strength=strength)
    asked = f"{strength.score}, and strength.min is {wanted.least:g}"
    account = "\n".join((*strength.survivors[:_MAX_FAULTS], asked))
    brief = brief_of(Stage.WEAK_TESTS, order, account)
    return replace(attempt, strength=strength, brief=brief)


# With the score, as much as the journal keeps of an excerpt, from which a plan is made again.
_MAX_FAULTS = 4


def _with_notes(brief: FailureBrief, attempt: Attempt, step: Step) -> FailureBrief:
    """Return the brief with what can be said of the written files without running them."""
    if not step.order.asks_model:
        return brief  # nothing was written
    files = trees.files_of(step.workspace.git, attempt.tree)
    return with_facts(brief, notes_on(step.order, attempt.proposed, attempt.shown, brief, files))


def _judge_contract(attempt: Attempt, step: Step) -> ContractResult:
    order, workspace, paths = step.order, step.workspace, attempt.proposed.paths
    # What is judged is what is committed: also where a formatter made it.
    writes = tuple(each for each in attempt.writes if each.path in paths)
    proposal = attempt.proposed.model_copy(update={"writes": writes})
    binding = step.task.loaded.binding
    if not is_bound(binding, proposal, attempt.shown):
        return ContractResult()
    step.progress.begin_stage(attempt.number, AttemptStage.CONTRACT)
    lost = check_rewrites(order, proposal, attempt.shown)
    result = check_declarations(
        binding,
        proposal.paths,
        workspace.tree,
        lambda: trees.files_of(workspace.git, attempt.tree),
        step.run.tools,
    )
    if not step.bench.reads_alike:
        result = without_syntax(result)
    # A name that is gone from its file is missing from its contract as well: that is one fault.
    gone = {(each.path, each.name) for each in lost if each.name}
    others = (each for each in result.violations if (each.path, each.name) not in gone)
    result = replace(result, violations=(*lost, *others))
    if result.unjudged:
        step.emit(Warned(f"{order.id}: {unjudged_warning(result.unjudged)}"))
    folder = step.attempt_folder(attempt)
    write_json(folder / "contract_result.json", result.document(), sync=False)
    return result


def conclude(state: FactoryState, step: Step) -> StateUpdate:
    """Return the verdict, or the state of the next attempt."""
    brief = state["attempt"].brief
    if brief is None:
        return _pass(state, step)
    return _fail(state, step, with_remedy(brief, step.order))


def _pass(state: FactoryState, step: Step) -> StateUpdate:
    attempt, order = state["attempt"], step.order
    step.progress.begin_stage(attempt.number, AttemptStage.COMMIT)
    files = tuple(sorted(each.path for each in attempt.writes))
    removed = tuple(sorted(order.removed_files))
    step.workspace.settle(attempt.commit, files, removed)
    undone = (each.undone for each in (*attempt.verify, *attempt.acceptance))
    drift = tuple(sorted({path for paths in undone for path in paths}))
    if drift:
        step.emit(Warned(f"{order.id}: {drift_warning(drift)}"))
    record = attempt_record(attempt, step, drift=drift)
    passed = Passed(
        attempt.commit,
        attempt.tree,
        files,
        attempt.proposed.summary,
        attempt.verified,
        removed,
        {
            each.path: sha256_bytes(each.content.encode())
            for each in attempt.writes
            if each.path not in attempt.filtered
        },
    )
    return {"records": (*state["records"], record), "verdict": passed}


def _fail(state: FactoryState, step: Step, brief: FailureBrief) -> StateUpdate:
    step.progress.check_cancelled()  # the canceller reports how the attempt ended
    if (agent := state["attempt"].agent) and agent.dropped:
        said = f"Dropped of what the agent changed: {name_paths(agent.dropped)}."
        brief = with_facts(brief.model_copy(update={"facts": (said,)}), brief.facts)
    attempt, max_attempts = state["attempt"], step.run.options.attempts_of(step.order.id)
    document = brief.model_dump(mode="json")
    write_json(step.attempt_folder(attempt) / "failure_brief.json", document, sync=False)
    _record_patch(attempt, step)
    attempt = replace(attempt, brief=brief)
    records = (*state["records"], attempt_record(attempt, step))
    past = (
        *state["past"],
        PastAttempt(attempt.number, attempt.rung, attempt.proposal, brief, attempt.misfits),
    )
    factory = step.run.options.settings.factory
    left = {factory.proposer_of(each) for each in range(attempt.number, max_attempts + 1)}
    stuck = len(left) == 1 and is_stuck(step.run.options.models, past)
    can_retry = brief.stage.retryable and step.order.asks_model
    last = stuck or not can_retry or attempt.number >= max_attempts
    if attempt.touched and not last and not attempt.tree:  # else the pool does so
        step.bench.reset()
    if last or brief.remedy:
        next_step = _why_it_is_stuck(brief) if stuck else _why_it_ends(attempt, max_attempts, brief)
    else:
        next_step = f"nothing was kept; {_what_follows(attempt, past, max_attempts, step)}"
    step.progress.fail_attempt(attempt.number, brief, next_step)
    if last:
        return {"records": records, "verdict": Failed(brief)}
    return {"records": records, "past": past, "attempt": Attempt(attempt.number + 1)}


def _why_it_is_stuck(brief: FailureBrief) -> str:
    is_agent = brief.stage is not Stage.REPEATED
    again = "the agent ends in the same way" if is_agent else "the model gives the same files"
    return (
        f"{again} again and there is no other to ask: the order has failed; name a larger model "
        "after it (`--factory-model small,large`), or say what is missed (`llmch retry ORDER "
        "--hint TEXT`)"
    )


def _record_patch(attempt: Attempt, step: Step) -> None:
    """Write what the rejected attempt changed, because git may soon forget the objects."""
    if attempt.proposal is None:
        return
    workspace = step.workspace
    # Why the attempt failed matters more than this record, also where the disk refuses it.
    with contextlib.suppress(CommandFailed, OSError):
        patch = patch_of_proposal(
            workspace.git,
            step.parent,
            attempt.proposal,
            attempt.tree,
            removed=step.order.removed_files,
        )
        path = step.attempt_folder(attempt) / REJECTED_PATCH
        write_bytes(path, patch, sync=False)


def _why_it_ends(attempt: Attempt, max_attempts: int, brief: FailureBrief) -> str:
    if brief.remedy:
        return f"no attempt would fix this: {brief.remedy}"
    if not brief.stage.retryable or attempt.number < max_attempts:
        return "another attempt would not fix this: the order has failed"
    return "no attempt is left" if max_attempts == 1 else f"all {max_attempts} attempts are used up"


def _what_follows(
    attempt: Attempt, past: tuple[PastAttempt, ...], max_attempts: int, step: Step
) -> str:
    options, number = step.run.options, attempt.number + 1
    if options.given:
        return f"{options.given[attempt.number].by.name} is judged next"
    is_afresh = first_model(options.models, past, number, is_short=attempt.is_short).afresh
    what = "asks as if it were the first" if is_afresh else "is shown this failure"
    return f"attempt {number} of {max_attempts} {what}"


def attempt_record(attempt: Attempt, step: Step, drift: tuple[str, ...] = ()) -> AttemptRecord:
    """Return the record of an attempt; `drift` names the files that its commands changed."""
    proposal, name, said = attempt.proposal, f"attempt_{attempt.number}", attempt.quoted
    return AttemptRecord(
        attempt_index=attempt.number,
        temperature=attempt.temperature,
        questions=attempt.questions,
        repeats=attempt.brief.repeats.attempt if attempt.brief and attempt.brief.repeats else None,
        baseline_commit=step.parent,
        proposal_path=f"{name}/proposed_writes.json" if proposal else None,
        touched_files=tuple(sorted(proposal.paths)) if proposal else (),
        write_ok=bool(attempt.tree),
        unjudged=attempt.unjudged,
        verify=attempt.verify,
        acceptance=attempt.acceptance,
        exempt=attempt.exempt,
        warnings=attempt.warnings,
        drift=drift,
        conventions=QuotedFile(path=said.path, sha256=said.sha256) if said else None,
        model=attempt.model,
        repairs=attempt.repairs,
        replies=attempt.replies,
        agent=attempt.agent,
        strength=attempt.strength,
        failure_brief=attempt.brief,
    )
