"""Runs the loop: ask, judge, ask again, review; makes its first prompt.

`planner.run_plan` has the stages before the loop and after it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from planner.compile.judge_reply import (
    MAX_ROUNDS,
    Claim,
    Judge,
    Judged,
    Review,
    judge_reply,
    no_reply,
    orders_at_risk,
    read_review,
    review_prompt,
)
from planner.compile.patches import Ask, put_together
from planner.compile.stages import Stage, StageKind, claim_asks, judge_outlined, next_asks
from planner.plan.parse_plan import Reply, read_reply
from planner.plan.plan_edits import order_without_model, read_test_reply
from planner.prompts.prompt_templates import (
    render,
    render_change,
    render_languages,
    render_outline,
    render_replan,
    render_test,
)
from planner.replan import replan_prompt
from planner.repo.looks import parse_looks
from planner.repo.planned_repo import name_commands, render_commands
from planner.spec.requirements import render_requirements, with_ids
from shared.errors import Interrupted, LlmchError, ModelUnavailable
from shared.llm.model_client import (
    Completion,
    LlmClient,
    ReplyCutShort,
    ReplyFailed,
    Request,
    Role,
)
from shared.llm.replayed_replies import NotOnRecord
from shared.work_order.work_order import order_id

if TYPE_CHECKING:
    from planner.compile.compile_record import CompileRecord
    from planner.compile.inputs import CompileInputs, PlannerModel
    from planner.plan.parse_plan import Plan
    from planner.plan.plan_edits import Change
    from planner.replan.predecessor import FollowUp
    from planner.repo.looks import Looks


def first_prompt(inputs: CompileInputs) -> str:
    """Return the prompt of the first attempt."""
    if inputs.task is not None:
        return _change_prompt(inputs, inputs.task)
    if inputs.change is not None and inputs.change.new_test is not None:
        return _test_prompt(inputs)
    if inputs.change is not None:
        return render_change(
            inputs.change.render(shown=inputs.repo.whole),
            inputs.repo.hints,
            name_commands(inputs.repo.verification),
            tests_given=bool(inputs.change.tests),
        )
    template, spec = inputs.template, inputs.spec
    shows_ids = "{{REQUIREMENTS}}" in template.text
    own = [each for each in spec.requirements if not each.file]  # the text of files shows the rest
    return render(
        template,
        with_ids(spec.text, own) if shows_ids else spec.text,
        inputs.doctrine,
        inputs.surroundings,
        render_requirements(spec.requirements, all_needed=inputs.require_coverage),
        render_commands(inputs.repo.verification),
        render_languages(spec.text, inputs.repo.files, inputs.machine, inputs.repo.sources),
    )


def _test_prompt(inputs: CompileInputs, findings: Sequence[str] = ()) -> str:
    """Return the question for the test of a change alone; `findings` refused the last reply."""
    change = inputs.change
    assert change is not None and change.new_test is not None
    asked, test = change.render(shown=inputs.repo.whole), change.new_test
    return render_test(asked, inputs.repo.hints, test.asked, findings)


def _change_prompt(inputs: CompileInputs, task: FollowUp) -> str:
    return render_replan(
        {
            "DIFFERENCE": replan_prompt.render_difference(task),
            "ORDERS": replan_prompt.render_orders(task),
            "NEXT_ID": order_id(task.predecessor.last_number + 1),
            "REPLACEABLE": replan_prompt.render_replaceable(task),
            "WITHDRAWN": replan_prompt.render_withdrawable(task),
        },
        inputs.surroundings,
        render_commands(inputs.repo.verification),
        render_languages(
            replan_prompt.relevant_words(task),
            inputs.repo.files,
            inputs.machine,
            inputs.repo.sources,
        ).text,
    )


_WARM: Final = 0.8
_TEST: Final = 1_024
"""The tokens that a first reply with one test may have, reasoning included."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """Hold what stays the same from attempt to attempt; `judge` applies all rules to a plan."""

    inputs: CompileInputs
    model: PlannerModel
    reviewer: PlannerModel | None
    client: LlmClient
    judge: Judge
    record: CompileRecord
    max_attempts: int
    looks: Looks
    at_once: int = 1
    """How many questions of an attempt are under way at a time."""
    review_all: bool = True
    """Whether the reviewer reads all orders of a valid plan, or only those at risk."""
    is_staged: bool | None = False
    """`None` has a plan made in stages where one reply turns out to be too long for it."""


def compile_plan(compilation: Compilation) -> Iterator[Judged]:
    """Ask for a plan until one is valid or the attempts are used up; yield each attempt's outcome.

    The reviewer, if there is one, reads a valid plan, and the model revises the plan where claims
    count. `planner.compile.judge_reply.chosen` returns the attempt whose plan is used. Raises the
    model layer's errors where asking again would not help; once a plan is valid, raises only
    `Interrupted` and `NotOnRecord`.
    """
    looks, inputs = compilation.looks, compilation.inputs
    stage = Stage(StageKind.WHOLE, first_prompt(inputs), looks)
    if inputs.change is not None and inputs.change.new_test is not None:
        stage = replace(stage, again=lambda findings: _test_prompt(inputs, findings))
    last, is_staged, number = None, bool(compilation.is_staged), 1
    if (known := order_without_model(inputs.change)) is not None:
        yield (last := _without_model(compilation, stage, known))
        if last.ok:
            return
        number = 2
    if not is_staged:
        for last in _until_valid(compilation, stage, (Ask(stage.first),), number):
            yield last
            if is_staged := last.is_cut and compilation.is_staged is None:
                break
    if is_staged:
        number = last.attempt + 1 if last else 1
        stage = Stage(StageKind.DETAILS, stage.prompt, looks)
        for last in _in_stages(compilation, stage, number):
            yield last
    if compilation.reviewer is not None and last is not None and last.ok:
        yield from _reviewed(compilation, compilation.reviewer, stage, last)


def _without_model(compilation: Compilation, stage: Stage, order: Reply) -> Judged:
    """Judge an order that follows from what the person said, as the first attempt."""
    compilation.record.begin_attempt(1, (), stage.kind)
    judged = _judged(compilation, stage, ((Ask(""), order.source, order),), 1, "")
    compilation.record.end_attempt(judged, stage.kind)
    return judged


def _in_stages(compilation: Compilation, details: Stage, number: int) -> Iterator[Judged]:
    """Have an outline made, in attempts from `number`, and then its details."""
    first = render_outline(details.prompt)
    outline = Stage(StageKind.OUTLINE, first, details.looks, details.prompt)
    last: Judged | None = None
    for last in _until_valid(compilation, outline, (Ask(outline.first),), number):
        yield last
    if last is not None and last.plan is not None and last.report.ok and not last.ok:
        asks = next_asks(details, last)
        yield from _until_valid(compilation, details, asks, last.attempt + 1, last)


def _until_valid(
    compilation: Compilation,
    stage: Stage,
    asks: Sequence[Ask],
    number: int,
    refused: Judged | None = None,
) -> Iterator[Judged]:
    """Make at least one attempt, numbered from `number`, until one is valid or none is left.

    The first of these attempts asks `asks`, for a revision of `refused` where there is one. A plan
    that was refused before ends the attempts: asking again would bring it once more. So does a
    reply that was cut, where nothing less can be asked for: the client gave it more room already.
    """
    seen: dict[str, int] = {}
    begun = number - 1 if refused is not None and refused.is_outline else 0
    for attempt in range(number, max(begun + compilation.max_attempts, number) + 1):
        try:
            judged = _attempt(compilation, stage, asks, attempt, refused)
        except ModelUnavailable as error:
            yield no_reply(attempt, error.message)
            raise
        yield judged
        if judged.ok or (judged.is_outline and judged.report.ok):
            return
        if judged.plan is not None:
            earlier = seen.setdefault(_refusal(judged.plan, judged), attempt)
            if earlier < attempt and not judged.lost:
                compilation.record.stop_repeating(attempt, earlier)
                return
            if refused is None or judged.plan.is_json:
                refused = judged
        if refused is not None and (judged.plan is not None or judged.lost):
            asks = next_asks(stage, refused, judged) or asks
        if stage.again is None and any(each.prompt in judged.cut for each in asks):
            compilation.record.stop_cut(attempt)
            return


def _refusal(plan: Plan, judged: Judged) -> str:
    """Return a text that is equal where a plan is refused twice alike."""
    said = judged.reply if not plan.is_json else json.dumps(plan.document, sort_keys=True)
    return "\n".join((*judged.report.render(), said))


def _attempt(
    compilation: Compilation,
    stage: Stage,
    asks: Sequence[Ask],
    attempt: int,
    refused: Judged | None,
) -> Judged:
    """Ask once: prompts -> replies -> plan -> report; a patch is put into the `refused` reply."""
    record, may_look = compilation.record, refused is None and stage.kind is not StageKind.DETAILS
    prompts = [each.prompt for each in asks]
    if may_look:
        asks = [replace(each, prompt=stage.looks.offered(stage.prompt)) for each in asks]
    record.begin_attempt(attempt, asks, stage.kind)
    requests = _requests(compilation, stage, asks, attempt)
    failures, said, lost = [], [], []
    outcomes = _side_by_side(compilation.client, requests, compilation.at_once)
    if may_look:
        outcomes = [_looked(compilation, stage, attempt, requests[0].prompt, outcomes[0])]
    for ask, outcome in zip(asks, outcomes, strict=True):
        if isinstance(outcome, ReplyFailed):
            record.add_lost_reply(attempt, outcome, ask)
            failures.append(outcome.message)
            if (begun := _begun_test(compilation.inputs.change, outcome)) is not None:
                said.append((ask, begun.source, begun))
        else:
            record.add_reply(attempt, outcome, ask)
            said.append((ask, outcome.text, _read(compilation.inputs.change, outcome.text)))
        if ask.orders and (isinstance(outcome, ReplyFailed) or not said[-1][-1].plan.is_json):
            lost.append(ask.orders)
    if said:
        judged = _judged(compilation, stage, said, attempt, refused.reply if refused else "")
    else:
        judged = no_reply(attempt, failures[0])
    cut = (each for each, o in zip(prompts, outcomes, strict=True) if isinstance(o, ReplyCutShort))
    judged = replace(judged, lost=tuple(lost), cut=frozenset(cut))
    record.end_attempt(judged, stage.kind)
    return judged


def _requests(
    compilation: Compilation, stage: Stage, asks: Sequence[Ask], attempt: int
) -> list[Request]:
    model, shared = _model_for(compilation, attempt), stage.shared(attempt)
    model = model.for_details() if stage.kind is StageKind.DETAILS else model
    return [
        replace(
            model.request(each.prompt, attempt, order=each.name),
            shared=shared,
            in_parts=len(each.orders) > 1,
        )
        for each in asks
    ]


def _model_for(compilation: Compilation, attempt: int) -> PlannerModel:
    """Return the model as an attempt asks it.

    A small model that writes a test alone has less room at first, because it may repeat itself; one
    that reasons may need the rest. Later it is asked warmly: else it says the same again.
    """
    model, change = compilation.model, compilation.inputs.change
    if change is None or change.new_test is None:
        return model
    if attempt > 1:
        return replace(model, temperature=max(model.temperature or 0.0, _WARM))
    return replace(model, max_output_tokens=min(model.max_output_tokens or _TEST, _TEST))


def _looked(
    compilation: Compilation,
    stage: Stage,
    attempt: int,
    prompt: str,
    outcome: Completion | ReplyFailed,
) -> Completion | ReplyFailed:
    """Answer the looks that replies ask for, and return the first reply that asks for none.

    `outcome` is the reply to `prompt`. Where no look is left, whatever comes counts as a plan.
    """
    looks = stage.looks
    while looks.left and isinstance(outcome, Completion):
        items = parse_looks(outcome.text)
        if items is None:
            break
        seen = looks.answer(items)
        compilation.record.add_look(attempt, looks, seen, prompt, outcome)
        looks.have_answered()
        prompt = looks.offered(stage.prompt)
        compilation.record.begin_call(attempt, prompt)
        request = compilation.model.request(prompt, attempt, Role.LOOK)
        request = replace(request, shared=stage.shared(attempt + 1))
        outcome = _asked(compilation.client, request)
        if isinstance(outcome, Completion):
            looks.spent += outcome.usage
    return outcome


def _begun_test(change: Change | None, failed: ReplyFailed) -> Reply | None:
    """Return what a reply that was cut has of a test; `None` where it has no whole one."""
    if change is None or change.new_test is None or not isinstance(failed, ReplyCutShort):
        return None
    reply = read_test_reply("".join(failed.lost[-1:]), change, change.new_test)
    return reply if reply.plan.is_json else None


def _read(change: Change | None, text: str) -> Reply:
    if change is None or change.new_test is None:
        return read_reply(text)
    return read_test_reply(text, change, change.new_test)


def _judged(
    compilation: Compilation,
    stage: Stage,
    said: Sequence[tuple[Ask, str, Reply]],
    attempt: int,
    before: str,
) -> Judged:
    """Return the outcome of an attempt: its replies are put together and judged."""
    inputs, judge = compilation.inputs, compilation.judge
    readable = [(ask, reply) for ask, _, reply in said if reply.plan.is_json]
    made = put_together(
        before, readable or [(said[0][0], said[0][2])], renumber=inputs.task is None
    )
    compilation.record.add_document(attempt, made.reply)
    if stage.kind is not StageKind.WHOLE:
        return judge_outlined(attempt, made, inputs, judge, stage.kind)
    text = said[0][1] if made.reply is said[0][2] else made.reply.source
    joins = inputs.change is None
    return judge_reply(attempt, text, made.reply, inputs, judge, joins=joins)


def _side_by_side(
    client: LlmClient, requests: Sequence[Request], at_once: int
) -> list[Completion | ReplyFailed]:
    """Return the reply to each request, or why there is none.

    An error that ends the planning is raised once the calls under way have ended, since they are
    paid for; an interrupt waits for none of them.
    """
    if len(requests) == 1 or at_once == 1:
        return [_asked(client, each) for each in requests]
    futures = [Future[Completion | ReplyFailed]() for _ in requests]
    turns, lock = zip(futures, requests, strict=True), threading.Lock()
    fatal: list[BaseException] = []

    def work() -> None:
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            future, request = turn
            try:
                if fatal:
                    raise fatal[0]
                future.set_result(_asked(client, request))
            except BaseException as error:
                fatal.append(error)
                future.set_exception(error)

    for _ in requests[:at_once]:
        # A daemon that waits for a model does not keep an interrupted run alive.
        threading.Thread(target=work, name="plan", daemon=True).start()
    wait(futures)
    return [each.result() for each in futures]


def _asked(client: LlmClient, request: Request) -> Completion | ReplyFailed:
    try:
        return client.complete(request)
    except ReplyFailed as failed:
        return failed


def _reviewed(
    compilation: Compilation, reviewer: PlannerModel, stage: Stage, valid: Judged
) -> Iterator[Judged]:
    """Have a valid plan reviewed and revised, and yield the attempts that the revisions take.

    An error here leaves the valid plan as it is.
    """
    attempt = valid.attempt
    try:
        for number in range(1, MAX_ROUNDS + 1):
            claims = _review(compilation, reviewer, valid, number)
            if not claims:
                return
            asks = claim_asks(stage, valid, claims)
            revised = valid
            for revised in _until_valid(compilation, stage, asks, attempt + 1, valid):
                yield revised
            attempt = revised.attempt
            if not revised.ok:
                compilation.record.keep_plan("its revision is not valid")
                return
            if valid.plan and revised.plan and valid.plan.document == revised.plan.document:
                return  # the model did not accept the claims; the reviewer would only repeat them
            valid = revised
    except (Interrupted, NotOnRecord):
        raise
    except LlmchError as error:
        compilation.record.keep_plan(error.message)


def _review(
    compilation: Compilation, reviewer: PlannerModel, valid: Judged, number: int
) -> tuple[Claim, ...]:
    """Make one round of review and return the claims that count."""
    assert valid.plan is not None, "a valid plan was parsed"
    record, spec = compilation.record, compilation.inputs.spec.text
    only = None if compilation.review_all else orders_at_risk(valid.plan, valid.report)
    if only is not None and not only:
        return ()
    prompt = review_prompt(spec, valid.plan, valid.answer, only)
    record.begin_review(number, prompt)
    try:
        completion = compilation.client.complete(reviewer.request(prompt, number, Role.REVIEWER))
    except ReplyFailed as failed:
        record.add_lost_review(number, failed)
        review = Review(failure=failed.message)
    else:
        record.add_review_reply(number, completion)
        review = read_review(completion.text, valid.plan, valid.answer)
    record.end_review(number, review)
    return review.claims
