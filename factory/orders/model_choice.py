"""Chooses the model for each attempt, and how it is asked again.

The choice depends on the order's own attempts alone, so that a recorded run replays. The figures
come from measurements with small models, and from published ones. Below about 3 billion
parameters a retry that is shown the failure fixes almost nothing; another sample of the first
prompt fixes more (docs/local-models.md), and so does a larger model. From 14 billion on, a retry
that is shown it fixes a quarter to a half. An equal prompt at temperature 0 brings an equal reply.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from factory.orders.documents import (
    FALL_BACK_UP_TO_LINES,
    MAX_WRITE_BYTES,
    WHOLE_UP_TO_LINES,
    AttemptRecord,
    FailureBrief,
    Form,
    Offer,
    ReplyFormat,
    WritableFile,
    WriteProposal,
)
from factory.orders.stages import Stage
from shared.errors import InvalidInput
from shared.llm.model_access import SMALL_BELOW, is_small, parameters_of

SEARCH_FROM: Final = 30.0
"""Models of at least so many billion parameters write search texts; smaller ones definitions.

Of published replies in search texts, 73% of a 70B model's were well-formed, and 0 of 8 of a 0.5B
model's could be applied.
"""


def choose_reply_format(
    forced: ReplyFormat | None, *, trusted_schemas: bool, invalid_replies: int
) -> ReplyFormat:
    """Return the format to ask for: `forced` if it is given, else JSON or fenced files.

    JSON needs a server that enforces its schemas, and a model without an invalid reply so far.
    With code inside JSON strings a small model solved 0 of 12 tasks, with fenced code 10 of 12.
    """
    if forced is not None:
        return forced
    return ReplyFormat.JSON if trusted_schemas and invalid_replies == 0 else ReplyFormat.FILES


def choose_offer(
    asked: ReplyFormat,
    forced: ReplyFormat | None,
    files: Sequence[WritableFile],
    model: str,
    failed: Mapping[str, Collection[Form]],
) -> Offer:
    """Return how to ask `model` for changes to `files`.

    `asked` is the format by `choose_reply_format`, and `forced` what the user wants, `None` for
    `auto`. `failed` has by path the forms in which this order's earlier replies could not be
    applied. Left to itself, a reply gets the format `edits` where any file is better changed in
    parts: a JSON document has whole files alone.
    """
    if forced in (ReplyFormat.JSON, ReplyFormat.FILES) or not files:
        return Offer(asked)
    size = parameters_of(model)
    forms = {
        each.path: choose_form(
            each, size, failed.get(each.path, ()), in_parts=forced is ReplyFormat.EDITS
        )
        for each in files
    }
    in_parts = any(form is not Form.WHOLE for form in forms.values())
    return Offer(ReplyFormat.EDITS, forms) if in_parts or forced is not None else Offer(asked)


def choose_form(
    file: WritableFile,
    parameters: float | None,
    failed: Collection[Form] = (),
    *,
    in_parts: bool = False,
) -> Form:
    """Return the form in which a model is asked to write a file.

    `parameters` is the model's size in billions, `None` if unknown. With `in_parts` short files
    are changed in parts, too.
    """
    if file.lines == 0:
        return Form.WHOLE
    small = parameters is not None and parameters < SEARCH_FROM
    focused = file.has_focus and parameters is not None and parameters < SMALL_BELOW
    order = [Form.SEARCH, Form.DEFINITION, Form.WHOLE]
    if focused or (small and not in_parts):
        order = [Form.DEFINITION, Form.WHOLE, Form.SEARCH]
    elif small or file.is_named:
        order = [Form.DEFINITION, Form.SEARCH, Form.WHOLE]
    short = file.lines <= WHOLE_UP_TO_LINES and file.size <= MAX_WRITE_BYTES
    if short and not in_parts and not focused:
        order = [Form.WHOLE]
    possible = [form for form in order if _is_possible(form, file)]
    untried = [form for form in possible if form not in failed]
    return (untried or possible or [Form.SEARCH])[0]


def _is_possible(form: Form, file: WritableFile) -> bool:
    match form:
        case Form.DEFINITION:
            return file.has_outline
        case Form.WHOLE:
            return file.lines <= FALL_BACK_UP_TO_LINES and file.size <= MAX_WRITE_BYTES
        case Form.SEARCH:
            return True


_STEP = re.compile(r"(?P<model>.+)@(?P<attempt>[1-9]\d?)")


@dataclass(frozen=True, slots=True)
class Rung:
    """Hold a model and the first attempt that asks it; `None` if the user named no attempt."""

    model: str
    from_attempt: int | None = None


def parse_ladder(text: str) -> tuple[Rung, ...]:
    """Return the rungs of `small,large` or `small,large@4` (`large` from attempt 4 on).

    Raises `InvalidInput` for an empty name, or for attempts that do not rise.
    """
    rungs = tuple(_parse_rung(part.strip()) for part in text.split(","))
    if not all(rung.model for rung in rungs):
        raise InvalidInput(
            f"the model ladder {text!r} contains an empty name",
            hint="give model names separated by commas; the first attempt asks the first model",
        )
    starts = [rung.from_attempt for rung in rungs if rung.from_attempt is not None]
    if starts != sorted(set(starts)) or rungs[0].from_attempt not in (None, 1):
        raise InvalidInput(
            f"the attempts of the model ladder {text!r} do not rise from 1",
            hint="write the ladder like small,large@4: large is asked from attempt 4 on",
        )
    return rungs


def rung_for_attempt(ladder: Sequence[Rung], attempt: int, max_attempts: int) -> int:
    """Return the index of the rung for the `attempt`-th of `max_attempts`, counted from 1.

    Rungs without an attempt of their own share the attempts evenly, in the order of the ladder.
    """
    reached = [
        index
        for index, rung in enumerate(ladder)
        if _start(rung, index, len(ladder), max_attempts) <= attempt
    ]
    return reached[-1] if reached else 0


def _start(rung: Rung, index: int, rungs: int, max_attempts: int) -> int:
    if rung.from_attempt is not None:
        return rung.from_attempt
    # The first attempt a with (a - 1) * rungs // max_attempts >= index, by ceiling division.
    return 1 - (-index * max_attempts // rungs)


def _parse_rung(text: str) -> Rung:
    if step := _STEP.fullmatch(text):
        return Rung(step["model"], int(step["attempt"]))
    return Rung(text)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Hold which model answers on which attempt, and how it is asked.

    `trusted_schemas` says whether the server enforces the schemas that it accepts. `reply_format`
    is the format that the user forced, `None` if the user left it open.
    """

    ladder: tuple[Rung, ...]
    attempts: int = 1
    """The number of attempts among which the rungs are shared."""
    temperature: float | None = 0.0
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    trusted_schemas: bool = False
    reply_format: ReplyFormat | None = None

    def scheduled_rung(self, attempt: int) -> int:
        """Return the rung whose turn it is on an attempt, counted from 0."""
        return rung_for_attempt(self.ladder, attempt, self.attempts)

    def model(self, attempt: int) -> str:
        """Return the model whose turn it is on an attempt."""
        return self.ladder[self.scheduled_rung(attempt)].model

    def format_for(self, records: Sequence[AttemptRecord], unreadable: int = 0) -> ReplyFormat:
        """Return the format to ask for after the attempts in `records`, which are of one order.

        `unreadable` is the number of replies of the current attempt that could not be read.
        Records of other orders would make a prompt depend on the orders that happened to run
        before.
        """
        invalid = unreadable + sum(
            record.failure_brief is not None
            and record.failure_brief.stage is Stage.LLM_OUTPUT_INVALID
            for record in records
        )
        return choose_reply_format(
            self.reply_format, trusted_schemas=self.trusted_schemas, invalid_replies=invalid
        )


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """Hold a failed attempt: the rung of the ladder that was asked, its proposal, and the result.

    `rung` counts from 0. `proposal` is `None` if no reply was a proposal. `misfits` names by
    path the forms of blocks that could not be applied.
    """

    number: int
    rung: int
    proposal: WriteProposal | None
    brief: FailureBrief
    misfits: frozenset[tuple[str, Form]] = frozenset()


