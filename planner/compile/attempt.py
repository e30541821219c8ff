"""Turns a model's reply into a judged plan. Pure.

Bootstrap orders are left out. A fault with one certain remedy is repaired here, without asking
the model again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planner.compile.inputs import CompileInputs
from planner.judging.validation import Report
from planner.plan.bootstrap import left_out, render_left_out, skip_bootstrap
from planner.plan.plan import Plan, with_history
from planner.plan.response import Reply
from planner.plan.succession import NO_SUCCESSION
from planner.repair.repair import Fix, mend
from planner.replan.answer import Answer
from planner.replan.follow_up import FollowUp
from planner.replan.merge import merge, reply_text
from shared.work_order.schemas import VERIFY_SCRIPT

Judge = Callable[[Plan, Answer | None], Report]
"""Applies all rules to a plan; the answer is `None` where the plan follows none."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold the outcome of one attempt: the plan as far as it could be read, and its report.

    `plan` is `None` where there was no reply at all; `failure` then has the model layer's words.
    `reply` is the text that the next prompt shows as this attempt's reply. `left_out` has a
    sentence for each order that sets up what the repo already has. `answer` is what the reply
    changes in the plan before, for a plan that follows one.
    """

    attempt: int
    plan: Plan | None
    report: Report
    failure: str = ""
    reply: str = ""
    fixes: tuple[Fix, ...] = ()
    left_out: tuple[str, ...] = ()
    answer: Answer | None = None

    @property
    def ok(self) -> bool:
        return self.plan is not None and self.report.ok


def chosen(attempts: Sequence[Judged]) -> Judged | None:
    """Return the attempt that counts: the last one with a valid plan, else the last one."""
    valid = next((each for each in reversed(attempts) if each.ok), None)
    return valid or (attempts[-1] if attempts else None)


def no_reply(attempt: int, failure: str) -> Judged:
    """Return the outcome of an attempt to which the model gave no reply."""
    return Judged(attempt, None, Report(()), failure)


def judge_reply(
    attempt: int, text: str, reply: Reply, inputs: CompileInputs, judge: Judge
) -> Judged:
    """Return the outcome of an attempt whose reply `text` was read as `reply`."""
    if inputs.task is not None:
        return _judge_change(attempt, text, reply, inputs, inputs.task, judge)
    verified = _needs_no_script(inputs)
    dropped = left_out(reply.plan, inputs.repo.files, verified=verified)
    kept = skip_bootstrap(reply.plan, inputs.repo.files, verified=verified)
    mended = mend(_traced(kept, inputs), lambda plan: judge(plan, None))
    if dropped or mended.fixes:
        # The findings refer to the plan that is judged, so the model has to see that plan.
        text = json.dumps(mended.plan.document, indent=1, ensure_ascii=False)
    return Judged(
        attempt,
        mended.plan,
        mended.report,
        reply=text,
        fixes=mended.fixes,
        left_out=tuple(render_left_out(draft, verified=verified) for draft in dropped),
    )


def _judge_change(
    attempt: int, text: str, reply: Reply, inputs: CompileInputs, task: FollowUp, judge: Judge
) -> Judged:
    """Return the outcome of a reply that changes the plan before: the whole plan is judged."""
    merged = merge(reply.plan, task, require_coverage=inputs.require_coverage)
    answer = merged.answer
    mended = mend(merged.plan, lambda plan: judge(plan, answer))
    plan = with_history(mended.plan, task.predecessor.landed)
    if mended.fixes:
        text = reply_text(plan, answer)
    return Judged(
        attempt,
        plan,
        mended.report,
        reply=text,
        fixes=mended.fixes,
        left_out=merged.left_out,
        answer=answer,
    )


def _needs_no_script(inputs: CompileInputs) -> bool:
    """Say whether an order for `scripts/verify.sh` is needless: nobody asked for the script."""
    return bool(inputs.repo.verification) and VERIFY_SCRIPT not in inputs.spec.text


def _traced(plan: Plan, inputs: CompileInputs) -> Plan:
    """Return the plan with the spec's requirements, whatever the model wrote there.

    Ids that the spec's author gave always count. Derived ids count only where the plan uses ids,
    or where coverage is required.
    """
    uses_ids = any(draft.order and draft.order.covers for draft in plan.drafts)
    all_count = inputs.require_coverage or uses_ids
    requirements = tuple(each for each in inputs.spec.requirements if all_count or each.given)
    return replace(
        plan,
        requirements=requirements,
        require_coverage=inputs.require_coverage,
        succession=NO_SUCCESSION,
    )
