"""Gets a proposal from the model: step, prompt, questions, replies.

A question asked again is not an attempt: nothing has run. There are at most `MAX_QUESTIONS` of them
in an attempt; each is recorded and paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from factory.attempt.apply_proposal import (
    CannotPlace,
    CannotRemove,
    acceptance_writes,
    check_writes,
    find_unmet,
    removals_alone,
    remove_files,
    show_acceptance_files,
    tests_of,
)
from factory.attempt.attempt_state import Attempt, FactoryState, StateUpdate, Step
from factory.judging.acceptance_evidence import (
    Evidence,
    EvidenceCollector,
    beside,
    named_by,
    programs_not_found,
    why_not_so,
)
from factory.judging.contract import notes_on, warm_up
from factory.judging.environment_faults import missing_command, surroundings_of
from factory.judging.failure_brief import (
    brief_of,
    brief_of_fault,
    brief_of_repetition,
    quote_reply,
)
from factory.orders.documents import (
    MAX_CONTEXT_BYTES,
    MAX_EDITED_BYTES,
    AskedAgain,
    AttemptRecord,
    FailureBrief,
    Form,
    Offer,
    ReplyFormat,
    ReplyRecord,
    reply_sha256,
)
from factory.orders.model_choice import (
    MAX_QUESTIONS,
    AskedModel,
    PastAttempt,
    ask_again,
    first_model,
    is_small,
)
from factory.orders.stages import AttemptStage, Stage
from factory.proposal.edit_blocks import form_of
from factory.proposal.prompt import (
    doubt_about_parts,
    has_short_prompt,
    render_parts,
    render_prompt,
    render_short_prompt,
    show_large_in_parts,
    show_more_of,
)
from factory.proposal.read_reply import (
    BlocksRefused,
    Doubt,
    DoubtKind,
    ProposalInvalid,
    ReplyReader,
    doubt_about,
    doubt_refused,
    doubt_unreadable,
)
from factory.proposal.reply_formats import ImpossibleClaim, parse_claim
from factory.proposal.request import Question, build_request, offer_for
from factory.proposal.scope import DESCRIPTIONS, FileKind, FileState
from factory.proposal.shown_code import (
    Focus,
    ShownFile,
    focus_of,
    parse_show_request,
    show_what_is_called,
)
from factory.workbench.tree import NotReadable, Tree
from shared.events.events import ModelAskedAgain
from shared.files.atomic_io import write_json, write_text
from shared.git import trees
from shared.llm.model_client import Completion, ReplyFailed, Request
from shared.projects.build_tools import BRINGING, may_come
from shared.projects.conventions import find_conventions
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes
from shared.work_order.work_order import WorkOrder


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
        step, again = self.step, len(attempt.questions)
        question = self._question(attempt)
        self._focused = question.focus is not None
        folder = step.attempt_folder(attempt)
        write_text(_record(folder, "se_prompt", again), question.prompt, sync=False)
        models = step.run.options.models
        request = build_request(step.order, attempt.number, question, attempt.shown, models)
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
            replies=(*attempt.replies, _on_record(completion, question)),
            quoted=quoted,
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
            )
            return Question(self.asked, offer if focus else Offer(ReplyFormat.FILES), prompt, focus)
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
        last = len(attempt.questions) == MAX_QUESTIONS
        wanted = last or offer.format is ReplyFormat.FILES
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


def _on_record(completion: Completion, question: Question) -> ReplyRecord:
    return ReplyRecord(
        sha256=reply_sha256(completion.text),
        model=completion.model,
        asked=question.offer.format,
        focused=question.focus is not None,
    )


def _record(folder: Path, name: str, again: int) -> Path:
    return folder / (f"{name}_again_{again}.txt" if again else f"{name}.txt")


Complete = Callable[[Request], Completion]

_JUDGEABLE = frozenset({DoubtKind.UNCHANGED, DoubtKind.HOLLOW})


def ask(state: FactoryState, step: Step, attempt: Attempt, first: Complete) -> Attempt:
    """Return the attempt with the model's proposal, or with a brief that says why it has none.

    The first question goes to `first`, all others to the client of the step. A proposal that
    only a doubt is against is returned after all where no better one comes.
    """
    models, complete = step.run.options.models, first
    order, shown = step.order, attempt.shown
    is_short = has_short_prompt(order, shown) or focus_of(order, shown) is not None
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
        complete = step.client.complete


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


class _Refused(Exception):
    """Say why the attempt cannot begin."""


def propose(state: FactoryState, step: Step) -> StateUpdate:
    """Return the model's proposal, or a brief that says why there is none.

    No model is asked for an order that only removes files.
    """
    attempt = state["attempt"]
    order, options = step.order, step.run.options
    step.progress.begin_attempt(attempt.number)
    step.progress.begin_stage(attempt.number, AttemptStage.PROPOSE)
    try:
        if unmet := find_unmet(order, step.workspace.tree):
            raise _Refused(f"{unmet}. The plan is wrong, not the code.")
        remove_files(order, step.workspace.tree)
        attempt = replace(attempt, touched=bool(order.removed_files))
        in_parts = options.models.reply_format in (None, ReplyFormat.EDITS)
        shown = read_shown_files(order, step.workspace.tree, state["past"], in_parts=in_parts)
        if not state["past"] and not is_small(options.models.ladder[0].model):
            shown = show_what_is_called(order, step.task.loaded.known, shown)
        check_that_parts_may_be_written(order, shown, options.models.reply_format)
        placed = acceptance_writes(step.task.loaded, step.workspace.tree)
        said = find_conventions(_reading(step.workspace.tree), order.allowed_files)
        attempt = replace(attempt, shown=shown, placed=placed, conventions=said)
    except (_Refused, CannotPlace, CannotRemove) as refused:
        return _ended(attempt, brief_of(Stage.PREFLIGHT, order, str(refused)))
    if attempt.number == 1 and (missing := _missing_program(step)):
        return _ended(attempt, missing)
    tests = {each.path: each.content for each in placed}
    collector = EvidenceCollector(
        step.task, options, step.bench, tests, step.emit, step.progress.is_cancelled
    )
    is_strict = options.settings.strict_acceptance and attempt.number == 1
    if is_strict and (hollow := collector.skeleton()):
        brief = brief_of(Stage.PREFLIGHT, order, _proves_nothing(hollow))
        return {"evidence": Evidence(on_skeleton=hollow), **_ended(attempt, brief)}
    if order.asks_model:
        warm_up(step.run.tools, _declared_paths(step))
        attempt, evidence = _asked(state, step, attempt, collector)
        if attempt.claim:
            brief = _brief_of_claim(attempt.claim, step, evidence, state["records"])
            return {"evidence": evidence, **_ended(attempt, brief)}
    else:
        _, evidence = beside(lambda: None, collector)
        attempt = replace(attempt, proposal=removals_alone(order))
    if attempt.proposal is not None:
        document = attempt.proposal.model_dump(mode="json")
        path = step.attempt_folder(attempt) / "proposed_writes.json"
        write_json(path, document, sync=False)
        # A forbidden write is refused at once, without waiting for the commit that it would follow.
        attempt = check_writes(attempt, step)
        if attempt.brief:
            step.progress.begin_stage(attempt.number, AttemptStage.APPLY)
    return {"attempt": attempt, "evidence": evidence}


def _asked(
    state: FactoryState, step: Step, attempt: Attempt, collector: EvidenceCollector
) -> tuple[Attempt, Evidence | None]:
    """Return the attempt with what the model replied, and the evidence gathered meanwhile."""
    evidence = state["evidence"]

    def first(request: Request) -> Completion:
        nonlocal evidence
        if evidence is not None:
            return step.client.complete(request)
        completion, evidence = beside(lambda: step.client.complete(request), collector)
        return completion

    return ask(state, step, attempt, first), evidence


def _brief_of_claim(
    claim: ImpossibleClaim, step: Step, evidence: Evidence | None, earlier: Sequence[AttemptRecord]
) -> FailureBrief:
    """Return the brief that ends the order, or only the attempt where the claim is not so."""
    checks = step.verification.checks().commands
    named = named_by(claim, step.order, [each.text for each in checks])
    said = f"The model says that the order cannot be done: {claim.reason}"
    if denied := why_not_so(claim, named, step.order, evidence, earlier):
        return brief_of(Stage.LLM_OUTPUT_INVALID, step.order, f"{said}\nThat is not so: {denied}.")
    if not named:
        said += "\nIt names no command or test, so nothing of this could be checked."
    command = named[0] if named else None
    return brief_of(Stage.IMPOSSIBLE, step.order, said, command=command)


def _ended(attempt: Attempt, brief: FailureBrief) -> StateUpdate:
    return {"attempt": replace(attempt, brief=brief)}


def _proves_nothing(commands: Sequence[str]) -> str:
    listed = "\n".join(f"W234 `{each}` passes on code that does nothing" for each in commands)
    return (
        f"{listed}\nWith strict acceptance such an order is not begun: it has to assert what the "
        "interfaces are for. The plan is wrong, not the code."
    )


def _missing_program(step: Step) -> FailureBrief | None:
    """Return the brief of an acceptance command whose program is not there, if there is one.

    Such an order ends in the environment whatever the model replies, so the model is not asked.
    """
    order, task, bench = step.order, step.task, step.bench
    unfound = programs_not_found(order.acceptance_commands, bench.sandbox.has_program)
    if not unfound:
        return None
    git = step.workspace.git
    files = trees.files_of(git, task.base)
    contents = [trees.content_of(git, task.base, path) or b"" for path in BRINGING]
    texts = [each.decode(errors="replace") for each in contents]
    for each in unfound:
        if may_come(each.program, files, order.allowed_files, texts):
            continue
        around = surroundings_of(bench, step.run.options, task.base)
        if fault := missing_command(each.program, around):
            account = f"The acceptance command `{each.command}` cannot run, so no model was asked."
            return brief_of_fault(fault, brief_of(Stage.ENVIRONMENT, order, account))
    return None


def read_shown_files(
    order: WorkOrder, tree: Tree, past: Sequence[PastAttempt] = (), *, in_parts: bool = True
) -> tuple[ShownFile, ...]:
    """Return the context files, all allowed files, and the acceptance files, in that sequence.

    They are shown whole; where they are too large together, the largest of them in parts, as are
    long documents and long code that the order names where a reply may change a file `in_parts`.
    Raises `_Refused` if even that is too much, or a file cannot be shown at all, and `CannotPlace`
    if a test cannot be added to its file.
    """
    placed = show_acceptance_files(order, tests_of(order, tree))
    paths = dict.fromkeys((*order.context_files, *order.allowed_files))
    known = {each.path for each in placed}
    files = (*(_show(path, tree) for path in paths if path not in known), *placed)
    shown = show_large_in_parts(files, order, past, MAX_CONTEXT_BYTES, long_in_parts=in_parts)
    sizes = {each.path: _shown_size(each) for each in shown}
    if sum(sizes.values()) > MAX_CONTEXT_BYTES:
        largest = sorted(sizes, key=lambda path: -sizes[path])[:5]
        raise _Refused(
            f"what has to be shown of the context files has {sum(sizes.values()):,} bytes "
            f"together, over the limit of {MAX_CONTEXT_BYTES:,}: "
            f"{', '.join(f'{path} ({sizes[path]:,})' for path in largest)}. "
            "Split the order, or list fewer context files."
        )
    return shown


def check_that_parts_may_be_written(
    order: WorkOrder, shown: Sequence[ShownFile], forced: ReplyFormat | None
) -> None:
    """Raise `_Refused` if a file that is shown in part would have to be written whole."""
    if forced in (None, ReplyFormat.EDITS):
        return
    for file in shown:
        if file.parts is not None and file.path in order.allowed_files:
            raise _Refused(
                f"{file.path!r} is too large to be shown whole, and replies in the format {forced} "
                "have whole files: leave out --reply-format, or name edits"
            )


def _reading(tree: Tree) -> Callable[[str], bytes | None]:
    def read(path: str) -> bytes | None:
        try:
            return tree.read(path)
        except NotReadable:
            return None

    return read


def _shown_size(file: ShownFile) -> int:
    return len((file.text if file.parts is None else render_parts(file)).encode())


def _show(path: str, tree: Tree) -> ShownFile:
    try:
        data = tree.read(path)
        if len(data) > MAX_EDITED_BYTES:
            raise _Refused(
                f"{path!r} cannot be shown: it has {len(data):,} bytes, over the limit of "
                f"{MAX_EDITED_BYTES:,}"
            )
        if b"\0" in data:
            raise _Refused(f"{path!r} cannot be shown: it holds NUL bytes, so it is not text")
        return ShownFile(path, FileState(FileKind.FILE, sha256_bytes(data)), data.decode("utf-8"))
    except NotReadable as problem:
        if problem.kind is FileKind.ABSENT:
            return ShownFile(path, FileState(FileKind.ABSENT, EMPTY_SHA256), "")
        raise _Refused(f"{path!r} cannot be shown: it {DESCRIPTIONS[problem.kind]}") from None
    except UnicodeDecodeError:
        raise _Refused(f"{path!r} cannot be shown: it is not UTF-8 text") from None


def _declared_paths(step: Step) -> Iterator[str]:
    """Yield the paths of all interfaces that bind the order."""
    for order in step.task.loaded.binding:
        yield from (each.path for each in order.interfaces)
