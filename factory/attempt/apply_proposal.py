"""Puts a proposal into the tree: removed files, checks, writes, git's tree.

An order begins on the commit of the last order that it needs, and its own commit follows whatever
lands before it. Where these two differ in what the order changes or relies on, the order is made
again on the newer one, because its model was shown something else.

Attributes and settings of the target can make git rewrite content on its way into a commit: line
ends, `$Id$`, encodings. But a commit must hold what was judged, byte for byte. So the tree is made
and checked before any command runs, and committed as it is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from factory.attempt.attempt_state import Attempt, FactoryState, StateUpdate, Step
from factory.judging.environment_faults import full_disk
from factory.judging.failure_brief import brief_of, brief_of_fault
from factory.orders.documents import FailureBrief, FileWrite, WriteProposal
from factory.orders.read_orders import LoadedOrder
from factory.orders.stages import AttemptStage, Stage
from factory.preflight import name_paths
from factory.proposal.prompt import show_added
from factory.proposal.prompt_parts import name_removed
from factory.proposal.scope import DESCRIPTIONS, FileKind, FileState, WriteRefusal, check_proposal
from factory.proposal.shown_code import ShownFile, hashes_of
from factory.record.runs_on_record import FORMATTED_FILES, PLACED_FILES, REMOVED_FILES, WRITE_RESULT
from factory.workbench.formatting import SECONDS, Formatting
from factory.workbench.tree import NotReadable, Tree
from factory.workbench.workspace import side_by_side
from shared.errors import CommandFailed
from shared.events.events import Warned, WritesApplied
from shared.files.atomic_io import is_disk_full, make_folder, write_json, write_refused
from shared.git import commits, repos, trees
from shared.git.client import Git, GitFailed, TreeEntry
from shared.git.commits import is_id_of
from shared.languages.appended_tests import (
    CannotAppend,
    WholeTest,
    files_of_tests,
    tests_beside_code,
    whole_tests,
)
from shared.projects.project_tools import find_formatters
from shared.settings.settings import FormatChoice
from shared.work_order.parse_order import sha256_bytes
from shared.work_order.work_order import WorkOrder


class CannotPlace(Exception):
    """Say why an acceptance file cannot be put in place: the plan is wrong, not the code."""


def acceptance_writes(
    loaded: LoadedOrder, tree: Tree, proposal: WriteProposal | None = None
) -> tuple[FileWrite, ...]:
    """Return what puts the order's acceptance files into `tree`, as it is before the order.

    A test that is added to a file of the `proposal` is added to it as the proposal has it. Raises
    `CannotPlace` if one would replace something that is not an acceptance file of an earlier order,
    or cannot be added to the file.
    """
    tests = tests_of(loaded.order, tree, proposal)
    return tuple(
        FileWrite(
            path=each.path,
            base_sha256=_checked(each, loaded, tree).sha256,
            content=each.content,
        )
        for each in tests
    )


def tests_of(
    order: WorkOrder, tree: Tree, proposal: WriteProposal | None = None
) -> tuple[WholeTest, ...]:
    """Return the acceptance files as they will be on `tree`, as it is before the order.

    Raises `CannotPlace` if one cannot be added to the file that is there, or that is proposed.
    """
    proposed = {each.path: each.content for each in proposal.writes} if proposal else {}

    def read(path: str) -> str | None:
        try:
            return tree.read(path).decode()
        except (NotReadable, UnicodeDecodeError):
            return None

    try:
        return tuple(whole_tests(order.acceptance_files, read, proposed))
    except CannotAppend as refused:
        if refused.path not in proposed:
            raise CannotPlace(_because(refused.path, str(refused))) from None
        raise CannotPlace(_spoilt(refused.path, refused.reason)) from None


def _checked(file: WholeTest, loaded: LoadedOrder, tree: Tree) -> FileState:
    state = tree.state_of(file.path)
    if state.kind is FileKind.FILE:
        as_planned = state.sha256 == sha256_bytes(file.content.encode())
        replaceable = file.is_appended or file.path in loaded.replaceable
        if not as_planned and not replaceable:
            problem = "exists, and no earlier order of the plan placed it"
            raise CannotPlace(_because(file.path, problem))
    elif state.kind is not FileKind.ABSENT:
        raise CannotPlace(_because(file.path, DESCRIPTIONS[state.kind]))
    elif lookalike := tree.lookalike_of(file.path):
        problem = f"is the same as {lookalike!r} on some file systems"
        raise CannotPlace(_because(file.path, problem))
    return state


def _because(path: str, problem: str) -> str:
    return (
        f"the acceptance file {path!r} cannot be put in place: it {problem}. "
        "The plan is wrong, not the code."
    )


def _spoilt(path: str, problem: str) -> str:
    return (
        f"the test that the plan adds to {path!r} cannot be added: the proposed file {problem}. "
        "Leave the module of tests as it is, without the plan's test: that is added to it."
    )


def show_acceptance_files(order: WorkOrder, tests: Iterable[WholeTest]) -> tuple[ShownFile, ...]:
    """Return the acceptance files as a prompt shows them: as they will be.

    Of a long file that a test is added to, its head and what is added are shown. Files of code that
    tests are added to are not among them: a reply begins from what is there.
    """
    apart = files_of_tests(order)
    return tuple(
        show_added(
            ShownFile(
                each.path,
                FileState(FileKind.FILE, sha256_bytes(each.content.encode())),
                each.content,
            ),
            each.before,
        )
        for each in tests
        if each.path in apart
    )


_SATISFYING: Final = {
    "file_exists": frozenset({FileKind.FILE, FileKind.LINK}),
    "file_absent": frozenset({FileKind.ABSENT, FileKind.BEHIND_FILE}),
}


def find_unmet(order: WorkOrder, tree: Tree) -> str:
    """Return the first precondition that does not hold in `tree`, and why; "" if all hold."""
    for condition in order.preconditions:
        kind = tree.kind_of(condition.path)
        if kind not in _SATISFYING[condition.kind]:
            return (
                f"precondition {condition.kind} {condition.path!r} does not hold at this point of "
                f"the chain: it {DESCRIPTIONS[kind]}"
            )
    return ""


# A link is removed itself, and never what it points to.
_REMOVABLE: Final = frozenset({FileKind.FILE, FileKind.LINK})


class CannotRemove(Exception):
    """Say why a file cannot be removed: the plan is wrong, not the code."""


def removals_alone(order: WorkOrder) -> WriteProposal:
    """Return the proposal of an order that only removes files, for which no model is asked."""
    summary = f"Removes {', '.join(name_removed(order.removed_files))}."
    return WriteProposal(summary=summary, writes=())


def with_remedy(brief: FailureBrief, order: WorkOrder) -> FailureBrief:
    """Return the brief, with what a person can do where no model is asked for another proposal."""
    if order.asks_model or brief.remedy or not brief.stage.retryable:
        return brief
    remedy = (
        f"{order.id} only removes files, so no model is asked: list in its `allowed_files` what "
        "has to change with them, and take the edit by `llmch check PLAN --accept-edits`"
    )
    return brief.model_copy(update={"remedy": remedy})


def remove_files(order: WorkOrder, tree: Tree) -> None:
    """Remove the order's `removed_files` from `tree`, as it is before the order.

    Raises `CannotRemove` if one of them is not a file there, before any is removed, and
    `CommandFailed` if the disk refuses.
    """
    check_removable(order, tree)
    keep_removed(order, tree)


def check_removable(order: WorkOrder, tree: Tree) -> None:
    """Raise `CannotRemove` if one of the order's `removed_files` is not a file in `tree`."""
    for path in order.removed_files:
        kind = tree.kind_of(path)
        if kind not in _REMOVABLE:
            raise CannotRemove(
                f"the order removes {path!r}, which {DESCRIPTIONS[kind]} at this point of the "
                "chain. The plan is wrong, not the code."
            )


