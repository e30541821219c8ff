"""Judges a person's commit as if an attempt at an order had made it. Nothing is moved or written.

The very tree of the commit is judged: declared interfaces, verification, postconditions and
acceptance, in the sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.judging.brief import brief_of
from factory.judging.commands import Judging
from factory.judging.contract import check_declarations, render_violations, without_syntax
from factory.judging.judgement import Judgement, run_checks
from factory.judging.known_commits import KnownCommits
from factory.judging.verification import Check, verification_before
from factory.orders.options import RunOptions
from factory.orders.stages import Stage
from factory.orders.task import OrderTask
from factory.record.progress import AnnouncedProgress
from factory.record.summary import unjudged_warning
from factory.workbench.pool import WorkbenchPool
from factory.workbench.tree import NotReadable, Tree
from factory.workbench.workbench import Workbench
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.files.atomic_io import make_folder, write_json
from shared.git import trees
from shared.git.client import Git
from shared.languages.capabilities.tools import Tools


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
            judging = Judging(
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
                checks=self._checks(task, changed, bench),
            )
            judgement = run_checks(judging)
        for warning in judgement.warnings:
            self.emit(Warned(f"{order.id}: {warning}"))
        return judgement

    def _checks(
        self, task: OrderTask, changed: frozenset[str], bench: Workbench
    ) -> tuple[Check, ...]:
        """Return what verifies the commit: what its parent says, and what its own tree says."""
        git, paths = self.git, sorted(changed)
        before = {path: _decoded(trees.content_of(git, task.base, path)) for path in paths}
        now = {path: _text_in(bench.workspace.tree, path) for path in paths}
        verification = verification_before(
            bench.workspace, before, self.options.settings.verify, exempt=task.exempt
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
