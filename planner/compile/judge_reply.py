"""Turns a reply into a judged plan, and has it reviewed.

Bootstrap orders are left out. A fault with one certain remedy is repaired here, without asking
the model again.

A reviewer may be wrong or talk nonsense. So a claim counts only where it names an order, quotes
something that the order really contains, and gives a command word for word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from planner.compile.patches import in_short
from planner.plan.parse_plan import NO_SUCCESSION, Draft, Plan, Reply, strings, with_history
from planner.plan.plan_edits import (
    completed,
    left_out,
    plan_of_change,
    render_left_out,
    skip_bootstrap,
)
from planner.prompts.prompt_templates import render_review
from planner.replan.merge_plans import Answer, merge, reply_text
from planner.replan.removal import with_removals
from planner.replan.replan_prompt import render_difference, render_own
from planner.rules.acceptance import runs_all_of
from planner.rules.chain import steering_files
from planner.rules.judge_plan import Report, judge, judge_answer
from planner.rules.repair import Fix, repair_plan
from shared.files.paths import VERIFY_SCRIPT
from shared.files.strict_documents import JsonProblem, JsonValue, at, parse_json
from shared.languages.acceptance_commands import analyse_command
from shared.languages.registry import language_of
from shared.llm.model_client import ReplyMalformed, extract_json_array, extract_json_object

if TYPE_CHECKING:
    from planner.compile.dry_run import DryRun
    from planner.compile.inputs import CompileInputs, RepoInputs
    from planner.plan.plan_edits import Change
    from planner.replan.predecessor import FollowUp
    from shared.languages.language_tools import Tools
    from shared.work_order.work_order import WorkOrder

Judge = Callable[[Plan, Answer | None], Report]
"""Applies all rules to a plan; the answer is `None` if the plan follows none."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold the outcome of one attempt: the plan as far as it could be read, and its report.

    `plan` is `None` if there was no reply at all; `failure` then has the model layer's words.
    `reply` is the text that the next prompt shows as this attempt's reply. `left_out` has a
    sentence for each order that sets up what the repo already has. `answer` is what the reply
    changes in the plan before, for a plan that follows one. An outline is never a valid plan.
    `lost` are the orders that were asked for together and in vain. `cut` are the prompts whose
    replies were longer than the model can reply at once.
    """

    attempt: int
    plan: Plan | None
    report: Report
    failure: str = ""
    reply: str = ""
    fixes: tuple[Fix, ...] = ()
    left_out: tuple[str, ...] = ()
    answer: Answer | None = None
    is_outline: bool = False
    lost: tuple[tuple[str, ...], ...] = ()
    cut: frozenset[str] = frozenset()

    @property
    def is_cut(self) -> bool:
        return self.plan is None and bool(self.cut)

    @property
    def ok(self) -> bool:
        return self.plan is not None and self.report.ok and not self.is_outline


def chosen(attempts: Sequence[Judged]) -> Judged | None:
    """Return the attempt that counts: the last one with a valid plan, else the last one."""
    valid = next((each for each in reversed(attempts) if each.ok), None)
    return valid or (attempts[-1] if attempts else None)


def no_reply(attempt: int, failure: str) -> Judged:
    """Return the outcome of an attempt to which the model gave no reply."""
    return Judged(attempt, None, Report(()), failure)


def judge_reply(
    attempt: int,
    text: str,
    reply: Reply,
    inputs: CompileInputs,
    judge: Judge,
    *,
    joins: bool = False,
) -> Judged:
    """Return the outcome of an attempt whose reply `text` was read as `reply`.

    With `joins`, orders of the plan that are too small are joined.
    """
    reply = replace(reply, plan=completed(reply.plan))
    if inputs.task is not None:
        return _judge_change(attempt, text, reply, inputs, inputs.task, judge)
    if inputs.change is not None:
        reply = replace(reply, plan=_as_one_order(reply.plan, inputs.change, inputs.repo))
    verified = bool(inputs.repo.verification) and VERIFY_SCRIPT not in inputs.spec.text
    dropped = left_out(reply.plan, inputs.repo.files, verified=verified)
    kept = skip_bootstrap(reply.plan, inputs.repo.files, verified=verified)
    traced = _traced(kept, inputs)
    repaired = repair_plan(traced, lambda plan: judge(plan, None), joins=joins)
    if dropped or repaired.fixes:
        # The findings refer to the plan that is judged, so the model has to see that plan.
        text = json.dumps(repaired.plan.document, indent=1, ensure_ascii=False)
    return Judged(
        attempt,
        repaired.plan,
        repaired.report,
        reply=text,
        fixes=repaired.fixes,
        left_out=tuple(render_left_out(draft, verified=verified) for draft in dropped),
    )


def _as_one_order(plan: Plan, change: Change, repo: RepoInputs) -> Plan:
    whole = [each for each in change.tests if runs_all_of(analyse_command(each), repo.verification)]
    return plan_of_change(plan, change, repo.files, whole)


def _judge_change(
    attempt: int, text: str, reply: Reply, inputs: CompileInputs, task: FollowUp, judge: Judge
) -> Judged:
    """Return the outcome of a reply that changes the plan before: the whole plan is judged."""
    removing, added = with_removals(reply.plan, task, inputs.repo.sources, inputs.repo.files)
    made = tuple(Fix("E313", order, at(field), None, what) for order, field, what in added)
    merged = merge(removing, task, require_coverage=inputs.require_coverage)
    answer = merged.answer
    repaired = repair_plan(merged.plan, lambda plan: judge(plan, answer))
    plan = with_history(repaired.plan, task.predecessor.landed)
    fixes = (*made, *repaired.fixes)
    if fixes:
        text = reply_text(plan, answer)
    return Judged(
        attempt,
        plan,
        repaired.report,
        reply=text,
        fixes=fixes,
        left_out=merged.left_out,
        answer=answer,
    )


def _traced(plan: Plan, inputs: CompileInputs) -> Plan:
    """Return the plan with the spec's requirements, whatever the model wrote there.

    Ids that the spec's author gave always count. Derived ids count only where the plan uses ids,
    or where coverage is required.
    """
    uses_ids = any(draft.order and draft.order.covers for draft in plan.drafts) or any(
        each.requirements for each in plan.assumptions
    )
    all_count = inputs.require_coverage or uses_ids
    requirements = tuple(each for each in inputs.spec.requirements if all_count or each.given)
    return replace(
        plan,
        requirements=requirements,
        require_coverage=inputs.require_coverage,
        succession=NO_SUCCESSION,
    )


@dataclass(slots=True)
class PlanJudge:
    """Judge plans for the repo of `inputs`; `tools` stay warm from plan to plan.

    The plan that a new one follows is judged once. What no rule refuses goes through `dry_run`.
    """

    inputs: CompileInputs
    tools: Tools
    dry_run: DryRun | None = None
    _before: Report | None = field(default=None, init=False)

    def __call__(self, plan: Plan, answer: Answer | None) -> Report:
        """Return the report on a plan; `answer` is what a reply changes in the plan before."""
        if answer is None:
            report = self._judge(plan, None)
        else:
            before = self.before(answer.task)
            report = judge_answer(plan, answer, lambda each: self._judge(each, answer), before)
        if self.dry_run is None or not report.ok:
            return report
        return report.with_more(self.dry_run.findings(plan, answer.own if answer else None))

    def before(self, task: FollowUp) -> Report:
        """Return the report on the orders of the plan before that have not landed."""
        if self._before is None:
            self._before = self._judge(task.predecessor.plan, None)
        return self._before

    def _judge(self, plan: Plan, answer: Answer | None) -> Report:
        repo, task = self.inputs.repo, self.inputs.task
        return judge(
            plan,
            repo.files,
            repo.sources,
            allowed=self.inputs.allowed,
            verification=repo.verification,
            tools=self.tools,
            history=task.predecessor.landed if task is not None else (),
            answer=answer,
        )


def remarks_on(task: FollowUp, *, template: bool) -> Iterator[str]:
    """Yield a sentence on each doubt about the change; `template` says that the user names one."""
    difference = task.difference
    yield from difference.doubts
    if difference.removed and not (difference.untouched or difference.changed):
        yield (
            f"the specification has no requirement of the plan in {task.predecessor.folder}: "
            "if it is another product's, plan it without that plan"
        )
    if template:
        yield "--template has no effect on a plan that follows another one"


def remarks_on_kept(before: Report, task: FollowUp) -> Iterator[str]:
    """Yield a sentence on each error of an order that is kept: no new order is blamed for it."""
    replaceable = {*task.replaceable}
    for each in before.errors:
        if each.position and each.order not in replaceable:
            yield f"{each.order} is kept and does not fit the branch: {each.render()}"


MAX_ROUNDS: Final = 2
# A plan with more contradictions than this shows the same misunderstanding over and over.
MAX_CLAIMS: Final = 30
MAX_CLAIM_CHARACTERS: Final = 600
# Nearly every order contains shorter quotes, so they prove nothing.
MIN_EVIDENCE_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Claim:
    """Represent a fault that a reviewer claims: the order, its command, and the evidence."""

    work_order: str
    command: str | None
    claim: str
    evidence: str

    def render(self) -> str:
        """Return the claim on one line."""
        where = f"{self.work_order}, command {self.command}" if self.command else self.work_order
        return " ".join(f"{where}: {self.claim} (evidence: {self.evidence})".split())


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Represent a claim that does not count: the claim as given, and the reason."""

    claim: JsonValue
    reason: str