def keep_removed(order: WorkOrder, tree: Tree) -> None:
    """Remove those of the order's `removed_files` that are there again.

    The trial runs before a proposal is applied leave the tree as it was before the order. Raises
    `CommandFailed` if the disk refuses.
    """
    for path in order.removed_files:
        try:
            tree.remove(path)
        except NotReadable as refused:
            raise CommandFailed(
                f"cannot remove {tree.root / path}: it {DESCRIPTIONS[refused.kind]}",
                "find out which process uses the workspace; the next run makes a new one",
            ) from None
        except OSError as error:
            raise write_refused(tree.root / path, error) from error


class DoesNotFit(Exception):
    """Say why the proposal has to be made again on the commit that it is to follow."""


def fit_to_parent(attempt: Attempt, step: Step) -> Attempt:
    """Return the attempt as it is on the parent, whose files the workspace holds.

    Raises `DoesNotFit` if a file that the order writes is not what the model was shown, a file that
    it removes is gone, or a precondition does not hold any more.
    """
    order, tree = step.order, step.workspace.tree
    if unmet := find_unmet(order, tree):
        raise DoesNotFit(unmet)
    changed = [
        each.path
        for each in attempt.shown
        if each.path in order.allowed_files and tree.state_of(each.path) != each.state
    ]
    if changed:
        raise DoesNotFit(f"what landed since changes the same files: {name_paths(changed)}")
    try:
        check_removable(order, tree)
        return replace(attempt, placed=acceptance_writes(step.task.loaded, tree))
    except (CannotRemove, CannotPlace) as refused:
        raise DoesNotFit(str(refused)) from None


