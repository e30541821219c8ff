"""The concluding node: commit what passed, or clear away and go round again."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from factory.schemas import AttemptRecord, AttemptStage, FailureBrief
from factory.state import FactoryContext, FactoryState, fresh_attempt
from factory.summary import drift_warning
from factory.verdict import Failed, Passed
from shared.atomic_io import write_json
from shared.events import Warned


def conclude(state: FactoryState, runtime: Runtime[FactoryContext]) -> dict[str, Any]:
    """Return the verdict, or the state of the next attempt."""
    context, brief = runtime.context, state["brief"]
    return _pass(state, context) if brief is None else _fail(state, context, brief)


def _pass(state: FactoryState, context: FactoryContext) -> dict[str, Any]:
    proposal, order = state["proposal"], context.order
    assert proposal is not None, "only a proposal can pass"
    context.progress.begin_stage(state["attempt"], AttemptStage.COMMIT)
    files = tuple(sorted(proposal.paths))
    commit, drift = context.workspace.commit(state["tree"], files, context.commit_facts)
    if drift:
        context.emit(Warned(f"{order.id}: {drift_warning(drift)}"))
    record = attempt_record(state, context, drift=drift)
    return {"records": (*state["records"], record), "verdict": Passed(commit, state["tree"], files)}


def _fail(state: FactoryState, context: FactoryContext, brief: FailureBrief) -> dict[str, Any]:
    context.progress.check_cancelled()  # whoever cancelled has said how the attempt ended
    attempt = state["attempt"]
    folder = context.attempt_folder(attempt)
    write_json(folder / "failure_brief.json", brief.model_dump(mode="json"), sync=False)
    records = (*state["records"], attempt_record(state, context, brief=brief))
    last = not brief.stage.retryable or attempt >= context.options.max_attempts
    if state["touched"] and not last:  # after the last, the workspace goes as a whole
        context.bench.reset()
    next_step = _next_step(attempt, context.options.max_attempts, brief)
    context.progress.fail_attempt(attempt, brief, next_step)
    if last:
        return {"records": records, "verdict": Failed(brief)}
    carried = {"previous": brief, "records": records, "evidence": state["evidence"]}
    return {**fresh_attempt(attempt + 1), **carried}


def _next_step(attempt: int, max_attempts: int, brief: FailureBrief) -> str:
    if not brief.stage.retryable:
        return "another attempt would not mend this: the order has failed"
    if attempt >= max_attempts:
        return f"all {max_attempts} attempts are used up: the order has failed"
    return f"taken back; attempt {attempt + 1} of {max_attempts} is told what happened"


def attempt_record(
    state: FactoryState,
    context: FactoryContext,
    *,
    brief: FailureBrief | None = None,
    drift: tuple[str, ...] = (),
) -> AttemptRecord:
    """Return the record of the attempt in `state`, with the brief of what failed it, if any."""
    proposal, attempt = state["proposal"], state["attempt"]
    return AttemptRecord(
        attempt_index=attempt,
        baseline_commit=context.workspace.baseline,
        proposal_path=f"attempt_{attempt}/proposed_writes.json" if proposal else None,
        touched_files=tuple(sorted(proposal.paths)) if proposal else (),
        write_ok=state["write_ok"],
        unjudged=state["unjudged"],
        verify=state["verify"],
        acceptance=state["acceptance"],
        drift=drift,
        model=state["model"],
        repairs=state["repairs"],
        failure_brief=brief,
    )
