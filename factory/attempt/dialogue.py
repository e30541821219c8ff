"""Puts the questions of one attempt, and reads each reply in the light of the ones before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from factory.attempt.state import Attempt, FactoryContext, FactoryState
from factory.judging.failure.notes import notes_on
from factory.judging.quote import quote_reply
from factory.orders.model_size import is_small
from factory.orders.reply_format import Form, Offer, ReplyFormat
from factory.orders.reply_record import ReplyRecord, reply_sha256
from factory.orders.retry import MAX_QUESTIONS, Asking
from factory.proposal.doubts import Doubt, DoubtKind, doubt_about, doubt_refused, doubt_unreadable
from factory.proposal.edits.blocks import form_of
from factory.proposal.focus import Focus, focus_of
from factory.proposal.large_files import doubt_about_parts, show_more_of
from factory.proposal.offer import offer_for
from factory.proposal.prompt import render_prompt
from factory.proposal.read_reply import BlocksRefused, ProposalInvalid
from factory.proposal.reply_reader import ReplyReader
from factory.proposal.request import Question, build_request
from factory.proposal.short_prompt import has_short_prompt, render_short_prompt
from factory.proposal.show_request import parse_show_request
from shared.files.atomic_io import write_text
from shared.llm.client import Completion, Request

_WHOLE_FILES = Offer(ReplyFormat.FILES)


@dataclass(slots=True)
class Dialogue:
    """Hold how the model is asked next, and what its last reply left open."""

    context: FactoryContext
    state: FactoryState
    asking: Asking
    _reader: ReplyReader = field(init=False)
    _doubt: Doubt | None = None
    _focused: bool = False
    """Whether the last question asked for one definition alone."""

    def __post_init__(self) -> None:
        self._reader = ReplyReader(self.context.order)

    def ask(
        self, attempt: Attempt, complete: Callable[[Request], Completion]
    ) -> tuple[Attempt, Doubt | None]:
        """Return the attempt with the reply's proposal, if it has one, and the doubt about it.

        Raises `ReplyFailed` if there is no reply.
        """
        context, again = self.context, len(attempt.questions)
        question = self._question(attempt)
        self._focused = question.focus is not None
        folder = context.attempt_folder(attempt)
        write_text(_record(folder, "se_prompt", again), question.prompt, sync=False)
        models = context.options.models
        request = build_request(context.order, attempt.number, question, attempt.shown, models)
        completion = complete(request)
        write_text(_record(folder, "raw_llm_response", again), completion.text, sync=False)
        attempt = replace(
            attempt,
            rung=self.asking.rung,
            temperature=self.asking.temperature,
            model=completion.model,
            repairs=completion.adjustments,
            replies=(*attempt.replies, _on_record(completion, question)),
            proposal=None,
        )
        attempt, self._doubt = self._read(attempt, completion.text, question)
        return attempt, self._doubt

    def _read(
        self, attempt: Attempt, reply: str, question: Question
    ) -> tuple[Attempt, Doubt | None]:
        if wanted := parse_show_request(reply):
            more = show_more_of(attempt.shown, wanted)
            return replace(attempt, shown=more), doubt_about_parts(attempt.shown, wanted)
        try:
            parsed = self._reader.read(reply, attempt.shown, question.offer.format, question.focus)
        except BlocksRefused as refused:
            misfits = {(each.block.path, form_of(each.block)) for each in refused.refusals}
            attempt = replace(attempt, misfits=attempt.misfits | misfits)
            return attempt, doubt_refused(refused, with_format=question.focus is None)
        except ProposalInvalid as invalid:
            return attempt, doubt_unreadable(str(invalid), quote_reply(reply))
        repairs = (*attempt.repairs, *parsed.repairs)
        attempt = replace(attempt, proposal=parsed.proposal, repairs=repairs)
        hollow = notes_on(self.context.order, parsed.proposal, attempt.shown)
        return attempt, doubt_about(parsed.proposal, attempt.shown, self.state["past"], hollow)

    def _question(self, attempt: Attempt) -> Question:
        order, task, past = self.context.order, self.context.task, self.state["past"]
        note, known = self._doubt.note if self._doubt else "", task.loaded.known
        offer = self._offer(attempt)
        focus, hint = self._focus(attempt, offer), task.loaded.hint
        if focus or self._is_to_be_short(attempt, offer):
            told = not is_small(self.asking.model)
            earlier = () if self.asking.afresh else past
            prompt = render_short_prompt(
                order, attempt.shown, known, earlier, note, hint, focus=focus, with_commands=told
            )
            return Question(self.asking, offer if focus else _WHOLE_FILES, prompt, focus)
        commands = tuple(check.text for check in self.context.verification.checks())
        prompt = render_prompt(order, attempt.shown, commands, offer, known, past, note, hint)
        return Question(self.asking, offer, prompt)

    def _focus(self, attempt: Attempt, offer: Offer) -> Focus | None:
        """Return the definition that a small model is asked for alone, if the order names one."""
        if not is_small(self.asking.model) or self._reader.refused:
            return None
        focus = focus_of(self.context.order, attempt.shown)
        if focus is None or self._is_in_doubt_by(DoubtKind.MORE_WANTED):
            return None
        return focus if offer.forms.get(focus.path) is Form.DEFINITION else None

    def _is_to_be_short(self, attempt: Attempt, offer: Offer) -> bool:
        """Return whether the short prompt is asked: for whole files, and as the last question."""
        about_form = (DoubtKind.BLOCKS_REFUSED, DoubtKind.MORE_WANTED)
        if any(map(self._is_in_doubt_by, about_form)):
            return False
        last = len(attempt.questions) == MAX_QUESTIONS
        wanted = last or offer.format is ReplyFormat.FILES
        return wanted and has_short_prompt(self.context.order, attempt.shown)

    def _is_in_doubt_by(self, kind: DoubtKind) -> bool:
        return self._doubt is not None and self._doubt.kind is kind

    def _offer(self, attempt: Attempt) -> Offer:
        models = self.context.options.models
        unreadable = sum(each.reason == DoubtKind.UNREADABLE for each in attempt.questions)
        asked = models.format_for(self.state["records"], unreadable)
        earlier = (each.misfits for each in self.state["past"])
        # Within the attempt, refused blocks are asked for once more in the form they have.
        as_before = self._reader.refused or self._focused
        own = frozenset[tuple[str, Form]]() if as_before else attempt.misfits
        return offer_for(
            self.context.order,
            attempt.shown,
            asked,
            models.reply_format,
            self.asking.model,
            own.union(*earlier),
        )


def _on_record(completion: Completion, question: Question) -> ReplyRecord:
    return ReplyRecord(
        sha256=reply_sha256(completion.text),
        model=completion.model,
        asked=question.offer.format,
        focused=question.focus is not None,
    )


def _record(folder: Path, name: str, again: int) -> Path:
    return folder / (f"{name}_again_{again}.txt" if again else f"{name}.txt")