_REGULAR_MODES = frozenset({"100644", "100755"})
_ATTRIBUTES = ("filter", "ident", "working-tree-encoding")
_NO_VALUE = frozenset({"", "unset", "unspecified"})


def write_files(tree: Tree, writes: Sequence[FileWrite]) -> tuple[WriteRefusal, ...]:
    """Write files that have been checked; return the refusal of the file system, if any."""
    for write in writes:
        try:
            tree.write(write.path, write.content.encode())
        except (OSError, NotReadable) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            stage = Stage.ENVIRONMENT if is_disk_full(error) else Stage.WRITE_FAILED
            return (WriteRefusal(stage, f"{write.path!r} was not written: {reason}"),)
    return ()


@dataclass(frozen=True, slots=True)
class Staged:
    """Hold the tree that a commit of the written files has, and a refusal for each problem.

    `filtered` are the files that a filter of the user's own config (git-lfs) has rewritten, and
    `unixed` those with CRLF line ends as git stores them, with LF.
    """

    tree: str = ""
    refusals: tuple[WriteRefusal, ...] = ()
    filtered: frozenset[str] = frozenset()
    unixed: tuple[FileWrite, ...] = ()


def stage_files(
    git: Git,
    writes: Sequence[FileWrite],
    removed: Sequence[str] = (),
    crlf: Collection[str] = (),
) -> Staged:
    """Stage the written files, and return what git made of them.

    `removed` are the files that the tree does not have any more, and `crlf` those that git checks
    out with CRLF line ends, which a change of a part of them keeps.
    """
    paths = [each.path for each in writes]
    try:
        if removed:
            trees.remove(git, removed)
        trees.stage(git, paths)
        tree, entries = side_by_side(
            lambda: trees.write_tree(git), lambda: trees.staged_entries(git, paths)
        )
    except GitFailed as failed:
        return Staged(refusals=tuple(_refused_by_git(git, paths, failed)))
    altered = [each for each in writes if not _is_stored_as_proposed(each, entries)]
    with_lf = (_with_lf(each) for each in altered if each.path in crlf)
    unixed = tuple(each for each in with_lf if _is_stored_as_proposed(each, entries))
    stored = {each.path for each in unixed}
    altered = [each for each in altered if each.path not in stored]
    refusals = tuple(_alterations(git, altered))
    return Staged(tree, refusals, frozenset(each.path for each in altered), unixed)


def _with_lf(write: FileWrite) -> FileWrite:
    return write.model_copy(update={"content": write.content.replace("\r\n", "\n")})


def _is_stored_as_proposed(write: FileWrite, entries: Mapping[str, TreeEntry]) -> bool:
    entry = entries.get(write.path)
    return (
        entry is not None
        and entry.mode in _REGULAR_MODES
        and is_id_of(entry.object_id, write.content.encode())
    )


