"""Sets up a fleet's database, and says what the fleet has to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from factory.fleet.database import (
    ENGINE_SCHEMA,
    GRANTS,
    SCHEMA_VERSION,
    TABLES,
    Cursor,
    Database,
    Roles,
    found_version,
    refuse_newer,
    with_names,
)
from factory.fleet.job_queue import prepare_engine
from factory.fleet.leases import WorkerSeen, linked, run_of, workers_seen
from factory.fleet.wire import JobStanding, JobState, Kind
from shared import VERSION
from shared.errors import FleetUnavailable, InvalidInput
from shared.settings.setting_values import DatabaseUrl

# Any number that only this file uses: two administrators take turns.
_LOCK = 0x6C6C6D6368


@dataclass(frozen=True, slots=True)
class Initialised:
    """List what a fleet's database has, and what of it was made or changed just now."""

    database: str
    schema_version: int
    roles: Roles
    done: tuple[str, ...]


def initialise(url: DatabaseUrl) -> Initialised:
    """Make the tables and the roles that are missing, and grant the roles what they need.

    Raises `FleetUnavailable` if the database has tables of something else, or of a newer llmch,
    and if its user may not do this.
    """
    database = Database(url, "fleet init")
    try:
        with database.session() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
            done = tuple(_initialise(cursor, database))
            roles = Roles(_name_of(cursor))
    finally:
        database.close()
    return Initialised(str(url), SCHEMA_VERSION, roles, done)


_LONGEST_NAME: Final = 63  # bytes; PostgreSQL cuts a longer one, and two roles become one


def _initialise(cursor: Cursor, database: Database) -> Iterator[str]:
    before = found_version(cursor)
    if before is None:
        _refuse_foreign(cursor, database)
    else:
        refuse_newer(database, *before)
    roles = Roles(_name_of(cursor))
    if any(len(each.encode()) > _LONGEST_NAME for each in (roles.member, roles.reader)):
        raise InvalidInput(
            f"the name of the database {roles.database!r} leaves no room for those of its roles",
            "name it in at most 56 bytes",
        )
    cursor.execute(TABLES)
    cursor.execute(
        "INSERT INTO llmch.fleet (schema_version, llmch_version) VALUES (%s, %s) "
        "ON CONFLICT (one) DO UPDATE SET schema_version = EXCLUDED.schema_version, "
        "llmch_version = EXCLUDED.llmch_version WHERE llmch.fleet.schema_version < %s",
        (SCHEMA_VERSION, VERSION, SCHEMA_VERSION),
    )
    if before is None:
        yield f"made the tables, schema {SCHEMA_VERSION}"
    elif before[0] < SCHEMA_VERSION:
        yield f"brought the tables from schema {before[0]} to {SCHEMA_VERSION}"
    if prepare_engine(database.url):
        yield f"made the queue's tables in {ENGINE_SCHEMA}"
    for role in (roles.member, roles.reader):
        if not cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
            cursor.execute(with_names("CREATE ROLE {role} NOLOGIN", role=role))
            yield f"made the role {role}"
    cursor.execute(
        with_names(
            GRANTS,
            database=roles.database,
            engine=ENGINE_SCHEMA,
            member=roles.member,
            reader=roles.reader,
        )
    )


def _refuse_foreign(cursor: Cursor, database: Database) -> None:
    row = cursor.execute(
        "SELECT schemaname || '.' || tablename FROM pg_tables "
        "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1 LIMIT 1"
    ).fetchone()
    if row:
        raise FleetUnavailable(
            f"{database.url} is not a fleet's database: it has a table {row[0]}",
            "make a database for the fleet alone by `createdb NAME`, and name that one",
        )


def _name_of(cursor: Cursor) -> str:
    row = cursor.execute("SELECT current_database()").fetchone()
    assert row is not None, "the query has one row"
    return str(row[0])


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

    `coordinator` is the worker, or the host and process, that runs it; "" if none does. `about`
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
    queue: tuple[JobStanding, ...]
    submitted: tuple[JobStanding, ...]

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


def _worker_of(job: JobStanding, state: PlanState) -> str:
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