@dataclass(frozen=True, slots=True)
class Review:
    """Hold the outcome of one round of review.

    `failure` says why the reply could not be used; it is empty if the reply could be used.
    """

    claims: tuple[Claim, ...] = ()
    dismissed: tuple[Dismissed, ...] = ()
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document of `reviewer_errors.json`."""
        return {
            "failure": self.failure or None,
            "claims": [asdict(each) for each in self.claims],
            "dismissed": [asdict(each) for each in self.dismissed],
        }


_WEAK: Final = frozenset({"W230", "W231", "W232", "W233", "W235", "W237"})


def orders_at_risk(plan: Plan, report: Report) -> frozenset[str]:
    """Return the orders that a reviewer may find a fault in where the rules can find none.

    Their tests are weak, no test or command of theirs uses a name that they declare, or the plan
    says that they rest on what the specification leaves open.
    """
    weak = {each.order for each in report.warnings if each.code in _WEAK}
    unused = {each.label for each in plan.drafts if each.order and _is_untried(each.order)}
    stated = plan.document.get("assumptions") if isinstance(plan.document, dict) else None
    resting = {
        str(name)
        for each in (stated if isinstance(stated, list) else ())
        if isinstance(each, dict) and each.get("kind") != "assumption"
        for _, name in strings(each.get("work_orders"))
    }
    there = {each.label for each in plan.drafts if not each.landed}
    return frozenset((weak | unused | resting) & there)


def _is_untried(order: WorkOrder) -> bool:
    """Say whether an order declares names of which its tests and commands use none."""
    texts = (*order.acceptance_commands, *(each.text for each in order.acceptance_files))
    used = {word for text in texts for word in re.findall(r"\w+", text)}
    names = {
        name
        for each in order.interfaces
        if (language := language_of(each.path)) is not None and language.edits is not None
        for name in language.edits.defined_names(each.stub)
    }
    return bool(names) and names.isdisjoint(used)


def review_prompt(
    spec_text: str, plan: Plan, answer: Answer | None = None, only: Collection[str] | None = None
) -> str:
    """Return the reviewer's prompt: the spec, the plan, and the form of a claim.

    Where the plan follows another one, both are cut down to what the `answer` changes. With `only`,
    all other orders are shown by what orders rely on in them.
    """
    if answer is not None:
        return render_review(
            render_difference(answer.task), render_own(plan, answer), _steering(plan)
        )
    orders: list[JsonValue] = [
        dict(each.raw) if only is None or each.label in only else in_short(each.raw)
        for each in plan.drafts
    ]
    shown = {"system_overview": list(plan.overview), "work_orders": orders}
    return render_review(
        spec_text, json.dumps(shown, indent=1, ensure_ascii=False), _steering(plan)
    )


def _steering(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each allowed file that can decide how tests end."""
    return tuple(
        f"{draft.label} may write {path}, which {how}."
        for draft in plan.drafts
        if draft.order is not None and not draft.landed
        for _, path, how in steering_files(draft.order)
    )


