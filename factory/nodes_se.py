"""SE, the proposing node: gate, context, prompt, model, proposal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from factory.evidence import Evidence, Gathering, beside
from factory.excerpt import cut
from factory.llm import build_request
from factory.prompt import ShownFile, hashes_of, reminder, render_prompt
from factory.proposal import ProposalInvalid, parse_proposal
from factory.schemas import AttemptStage, FailureBrief, Stage
from factory.scope import DESCRIPTIONS, FileKind, FileState
from factory.state import FactoryContext, FactoryState
from factory.tree import NotReadable, Tree
from factory.verification import verification_of
from shared.atomic_io import write_json, write_text
from shared.hashing import EMPTY_SHA256, sha256_bytes
from shared.llm.client import ReplyFailed, Request
from shared.llm.reply_format import ReplyFormat
from shared.schemas import MAX_CONTEXT_BYTES, WorkOrder

_SATISFYING = {
    "file_exists": frozenset({FileKind.FILE, FileKind.LINK}),
    "file_absent": frozenset({FileKind.ABSENT, FileKind.BEHIND_FILE}),
}


class _Refused(Exception):
    """The attempt cannot begin; the message says why."""


def propose(state: FactoryState, runtime: Runtime[FactoryContext]) -> dict[str, Any]:
    """Return the model's proposal, or the brief of why there is none."""
    context, attempt = runtime.context, state["attempt"]
    order = context.order
    context.progress.begin_attempt(attempt)
    context.progress.begin_stage(attempt, AttemptStage.PROPOSE)
    try:
        check_preconditions(order, context.workspace.tree)
        shown = read_shown_files(order, context.workspace.tree)
    except _Refused as refused:
        return {"brief": _brief(order, Stage.PREFLIGHT, str(refused))}
    gathering = Gathering(context)
    if context.options.strict_acceptance and attempt == 1 and (hollow := gathering.skeleton()):
        brief = _brief(order, Stage.PREFLIGHT, _proves_nothing(hollow))
        return {"evidence": Evidence(on_skeleton=hollow), "brief": brief}
    asked = context.options.models.format_for(state["records"])
    request = _request(state, context, shown, asked)
    folder = context.attempt_folder(attempt)
    write_text(folder / "se_prompt.txt", request.prompt, sync=False)
    if any(each.interfaces for each in context.binding):
        context.checker.warm_up()
    evidence = state["evidence"]
    try:
        if evidence is None:
            completion, evidence = beside(lambda: context.client.complete(request), gathering)
        else:
            completion = context.client.complete(request)
    except ReplyFailed as failed:
        return {"shown": shown, "brief": _brief(order, Stage.EXCEPTION, str(failed))}
    write_text(folder / "raw_llm_response.txt", completion.text, sync=False)
    known = {
        "shown": shown,
        "evidence": evidence,
        "model": completion.model,
        "repairs": completion.adjustments,
    }
    try:
        parsed = parse_proposal(completion.text, asked, hashes_of(shown), order.allowed_files)
    except ProposalInvalid as invalid:
        return {**known, "brief": _brief(order, Stage.LLM_OUTPUT_INVALID, str(invalid))}
    document = parsed.proposal.model_dump(mode="json")
    write_json(folder / "proposed_writes.json", document, sync=False)
    repairs = (*completion.adjustments, *parsed.repairs)
    return {**known, "proposal": parsed.proposal, "repairs": repairs}


def _proves_nothing(commands: Sequence[str]) -> str:
    listed = "\n".join(f"W234 `{each}` passes on code that does nothing" for each in commands)
    return (
        f"{listed}\nWith strict acceptance such an order is not begun: it has to assert what the "
        "interfaces are for. The plan is wrong, not the code."
    )


def check_preconditions(order: WorkOrder, tree: Tree) -> None:
    """Raise where a precondition does not hold: the plan is at fault, and no model can mend it."""
    for condition in order.preconditions:
        kind = tree.kind_of(condition.path)
        if kind not in _SATISFYING[condition.kind]:
            raise _Refused(
                f"precondition {condition.kind} {condition.path!r} does not hold at this point of "
                f"the chain: it {DESCRIPTIONS[kind]}. The plan is wrong, not the code."
            )


def read_shown_files(order: WorkOrder, tree: Tree) -> tuple[ShownFile, ...]:
    """Return the context files and all allowed files, whole, in the order's own sequence.

    Raises where they cannot be shown whole: a file that was cut could not be written safely.
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
    state: FactoryState,
    context: FactoryContext,
    shown: tuple[ShownFile, ...],
    asked: ReplyFormat,
) -> Request:
    attempt, order = state["attempt"], context.order
    checks = verification_of(context.workspace.tree, exempt=context.task.exempt)
    commands = tuple(check.text for check in checks)
    prompt = render_prompt(
        order, shown, commands, state["previous"], asked, context.task.loaded.known
    )
    return build_request(
        order, attempt, prompt, asked, [file.state for file in shown], context.options.models
    )


def _brief(order: WorkOrder, stage: Stage, message: str) -> FailureBrief:
    return FailureBrief(
        stage=stage,
        primary_error_excerpt=cut(message),
        constraints_reminder=reminder(stage, order),
    )
