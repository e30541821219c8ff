"""Says which workers a fleet has, what is queued, and for which plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from factory.fleet.database import Database
from factory.fleet.engine.queue import Queue
from factory.fleet.jobs import JobState, Standing
from factory.fleet.leases import LEFT, WorkerSeen, run_of, workers_seen
from factory.fleet.schema import check_schema
from shared.errors import InvalidInput
from shared.settings.values.database import DatabaseUrl


@dataclass(frozen=True, slots=True)
class PlanOnFleet:
    """Count a plan's jobs; `coordinator` says where the process of its run lives, if it does."""

    plan: str
    coordinator: str
    waiting: int
    running: int


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """Hold what is known of a fleet at one moment."""

    database: str
    workers: tuple[WorkerSeen, ...]
    runs: tuple[WorkerSeen, ...]
    queue: tuple[Standing, ...]

    @property
    def plans(self) -> Sequence[PlanOnFleet]:
        """Return the plans that have unfinished jobs, by name."""
        counts = Counter((each.plan, each.state) for each in self.queue)
        coordinators = {
            run_of(each.id): f"{each.host}, pid {each.pid}" for each in self.runs if each.lives
        }
        return [
            PlanOnFleet(
                plan,
                coordinators.get(plan, ""),
                counts[plan, JobState.WAITING],
                counts[plan, JobState.RUNNING],
            )
            for plan in sorted({each.plan for each in self.queue})
        ]


def read_fleet(url: DatabaseUrl) -> FleetStatus:
    """Return the fleet as it is now. Raises `FleetUnavailable`."""
    with closing(Database(url, "fleet status")) as database:
        check_schema(database)
        seen = workers_seen(database)
    with closing(Queue(url)) as queue:
        jobs = tuple(queue.unfinished())
    workers = tuple(each for each in seen if each.slots)
    runs = tuple(each for each in seen if not each.slots)
    return FleetStatus(str(url), workers, runs, jobs)


def cancel_plan(url: DatabaseUrl, plan: str) -> Sequence[str]:
    """Cancel all unfinished jobs of a plan and return their ids.

    Raises `InvalidInput`, which lists the plans, where it has none.
    """
    with closing(Database(url, "fleet cancel")) as database:
        check_schema(database)
    with closing(Queue(url)) as queue:
        jobs = queue.unfinished()
        ids = sorted(each.id for each in jobs if each.plan == plan)
        if not ids:
            known = ", ".join(sorted({each.plan for each in jobs}))
            raise InvalidInput(
                f"the fleet has no unfinished job of a plan {plan!r}",
                f"it works on {known}" if known else "it has nothing to do",
            )
        queue.cancel(ids)
    return ids


def state_of(worker: WorkerSeen) -> str:
    """Return in one word how a worker is: alive, late, left or dead."""
    if worker.dead:
        return "left" if worker.dead == LEFT else "dead"
    return "late" if worker.late else "alive"
