"""Removes what a run has in queue, database and remote, also for a run that was killed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from factory.fleet.candidates import forget_candidates
from factory.fleet.database import Database
from factory.fleet.engine.queue import Queue
from factory.fleet.leases import forget_workers, mark_cleared, run_of, workers_seen
from factory.fleet.live_events import forget_events
from factory.fleet.refs import ALL_REFS, RunRefs, run_of_ref
from factory.fleet.rescue import forget_takeovers
from factory.fleet.spending import forget_spending
from shared.git import remote_refs
from shared.git.client import Git

_KEPT_SECONDS: Final = 7 * 86_400.0


def forget_run(database: Database, queue: Queue, run: str, jobs: Sequence[str]) -> None:
    """Delete what queue and database hold of a run that is over; its replies stay on record."""
    queue.forget(jobs)
    forget_takeovers(database, jobs)
    forget_events(database, [run])
    forget_candidates(database, [run])
    forget_spending(database, [run])


def sweep_dead_runs(database: Database, queue: Queue, git: Git, remote: str) -> None:
    """Remove what runs of a remote left that were killed, or that the remote refused to sweep.

    The refs of other fleets stay.

    Raises `CommandFailed` where the remote refuses, and `FleetUnavailable`.
    """
    there = {run_of_ref(each) for each in remote_refs.list_refs(git, remote, ALL_REFS)}
    for each in workers_seen(database):
        run = run_of(each.id)
        if run in there and each.dead:
            jobs = queue.all_of(run)
            queue.cancel(jobs)
            forget_run(database, queue, run, jobs)
            RunRefs(git, remote, run).sweep()
            mark_cleared(database, each.id)


def forget_old_ends(database: Database, queue: Queue) -> None:
    """Delete what has been over for a week: ends that nobody has read, and workers that ended.

    Raises `FleetUnavailable`.
    """
    jobs = queue.over_for_long(_KEPT_SECONDS)
    queue.forget(jobs)
    forget_takeovers(database, jobs)
    forget_events(database, jobs)
    forget_workers(database, _KEPT_SECONDS)
