"""Takes the steps of orders on a worker's machine, which has a clone of each repo."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.fleet import candidates
from factory.fleet.carried_files import pack
from factory.fleet.jobs import Answer, Job
from factory.fleet.leases import runner_of
from factory.fleet.live_events import LiveEvents
from factory.fleet.open_plan import Means, OpenPlan
from factory.fleet.usage import usage_between
from factory.fleet.wire import (
    OutcomeDocument,
    StepDocument,
    parse,
    render,
    result_document,
    state_document,
    state_of,
)
from factory.orders.task import OrderResult
from factory.orders.verdict import Errored
from factory.repo.preflight import Repo, find_repo
from factory.run.execution import Execution
from factory.run.steps import Making, Step
from shared.errors import CommandFailed
from shared.files.atomic_io import make_folder
from shared.git import repos
from shared.git.client import Git

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
        """Take the step that a job asks for. Raises `LlmchError` where it cannot be begun."""
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
        git, common = place.git, place.common_dir
        return Repo(git, place.tree, place.git_dir, common, "", "", place.ignored_filters)

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
            if not candidates.announce(self.means.database, run, runner, job.id, commit):
                with contextlib.suppress(CommandFailed):  # the next run sweeps it
                    plan.refs.withdraw(commit)
                dropped.set()

        making = Making(state_of(document.state)) if document.state else None
        step = Step(task, making, document.parent, announce, dropped=dropped)
        means = self.means
        with (
            LiveEvents(means.database, job.plan, job.id, means.worker, means.secrets) as live,
            plan.account_of(task.name, live) as account,
            _ending_when_dropped(plan.execution, step),
        ):
            before = plan.tally(task.name)
            made = plan.execution.run(step)
            usage = usage_between(before, plan.tally(task.name))
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
    """Have an error name the machine where it happened, and no path that only this one has."""
    if result is None or not isinstance(verdict := result.verdict, Errored):
        return result

    def named(text: str) -> str:
        return f"worker {worker}: {text.replace(f'{folder}/', '')}"

    error = verdict.error and type(verdict.error)(named(verdict.error.message), verdict.error.hint)
    return replace(result, verdict=Errored(named(verdict.cause), error))


@contextlib.contextmanager
def _ending_when_dropped(execution: Execution, step: Step) -> Iterator[None]:
    """Have the step's commands killed as soon as nobody wants its outcome."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_END_AGAIN_SECONDS):
            if step.dropped.is_set():
                execution.end_commands(step)  # again: a command may have been about to start

    watching = threading.Thread(target=watch, name=f"watch {step.task.name}", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()
