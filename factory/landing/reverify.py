"""Brings a commit that was made on an older base onto the tip, and judges it there again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from factory.judging.commands import Judging
from factory.judging.contract import check_declarations, render_violation, without_syntax
from factory.judging.judgement import run_checks
from factory.judging.known_commits import KnownCommits
from factory.judging.proof import verified_by
from factory.judging.verification import Check, verification_before
from factory.orders.documents import FailureBrief
from factory.orders.options import RunOptions
from factory.orders.stages import Stage
from factory.orders.task import OrderTask
from factory.orders.verdict import Passed
from factory.orders.verified_by import VerifiedBy
from factory.record.progress import AnnouncedProgress
from factory.record.summary import unjudged_warning
from factory.repo.preflight import Repo
from factory.workbench.pool import WorkbenchPool
from factory.workbench.tree import Tree
from factory.workbench.workbench import Workbench
from shared.errors import EnvironmentFault
from shared.events.event import Emit
from shared.events.messages import Noted, Warned
from shared.files.atomic_io import make_folder, write_json
from shared.git import commits, trees
from shared.git.answers import TreeEntry
from shared.languages.capabilities.tools import Tools


@dataclass(frozen=True, slots=True)
class Merged:
    """Hold a commit on the tip that was verified there, its tree, and what verified it.

    `verified` is the key of the verification.
    """

    commit: str
    tree: str
    verified: str
    verified_by: VerifiedBy


@dataclass(frozen=True, slots=True)
class SentBack:
    """Say why the commit cannot be brought onto the tip, so that the order must be made there."""

    reason: str


@dataclass(frozen=True, slots=True)
class Merging:
    """Bring commits that passed on an older base onto the tip."""

    options: RunOptions
    repo: Repo
    pool: WorkbenchPool
    tools: Tools
    known: KnownCommits
    emit: Emit

    def onto(self, tip: str, task: OrderTask, passed: Passed) -> Merged | SentBack:
        """Return the commit of the merged tree on `tip`, or why it does not pass every check there.

        The merged tree is always judged as a whole. Even orders without a common file may not fit
        together, because tests read more files than an order is shown. Raises `EnvironmentFault`
        if a command fails because of the environment.
        """
        order, git = task.order, self.repo.git
        tree = commits.merge_trees(git, tip, passed.commit)
        if tree is None:
            return SentBack("its changes do not merge with the changes that landed since")
        unmet = [
            each.path
            for each in order.preconditions
            if trees.holds_file(git, tip, each.path) != (each.kind == "file_exists")
        ]
        if unmet:
            return SentBack(f"a precondition no longer holds: {', '.join(unmet)}")
        if gone := [each for each in passed.removed if not trees.holds_file(git, tip, each)]:
            return SentBack(f"files that it removes are gone already: {', '.join(gone)}")
        commit = commits.write(git, tree, tip, task.commit_facts(passed.summary))
        self.emit(Noted(f"{order.id}: was made on an older state, is verified again on the tip"))
        folder = make_folder(task.folder / "landing")
        with self.pool.lend(commit) as bench:
            if violation := self._violation(task, passed, tree, bench, folder):
                return SentBack(f"{Stage.CONTRACT_VIOLATED} on the tip: {violation}")
            written = {path: bench.workspace.tree.state_of(path).sha256 for path in passed.files}
            progress = AnnouncedProgress(order.id, self.emit)
            judging = Judging(
                task,
                self.options,
                bench,
                self.emit,
                progress,
                folder,
                written=written,
                known=self.known.of(tip),
                staged=tree,
                checks=self._checks(tip, task, passed, bench),
                removed=passed.removed,
            )
            judgement = run_checks(judging)
        if judgement.brief:
            return _sent_back(judgement.brief)
        self.known.learn(commit, judgement.known)
        proof = verified_by(judgement.verify, judgement.acceptance)
        return Merged(commit, tree, judgement.verified, proof)

    def _checks(
        self, tip: str, task: OrderTask, passed: Passed, bench: Workbench
    ) -> tuple[Check, ...]:
        """Return what verifies the merged tree: what the tip says, and what the tree says."""
        git = self.repo.git
        entries = trees.entries_of(git, tip, passed.changed)
        blobs = trees.blobs(git, [each.object_id for each in entries.values()])
        before = {path: _text_of(entries.get(path), blobs) for path in passed.changed}
        now: dict[str, str | None] = dict.fromkeys(passed.removed)
        now |= {path: _text_in(bench.workspace.tree, path) for path in passed.files}
        verification = verification_before(
            bench.workspace, before, self.options.settings.verify, exempt=task.exempt
        )
        return verification.checks_with(now)

    def _violation(
        self, task: OrderTask, passed: Passed, merged: str, bench: Workbench, folder: Path
    ) -> str:
        """Return the first declaration that the merged tree violates; "" if there is none.

        Whether the files lost anything is not checked again: no other order has written them.
        """
        binding = task.loaded.binding
        if not any(each.interfaces for each in binding):
            return ""
        contract = check_declarations(
            binding,
            passed.files,
            bench.workspace.tree,
            lambda: trees.files_of(self.repo.git, merged),
            self.tools,
        )
        if not bench.reads_alike:
            contract = without_syntax(contract)
        write_json(folder / "contract_result.json", contract.document(), sync=False)
        if contract.unjudged:
            self.emit(Warned(f"{task.name}: {unjudged_warning(contract.unjudged)}"))
        return render_violation(contract.violations[0]) if contract.violations else ""


def _text_of(entry: TreeEntry | None, blobs: Mapping[str, bytes]) -> str | None:
    data = None if entry is None else blobs.get(entry.object_id)
    return None if data is None else data.decode("utf-8", "replace")


def _text_in(tree: Tree, path: str) -> str:
    return tree.read(path).decode("utf-8", "replace")


def _sent_back(brief: FailureBrief) -> SentBack:
    """Return why an order has to be made again; raise if no other proposal would help."""
    excerpt = brief.primary_error_excerpt.splitlines()
    if brief.stage is Stage.ENVIRONMENT:
        raise EnvironmentFault(f"`{brief.command}` on the tip: {excerpt[0]}", brief.remedy)
    return SentBack(f"{brief.stage} on the tip: {' '.join(excerpt[-1:])}")