MAX_QUESTIONS: Final = 2
"""How often a model is asked again within one attempt, after a reply that is not worth judging."""

_WARMER: Final = (0.4, 0.8)
"""The temperatures after the first and after each further step."""

_SAMPLED_AT: Final = (0.8, 1.0, 0.7, 0.9)
"""The temperatures at which a small model is asked its first prompt again; no two are equal."""

_MIDDLE_UP_TO = 14.0  # billions of parameters

_JUDGED = frozenset({Stage.VERIFY_FAILED, Stage.ACCEPTANCE_FAILED, Stage.CONTRACT_VIOLATED})


@dataclass(frozen=True, slots=True)
class AskedModel:
    """Hold the model to ask and how: the rung of the ladder, and the temperature.

    `afresh` says that the prompt is to say nothing of earlier attempts.
    """

    rung: int
    model: str
    temperature: float | None
    afresh: bool = False


def first_model(
    models: ModelChoice, past: Sequence[PastAttempt], attempt: int, *, is_short: bool = False
) -> AskedModel:
    """Return how an attempt asks for the first time, after the attempts in `past`.

    A model whose code was judged and failed is asked at a higher temperature next time. `is_short`
    says that the order has a short prompt: a small model is then asked that prompt afresh.
    """
    rung = _rung(models, past, attempt)
    model = models.ladder[rung].model
    failures = sum(each.rung == rung and each.brief.stage in _JUDGED for each in past)
    sampled = is_short and is_small(model) and 0 < failures <= len(_SAMPLED_AT)
    # The server's own temperature may be 0, where an equal prompt brings an equal reply.
    if sampled and models.temperature is not None:
        warm = max(models.temperature, _SAMPLED_AT[failures - 1])
        return AskedModel(rung, model, warm, afresh=True)
    return AskedModel(rung, model, warmer(models.temperature, failures))


