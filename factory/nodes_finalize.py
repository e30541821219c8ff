"""The concluding node: commit what passed, or clear away and go round again."""

from __future__ import annotations

from langgraph.runtime import Runtime

from factory.schemas import AttemptRecord, FailureBrief
from factory.state import Attempt, FactoryContext, FactoryState, StateUpdate
from factory.summary import drift_warning
from factory.verdict import Failed, Passed
from shared.atomic_io import write_json
from shared.events import AttemptFailed, StageStarted, Warned


def conclude(state: FactoryState, runtime: Runtime[FactoryContext]) -> StateUpdate:
    """Return the verdict, or the state of the next attempt."""
    context, brief = runtime.context, state["attempt"].brief
    return _pass(state, context) if brief is None else _fail(state, context, brief)


def _pass(state: FactoryState, context: FactoryContext) -> StateUpdate:
    attempt, order = state["attempt"], context.order
    context.emit(StageStarted(order.id, attempt.number, "commit"))
    files = tuple(sorted(attempt.proposed.paths))
    commit, drift = context.workspace.commit(attempt.tree, files, context.task.commit_facts)
    if drift:
        context.emit(Warned(f"{order.id}: {drift_warning(drift)}"))
    record = _record(attempt, context, drift=drift)
    return {"records": (*state["records"], record), "verdict": Passed(commit, attempt.tree, files)}


def _fail(state: FactoryState, context: FactoryContext, brief: FailureBrief) -> StateUpdate:
    attempt, max_attempts = state["attempt"], context.options.settings.factory_attempts
    document = brief.model_dump(mode="json")
    write_json(context.attempt_folder(attempt) / "failure_brief.json", document, sync=False)
    records = (*state["records"], _record(attempt, context))
    last = not brief.stage.retryable or attempt.number >= max_attempts
    if attempt.touched and not last:  # after the last, the workspace goes as a whole
        context.bench.reset()
    context.emit(
        AttemptFailed(
            order=context.order.id,
            attempt=attempt.number,
            stage=brief.stage,
            command=brief.command or "",
            exit_code=brief.exit_code,
            excerpt=brief.primary_error_excerpt,
            next_step=_next_step(attempt.number, max_attempts, brief),
        )
    )
    if last:
        return {"records": records, "verdict": Failed(brief)}
    return {"records": records, "attempt": Attempt(attempt.number + 1)}


def _next_step(attempt: int, max_attempts: int, brief: FailureBrief) -> str:
    if not brief.stage.retryable:
        return "another attempt would not fix this: the order has failed"
    if attempt >= max_attempts:
        return f"all {max_attempts} attempts are used up: the order has failed"
    return f"taken back; attempt {attempt + 1} of {max_attempts} is told what happened"


def _record(
    attempt: Attempt, context: FactoryContext, drift: tuple[str, ...] = ()
) -> AttemptRecord:
    proposal, name = attempt.proposal, f"attempt_{attempt.number}"
    return AttemptRecord(
        attempt_index=attempt.number,
        baseline_commit=context.workspace.baseline,
        proposal_path=f"{name}/proposed_writes.json" if proposal else None,
        touched_files=tuple(sorted(proposal.paths)) if proposal else (),
        write_ok=bool(attempt.tree),
        unjudged=attempt.unjudged,
        verify=attempt.verify,
        acceptance=attempt.acceptance,
        drift=drift,
        model=attempt.model,
        repairs=attempt.repairs,
        failure_brief=attempt.brief,
    )