def read_review(text: str, plan: Plan, answer: Answer | None = None) -> Review:
    """Return the review in a reviewer's reply: which claims count for `plan`. Never raises.

    Where the plan follows another one, only claims on orders of the `answer` count.

    The list of findings may be in an object, as the prompt asks, or may be the whole reply: the
    prompt says that `[]` is a good answer.
    """
    if answer is not None:
        own = answer.own
        drafts = (each for each in plan.drafts if each.position in own)
        plan = replace(plan, drafts=tuple(drafts))
    review = _read_object(text, plan)
    if not review.failure:
        return review
    return _read_array(text, plan) or review


def _read_object(text: str, plan: Plan) -> Review:
    try:
        document = parse_json(extract_json_object(text))
    except ReplyMalformed as problem:
        return Review(failure=problem.reason)
    except JsonProblem as problem:
        return Review(failure=str(problem))
    match document:
        case {"findings": [*found]}:
            return _sifted(found, plan)
        case _:
            return Review(failure="the reply has no list of findings")


def _read_array(text: str, plan: Plan) -> Review | None:
    """Return the review in a reply that is the list itself; `None` if the reply has no list."""
    try:
        document = parse_json(extract_json_array(text))
    except (ReplyMalformed, JsonProblem):
        return None
    return _sifted(document, plan) if isinstance(document, list) else None


