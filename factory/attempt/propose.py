"""Gets a proposal from the model (the node SE): preconditions, context, prompt, reply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from factory.attempt.apply import check_writes
from factory.attempt.ask import ask
from factory.attempt.placing import CannotPlace, acceptance_writes, show_acceptance_files
from factory.attempt.preconditions import find_unmet
from factory.attempt.removing import CannotRemove, removals_alone, remove_files
from factory.attempt.state import Attempt, FactoryContext, FactoryState, StateUpdate
from factory.judging.brief import brief_of, brief_of_fault
from factory.judging.environment import missing_command
from factory.judging.evidence import Evidence, Gathering, beside
from factory.judging.programs import may_come, programs_not_found
from factory.judging.surroundings import surroundings_of
from factory.judging.warm_checker import warm_up
from factory.orders.documents import FailureBrief
from factory.orders.limits import MAX_CONTEXT_BYTES, MAX_EDITED_BYTES
from factory.orders.past_attempt import PastAttempt
from factory.orders.reply_format import ReplyFormat
from factory.orders.stages import AttemptStage, Stage
from factory.proposal.large_files import render_parts, show_large_in_parts
from factory.proposal.scope import DESCRIPTIONS, FileKind, FileState
from factory.proposal.shown import ShownFile
from factory.workbench.tree import NotReadable, Tree
from shared.files.atomic_io import write_json
from shared.git import trees
from shared.llm.client import Completion, Request
from shared.projects.programs import BRINGING
from shared.work_order.hashing import EMPTY_SHA256, sha256_bytes
from shared.work_order.schemas import WorkOrder


class _Refused(Exception):
    """Say why the attempt cannot begin."""


def propose(state: FactoryState, runtime: Runtime[FactoryContext]) -> StateUpdate:
    """Return the model's proposal, or a brief that says why there is none.

    No model is asked for an order that only removes files.
    """
    context, attempt = runtime.context, state["attempt"]
    order, options = context.order, context.options
    context.progress.begin_attempt(attempt.number)
    context.progress.begin_stage(attempt.number, AttemptStage.PROPOSE)
    try:
        if unmet := find_unmet(order, context.workspace.tree):
            raise _Refused(f"{unmet}. The plan is wrong, not the code.")
        remove_files(order, context.workspace.tree)
        attempt = replace(attempt, touched=bool(order.removed_files))
        shown = read_shown_files(order, context.workspace.tree, state["past"])
        check_that_parts_may_be_written(order, shown, options.models.reply_format)
        placed = acceptance_writes(context.task.loaded, context.workspace.tree)
        attempt = replace(attempt, shown=shown, placed=placed)
    except (_Refused, CannotPlace, CannotRemove) as refused:
        return _ended(attempt, brief_of(Stage.PREFLIGHT, order, str(refused)))
    if attempt.number == 1 and (missing := _missing_program(context)):
        return _ended(attempt, missing)
    gathering = Gathering(
        context.task, options, context.bench, context.emit, context.progress.is_cancelled
    )
    if (
        options.settings.strict_acceptance
        and attempt.number == 1
        and (hollow := gathering.skeleton())
    ):
        brief = brief_of(Stage.PREFLIGHT, order, _proves_nothing(hollow))
        return {"evidence": Evidence(on_skeleton=hollow), **_ended(attempt, brief)}
    if order.asks_model:
        warm_up(context.tools, _declared_paths(context))
        attempt, evidence = _asked(state, context, attempt, gathering)
    else:
        _, evidence = beside(lambda: None, gathering)
        attempt = replace(attempt, proposal=removals_alone(order))
    if attempt.proposal is not None:
        document = attempt.proposal.model_dump(mode="json")
        path = context.attempt_folder(attempt) / "proposed_writes.json"
        write_json(path, document, sync=False)
        # What may not be written need not wait for the commit that it would follow.
        attempt = check_writes(attempt, context)
        if attempt.brief:
            context.progress.begin_stage(attempt.number, AttemptStage.APPLY)
    return {"attempt": attempt, "evidence": evidence}


def _asked(
    state: FactoryState, context: FactoryContext, attempt: Attempt, gathering: Gathering
) -> tuple[Attempt, Evidence | None]:
    """Return the attempt with what the model replied, and the evidence gathered meanwhile."""
    evidence = state["evidence"]

    def first(request: Request) -> Completion:
        nonlocal evidence
        if evidence is not None:
            return context.client.complete(request)
        completion, evidence = beside(lambda: context.client.complete(request), gathering)
        return completion

    return ask(state, context, attempt, first), evidence


def _ended(attempt: Attempt, brief: FailureBrief) -> StateUpdate:
    return {"attempt": replace(attempt, brief=brief)}


def _proves_nothing(commands: Sequence[str]) -> str:
    listed = "\n".join(f"W234 `{each}` passes on code that does nothing" for each in commands)
    return (
        f"{listed}\nWith strict acceptance such an order is not begun: it has to assert what the "
        "interfaces are for. The plan is wrong, not the code."
    )


def _missing_program(context: FactoryContext) -> FailureBrief | None:
    """Return the brief of an acceptance command whose program is not there, if there is one.

    Such an order ends in the environment whatever the model replies, so the model is not asked.
    """
    order, task, bench = context.order, context.task, context.bench
    unfound = programs_not_found(order.acceptance_commands, bench.sandbox.has_program)
    if not unfound:
        return None
    git = context.workspace.git
    files = trees.files_of(git, task.base)
    contents = [trees.content_of(git, task.base, path) or b"" for path in BRINGING]
    texts = [each.decode(errors="replace") for each in contents]
    for each in unfound:
        if may_come(each.program, files, order.allowed_files, texts):
            continue
        around = surroundings_of(bench, context.options, task.base)
        if fault := missing_command(each.program, around):
            account = f"The acceptance command `{each.command}` cannot run, so no model was asked."
            return brief_of_fault(fault, brief_of(Stage.ENVIRONMENT, order, account))
    return None


def read_shown_files(
    order: WorkOrder, tree: Tree, past: Sequence[PastAttempt] = ()
) -> tuple[ShownFile, ...]:
    """Return the context files, all allowed files, and the acceptance files, in that sequence.

    They are shown whole; where they are too large together, the largest of them in parts. Raises
    `_Refused` where even that is too much, or a file cannot be shown at all.
    """
    placed = show_acceptance_files(order)
    paths = dict.fromkeys((*order.context_files, *order.allowed_files))
    known = {each.path for each in placed}
    files = (*(_show(path, tree) for path in paths if path not in known), *placed)
    shown = show_large_in_parts(files, order, past, MAX_CONTEXT_BYTES)
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
    """Raise `_Refused` where a file that is shown in part would have to be written whole."""
    if forced in (None, ReplyFormat.EDITS):
        return
    for file in shown:
        if file.parts is not None and file.path in order.allowed_files:
            raise _Refused(
                f"{file.path!r} is too large to be shown whole, and replies in the format {forced} "
                "have whole files: leave out --reply-format, or name edits"
            )


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
        return ShownFile(path, FileState(FileKind.FILE, sha256_bytes(data)), data.decode("utf-8"))
    except NotReadable as problem:
        if problem.kind is FileKind.ABSENT:
            return ShownFile(path, FileState(FileKind.ABSENT, EMPTY_SHA256), "")
        raise _Refused(f"{path!r} cannot be shown: it {DESCRIPTIONS[problem.kind]}") from None
    except UnicodeDecodeError:
        raise _Refused(f"{path!r} cannot be shown: it is not UTF-8 text") from None


def _declared_paths(context: FactoryContext) -> Iterator[str]:
    """Yield the paths of all interfaces that bind the order."""
    for order in context.task.loaded.binding:
        yield from (each.path for each in order.interfaces)
