"""Gives the jobs of dead workers to living ones; one rescuer is at work at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from factory.fleet.database import Cursor, Database
from factory.fleet.engine.queue import Queue
from factory.fleet.jobs import JobState, Standing
from factory.fleet.leases import LEFT, runner_of

# A job that brought down so many workers is given to no other one.
MAX_TAKEOVERS = 5

_LOCK = 0x6C6C6D63685F72  # any number that only this file uses


@dataclass(frozen=True, slots=True)
class Rescued:
    """Say what became of a dead worker's job: taken over, or cancelled as poison."""

    job: str
    worker: str
    cancelled: bool


def rescue(database: Database, queue: Queue, *, declare: bool = True) -> Sequence[Rescued]:
    """Give back what dead workers had claimed; `declare` silent workers and runs dead before.

    Nothing is done, and nothing returned, where another rescuer is at work. A rescuer that dies on
    the way leaves the rest to the next one. Raises `FleetUnavailable`.
    """
    return database.run(lambda cursor: tuple(_rescue(cursor, queue, declare)))


def _rescue(cursor: Cursor, queue: Queue, declare: bool) -> Iterator[Rescued]:
    row = cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", (_LOCK,)).fetchone()
    if not row or not row[0]:
        return
    if declare:
        cursor.execute(
            "UPDATE llmch.workers SET dead = now(), "
            "cause = 'silent for ' || round(extract(epoch FROM now() - seen)) || ' s' "
            "WHERE dead IS NULL AND now() - seen > make_interval(secs => lease_seconds)"
        )
    jobs = queue.unfinished()
    named = {each.worker for each in jobs} | {runner_of(each.plan) for each in jobs}
    dead: dict[str, str] = dict(
        cursor.execute(
            "SELECT id, cause FROM llmch.workers WHERE dead IS NOT NULL AND id = ANY(%s)",
            (sorted(named),),
        ).fetchall()
    )
    # Nobody takes the outcomes of a run whose process died; the next run begins anew.
    lost = [each.id for each in jobs if runner_of(each.plan) in dead]
    queue.cancel(lost)
    queue.forget(lost)
    cursor.execute("DELETE FROM llmch.takeovers WHERE job = ANY(%s)", (lost,))
    for job in jobs:
        if job.state is not JobState.RUNNING or job.worker not in dead or job.id in lost:
            continue
        if dead[job.worker] != LEFT and _takeovers(cursor, job) >= MAX_TAKEOVERS:
            queue.cancel([job.id])
            yield Rescued(job.id, job.worker, cancelled=True)
        else:
            queue.hand_on(job)
            yield Rescued(job.id, job.worker, cancelled=False)


def _takeovers(cursor: Cursor, job: Standing) -> int:
    """Count the workers that died with this job, the last one included."""
    cursor.execute(
        "INSERT INTO llmch.takeovers (job, worker) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (job.id, job.worker),
    )
    row = cursor.execute(
        "SELECT count(*) FROM llmch.takeovers WHERE job = %s", (job.id,)
    ).fetchone()
    return int(row[0]) if row else 0


def died_with(database: Database, job: str) -> Sequence[str]:
    """Return the workers that died while they had this job, the first one first."""
    return database.run(
        lambda cursor: [
            str(worker)
            for (worker,) in cursor.execute(
                "SELECT worker FROM llmch.takeovers WHERE job = %s ORDER BY taken, worker", (job,)
            ).fetchall()
        ]
    )


def forget_takeovers(database: Database, jobs: Sequence[str]) -> None:
    """Delete what is on record about the takeovers of jobs that are over."""
    database.run(
        lambda cursor: cursor.execute(
            "DELETE FROM llmch.takeovers WHERE job = ANY(%s)", (list(jobs),)
        )
    )
