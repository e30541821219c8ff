"""Takes the steps of orders on a worker's machine."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from factory.attempt.attempt_state import Run
from factory.fleet import shared_state
from factory.fleet.database import Database
from factory.fleet.leases import LiveEvents, runner_of
from factory.fleet.shared_state import FleetBudget, FleetKnownCommits, FleetReplies
from factory.fleet.wire import (
    Answer,
    Job,
    OutcomeDocument,
    StepDocument,
    pack,
    parse,
    render,
    result_document,
    state_document,
    state_of,
    with_shared,
)
from factory.fleet.worker_clones import RunRefs
from factory.judging.contract import warm_tools
from factory.judging.proof import KnownCommit
from factory.orders.task import Errored, OrderResult, RunOptions
from factory.preflight import Repo, find_repo
from factory.record.journal import journal_path, open_journal
from factory.record.journal_entries import Entry, render_entry
from factory.run.execution import Assignment, Execution, OrderProgress
from factory.workbench.pool import WorkbenchPool, registered
from shared.errors import CommandFailed
from shared.events.events import Emit, Event, ModelTextArrived, event_to_json
from shared.events.run_record import new_run_folder, new_run_id
from shared.files.atomic_io import make_folder
from shared.git import repos
from shared.git.client import Git
from shared.llm.budget import Budget
from shared.llm.stack import ModelSource, open_model
from shared.llm.usage import Tally


@dataclass(frozen=True, slots=True)
class Means:
    """Hold what a worker takes steps with: its sandbox, its interpreter, its key of the model.

    `secrets` are masked in replies.
    """

    worker: str
    database: Database
    options: RunOptions
    source: ModelSource
    emit: Emit
    secrets: tuple[str, ...] = ()


@dataclass(slots=True)
class StepAccount:
    """Hold what one step announces and records, until its answer goes back.

    `live` passes events on at once.
    """

    live: Emit
    events: list[dict[str, Any]] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)


class OpenPlan:
    """Hold what the steps of one plan share on this worker; records are below `records`."""

    def __init__(self, document: StepDocument, repo: Repo, means: Means, records: Path) -> None:
        self.users = 0
        self.replies: dict[str, str] = {}
        """The key under which the replies to each order are kept."""
        self.folder = new_run_folder(records, "fleet", new_run_id())
        self._opened = contextlib.ExitStack()
        self._accounts: dict[str, StepAccount] = {}
        self._turns: dict[str, threading.Lock] = {}
        try:
            self._open(document, repo, means)
        except BaseException:
            self._opened.close()
            raise

    def _open(self, document: StepDocument, repo: Repo, means: Means) -> None:
        # The next start of a worker here removes the workbenches if this process is killed.
        register = self._opened.enter_context(registered(repo.common_dir))
        self.refs = RunRefs(repo.git, document.remote, document.run)
        self.refs.bring(document.task.base)
        options = with_shared(means.options, document.options)
        replies = FleetReplies(
            means.database, document.replies, means.worker, means.emit, means.secrets, self.replies
        )
        source = replace(means.source, shared=replies)
        budget = Budget(document.options.max_tokens, document.options.max_cost)
        if budget != Budget():
            purse = FleetBudget(budget, means.database, document.run, means.worker)
            source = replace(source, purse=purse)
        model = self._opened.enter_context(open_model(source, self.folder.path, self._emit))
        # Several plans share a clone, and a clone has one journal.
        make_folder(journal_path(self.folder.path).parent)
        journal = self._opened.enter_context(open_journal(self.folder.path, self._note))
        pool = WorkbenchPool(options, repo, register, register.owner, self._emit)
        self._opened.callback(pool.close)
        tools = warm_tools(options.settings.sandbox, repo.tree)
        self._opened.callback(tools.close)
        known = FleetKnownCommits(
            means.database, document.run, render, lambda text: parse(KnownCommit, text)
        )
        known.assume(document.base)
        pool.prepare(document.task.base)
        run = Run(options, repo, journal, model, self.folder, pool, tools, known, self._emit)
        self.execution = Execution(run)

    def tally(self, order: str) -> Tally:
        """Return the usage of an order's calls on this worker."""
        return self.execution.run.model.meter.of_order(order)

    @contextlib.contextmanager
    def account_of(self, order: str, live: Emit) -> Iterator[StepAccount]:
        """Collect what is announced of an order while the block runs.

        An order has one step at a time: one that was dropped may still be on its way to its end.
        """
        with self._turns.setdefault(order, threading.Lock()):
            account = self._accounts[order] = StepAccount(live)
            try:
                yield account
            finally:
                del self._accounts[order]

    def close(self) -> None:
        """Remove the workbenches and the records, and close the model."""
        self._opened.close()
        shutil.rmtree(self.folder.path, ignore_errors=True)

    def _emit(self, event: Event) -> None:
        account = self._accounts.get(getattr(event, "order", ""))
        if account and not isinstance(event, ModelTextArrived):
            account.events.append(event_to_json(event))
            account.live(event)

    def _note(self, entry: Entry) -> None:
        if account := self._accounts.get(getattr(entry, "order", "")):
            account.entries.append(render_entry(entry))