def ask_again(models: ModelChoice, asked: AskedModel, questions: int, repeated: bool) -> AskedModel:
    """Return how the `questions`-th question within an attempt is asked.

    A model that gave the same files twice is not asked a third time, if there is a larger one.
    """
    if repeated and questions > 1 and asked.rung + 1 < len(models.ladder):
        rung = asked.rung + 1
        return AskedModel(rung, models.ladder[rung].model, models.temperature)
    steps = questions if repeated else questions - 1
    return replace(asked, temperature=warmer(asked.temperature, steps))


def warmer(temperature: float | None, steps: int) -> float | None:
    """Return the temperature after so many steps up; `None`, the server's own, stays as it is."""
    if temperature is None or steps == 0:
        return temperature
    return max(temperature, _WARMER[min(steps, len(_WARMER)) - 1])


def is_stuck(models: ModelChoice, past: Sequence[PastAttempt]) -> bool:
    """Return whether the last attempt brought nothing new and no other model is left to ask."""
    return _brings_nothing_new(past) and past[-1].rung == len(models.ladder) - 1


def _brings_nothing_new(past: Sequence[PastAttempt]) -> bool:
    """Return whether a model gave the same files, or its agent twice ended alike without any."""
    last, before = past[-1], past[-2:-1]
    # Only the failure of an agent has a fact at this stage: a call that failed may succeed later.
    ended_alike = last.brief.stage is Stage.EXCEPTION and last.brief.facts and before
    return last.brief.stage is Stage.REPEATED or bool(
        ended_alike
        and (before[0].rung, before[0].brief.stage) == (last.rung, last.brief.stage)
        and before[0].brief.facts == last.brief.facts
    )


def _rung(models: ModelChoice, past: Sequence[PastAttempt], attempt: int) -> int:
    """Return the rung to ask: the one whose turn it is, or a higher one that is needed earlier."""
    rung = models.scheduled_rung(attempt)
    if past:
        rung = max(rung, past[-1].rung)
        if _brings_nothing_new(past) or _is_used_up(models, past, rung):
            rung += past[-1].rung == rung
    return min(rung, len(models.ladder) - 1)


def _is_used_up(models: ModelChoice, past: Sequence[PastAttempt], rung: int) -> bool:
    """Return whether a model had its retries; a rung that names its attempt is not brought forward.

    The first failure is not a retry, so that a model that gets one retry fails twice.
    """
    following = models.ladder[rung + 1 : rung + 2]
    if not following or following[0].from_attempt is not None:
        return False
    failures = sum(each.rung == rung and each.brief.stage in _JUDGED for each in past)
    return failures > _retries(models.ladder[rung].model)


def _retries(model: str) -> int:
    if is_small(model):
        return 1
    size = parameters_of(model)
    return 2 if size is None or size <= _MIDDLE_UP_TO else 3
