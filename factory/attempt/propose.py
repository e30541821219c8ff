"""Gets a proposal from the model (the node SE): preconditions, context, prompt, reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from factory.attempt.state import Attempt, FactoryContext, FactoryState, StateUpdate
from factory.judging.brief import brief_of
from factory.judging.evidence import Evidence, Gathering, beside
from factory.judging.quote import quote_reply
from factory.judging.verification import verification_of
from factory.orders.documents import FailureBrief
from factory.orders.limits import MAX_CONTEXT_BYTES
from factory.orders.reply_format import ReplyFormat
from factory.orders.stages import AttemptStage, Stage
from factory.proposal.prompt import ShownFile, hashes_of, render_prompt
from factory.proposal.read_reply import ProposalInvalid, parse_proposal
from factory.proposal.request import build_request
from factory.proposal.scope import DESCRIPTIONS, FileKind, FileState
from factory.workbench.tree import NotReadable, Tree
from shared.files.atomic_io import write_json, write_text
from shared.llm.client import Completion, ReplyFailed, Request
from shared.work_order.hashing import EMPTY_SHA256, sha256_bytes
from shared.work_order.schemas import WorkOrder

_SATISFYING = {
    "file_exists": frozenset({FileKind.FILE, FileKind.LINK}),
    "file_absent": frozenset({FileKind.ABSENT, FileKind.BEHIND_FILE}),
}


class _Refused(Exception):
    """Say why the attempt cannot begin."""


def propose(state: FactoryState, runtime: Runtime[FactoryContext]) -> StateUpdate:
    """Return the model's proposal, or a brief that says why there is none."""
    context, attempt = runtime.context, state["attempt"]
    order, options = context.order, context.options
    context.progress.begin_attempt(attempt.number)
    context.progress.begin_stage(attempt.number, AttemptStage.PROPOSE)
    try:
        check_preconditions(order, context.workspace.tree)
        attempt = replace(attempt, shown=read_shown_files(order, context.workspace.tree))
    except _Refused as refused:
        return _ended(attempt, brief_of(Stage.PREFLIGHT, order, str(refused)))
    gathering = Gathering(
        context.task, options, context.bench, context.emit, context.progress.cancelled.is_set
    )
    if (
        options.settings.strict_acceptance
        and attempt.number == 1
        and (hollow := gathering.skeleton())
    ):
        brief = brief_of(Stage.PREFLIGHT, order, _proves_nothing(hollow))
        return {"evidence": Evidence(on_skeleton=hollow), **_ended(attempt, brief)}
    asked = options.models.format_for(state["records"])
    request = _request(state, context, attempt, asked)
    folder = context.attempt_folder(attempt)
    write_text(folder / "se_prompt.txt", request.prompt, sync=False)
    if any(each.interfaces for each in context.task.loaded.binding):
        context.checker.warm_up()
    evidence = state["evidence"]
    try:
        if evidence is None:
            completion, evidence = beside(lambda: context.client.complete(request), gathering)
        else:
            completion = context.client.complete(request)
    except ReplyFailed as failed:
        return _ended(attempt, brief_of(Stage.EXCEPTION, order, str(failed)))
    write_text(folder / "raw_llm_response.txt", completion.text, sync=False)
    attempt = _read_reply(replace(attempt, model=completion.model), completion, asked, order)
    if attempt.proposal is not None:
        document = attempt.proposal.model_dump(mode="json")
        write_json(folder / "proposed_writes.json", document, sync=False)
    return {"attempt": attempt, "evidence": evidence}


def _read_reply(
    attempt: Attempt, completion: Completion, asked: ReplyFormat, order: WorkOrder
) -> Attempt:
    """Return the attempt with the reply's proposal, or with a brief that says why it has none."""
    attempt = replace(attempt, repairs=completion.adjustments)
    hashes = hashes_of(attempt.shown)
    try:
        parsed = parse_proposal(completion.text, asked, hashes, order.allowed_files)
    except ProposalInvalid as invalid:
        account = "\n".join(filter(None, (str(invalid), quote_reply(completion.text))))
        return replace(attempt, brief=brief_of(Stage.LLM_OUTPUT_INVALID, order, account))
    repairs = (*completion.adjustments, *parsed.repairs)
    return replace(attempt, proposal=parsed.proposal, repairs=repairs)


def _ended(attempt: Attempt, brief: FailureBrief) -> StateUpdate:
    return {"attempt": replace(attempt, brief=brief)}


def _proves_nothing(commands: Sequence[str]) -> str:
    listed = "\n".join(f"W234 `{each}` passes on code that does nothing" for each in commands)
    return (
        f"{listed}\nWith strict acceptance such an order is not begun: it has to assert what the "
        "interfaces are for. The plan is wrong, not the code."
    )


def check_preconditions(order: WorkOrder, tree: Tree) -> None:
    """Raise `_Refused` where a precondition does not hold: no proposal can fix a wrong plan."""
    for condition in order.preconditions:
        kind = tree.kind_of(condition.path)
        if kind not in _SATISFYING[condition.kind]:
            raise _Refused(
                f"precondition {condition.kind} {condition.path!r} does not hold at this point of "
                f"the chain: it {DESCRIPTIONS[kind]}. The plan is wrong, not the code."
            )


def read_shown_files(order: WorkOrder, tree: Tree) -> tuple[ShownFile, ...]:
    """Return the context files and all allowed files, whole, in the order's own sequence.

    Raises `_Refused` where they cannot be shown whole: a model that saw a part of a file cannot
    rewrite it safely.
    """
    paths = dict.fromkeys((*order.context_files, *order.allowed_files))
    shown = tuple(_show(path, tree) for path in paths)
    sizes = {file.path: len(file.text.encode()) for file in shown}
    if sum(sizes.values()) > MAX_CONTEXT_BYTES:
        largest = sorted(sizes, key=lambda path: -sizes[path])[:5]
        raise _Refused(
            f"the context files have {sum(sizes.values()):,} bytes together, over the limit of "
            f"{MAX_CONTEXT_BYTES:,}: {', '.join(f'{path} ({sizes[path]:,})' for path in largest)}. "
            "Split the order, or list fewer context files."
        )
    return shown


def _show(path: str, tree: Tree) -> ShownFile:
    try:
        data = tree.read(path)
        return ShownFile(path, FileState(FileKind.FILE, sha256_bytes(data)), data.decode("utf-8"))
    except NotReadable as problem:
        if problem.kind is FileKind.ABSENT:
            return ShownFile(path, FileState(FileKind.ABSENT, EMPTY_SHA256), "")
        raise _Refused(f"{path!r} cannot be shown: it {DESCRIPTIONS[problem.kind]}") from None
    except UnicodeDecodeError:
        raise _Refused(f"{path!r} cannot be shown: it is not UTF-8 text") from None


def _request(
    state: FactoryState, context: FactoryContext, attempt: Attempt, asked: ReplyFormat
) -> Request:
    order, task, records = context.order, context.task, state["records"]
    checks = verification_of(context.workspace.tree, exempt=task.exempt)
    commands = tuple(check.text for check in checks)
    previous = records[-1].failure_brief if records else None
    prompt = render_prompt(order, attempt.shown, commands, previous, asked, task.loaded.known)
    states = [file.state for file in attempt.shown]
    return build_request(order, attempt.number, prompt, asked, states, context.options.models)
