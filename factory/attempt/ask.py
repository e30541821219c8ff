"""Asks the model for a proposal, and asks again where its reply is not worth judging.

A question asked again is no attempt: nothing has run. There are at most `MAX_QUESTIONS` of them in
an attempt; each is recorded and paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from factory.attempt.state import Attempt, FactoryContext, FactoryState
from factory.judging.brief import brief_of
from factory.judging.verification import verification_of
from factory.orders.documents import AskedAgain
from factory.orders.past_attempt import PastAttempt
from factory.orders.reply_format import ReplyFormat
from factory.orders.retry import MAX_QUESTIONS, Asking, ask_again, first_asking
from factory.orders.stages import Stage
from factory.proposal.doubts import Doubt, DoubtKind, doubt_about, doubt_unreadable
from factory.proposal.plain_prompt import has_plain_prompt, render_plain_prompt
from factory.proposal.prompt import render_prompt
from factory.proposal.read_reply import ProposalInvalid, parse_proposal
from factory.proposal.request import Question, build_request
from factory.proposal.shown import hashes_of, texts_of
from shared.events import ModelAskedAgain
from shared.files.atomic_io import write_text
from shared.llm.client import Completion, ReplyFailed, Request

Complete = Callable[[Request], Completion]

_JUDGEABLE = frozenset({DoubtKind.UNCHANGED, DoubtKind.HOLLOW})


def ask(state: FactoryState, context: FactoryContext, attempt: Attempt, first: Complete) -> Attempt:
    """Return the attempt with the model's proposal, or with a brief that says why it has none.

    The first question goes to `first`, all others to the client of the context.
    """
    models, past = context.options.models, state["past"]
    asking, complete = first_asking(models, past, attempt.number), first
    doubt: Doubt | None = None
    judgeable: Attempt | None = None  # the last reply that only a doubt is against
    while True:
        question = _question(state, context, attempt, asking, doubt)
        attempt = replace(attempt, proposal=None)
        try:
            attempt = _answered(context, attempt, question, complete)
        except ReplyFailed as failed:
            return judgeable or _ended(context, attempt, Stage.EXCEPTION, str(failed))
        except ProposalInvalid as invalid:
            doubt = doubt_unreadable(str(invalid))
        else:
            doubt = doubt_about(attempt.proposed, attempt.shown, past, ())
            if doubt is None or (judgeable and judgeable.proposal == attempt.proposal):
                return attempt
            judgeable = attempt if doubt.kind in _JUDGEABLE else None
        if len(attempt.questions) == MAX_QUESTIONS:
            return judgeable or _given_up(context, attempt, doubt, past)
        attempt = _noted(context, attempt, doubt)
        judgeable = judgeable and replace(judgeable, questions=attempt.questions)
        repeated = doubt.kind is DoubtKind.REPEATED
        asking = ask_again(models, asking, len(attempt.questions), repeated)
        complete = context.client.complete


def _question(
    state: FactoryState,
    context: FactoryContext,
    attempt: Attempt,
    asking: Asking,
    doubt: Doubt | None,
) -> Question:
    order, task = context.order, context.task
    note = doubt.note if doubt else ""
    plain = len(attempt.questions) == MAX_QUESTIONS and has_plain_prompt(order)
    if plain:
        facts = _facts(state["past"], note)
        prompt = render_plain_prompt(order, attempt.shown, task.loaded.known, facts)
        return Question(asking, ReplyFormat.FILES, prompt)
    unreadable = sum(each.reason == DoubtKind.UNREADABLE for each in attempt.questions)
    asked = context.options.models.format_for(state["records"], unreadable)
    checks = verification_of(context.workspace.tree, exempt=task.exempt)
    commands = tuple(check.text for check in checks)
    prompt = render_prompt(
        order, attempt.shown, commands, asked, task.loaded.known, state["past"], note
    )
    return Question(asking, asked, prompt)


def _facts(past: Sequence[PastAttempt], note: str) -> str:
    facts = past[-1].brief.facts if past else ()
    return "\n".join(filter(None, (*facts, note)))


def _answered(
    context: FactoryContext, attempt: Attempt, question: Question, complete: Complete
) -> Attempt:
    """Return the attempt with the proposal in the model's reply.

    Raises `ReplyFailed` if there is no reply, and `ProposalInvalid` if it is not a proposal.
    """
    order, again = context.order, len(attempt.questions)
    folder = context.attempt_folder(attempt)
    write_text(_record(folder, "se_prompt", again), question.prompt, sync=False)
    models, number = context.options.models, attempt.number
    request = build_request(order, number, question, attempt.shown, models)
    completion = complete(request)
    write_text(_record(folder, "raw_llm_response", again), completion.text, sync=False)
    parsed = parse_proposal(
        completion.text,
        question.asked,
        hashes_of(attempt.shown),
        order.allowed_files,
        texts=texts_of(attempt.shown),
        changes=order.changes,
    )
    return replace(
        attempt,
        rung=question.asking.rung,
        temperature=question.asking.temperature,
        model=completion.model,
        repairs=(*completion.adjustments, *parsed.repairs),
        proposal=parsed.proposal,
    )


def _record(folder: Path, name: str, again: int) -> Path:
    return folder / (f"{name}_again_{again}.txt" if again else f"{name}.txt")


def _noted(context: FactoryContext, attempt: Attempt, doubt: Doubt) -> Attempt:
    context.emit(ModelAskedAgain(context.order.id, attempt.number, doubt.kind, doubt.note))
    question = AskedAgain(reason=doubt.kind, note=doubt.note)
    return replace(attempt, questions=(*attempt.questions, question))


def _given_up(
    context: FactoryContext, attempt: Attempt, doubt: Doubt, past: Sequence[PastAttempt]
) -> Attempt:
    """Return the attempt ended, after its last question brought nothing to judge."""
    if doubt.repeats is None:
        return _ended(context, attempt, Stage.LLM_OUTPUT_INVALID, doubt.note)
    earlier = next(each for each in past if each.number == doubt.repeats)
    account = (
        f"The files are those of attempt {earlier.number} again, so they were not judged again. "
        f"It failed with: {earlier.brief.primary_error_excerpt}"
    )
    ended = _ended(context, attempt, Stage.REPEATED, account)
    return replace(ended, repeats=doubt.repeats)


def _ended(context: FactoryContext, attempt: Attempt, stage: Stage, account: str) -> Attempt:
    return replace(attempt, brief=brief_of(stage, context.order, account))
