"""Holds what the steps of one plan share on a worker: model, journal, workbenches, replies."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from factory.fleet.candidates import FleetKnownCommits
from factory.fleet.database import Database
from factory.fleet.refs import RunRefs
from factory.fleet.replies import FleetReplies
from factory.fleet.shared_options import with_shared
from factory.fleet.spending import FleetBudget
from factory.fleet.wire import StepDocument, parse, render
from factory.judging.known_commits import KnownCommit
from factory.judging.warm_checker import warm_tools
from factory.orders.options import RunOptions
from factory.record.journal import journal_path, open_journal
from factory.record.journal_entries import Entry
from factory.record.journal_format import render_entry
from factory.repo.preflight import Repo
from factory.run.execution import Execution
from factory.run.parts import RunParts
from factory.workbench.pool import WorkbenchPool
from factory.workbench.side_workspaces import registered
from shared.events.event import Emit, Event, event_to_json
from shared.events.model_calls import ModelTextArrived
from shared.files.atomic_io import make_folder
from shared.llm.cost.bounds import Budget
from shared.llm.cost.usage import Tally
from shared.llm.stack import ModelSource, open_model
from shared.run_record import new_run_folder, new_run_id


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
class Account:
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
        self.folder = new_run_folder(records, "fleet", new_run_id())
        self._opened = contextlib.ExitStack()
        self._accounts: dict[str, Account] = {}
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
            means.database, document.replies, means.worker, means.emit, means.secrets
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
        parts = RunParts(options, repo, model, self.folder, journal, self._emit)
        self.execution = Execution(parts, pool, tools, known)

    def tally(self, order: str) -> Tally:
        """Return the usage of an order's calls on this worker."""
        return self.execution.parts.model.meter.of_order(order)

    @contextlib.contextmanager
    def account_of(self, order: str, live: Emit) -> Iterator[Account]:
        """Collect what is announced of an order while the block runs.

        An order has one step at a time: one that was dropped may still be on its way to its end.
        """
        with self._turns.setdefault(order, threading.Lock()):
            account = self._accounts[order] = Account(live)
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
