"""One held repo: its lock, workspace and sandbox, and the execution of orders within it."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from factory.commit_facts import NOTES_REF, describe_commit, identify
from factory.journal import Journal, Step
from factory.landing import Landing
from factory.options import RunOptions
from factory.orders import LoadedOrder
from factory.preflight import Repo, Target
from factory.sandbox import Policy, Sandbox, open_sandbox
from factory.schemas import AttemptRecord, RunSummary
from factory.state import FactoryContext
from factory.summary import Circumstances, summarise_order
from factory.verdict import Errored, Passed, Verdict
from factory.workspace import Workspace, close_workspace, open_workspace, workspaces_root
from shared.atomic_io import make_folder, write_json
from shared.errors import LlmchError
from shared.events import Emit, Noted, OrderEnded, OrderStarted, Warned
from shared.git import NO_COMMIT
from shared.llm.stack import Model
from shared.llm.usage import usage_counted
from shared.run_context import RunFolder, commit_date


@dataclass(frozen=True, slots=True)
class Executed:
    """What became of an order, and the error that ends the whole run, if there is one."""

    summary: RunSummary
    error: LlmchError | None


@dataclass(slots=True)
class Session:
    """Executes orders, one after another, on one branch of one repo."""

    options: RunOptions
    repo: Repo
    branch: str
    landing: Landing
    workspace: Workspace
    sandbox: Sandbox
    model: Model
    folder: RunFolder
    journal: Journal
    emit: Emit
    date: str
    branch_exists: bool

    @property
    def tip(self) -> str:
        """The commit the branch stands at (or will start from)."""
        return self.workspace.baseline

    def execute(self, loaded: LoadedOrder, exempt: bool, folder: Path) -> Executed:
        """Run one order to its end: it has landed, or left no trace. Records go to `folder`."""
        order = loaded.order
        started, parent = time.monotonic(), self.tip
        self.journal.record(Step.ORDER_BEGUN, order=order.id, baseline=parent)
        self.emit(
            OrderStarted(order.id, order.title, self.branch, parent, self.options.max_attempts)
        )
        write_json(make_folder(folder) / "work_order.json", order.model_dump(mode="json"))
        records: tuple[AttemptRecord, ...] = ()
        verdict: Verdict
        failure: LlmchError | None = None
        try:
            verdict, records = self._attempt(loaded, exempt, folder)
            if isinstance(verdict, Passed):
                self._land(loaded, verdict, records, parent)
        except LlmchError as error:
            verdict, failure = Errored(error.message), error
        except BaseException as error:
            self._summarise(folder, loaded, Errored(repr(error)), records, parent)
            raise
        summary = self._summarise(folder, loaded, verdict, records, parent)
        self.journal.record(Step.ORDER_ENDED, order=order.id, verdict=summary.verdict)
        self._announce(summary, verdict, time.monotonic() - started)
        return Executed(summary, failure)

    def push(self) -> None:
        """Push the branch where the user asked for it; a refusal is told and changes nothing."""
        if not self.options.push:
            return
        done = self.repo.git.push("origin", self.branch)
        if done.exit_code:
            said = done.stderr.decode(errors="replace").strip()
            self.emit(Warned(f"the branch was not pushed: {said}"))
        else:
            self.emit(Noted(f"pushed {self.branch} to origin"))

    def _attempt(
        self, loaded: LoadedOrder, exempt: bool, folder: Path
    ) -> tuple[Verdict, tuple[AttemptRecord, ...]]:
        from factory.graph import run_attempts

        identity = identify(loaded.order, loaded.plan.manifest_sha256 if loaded.plan else "")
        context = FactoryContext(
            order=loaded.order,
            workspace=self.workspace,
            sandbox=self.sandbox,
            client=self.model.client,
            models=self.options.models,
            emit=self.emit,
            folder=folder,
            max_attempts=self.options.max_attempts,
            timeout_seconds=self.options.timeout_seconds,
            exempt=exempt,
            commit_facts=describe_commit(loaded.order, identity, self.date),
            path_names=self._path_names(),
        )
        state = run_attempts(context)
        verdict = state["verdict"]
        assert verdict is not None, "the graph ends only with a verdict"
        return verdict, state["records"]

    def _land(
        self,
        loaded: LoadedOrder,
        passed: Passed,
        records: tuple[AttemptRecord, ...],
        parent: str,
    ) -> None:
        order, commit = loaded.order.id, passed.commit
        old = parent if self.branch_exists else NO_COMMIT
        self.journal.record(
            Step.LANDING, sync=True, order=order, branch=self.branch, old=old, new=commit
        )
        self.landing.land(commit, old)
        self.journal.record(Step.LANDED, order=order, commit=commit)
        self.branch_exists = True
        model = records[-1].model or "unknown"
        note = f"run: {self.folder.run_id}\nmodel: {model}\nattempts: {len(records)}\n"
        facts = describe_commit(loaded.order, identify(loaded.order, ""), self.date)
        self.workspace.git.add_note(NOTES_REF, passed.commit, note, facts)
        self.workspace.advance(passed.commit)

    def _summarise(
        self,
        folder: Path,
        loaded: LoadedOrder,
        verdict: Verdict,
        records: tuple[AttemptRecord, ...],
        parent: str,
    ) -> RunSummary:
        about = Circumstances(
            order=loaded.order.id,
            run_id=self.folder.run_id,
            run_dir=folder,
            branch=self.branch,
            parent=parent,
            warnings=loaded.warnings,
        )
        tally = self.model.meter.of_order(loaded.order.id)
        summary = summarise_order(verdict, about, records, tally)
        write_json(folder / "run_summary.json", summary.model_dump(mode="json"))
        return summary

    def _announce(self, summary: RunSummary, verdict: Verdict, seconds: float) -> None:
        files = verdict.files if isinstance(verdict, Passed) else ()
        self.emit(usage_counted(self.model.meter.of_order(summary.work_order), summary.work_order))
        self.emit(
            OrderEnded(
                order=summary.work_order,
                verdict=summary.verdict,
                attempts=summary.attempts,
                commit=summary.commit or "",
                branch=self.branch,
                seconds=seconds,
                files=files,
                repo=str(self.repo.tree),
                run_dir=summary.run_dir,
            )
        )

    def _path_names(self) -> Mapping[str, str]:
        """Paths of this machine that may show up in output, and what stands for each."""
        python = self.options.python
        return {
            f"{self.workspace.root}/": "",
            str(self.workspace.root): ".",
            str(self.workspace.private): "/tmp",  # noqa: S108  # as the sandbox shows it
            str(python): "python",
            str(python.parent.parent): "<python>",
        }


@contextlib.contextmanager
def open_session(
    options: RunOptions,
    repo: Repo,
    target: Target,
    model: Model,
    folder: RunFolder,
    journal: Journal,
    emit: Emit,
) -> Iterator[Session]:
    """Open workspace and sandbox for as long as the block runs.

    Raises `SandboxUnavailable` where none works; what was opened is closed again in any case.
    """
    _import_ahead()
    root = workspaces_root() / folder.run_id / repo.tree.name
    journal.record(Step.WORKSPACE_OPENING, root=root)
    try:
        workspace = open_workspace(repo.git, root, target.tip)
        journal.record(Step.WORKSPACE_OPENED, root=root)
        sandbox = open_sandbox(options.sandbox.backend, _policy(options, repo, workspace))
        emit(Noted(sandbox.describe()))
        yield Session(
            options=options,
            repo=repo,
            branch=target.branch,
            landing=Landing(repo.git, target.branch, folder.run_id),
            workspace=workspace,
            sandbox=sandbox,
            model=model,
            folder=folder,
            journal=journal,
            emit=emit,
            date=commit_date(folder.started),
            branch_exists=target.exists,
        )
    finally:
        close_workspace(repo.git, root)


def _policy(options: RunOptions, repo: Repo, workspace: Workspace) -> Policy:
    choice = options.sandbox
    named = {name: os.environ[name] for name in choice.environment if name in os.environ}
    return Policy(
        workspace=workspace.root,
        git_dir=repo.common_dir,
        private=workspace.private,
        python=options.python,
        network="host" if choice.network_host else "none",
        read=choice.read,
        write=choice.write,
        environment=named,
    )


def _import_ahead() -> None:
    """Start the graph library's import, most of a run's start, while git is being asked."""
    from factory import graph

    threading.Thread(target=graph.prepare, name="import langgraph").start()
