"""Judges a person's commit as if an attempt had made it.

The very tree of the commit is judged: declared interfaces, verification, postconditions and
acceptance, in the sandbox.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from factory.judging.contract import check_declarations, render_violations, without_syntax
from factory.judging.failure_brief import brief_of
from factory.judging.judgement import Judgement, run_checks
from factory.judging.proof import KnownCommits
from factory.judging.run_checks import Checks, Trial, verification_before
from factory.orders.stages import Stage
from factory.orders.task import OrderTask, RunOptions
from factory.preflight import name_paths
from factory.record.progress import AnnouncedProgress
from factory.record.summary import unjudged_warning
from factory.statement.statement import ChangePart, FileHash
from factory.workbench.pool import Workbench, WorkbenchPool
from factory.workbench.tree import NotReadable, Tree
from shared.events.events import Emit, Warned
from shared.files.atomic_io import make_folder, write_json
from shared.git import trees
from shared.git.client import Git, TreeEntry
from shared.git.commits import is_id_of
from shared.languages.appended_tests import (
    CannotAppend,
    holds_test,
    tests_beside_code,
    tests_in,
    whole_tests,
)
from shared.languages.language_tools import Tools
from shared.projects.project_tools import same_code
from shared.work_order.work_order import AcceptanceFile, WorkOrder


@dataclass(frozen=True, slots=True)
class StandIn:
    """Judge commits that people made. `known` says what their parents showed."""

    options: RunOptions
    git: Git
    pool: WorkbenchPool
    tools: Tools
    known: KnownCommits
    emit: Emit

    def judge(self, commit: str, task: OrderTask, changed: frozenset[str]) -> Judgement:
        """Return the commands that judged `commit`, and why it does not do what the order asks for.

        The task's base is the commit's parent, and `changed` are the files that differ from it.
        Records go to the task's folder.
        """
        order, folder = task.order, make_folder(task.folder)
        with self.pool.lend(commit) as bench:
            if account := self._violations(task, commit, changed, bench, folder):
                return Judgement((), (), brief_of(Stage.CONTRACT_VIOLATED, order, account))
            own = (*order.allowed_files, *(each.path for each in order.acceptance_files))
            tree = bench.workspace.tree
            checks = self._checks(task, changed, bench)
            trial = Trial(
                task,
                self.options,
                bench,
                self.emit,
                AnnouncedProgress(order.id, self.emit),
                folder,
                written={path: tree.state_of(path).sha256 for path in own if tree.exists(path)},
                known=lambda: self.known.of(task.base),
                removed=order.removed_files,
                staged=trees.tree_of(self.git, commit),
                checks=checks.commands,
                exempt=checks.exempt,
            )
            bench.workspace.expect(trial.written, trial.removed)
            judgement = run_checks(trial)
        for warning in judgement.warnings:
            self.emit(Warned(f"{order.id}: {warning}"))
        return judgement

    def _checks(self, task: OrderTask, changed: frozenset[str], bench: Workbench) -> Checks:
        """Return what verifies the commit: what its parent says, and what its own tree says."""
        git, paths = self.git, sorted(changed)
        before = {path: _decoded(trees.content_of(git, task.base, path)) for path in paths}
        now = {path: _text_in(bench.workspace.tree, path) for path in paths}
        verification = verification_before(
            bench.workspace, before, self.options.settings.verify, task.exemption
        )
        return verification.checks_with(now)

    def _violations(
        self,
        task: OrderTask,
        commit: str,
        changed: frozenset[str],
        bench: Workbench,
        folder: Path,
    ) -> str:
        """Return the declarations that the commit breaks, one a line; "" if it keeps them all."""
        contract = check_declarations(
            task.loaded.binding,
            changed,
            bench.workspace.tree,
            lambda: trees.files_of(self.git, commit),
            self.tools,
        )
        if not bench.reads_alike:
            contract = without_syntax(contract)
        write_json(folder / "contract_result.json", contract.document(), sync=False)
        if contract.unjudged:
            self.emit(Warned(f"{task.name}: {unjudged_warning(contract.unjudged)}"))
        return render_violations(contract.violations)


def _text_in(tree: Tree, path: str) -> str | None:
    try:
        return _decoded(tree.read(path))
    except NotReadable:
        return None


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


_FILES: Final = ("100644", "100755")


def paths_of(order: WorkOrder) -> frozenset[str]:
    """Return the paths that a commit of the order may touch."""
    placed = (each.path for each in order.acceptance_files)
    return frozenset((*order.allowed_files, *placed, *order.removed_files))


def change_of(git: Git, commit: str, changed: Collection[str]) -> ChangePart:
    """Return what a statement lists of a commit that changes the files `changed`.

    Links and submodules are not listed, because the tree of the commit names them.
    """
    paths = sorted(changed)
    hashes, there = trees.hashes_of(git, commit, paths), trees.entries_of(git, commit, paths)
    return ChangePart(
        written=tuple(
            FileHash(path=as_text(path), sha256=hashes[path]) for path in paths if path in hashes
        ),
        removed=tuple(as_text(path) for path in paths if path not in there),
    )


def text_at(git: Git, commit: str, path: str) -> str | None:
    """Return the text of a file at a commit; `None` if there is no such text."""
    data = trees.content_of(git, commit, path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def is_laid_out(git: Git, path: str, entry: TreeEntry, content: bytes) -> bool:
    """Return whether an entry has a content, maybe as the project's formatter made it."""
    if is_id_of(entry.object_id, content):
        return True  # a partial clone may lack the content itself
    stored = trees.blobs(git, [entry.object_id]).get(entry.object_id)
    try:
        return stored is not None and same_code(path, content.decode(), stored.decode())
    except UnicodeDecodeError:
        return False


