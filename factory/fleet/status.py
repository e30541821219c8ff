"""Says which workers a fleet has, what is queued, and for which plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from factory.fleet.jobs import JobState, Kind, Standing
from factory.fleet.leases import LEFT, WorkerSeen, run_of, workers_seen
from factory.fleet.link import linked
from shared.errors import InvalidInput
from shared.settings.values.database import DatabaseUrl


class PlanState(StrEnum):
    """Say how far a plan is. The end of a submitted plan stays until somebody has read it."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"
    CANCELLED = "cancelled"


_STATES: Final = {
    JobState.WAITING: PlanState.QUEUED,
    JobState.RUNNING: PlanState.RUNNING,
    JobState.DONE: PlanState.ENDED,
    JobState.CANCELLED: PlanState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class PlanOnFleet:
    """Say how far a plan is, and count its steps.

    `coordinator` is the worker, or the host and process, that runs it; "" where none does. `about`
    names repo and branch of a submitted plan.
    """

    plan: str
    state: PlanState
    about: str
    coordinator: str
    waiting: int
    running: int


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """Hold what is known of a fleet at one moment; `queue` has the jobs that are not over."""

    database: str
    workers: tuple[WorkerSeen, ...]
    runs: tuple[WorkerSeen, ...]
    queue: tuple[Standing, ...]
    submitted: tuple[Standing, ...]

    @property
    def plans(self) -> Sequence[PlanOnFleet]:
        """Return the submitted plans, oldest first, and then the runs of persons, by name."""
        steps = [each for each in self.queue if each.kind != Kind.COORDINATE]
        counts = Counter((each.submission or each.plan, each.state) for each in steps)

        def on_fleet(plan: str, state: PlanState, about: str, coordinator: str) -> PlanOnFleet:
            waiting, running = counts[plan, JobState.WAITING], counts[plan, JobState.RUNNING]
            return PlanOnFleet(plan, state, about, coordinator, waiting, running)

        found = [
            on_fleet(each.id, state := _STATES[each.state], each.about, _worker_of(each, state))
            for each in self.submitted
        ]
        processes = {
            run_of(each.id): f"{each.host}, pid {each.pid}" for each in self.runs if each.lives
        }
        runs = {each.plan for each in steps if not each.submission}
        return found + [
            on_fleet(each, PlanState.RUNNING, "", processes.get(each, "")) for each in sorted(runs)
        ]


def _worker_of(job: Standing, state: PlanState) -> str:
    return job.worker if state is PlanState.RUNNING else ""


def read_fleet(url: DatabaseUrl) -> FleetStatus:
    """Return the fleet as it is now. Raises `FleetUnavailable`."""
    with linked(url, "fleet status") as link:
        seen = workers_seen(link.database)
        jobs, submitted = link.queue.unfinished(), link.queue.submitted()
    workers = tuple(each for each in seen if each.slots)
    runs = tuple(each for each in seen if not each.slots)
    return FleetStatus(str(url), workers, runs, tuple(jobs), tuple(submitted))


def cancel_plan(url: DatabaseUrl, plan: str) -> Sequence[str]:
    """Cancel all unfinished jobs of a plan and return their ids.

    Raises `InvalidInput`, which lists the plans, where it has none.
    """
    with linked(url, "fleet cancel") as link:
        jobs = link.queue.unfinished()
        ids = sorted(each.id for each in jobs if plan in (each.submission, each.plan))
        if not ids:
            known = ", ".join(sorted({each.submission or each.plan for each in jobs}))
            raise InvalidInput(
                f"the fleet has no unfinished job of a plan {plan!r}",
                f"it works on {known}" if known else "it has nothing to do",
            )
        link.queue.cancel(ids)
    return ids


def state_of(worker: WorkerSeen) -> str:
    """Return in one word how a worker is: alive, late, left or dead."""
    if worker.dead:
        return "left" if worker.dead == LEFT else "dead"
    return "late" if worker.late else "alive"