def _alterations(git: Git, altered: Sequence[FileWrite]) -> Iterator[WriteRefusal]:
    if not altered:
        return
    attributes = trees.attributes_of(git, [each.path for each in altered], _ATTRIBUTES)
    for write in altered:
        found = attributes[write.path]
        if not _is_filtered(git, found["filter"]):
            yield _violation(write.path, _alteration(write.content, found))


def _alteration(content: str, attributes: Mapping[str, str]) -> str:
    if encoding := _encoding(attributes):
        return f"is to be {encoding} by .gitattributes, and only UTF-8 can be written"
    if "\r\n" in content:
        return "has CRLF line ends, which git is set up to store as LF here: use LF"
    if attributes["ident"] == "set":
        return "has an expanded $Id$, which git stores as plain $Id$ here: write that"
    return "would be stored by git with other content"


def _encoding(attributes: Mapping[str, str]) -> str:
    value = attributes["working-tree-encoding"]
    return "" if value in _NO_VALUE else value


def _is_filtered(git: Git, name: str) -> bool:
    """Return whether a filter of this name runs; one that only the repo defines does not."""
    keys = (f"filter.{name}.clean", f"filter.{name}.process")
    return name not in _NO_VALUE and any(repos.setting(git, key) for key in keys)


def _refused_by_git(git: Git, paths: Sequence[str], failed: GitFailed) -> Iterator[WriteRefusal]:
    """Yield a refusal for each file whose encoding git could not read, or one for any other error.

    Only the former can be fixed by other content.
    """
    attributes = trees.attributes_of(git, paths, _ATTRIBUTES)
    encoded = [path for path in paths if _encoding(attributes[path])]
    for path in encoded:
        yield _violation(path, _alteration("", attributes[path]))
    if not encoded:
        full = os.strerror(errno.ENOSPC) in failed.message
        yield WriteRefusal(Stage.ENVIRONMENT if full else Stage.WRITE_FAILED, failed.message)


def _violation(path: str, problem: str) -> WriteRefusal:
    return WriteRefusal(
        Stage.WRITE_SCOPE_VIOLATION,
        f"{path!r} {problem}; what is committed must be exactly what was proposed",
    )


def apply(state: FactoryState, step: Step) -> StateUpdate:
    """Put the proposal's files and the plan's acceptance files into the workspace.

    The files that the order removes are taken out of it first. The commit of what was written is
    announced before it is judged. If nothing can be written, the result is a brief with the reason.
    Raises `DoesNotFit` if the commit that it is to follow is not what the proposal was made for.
    """
    attempt = state["attempt"]
    if step.parent != step.task.base:
        attempt = fit_to_parent(attempt, step)
    step.progress.begin_stage(attempt.number, AttemptStage.APPLY)
    attempt = check_writes(attempt, step)
    if attempt.brief is None:
        attempt = _write(replace(attempt, touched=True), step)
        _record(step, attempt)
    if attempt.commit:
        step.run.known.expect(attempt.commit)
        step.announce(attempt.commit)
        order, proposal = step.order, attempt.proposed
        paths, removed = proposal.paths, order.removed_files
        step.emit(WritesApplied(order.id, attempt.number, paths, proposal.summary, removed))
    return {"attempt": attempt}


def check_writes(attempt: Attempt, step: Step) -> Attempt:
    """Return the attempt with a brief if the proposal may not be written; nothing is written.

    The files that the order removes are taken out of the tree first.
    """
    order, files = step.order, step.workspace.tree
    keep_removed(order, files)
    violations = check_proposal(order, attempt.proposed, hashes_of(attempt.shown), files)
    if not violations and not tests_beside_code(order).keys().isdisjoint(attempt.proposed.paths):
        try:
            placed = acceptance_writes(step.task.loaded, files, attempt.proposed)
            attempt = replace(attempt, placed=placed)
        except CannotPlace as refused:
            violations = (WriteRefusal(Stage.WRITE_SCOPE_VIOLATION, str(refused)),)
    if violations:
        attempt = replace(attempt, brief=_refused(violations, order))
        _record(step, attempt)
    return attempt


