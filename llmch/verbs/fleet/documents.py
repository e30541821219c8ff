"""Defines the answers of `llmch fleet`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from factory.fleet.initialise import Initialised
from factory.fleet.jobs import JobState
from factory.fleet.leases import WorkerSeen
from factory.fleet.status import FleetStatus, PlanState, state_of
from llmch.console.document import Block, Paragraph, Remark, Rows


@dataclass(frozen=True, slots=True)
class InitialisedDocument:
    """Represent the answer of `fleet init`: what was done, and what the administrator does next."""

    initialised: Initialised

    def to_json(self) -> object:
        """Return what the database has now, and what of it is new."""
        made = self.initialised
        return {
            "database": made.database,
            "schema_version": made.schema_version,
            "roles": {"member": made.roles.member, "reader": made.roles.reader},
            "done": list(made.done),
        }

    def blocks(self) -> Iterator[Block]:
        """Return what was done, and how users get the roles."""
        made = self.initialised
        yield Paragraph(made.done or ("nothing was missing",))
        member = made.roles.member
        yield Remark(
            (
                f"{made.database} is ready, with schema {made.schema_version}",
                "give a worker a user of its own, in psql:",
                f"  CREATE ROLE worker1 LOGIN PASSWORD '...'; GRANT \"{member}\" TO worker1;",
                f'  GRANT "{made.roles.reader}" TO ... lets a user see `llmch fleet status` alone',
            )
        )


@dataclass(frozen=True, slots=True)
class CancelledDocument:
    """Represent the answer of `fleet cancel`: the jobs that were cancelled."""

    plan: str
    jobs: tuple[str, ...]

    def to_json(self) -> object:
        """Return the plan and its cancelled jobs."""
        return {"plan": self.plan, "cancelled": list(self.jobs)}

    def blocks(self) -> Iterator[Block]:
        """Return how many jobs were cancelled."""
        count = f"{len(self.jobs)} job{'' if len(self.jobs) == 1 else 's'}"
        yield Paragraph((f"cancelled {count} of {self.plan}; what has landed stays",))


@dataclass(frozen=True, slots=True)
class FleetDocument:
    """Represent the answer of `fleet status`."""

    status: FleetStatus

    @property
    def idle(self) -> bool:
        """Return whether nothing is queued and nothing runs."""
        return not self.status.queue

    @property
    def shown(self) -> object:
        """Return what `--watch` shows again where it has changed."""
        states = [(each.id, state_of(each)) for each in self.status.workers]
        return states, self.status.queue, self.status.plans

    def to_json(self) -> object:
        """Return workers, queue and plans as plain values."""
        return {
            "database": self.status.database,
            "workers": [_worker_to_json(each) for each in self.status.workers],
            "queue": [
                {
                    "id": each.id,
                    "kind": each.kind,
                    "plan": each.plan,
                    "state": each.state.value,
                    "worker": each.worker or None,
                }
                for each in self.status.queue
            ],
            "plans": [
                {
                    "plan": each.plan,
                    "state": each.state.value,
                    "about": each.about or None,
                    "coordinator": each.coordinator or None,
                    "waiting": each.waiting,
                    "running": each.running,
                }
                for each in self.status.plans
            ],
        }

    def blocks(self) -> Iterator[Block]:
        """Return the workers that are not gone, and what each plan waits for."""
        gone = [each for each in self.status.workers if each.dead]
        here = [each for each in self.status.workers if not each.dead]
        if here:
            headings = ("worker", "state", "slots", "at work", "host", "seen")
            yield Rows(tuple(map(self._row, here)), headings)
        else:
            yield Paragraph(("no worker is alive",))
        if gone:
            yield Remark((f"{len(gone)} more have left or died; --json lists them",))
        plans = self.status.plans
        if plans:
            yield Rows(
                tuple(
                    (
                        each.plan, each.state, str(each.waiting), str(each.running),
                        each.coordinator, each.about,
                    )
                    for each in plans
                ),
                ("plan", "state", "waiting", "running", "coordinator", "for"),
            )  # fmt: skip
        else:
            yield Remark(("nothing is queued",))
        if any(each.state is PlanState.ENDED for each in plans):
            yield Remark(("`llmch fleet wait PLAN` reads how a plan ended",))

    def _row(self, worker: WorkerSeen) -> tuple[str, ...]:
        at_work = sum(
            each.worker == worker.id and each.state is JobState.RUNNING
            for each in self.status.queue
        )
        place = f"{worker.host}, pid {worker.pid}"
        seen = f"{worker.seen_seconds:.0f} s ago"
        return worker.id, state_of(worker), str(worker.slots), str(at_work), place, seen


def _worker_to_json(worker: WorkerSeen) -> dict[str, object]:
    return {
        "id": worker.id,
        "state": state_of(worker),
        "cause": worker.dead or None,
        "host": worker.host,
        "pid": worker.pid,
        "slots": worker.slots,
        "protocol": worker.protocol,
        "llmch_version": worker.version,
        "seen_seconds": round(worker.seen_seconds, 1),
    }
