"""Runs submitted plans on a worker: each in a clone of its own, its steps made by the fleet."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from factory.batch.coordinator import WorkerKind, run_all
from factory.fleet.carried_files import pack
from factory.fleet.clones import PLANS
from factory.fleet.engine.guard import import_engine
from factory.fleet.fleet_worker import FleetWorker, RunTerms, fleet_worker
from factory.fleet.jobs import Answer, Job, JobMisread
from factory.fleet.link import Link
from factory.fleet.live_events import LiveEvents
from factory.fleet.open_plan import Means
from factory.fleet.plans.clone import clone_for
from factory.fleet.plans.documents import PlanDocument, PlanOutcome
from factory.fleet.shared_options import with_shared
from factory.fleet.wire import parse, refusal_of, render
from factory.landing.land import Landing
from factory.landing.on_remote import LandingOnRemote
from factory.orders.options import RunOptions
from factory.run.session import Session
from shared.errors import CommandFailed, LlmchError
from shared.events.event import Emit, Event
from shared.events.messages import Warned
from shared.events.orders import BatchEnded
from shared.files.atomic_io import make_folder, write_text
from shared.plan_folder.names import plan_file_names

_GO_ON: Final = "the records say why; the plan submitted again goes on from there"


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Run submitted plans. `folder` is the worker's alone, for its clones."""

    means: Means
    link: Link
    folder: Path

    def take(self, job: Job, dropped: threading.Event) -> Answer:
        """Run the plan of a job to its end. Raises `LlmchError` where it cannot be begun."""
        plan = parse(PlanDocument, job.document.get("plan"))
        name = hashlib.sha256(job.id.encode()).hexdigest()[:12]
        folder = make_folder(self.folder / PLANS / name)
        try:
            with LiveEvents(
                self.link.database, job.plan, job.id, self.means.worker, self.means.secrets
            ) as events:
                return {"outcome": render(self._run(job, plan, folder, events, dropped))}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(
        self,
        job: Job,
        plan: PlanDocument,
        folder: Path,
        events: LiveEvents,
        dropped: threading.Event,
    ) -> PlanOutcome:
        workdir = _written(plan, make_folder(folder / "plan"))
        options = self._options(plan, clone_for(plan, folder / "clone"), folder / "artifacts")
        kind = self._fleet(job, plan, dropped)
        summary, error = None, None
        try:
            emit = _for_others(plan, events)
            done = run_all(workdir, options, self.means.source, emit, kind)
            summary = done.model_dump(mode="json")
        except LlmchError as failed:
            error = refusal_of(failed)
        records = make_folder(options.settings.artifacts_dir)
        return PlanOutcome(summary, error, str(records), pack(records))

    def _options(self, plan: PlanDocument, tree: Path, artifacts: Path) -> RunOptions:
        """Return this machine's options with those that the plan was submitted with."""
        options = with_shared(self.means.options, plan.options)
        settings = options.settings
        settings = replace(
            settings,
            artifacts_dir=artifacts,
            commit=replace(settings.commit, author=plan.author, subject=plan.subject),
            protected_branches=settings.protected_branches | plan.protected_branches,
        )
        return replace(
            options,
            repo=tree,
            settings=settings,
            branch=plan.branch,
            date=plan.date,
            jobs=plan.train,
            keep_going=plan.keep_going,
            allow_verify_exempt=plan.allow_verify_exempt,
            allow_changed=plan.allow_changed,
            allow_lost=plan.allow_lost,
        )

    def _fleet(self, job: Job, plan: PlanDocument, dropped: threading.Event) -> WorkerKind:
        """Return what opens the fleet for a run, and has the run land on the remote."""

        @contextlib.contextmanager
        def opened(session: Session) -> Iterator[FleetWorker]:
            assert isinstance(session.landing, Landing), "the run has just begun"
            landing = LandingOnRemote(session.landing, plan.remote, session.terms.author)
            session.landing = landing
            settings = self.means.options.settings.fleet
            try:
                with fleet_worker(
                    session, settings, self.link, RunTerms(job.id, dropped)
                ) as worker:
                    yield worker
            finally:
                _publish_notes(landing, session)

        return WorkerKind(opened, import_engine)


def _for_others(plan: PlanDocument, emit: Emit) -> Emit:
    """Return what passes events on to those who have no access to this worker's clone."""

    def passed_on(event: Event) -> None:
        if isinstance(event, BatchEnded):
            next_step = _GO_ON if event.landed < event.orders else ""
            event = replace(event, repo="", remote=plan.remote, next_step=next_step)
        emit(event)

    return passed_on


def _publish_notes(landing: LandingOnRemote, session: Session) -> None:
    try:
        landing.publish_notes()
    except CommandFailed as failed:
        session.parts.emit(Warned(f"notes on commits were not pushed: {failed.message}"))


def _written(plan: PlanDocument, folder: Path) -> Path:
    """Write the plan's files, and nothing that is none."""
    if set(plan.files) != set(plan_file_names(plan.files)):
        raise JobMisread("the plan has files that are none of a plan")
    for name, text in plan.files.items():
        write_text(folder / name, text, sync=False)
    return folder