def _write(attempt: Attempt, step: Step) -> Attempt:
    """Return the attempt with the tree and the commit of what it writes, or with a brief."""
    order, files, git = step.order, step.workspace.tree, step.workspace.git
    crlf = [each.path for each in attempt.shown if "\r\n" in each.text]
    staged = _staged(files, git, attempt.writes, order, crlf)
    if staged.unixed and not staged.refusals:
        attempt = replace(attempt, formatted=staged.unixed)
        staged = _staged(files, git, attempt.writes, order)
    if not staged.refusals and (formatted := _formatted(attempt, step)):
        made = {each.path: each for each in (*attempt.formatted, *formatted)}
        attempt = replace(attempt, formatted=tuple(made.values()))
        staged = _staged(files, git, attempt.writes, order)
    if staged.refusals:
        return replace(attempt, brief=_refused(staged.refusals, order))
    facts = step.task.commit_facts(attempt.proposed.summary)
    commit = commits.write(git, staged.tree, step.parent, facts)
    paths = [each.path for each in attempt.writes]
    step.workspace.foresee(commit, paths, order.removed_files)
    step.workspace.expect(paths, order.removed_files)
    return replace(attempt, tree=staged.tree, commit=commit, filtered=staged.filtered)


def _staged(
    files: Tree, git: Git, writes: Sequence[FileWrite], order: WorkOrder, crlf: Sequence[str] = ()
) -> Staged:
    if refusals := write_files(files, writes):
        return Staged(refusals=refusals)
    return stage_files(git, writes, order.removed_files, crlf)


def _formatted(attempt: Attempt, step: Step) -> tuple[FileWrite, ...]:
    """Return the files that the project's own formatter changes, which are staged as written."""
    workspace, order = step.workspace, step.order
    if step.run.options.settings.format is FormatChoice.OFF:
        return ()

    def read(path: str) -> str:
        return (trees.content_of(workspace.git, step.parent, path) or b"").decode(errors="replace")

    writes, paths = attempt.writes, [each.path for each in attempt.writes]
    formatters = find_formatters(workspace.files, read, paths)
    if not formatters:
        return ()
    workspace.expect(paths, order.removed_files)
    logs = make_folder(step.attempt_folder(attempt) / "logs")
    seconds = min(SECONDS, step.run.options.settings.timeout_seconds)
    formatting = Formatting(step.bench, logs / "format", seconds)
    tests = frozenset(each.path for each in attempt.placed)
    formatting.format(formatters, writes, tests, read)
    for warning in formatting.warnings:
        step.emit(Warned(f"{order.id}: {warning}"))
    return tuple(
        each.model_copy(update={"content": formatting.formatted[each.path]})
        for each in writes
        if each.path in formatting.formatted
    )


def _refused(violations: Sequence[WriteRefusal], order: WorkOrder) -> FailureBrief:
    account = "\n".join(each.message for each in violations)
    brief = brief_of(violations[0].stage, order, account)
    return brief_of_fault(full_disk(), brief) if brief.stage is Stage.ENVIRONMENT else brief


def _record(step: Step, attempt: Attempt) -> None:
    brief, folder = attempt.brief, step.attempt_folder(attempt)
    if attempt.placed:
        placed = WriteProposal(summary="acceptance files of the plan", writes=attempt.placed)
        write_json(folder / PLACED_FILES, placed.model_dump(mode="json"), sync=False)
    if attempt.formatted:
        made = WriteProposal(summary="as the formatter made it", writes=attempt.formatted)
        write_json(folder / FORMATTED_FILES, made.model_dump(mode="json"), sync=False)
    result: dict[str, object] = {
        "write_ok": brief is None,
        "touched_files": list(attempt.proposed.paths),
        "errors": [] if brief is None else brief.primary_error_excerpt.splitlines(),
    }
    if removed := step.order.removed_files:
        result[REMOVED_FILES] = list(removed)
    write_json(folder / WRITE_RESULT, result, sync=False)