def _whole(git: Git, file: AcceptanceFile, parent: str) -> str:
    try:
        (test,) = whole_tests([file], partial(text_at, git, parent))
    except CannotAppend:
        return ""
    return test.content


def _has_tests_of(path: str, text: str | None, wanted: str) -> bool:
    try:
        found = tests_in(path, text)
        return bool(found) and same_code(path, found, tests_in(path, wanted))
    except CannotAppend:
        return False


def as_text(path: str) -> str:
    """Return a path as JSON can hold it: bytes that are not text become their numbers."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def faults_of_change(git: Git, order: WorkOrder, parent: str, commit: str) -> Iterator[str]:
    """Yield what in the commit's tree is not as the order says, each as the end of a sentence.

    The tree may differ from the parent's only in the order's paths, and only plain files may be
    there.
    """
    allowed = paths_of(order)
    if beyond := trees.files_between(git, parent, commit) - allowed:
        yield f"it changes what the order does not allow: {name_paths(sorted(beyond))}"
    entries = trees.entries_of(git, commit, sorted(allowed))
    if odd := [path for path, each in entries.items() if each.mode not in _FILES]:
        yield f"{name_paths(sorted(odd))} is not a plain file"
    yield from lacking(git, order, commit, parent)


def lacking(git: Git, order: WorkOrder, commit: str, parent: str = "") -> Iterator[str]:
    """Yield the tests and removals of the order that the commit's tree lacks.

    With a `parent`, a test that is added to a file of it is all that changes in this file, unless
    the order may write the file. A commit that a person made only has to hold the test.
    """
    placed, beside = [each.path for each in order.acceptance_files], tests_beside_code(order)
    if not placed and not order.removed_files:
        return
    entries = trees.entries_of(git, commit, sorted({*placed, *order.removed_files}))
    for file in order.acceptance_files:
        path = file.path
        if path not in entries:
            yield f"it does not have the plan's test {path!r}"
        elif file.append is not None and not parent:
            text = text_at(git, commit, path) or ""
            if not holds_test(path, text, file.append, file.table):
                yield f"its {path!r} does not hold the test that the plan adds to it"
        elif path in beside:
            if not _has_tests_of(path, text_at(git, commit, path), _whole(git, file, parent)):
                yield f"the tests in its {path!r} are not those of before and the plan's"
        elif not is_laid_out(git, path, entries[path], _whole(git, file, parent).encode()):
            yield f"its {path!r} is not the plan's test but for its layout"
    for path in order.removed_files:
        if path in entries:
            yield f"it still has {path!r}, which the order removes"
