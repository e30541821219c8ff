"""Workers that ended are forgotten after a week, by any member, and no sooner."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from psycopg.errors import RaiseException

from factory.fleet.database import Database
from factory.fleet.fleet_worker import forget_old_ends
from factory.fleet.job_queue import Queue
from factory.fleet.leases import LEFT, Lease, runner_of
from factory.fleet.wire import Job, JobState, Kind
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.cluster import Cluster

_SILENT = "silent for 31 s"


def _enter(
    cluster: Cluster, database: str, name: str, slots: int, dead_for: str | None, cause: str = ""
) -> None:
    cluster.execute(
        "INSERT INTO llmch.workers (id, host, pid, slots, lease_seconds, protocol, llmch_version,"
        " dead, cause) VALUES (%s, 'h', 1, %s, 30, 1, '1', now() - %s::interval, %s)",
        database,
        name,
        slots,
        dead_for,
        cause,
    )


def _known(cluster: Cluster, database: str) -> list[str]:
    rows = cluster.execute("SELECT id FROM llmch.workers ORDER BY id", database)
    return [str(name) for (name,) in rows]


def test_who_ended_a_week_ago_is_forgotten_and_who_may_have_left_something_is_not(
    cluster: Cluster, database: str, url: DatabaseUrl
) -> None:
    _enter(cluster, database, "alive", 1, None)
    _enter(cluster, database, "died-just-now", 1, "6 days", _SILENT)
    _enter(cluster, database, "died-long-ago", 1, "8 days", _SILENT)
    _enter(cluster, database, "left-long-ago", 1, "8 days", LEFT)
    _enter(cluster, database, runner_of("cleared"), 0, "8 days", LEFT)
    _enter(cluster, database, runner_of("not-cleared"), 0, "8 days", _SILENT)
    with closing(Database(url, "test")) as member, closing(Queue(url)) as queue:
        forget_old_ends(member, queue)
    assert _known(cluster, database) == ["alive", "died-just-now", runner_of("not-cleared")]


@pytest.mark.parametrize("dead_for", [None, "1 second", "6 days"])
def test_no_member_can_forget_a_death_sooner(
    cluster: Cluster, database: str, url: DatabaseUrl, dead_for: str | None
) -> None:
    _enter(cluster, database, "one", 1, dead_for, _SILENT if dead_for else "")
    refused = pytest.raises(RaiseException, match="stays on record for 7 days")
    with closing(Database(url, "test")) as member, refused:
        member.run(lambda cursor: cursor.execute("DELETE FROM llmch.workers"))
    assert _known(cluster, database) == ["one"]


def test_a_worker_that_wakes_after_its_id_was_given_to_another_is_dead(
    cluster: Cluster, database: str, url: DatabaseUrl
) -> None:
    with closing(Database(url, "test")) as member:
        lease = Lease(member, "one", 30.0)
        lease.begin(slots=1)
        assert lease.beat()
        # What is left a week after its end, once another machine has taken the id.
        cluster.execute("UPDATE llmch.workers SET host = 'another'", database)
        assert not lease.beat()


def test_jobs_are_old_by_the_clock_of_the_database_and_a_cancelled_one_stays_so(
    cluster: Cluster, database: str, url: DatabaseUrl
) -> None:
    with closing(Queue(url)) as queue:
        queue.put(Job("j", Kind.PROPOSE, "plan", {}))
        claimed = replace(queue.look(["j"])["j"], state=JobState.RUNNING, worker="died")
        queue.cancel(["j"])
        queue.hand_on(claimed)
        assert queue.look(["j"])["j"].state is JobState.CANCELLED
        clock = "SELECT now() + make_interval(secs => {})"
        times = [cluster.execute(clock.format(each), database)[0][0] for each in (-60, 60)]
        assert [list(queue.over_before(each)) for each in times] == [[], ["j"]]


def test_a_job_that_nobody_can_have_put_is_no_end_of_the_queue(
    cluster: Cluster, database: str, url: DatabaseUrl
) -> None:
    with closing(Queue(url)) as queue:
        queue.put(Job("j", Kind.PROPOSE, "plan", {}))
        cluster.execute(
            "UPDATE llmch_engine.workflow_status SET status = 'ODD', attributes = '[1]'", database
        )
        (found,) = queue.look(["j"]).values()
    assert (found.state, found.plan) == (JobState.CANCELLED, "")
