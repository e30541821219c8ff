"""Asks the model for a proposal, and asks again where its reply is not worth judging.

A question asked again is no attempt: nothing has run. There are at most `MAX_QUESTIONS` of them in
an attempt; each is recorded and paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from factory.attempt.dialogue import Dialogue
from factory.attempt.state import Attempt, FactoryContext, FactoryState
from factory.judging.brief import brief_of
from factory.orders.documents import AskedAgain
from factory.orders.retry import MAX_QUESTIONS, ask_again, first_asking
from factory.orders.stages import Stage
from factory.proposal.doubts import Doubt, DoubtKind
from factory.proposal.focus import focus_of
from factory.proposal.short_prompt import has_short_prompt
from shared.events.attempts import ModelAskedAgain
from shared.llm.client import Completion, ReplyFailed, Request

Complete = Callable[[Request], Completion]

_JUDGEABLE = frozenset({DoubtKind.UNCHANGED, DoubtKind.HOLLOW})


def ask(state: FactoryState, context: FactoryContext, attempt: Attempt, first: Complete) -> Attempt:
    """Return the attempt with the model's proposal, or with a brief that says why it has none.

    The first question goes to `first`, all others to the client of the context. A proposal that
    only a doubt is against is returned after all where no better one comes.
    """
    models, complete = context.options.models, first
    order, shown = context.order, attempt.shown
    is_short = has_short_prompt(order, shown) or focus_of(order, shown) is not None
    asking = first_asking(models, state["past"], attempt.number, is_short=is_short)
    dialogue = Dialogue(context, state, asking)
    doubtful: Attempt | None = None
    while True:
        context.progress.check_cancelled()  # nobody may want the reply any more
        try:
            attempt, doubt = dialogue.ask(attempt, complete)
        except ReplyFailed as failed:
            return doubtful or _ended(context, attempt, Stage.EXCEPTION, str(failed))
        if doubt is None or (doubtful and doubtful.proposal == attempt.proposal):
            return attempt
        if attempt.proposal is not None:
            doubtful = attempt if doubt.kind in _JUDGEABLE else None
        if len(attempt.questions) == MAX_QUESTIONS:
            return doubtful or _given_up(context, attempt, doubt, state)
        attempt = _noted(context, attempt, doubt)
        doubtful = doubtful and replace(doubtful, questions=attempt.questions)
        repeated = doubt.kind is DoubtKind.REPEATED
        dialogue.asking = ask_again(models, dialogue.asking, len(attempt.questions), repeated)
        complete = context.client.complete


def _noted(context: FactoryContext, attempt: Attempt, doubt: Doubt) -> Attempt:
    context.emit(ModelAskedAgain(context.order.id, attempt.number, doubt.kind, doubt.note))
    question = AskedAgain(reason=doubt.kind, note=doubt.note)
    return replace(attempt, questions=(*attempt.questions, question))


def _given_up(
    context: FactoryContext, attempt: Attempt, doubt: Doubt, state: FactoryState
) -> Attempt:
    """Return the attempt ended, after its last question brought nothing to judge."""
    if doubt.repeats is None:
        account = "\n".join(filter(None, (doubt.note, doubt.quote)))
        return _ended(context, attempt, Stage.LLM_OUTPUT_INVALID, account)
    earlier = next(each for each in state["past"] if each.number == doubt.repeats)
    account = (
        f"The files are those of attempt {earlier.number} again, so they were not judged again. "
        f"It failed with: {earlier.brief.primary_error_excerpt}"
    )
    ended = _ended(context, attempt, Stage.REPEATED, account)
    return replace(ended, repeats=doubt.repeats)


def _ended(context: FactoryContext, attempt: Attempt, stage: Stage, account: str) -> Attempt:
    return replace(attempt, brief=brief_of(stage, context.order, account))
