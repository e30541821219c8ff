"""Asks the model for one attempt: prompt, questions, replies.

A question asked again is not an attempt: nothing has run. There are at most `MAX_QUESTIONS` of them
in an attempt; each is recorded and paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from factory.attempt.attempt_state import Attempt, FactoryState, Step
from factory.judging.contract import elisions_in, notes_on
from factory.judging.environment_faults import Fault
from factory.judging.failure_brief import (
    brief_of,
    brief_of_fault,
    brief_of_repetition,
    quote_reply,
)
from factory.orders.documents import (
    AgentRecord,
    AskedAgain,
    Form,
    Offer,
    ReplyFormat,
)
from factory.orders.model_choice import (
    MAX_QUESTIONS,
    AskedModel,
    ask_again,
    first_model,
)
from factory.orders.stages import Stage
from factory.proposal.edit_blocks import form_of
from factory.proposal.prompt import (
    doubt_about_parts,
    has_short_prompt,
    render_prompt,
    render_short_prompt,
    show_more_of,
)
from factory.proposal.read_reply import (
    BlocksRefused,
    Doubt,
    DoubtKind,
    ProposalInvalid,
    ReplyReader,
    doubt_about,
    doubt_left_out,
    doubt_refused,
    doubt_unreadable,
)
from factory.proposal.reply_formats import parse_claim
from factory.proposal.request import Question, build_request, offer_for
from factory.proposal.shown_code import (
    Focus,
    focus_of,
    parse_show_request,
)
from shared.errors import EnvironmentFault
from shared.events.events import ModelAskedAgain
from shared.files.atomic_io import write_text
from shared.llm.model_access import is_small
from shared.llm.model_client import Completion, ReplyFailed, Request
from shared.llm.replayed_replies import NotOnRecord


@dataclass(slots=True)
class Dialogue:
    """Hold how the model is asked next, and what its last reply left open."""

    step: Step
    state: FactoryState
    asked: AskedModel
    _reader: ReplyReader = field(init=False)
    _doubt: Doubt | None = None
    _focused: bool = False
    """Whether the last question asked for one definition alone."""

    def __post_init__(self) -> None:
        self._reader = ReplyReader(self.step.order)

    def ask(
        self, attempt: Attempt, complete: Callable[[Request], Completion]
    ) -> tuple[Attempt, Doubt | None]:
        """Return the attempt with the reply's proposal, if it has one, and the doubt about it.

        Raises `ReplyFailed` if the model did not reply.
        """
        step, question = self.step, self._question(attempt)
        models = step.run.options.models
        request = build_request(step.order, attempt.number, question, attempt.shown, models)
        return self.put(attempt, question, request, complete)

    def put(
        self,
        attempt: Attempt,
        question: Question,
        request: Request,
        complete: Callable[[Request], Completion],
    ) -> tuple[Attempt, Doubt | None]:
        """Put one question by the request given for it; all else is as in `ask`."""
        step, again = self.step, len(attempt.questions)
        self._focused = question.focus is not None
        folder = step.attempt_folder(attempt)
        write_text(_record(folder, "se_prompt", again), question.prompt, sync=False)
        said = attempt.conventions
        quoted = said if said and said.introduction in question.prompt else None
        raw = _record(folder, "raw_llm_response", again)
        try:
            completion = complete(request)
        except ReplyFailed as failed:
            for text in failed.lost[-1:]:
                write_text(raw, text, sync=False)
            raise
        write_text(raw, completion.text, sync=False)
        attempt = replace(
            attempt,
            rung=self.asked.rung,
            temperature=self.asked.temperature,
            model=completion.model,
            repairs=completion.adjustments,
            replies=(*attempt.replies, question.on_record(completion.text, completion.model)),
            quoted=quoted,
            proposal=None,
        )
        is_own = request.perform is not None  # made of files that somebody has written
        attempt, self._doubt = self._read(attempt, completion.text, question, is_own=is_own)
        return attempt, self._doubt

    def _read(
        self, attempt: Attempt, reply: str, question: Question, *, is_own: bool
    ) -> tuple[Attempt, Doubt | None]:
        if wanted := parse_show_request(reply):
            more = show_more_of(attempt.shown, wanted)
            return replace(attempt, shown=more), doubt_about_parts(attempt.shown, wanted)
        if claim := parse_claim(reply):
            return replace(attempt, claim=claim), None
        try:
            parsed = self._reader.read(reply, attempt.shown, question.offer.format, question.focus)
        except BlocksRefused as refused:
            misfits = {(each.block.path, form_of(each.block)) for each in refused.refusals}
            attempt = replace(attempt, misfits=attempt.misfits | misfits)
            return attempt, doubt_refused(refused, with_format=question.focus is None)
        except ProposalInvalid as invalid:
            return attempt, doubt_unreadable(str(invalid), quote_reply(reply))
        if not is_own and (left_out := next(elisions_in(parsed.proposal, attempt.shown), "")):
            return attempt, doubt_left_out(left_out, quote_reply(reply))
        repairs = (*attempt.repairs, *parsed.repairs)
        attempt = replace(attempt, proposal=parsed.proposal, repairs=repairs)
        hollow = notes_on(self.step.order, parsed.proposal, attempt.shown)
        return attempt, doubt_about(parsed.proposal, attempt.shown, self.state["past"], hollow)

    def _question(self, attempt: Attempt) -> Question:
        order, task, past = self.step.order, self.step.task, self.state["past"]
        note, known = self._doubt.note if self._doubt else "", task.loaded.known
        commands = tuple(check.text for check in self.step.verification.checks().commands)
        offer = self._offer(attempt)
        focus, hint = self._focus(attempt, offer), task.loaded.hint
        if focus or self._is_to_be_short(attempt, offer):
            with_commands = not is_small(self.asked.model)
            earlier = () if self.asked.afresh else past
            if focus is None and (offer.format is not ReplyFormat.JSON or _is_last(attempt)):
                offer = Offer(ReplyFormat.FILES)
            prompt = render_short_prompt(
                order,
                attempt.shown,
                known,
                earlier,
                note,
                hint,
                focus=focus,
                verification=commands,
                with_commands=with_commands,
                conventions=attempt.conventions if with_commands else None,
                asked=offer.format,
            )
            return Question(self.asked, offer, prompt, focus)
        prompt = render_prompt(
            order,
            attempt.shown,
            commands,
            offer,
            known,
            past,
            note,
            hint,
            conventions=attempt.conventions,
            short=is_small(self.asked.model),
        )
        return Question(self.asked, offer, prompt)

    def _focus(self, attempt: Attempt, offer: Offer) -> Focus | None:
        """Return the definition that a small model is asked for alone, if the order names one."""
        if not is_small(self.asked.model) or self._reader.refused:
            return None
        focus = focus_of(self.step.order, attempt.shown)
        if focus is None or self._is_in_doubt_by(DoubtKind.MORE_WANTED):
            return None
        return focus if offer.forms.get(focus.path) is Form.DEFINITION else None

    def _is_to_be_short(self, attempt: Attempt, offer: Offer) -> bool:
        """Return whether the short prompt is asked: for whole files, and as the last question."""
        about_form = (DoubtKind.BLOCKS_REFUSED, DoubtKind.MORE_WANTED)
        if any(map(self._is_in_doubt_by, about_form)):
            return False
        wanted = _is_last(attempt) or offer.format is not ReplyFormat.EDITS
        return wanted and has_short_prompt(self.step.order, attempt.shown)

    def _is_in_doubt_by(self, kind: DoubtKind) -> bool:
        return self._doubt is not None and self._doubt.kind is kind

    def _offer(self, attempt: Attempt) -> Offer:
        models = self.step.run.options.models
        unreadable = sum(each.reason == DoubtKind.UNREADABLE for each in attempt.questions)
        asked = models.format_for(self.state["records"], unreadable)
        earlier = (each.misfits for each in self.state["past"])
        # Within the attempt, refused blocks are asked for once more in the form they have.
        as_before = self._reader.refused or self._focused
        own = frozenset[tuple[str, Form]]() if as_before else attempt.misfits
        return offer_for(
            self.step.order,
            attempt.shown,
            asked,
            models.reply_format,
            self.asked.model,
            own.union(*earlier),
        )


def _is_last(attempt: Attempt) -> bool:
    return len(attempt.questions) == MAX_QUESTIONS  # it asks for a file in a block


def _record(folder: Path, name: str, again: int) -> Path:
    return folder / (f"{name}_again_{again}.txt" if again else f"{name}.txt")


Complete = Callable[[Request], Completion]

_JUDGEABLE = frozenset({DoubtKind.UNCHANGED, DoubtKind.HOLLOW})


def ask(
    state: FactoryState, step: Step, attempt: Attempt, first: Complete, then: Complete
) -> Attempt:
    """Return the attempt with the model's proposal, or with a brief that says why it has none.

    The first question is put by `first`, all others by `then`. A proposal that only a doubt is
    against is returned after all where no better one comes.
    """
    models, complete = step.run.options.models, first
    order, shown = step.order, attempt.shown
    is_short = has_short_prompt(order, shown) or focus_of(order, shown) is not None
    attempt = replace(attempt, is_short=is_short)
    asked = first_model(models, state["past"], attempt.number, is_short=is_short)
    dialogue = Dialogue(step, state, asked)
    doubtful: Attempt | None = None
    while True:
        step.progress.check_cancelled()  # nobody may want the reply any more
        try:
            attempt, doubt = dialogue.ask(attempt, complete)
        except ReplyFailed as failed:
            return doubtful or _ended_ask(step, attempt, Stage.EXCEPTION, str(failed))
        if doubt is None or (doubtful and doubtful.proposal == attempt.proposal):
            return attempt
        if attempt.proposal is not None:
            doubtful = attempt if doubt.kind in _JUDGEABLE else None
        if len(attempt.questions) == MAX_QUESTIONS:
            return doubtful or _given_up(step, attempt, doubt, state)
        attempt = _noted(step, attempt, doubt)
        doubtful = doubtful and replace(doubtful, questions=attempt.questions)
        repeated = doubt.kind is DoubtKind.REPEATED
        dialogue.asked = ask_again(models, dialogue.asked, len(attempt.questions), repeated)
        complete = then


def take_outcome(
    state: FactoryState,
    step: Step,
    attempt: Attempt,
    request: Request,
    *,
    is_pure: bool = False,
) -> Attempt:
    """Return the attempt with the files that an agent left, or with a brief that says why not.

    The request says how the agent works. It is not asked again within the attempt. What is pure is
    performed also in a replay that has no record of it.
    """
    step.progress.check_cancelled()
    asked = first_model(step.run.options.models, state["past"], attempt.number)
    question = Question(asked, Offer(ReplyFormat.JSON), request.prompt)
    found: list[Completion] = []

    def perform(wanted: Request) -> Completion:
        # An agent is a command under way: dropping the step ends it, and does not leave it alone.
        try:
            found.append(step.run.model.client.complete(wanted))
        except NotOnRecord:
            if not is_pure or wanted.perform is None:
                raise
            found.append(wanted.perform())
        return found[-1]

    try:
        attempt, doubt = Dialogue(step, state, asked).put(attempt, question, request, perform)
    except ReplyFailed as failed:
        printed = ("It printed at the end:", failed.lost[-1]) if failed.lost else ()
        account, facts = "\n".join((failed.message, *printed)), (failed.message,)
        brief = brief_of(Stage.EXCEPTION, step.order, account, facts=facts)
        return replace(attempt, brief=brief)
    except EnvironmentFault as fault:
        brief = brief_of(Stage.ENVIRONMENT, step.order, fault.message)
        return replace(attempt, brief=brief_of_fault(Fault(fault.message, fault.hint or ""), brief))
    attempt = replace(attempt, agent=AgentRecord.model_validate_json(found[-1].document))
    if doubt is None or doubt.kind is DoubtKind.HOLLOW:
        return attempt
    return _given_up(step, replace(attempt, proposal=None), doubt, state)


def _noted(step: Step, attempt: Attempt, doubt: Doubt) -> Attempt:
    step.emit(ModelAskedAgain(step.order.id, attempt.number, doubt.kind, doubt.reason))
    question = AskedAgain(reason=doubt.kind, note=doubt.note)
    return replace(attempt, questions=(*attempt.questions, question))


def _given_up(step: Step, attempt: Attempt, doubt: Doubt, state: FactoryState) -> Attempt:
    """Return the attempt ended, after its last question brought nothing to judge."""
    if doubt.repeats is None:
        account = "\n".join(filter(None, (doubt.note, doubt.quote)))
        return _ended_ask(step, attempt, Stage.LLM_OUTPUT_INVALID, account)
    earlier = next(each for each in state["past"] if each.number == doubt.repeats)
    return replace(attempt, brief=brief_of_repetition(earlier.brief, earlier.number, step.order))


def _ended_ask(step: Step, attempt: Attempt, stage: Stage, account: str) -> Attempt:
    return replace(attempt, brief=brief_of(stage, step.order, account))
