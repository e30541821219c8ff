"""Gets the proposal of an attempt, from whoever the settings name for it, or from a commit.

What comes back is the same from all of them, and everything after it does not know who proposed.

The change of a commit to the order's files is its proposal. Where the new parent has a file as it
was, the file is taken as the commit has it; where both changed it, git merges the two. What comes
of it is checked and judged as any proposal is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from factory.agents import agent_task, own_loop, run_agent
from factory.agents.agent_task import ABSENT, write_of
from factory.attempt import dialogue
from factory.attempt.apply_proposal import (
    CannotPlace,
    CannotRemove,
    acceptance_writes,
    check_writes,
    find_unmet,
    keep_removed,
    removals_alone,
    remove_files,
    show_acceptance_files,
    tests_of,
)
from factory.attempt.attempt_state import Attempt, FactoryState, StateUpdate, Step
from factory.judging import run_checks
from factory.judging.acceptance_evidence import (
    Evidence,
    EvidenceCollector,
    beside,
    named_by,
    programs_not_found,
    why_not_so,
)
from factory.judging.environment_faults import missing_command, surroundings_of
from factory.judging.failure_brief import brief_of, brief_of_fault
from factory.orders.documents import (
    MAX_CONTEXT_BYTES,
    MAX_EDITED_BYTES,
    AgentRecord,
    AttemptRecord,
    FailureBrief,
    FileWrite,
    ReplyFormat,
)
from factory.orders.model_choice import PastAttempt, first_model
from factory.orders.stages import AttemptStage, Stage
from factory.orders.task import Given, Onto, Origin
from factory.proposal.prompt import render_parts, show_large_in_parts
from factory.proposal.reply_formats import ImpossibleClaim
from factory.proposal.scope import DESCRIPTIONS, FileKind, FileState
from factory.proposal.shown_code import ShownFile, show_what_is_called
from factory.workbench.tree import NotReadable, Tree
from shared.events.events import Noted
from shared.files.atomic_io import write_json
from shared.git import trees
from shared.git.client import Git
from shared.languages.registry import warm_up
from shared.llm.model_access import is_small
from shared.llm.model_client import Api, CallPlace, Completion, Request, Role, Usage
from shared.projects.build_tools import BRINGING, may_come
from shared.projects.conventions import find_conventions
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes
from shared.work_order.work_order import WorkOrder

_REGULAR = ("100644", "100755")


class _Conflict(Exception):
    """Say why a file cannot be carried over."""


def carry_over(onto: Onto, origin: Origin, order: WorkOrder, git: Git, parent: str) -> Given:
    """Return what the commit of `origin` did for an order, as a proposal on `parent`.

    It has a problem where the two branches conflict, or where nothing is left to write.
    """
    name = f"commit {origin.commit[:12]} of {onto.from_branch}"
    by = AgentRecord(name=name, version=origin.commit, replies=origin.replies)
    touched = trees.files_between(git, origin.parent, origin.commit)
    writes: list[FileWrite] = []
    merged: list[str] = []
    conflicts: list[str] = []
    for path in sorted(touched.intersection(order.allowed_files)):
        try:
            write, both = _carried(origin, path, git, parent)
        except _Conflict as conflict:
            conflicts.append(f"{path} {conflict}")
            continue
        writes += write
        merged += [path] if both and write else []
    if conflicts:
        return Given(by, problem=f"{name} conflicts with {onto.branch}: {'; '.join(conflicts)}")
    if not writes:
        return Given(by, problem=f"{name} changes nothing here that {order.id} may write")
    documents = [each.model_dump(mode="json") for each in writes]
    summary = origin.summary or f"Carried over from {name}."
    reply = json.dumps({"summary": summary, "writes": documents}, ensure_ascii=False)
    digest = sha256_bytes(reply.encode("utf-8", "surrogatepass"))
    return Given(by.model_copy(update={"sha256": digest, "merged": tuple(merged)}), reply)


def _carried(origin: Origin, path: str, git: Git, parent: str) -> tuple[list[FileWrite], bool]:
    """Return the write of one file, if there is any to do, and whether both sides changed it."""
    for commit in (origin.commit, parent):
        for entry in trees.entries_of(git, commit, [path]).values():
            if entry.mode not in _REGULAR:
                raise _Conflict("is a link or a submodule on one side")
    base, theirs, ours = (
        trees.content_of(git, each, path) for each in (origin.parent, origin.commit, parent)
    )
    before = ABSENT if ours is None else FileState(FileKind.FILE, sha256_bytes(ours))
    if theirs is None:
        raise _Conflict("was removed, which no proposal can do")
    if ours in (base, theirs):
        content = theirs
    elif ours is None:
        raise _Conflict("is not there any more")
    elif base is None:
        raise _Conflict("is new on both sides")
    else:
        content = _merged(git, ours, base, theirs)
    write = write_of(path, content, before)
    if isinstance(write, str) and write:
        raise _Conflict(write)
    return [each for each in (write,) if isinstance(each, FileWrite)], ours not in (base, theirs)


def _merged(git: Git, ours: bytes, base: bytes, theirs: bytes) -> bytes:
    if b"\0" in ours + base + theirs:
        raise _Conflict("is not text")
    merged = trees.merged(git, ours, base, theirs)
    if isinstance(merged, bytes):
        return merged
    shown = [each.decode("utf-8", "replace")[:_CHARACTERS] for each in merged[:_SHOWN]]
    more = f" and in {len(merged) - _SHOWN} more places" if len(merged) > _SHOWN else ""
    raise _Conflict(f"is changed by both at {', '.join(f'`{each}`' for each in shown)}{more}")


_SHOWN = 3
_CHARACTERS = 60


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
    if is_strict and (empty := _without_proof(order, collector)).flags():
        brief = brief_of(Stage.PREFLIGHT, order, _proves_nothing(empty))
        return {"evidence": empty, **_ended(attempt, brief)}
    if order.asks_model:
        warm_up(step.run.tools, _declared_paths(step))
        attempt, evidence = _proposer_of(step, attempt)(state, step, attempt, collector)
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


class Proposer(Protocol):
    """Return an attempt with a proposal, with a claim, or with a brief that says why not.

    The evidence is that of the state, or else what the collector found meanwhile.
    """

    def __call__(
        self, state: FactoryState, step: Step, attempt: Attempt, collector: EvidenceCollector
    ) -> tuple[Attempt, Evidence | None]: ...


def _proposer_of(step: Step, attempt: Attempt) -> Proposer:
    options = step.run.options
    if options.given:
        return take_given
    if options.onto and attempt.number == 1:
        return partial(take_carried, options.onto)
    return _asked_of(step, attempt)


def _asked_of(step: Step, attempt: Attempt) -> Proposer:
    match step.run.options.settings.factory.proposer_of(attempt.number):
        case ("model",):
            return ask_model
        case ("tools",):
            return ask_with_tools
        case words:
            return partial(ask_agent, words)


def ask_agent(
    words: tuple[str, ...],
    state: FactoryState,
    step: Step,
    attempt: Attempt,
    collector: EvidenceCollector,
) -> tuple[Attempt, Evidence | None]:
    """Have an agent work in the workspace, after the trials, which need it too."""
    evidence = _gathered(state, collector)
    keep_removed(step.order, step.workspace.tree)
    task = _task_of(state, step, attempt)
    request = run_agent.agent_request(words, task, step.run.model.client)
    return dialogue.take_outcome(state, step, replace(attempt, touched=True), request), evidence


def ask_with_tools(
    state: FactoryState, step: Step, attempt: Attempt, collector: EvidenceCollector
) -> tuple[Attempt, Evidence | None]:
    """Have the model look before it replies, after the trials, which need the workspace too."""
    evidence = _gathered(state, collector)
    task = _task_of(state, step, attempt)
    options, folder = step.run.options, task.folder / "tools"
    trial = run_checks.Trial(step.task, options, step.bench, step.emit, step.progress, folder)
    with own_loop.announced(task, step.client, trial) as loop:
        attempt = dialogue.ask(state, step, attempt, loop.complete, loop.complete)
        loop.files = tuple(sorted(attempt.proposal.paths)) if attempt.proposal else ()
    return replace(attempt, agent=loop.record), evidence


def _gathered(state: FactoryState, collector: EvidenceCollector) -> Evidence | None:
    return state["evidence"] or beside(lambda: None, collector)[1]


def _task_of(state: FactoryState, step: Step, attempt: Attempt) -> agent_task.AgentTask:
    options, commit = step.run.options, step.workspace.baseline
    return agent_task.AgentTask(
        order=step.order,
        attempt=attempt.number,
        tree=trees.tree_of(step.workspace.git, commit),
        bench=step.bench,
        folder=step.attempt_folder(attempt),
        shown=attempt.shown,
        placed=attempt.placed,
        verification=tuple(check.text for check in step.verification.checks().commands),
        known=step.task.loaded.known,
        conventions=attempt.conventions,
        hint=step.task.loaded.hint,
        past=state["past"],
        asked=first_model(options.models, state["past"], attempt.number),
        models=options.models,
        bounds=options.settings.factory.agent,
        emit=step.emit,
        is_cancelled=step.progress.is_cancelled,
    )


def ask_model(
    state: FactoryState, step: Step, attempt: Attempt, collector: EvidenceCollector
) -> tuple[Attempt, Evidence | None]:
    """Have the model reply once, and gather evidence meanwhile."""
    evidence = state["evidence"]

    def first(request: Request) -> Completion:
        nonlocal evidence
        if evidence is not None:
            return step.client.complete(request)
        completion, evidence = beside(lambda: step.client.complete(request), collector)
        return completion

    return dialogue.ask(state, step, attempt, first, step.client.complete), evidence


def take_given(
    state: FactoryState, step: Step, attempt: Attempt, collector: EvidenceCollector
) -> tuple[Attempt, Evidence | None]:
    """Take what somebody proposes for this attempt; gather the evidence if there is none yet."""
    given = step.run.options.given[attempt.number - 1]
    evidence = _gathered(state, collector)
    if given.problem:
        brief = brief_of(Stage.WRITE_SCOPE_VIOLATION, step.order, given.problem)
        return replace(attempt, agent=given.by, brief=brief), evidence
    return _taken(given, state, step, attempt), evidence


def _taken(
    given: Given, state: FactoryState, step: Step, attempt: Attempt, *, is_pure: bool = False
) -> Attempt:
    name, reply = given.by.name, given.reply
    request = Request(
        api=Api.CHAT,
        model=name,
        prompt=f"Proposed by {name}, with the SHA-256 {given.by.sha256}.\n",
        place=CallPlace(Role.FACTORY, attempt.number, step.order.id),
        perform=lambda: Completion(reply, "", Usage(), document=given.by.model_dump_json()),
    )
    return dialogue.take_outcome(state, step, attempt, request, is_pure=is_pure)


def take_carried(
    onto: Onto, state: FactoryState, step: Step, attempt: Attempt, collector: EvidenceCollector
) -> tuple[Attempt, Evidence | None]:
    """Take what the order's commit on another branch did; ask for the order where that conflicts.

    Where nobody is to be asked, the conflict ends the order.
    """
    problem = f"{step.order.id} has not landed on {onto.from_branch}"
    if origin := onto.origins.get(step.order.id):
        git, parent = step.workspace.git, step.workspace.baseline
        given = carry_over(onto, origin, step.order, git, parent)
        if not given.problem:
            evidence = _gathered(state, collector)
            return _taken(given, state, step, attempt, is_pure=True), evidence
        problem = given.problem
    if not onto.asks_model:
        return replace(attempt, brief=brief_of(Stage.CONFLICT, step.order, problem)), None
    step.emit(Noted(f"{step.order.id} is not carried over: {problem}"))
    return _asked_of(step, attempt)(state, step, attempt, collector)


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


def _without_proof(order: WorkOrder, collector: EvidenceCollector) -> Evidence:
    """Return the commands that pass on code that does nothing; on the baseline, where all do.

    The commands of an order often begin with what passes already. One that has no other does not
    say what it adds.
    """
    if hollow := collector.skeleton():
        return Evidence(on_skeleton=hollow)
    green = collector.baseline()
    return Evidence(on_baseline=green if {*green} == {*order.acceptance_commands} else ())


def _proves_nothing(empty: Evidence) -> str:
    listed = "\n".join(f"{each.code} `{each.command}` {each.message}" for each in empty.flags())
    return (
        f"{listed}\nWith strict acceptance such an order is not begun: it has to assert what it is "
        "for. The plan is wrong, not the code."
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