def _sifted(found: list[JsonValue], plan: Plan) -> Review:
    counted: dict[Claim, None] = {}
    dismissed: list[Dismissed] = []
    for entry in found[:MAX_CLAIMS]:
        claim = parse_claim(entry)
        reason = "is not of the form asked for" if claim is None else dismissal(claim, plan)
        if claim is not None and reason is None:
            counted[claim] = None
        else:
            dismissed.append(Dismissed(entry, reason or ""))
    beyond = f"comes after the first {MAX_CLAIMS} claims"
    dismissed += [Dismissed(each, beyond) for each in found[MAX_CLAIMS:][:MAX_CLAIMS]]
    return Review(tuple(counted), tuple(dismissed))


def parse_claim(entry: JsonValue) -> Claim | None:
    """Return a reviewer's finding as a claim; `None` if it does not have the form of one."""
    match entry:
        case {"work_order": str(order), "claim": str(claim), "evidence": str(evidence), **rest} if (
            claim.strip()
        ):
            command = rest.get("command")
            if command is None or isinstance(command, str):
                return Claim(order, command or None, claim[:MAX_CLAIM_CHARACTERS], evidence)
    return None


def dismissal(claim: Claim, plan: Plan) -> str | None:
    """Return why a claim does not count; `None` if it does."""
    draft = next((each for each in plan.drafts if each.label == claim.work_order), None)
    if draft is None:
        return "names an order that the plan does not have"
    if claim.command is not None and claim.command not in dict(draft.commands()).values():
        return "names a command that the order does not have"
    quote = _one_line(claim.evidence)
    if len(quote) < MIN_EVIDENCE_CHARACTERS:
        return f"quotes fewer than {MIN_EVIDENCE_CHARACTERS} characters"
    if not any(quote in _one_line(text) for text in _texts(draft)):
        return "quotes a text that is not in the order"
    return None


def _texts(draft: Draft) -> Iterator[str]:
    """Yield the texts that can be quoted from an order: its JSON, and each text in it."""
    yield json.dumps(draft.raw, ensure_ascii=False)
    yield json.dumps(draft.raw, indent=1, ensure_ascii=False)
    pending: list[JsonValue] = [dict(draft.raw)]
    while pending:
        match pending.pop():
            case str(text):
                yield text
            case list(entries):
                pending.extend(entries)
            case dict(fields):
                pending.extend(fields.values())
            case _:
                pass


def _one_line(text: str) -> str:
    return " ".join(text.split())