# A plan that has had no job for a while gives its workbenches back when others come.
_MOST_PLANS: Final = 4
_END_AGAIN_SECONDS: Final = 0.05


@dataclass(slots=True)
class Machine:
    """Take steps with the means of this worker. `folder` is the worker's alone, for its clones."""

    means: Means
    folder: Path
    _plans: dict[str, OpenPlan] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, job: Job, dropped: threading.Event) -> Answer:
        """Take the step that a job asks for. Raises `LlmchError` if it cannot be begun."""
        document = parse(StepDocument, job.document.get("step"))
        with self._plan_of(document) as plan:
            return self._take(job, document, plan, dropped)

    def close(self) -> None:
        """Close all plans and remove the clones."""
        with self._lock:
            for each in self._plans.values():
                each.close()
            self._plans.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def clone_of(self, document: StepDocument) -> Repo:
        """Return this worker's clone of the repo, which has nothing but what was brought."""
        key = hashlib.sha256(document.remote.encode()).hexdigest()[:12]
        tree = self.folder / key / (Path(document.repo).name or "repo")
        if not tree.exists():
            repos.initialise(Git(make_folder(tree)))
        place = find_repo(tree)
        whereabouts = (place.git, place.tree, place.git_dir, place.common_dir)
        return Repo(*whereabouts, place.ignored_filters, head="", branch="")

    @contextlib.contextmanager
    def _plan_of(self, document: StepDocument) -> Iterator[OpenPlan]:
        with self._lock:  # two jobs of a new plan open it once
            plan = self._plans.pop(document.run, None)
            if plan is None:
                self._make_room()
                plan = OpenPlan(document, self.clone_of(document), self.means, self.folder)
            self._plans[document.run] = plan
            plan.users += 1
        try:
            yield plan
        finally:
            with self._lock:
                plan.users -= 1

    def _make_room(self) -> None:
        idle = [run for run, plan in self._plans.items() if not plan.users]
        for run in idle[: max(0, len(self._plans) - _MOST_PLANS + 1)]:
            self._plans.pop(run).close()

    def _take(
        self, job: Job, document: StepDocument, plan: OpenPlan, dropped: threading.Event
    ) -> Answer:
        plan.replies[document.task.name] = document.replies
        plan.refs.bring(document.task.base, document.parent)
        folder = (
            plan.folder.path
            / document.task.folder.name
            / hashlib.sha256(job.id.encode()).hexdigest()[:12]
        )
        task = replace(document.task, folder=make_folder(folder))

        def announce(commit: str) -> None:
            plan.refs.offer(commit)
            run, runner = document.run, runner_of(document.run)
            if not shared_state.announce(self.means.database, run, runner, job.id, commit):
                with contextlib.suppress(CommandFailed):  # the next run sweeps it
                    plan.refs.withdraw(commit)
                dropped.set()

        made = OrderProgress(state_of(document.state)) if document.state else None
        assignment = Assignment(task, made, document.parent, announce, dropped=dropped)
        means = self.means
        with (
            LiveEvents(means.database, job.plan, job.id, means.worker, means.secrets) as live,
            plan.account_of(task.name, live) as account,
            _ending_when_dropped(plan.execution, assignment),
        ):
            before = plan.tally(task.name)
            made = plan.execution.take(assignment)
            usage = plan.tally(task.name) - before
        outcome = OutcomeDocument(
            state_document(made.state),
            result_document(_said_by(self.means.worker, made.result, folder)),
            made.unfit,
            pack(folder),
            tuple(account.events),
            tuple(account.entries),
            usage,
        )
        shutil.rmtree(folder, ignore_errors=True)
        return {"outcome": render(outcome), "folder": str(folder)}


def _said_by(worker: str, result: OrderResult | None, folder: Path) -> OrderResult | None:
    """Add the machine's name to an error, and remove the paths that only this machine has."""
    if result is None or not isinstance(verdict := result.verdict, Errored):
        return result

    def named(text: str) -> str:
        return f"worker {worker}: {text.replace(f'{folder}/', '')}"

    error = verdict.error and type(verdict.error)(named(verdict.error.message), verdict.error.hint)
    return replace(result, verdict=Errored(named(verdict.cause), error))


@contextlib.contextmanager
def _ending_when_dropped(execution: Execution, assignment: Assignment) -> Iterator[None]:
    """Kill the step's commands as soon as nobody wants its outcome."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_END_AGAIN_SECONDS):
            if assignment.dropped.is_set():
                execution.end_commands(assignment)  # again: a command may have been about to start

    watching = threading.Thread(target=watch, name=f"watch {assignment.task.name}", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()
