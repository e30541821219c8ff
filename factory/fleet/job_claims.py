"""Claims jobs of the queue and performs them.

DBOS stores the width of a worker with the queue, the same for all. Here each worker has its own.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from factory.fleet.database import ENGINE_SCHEMA
from factory.fleet.job_queue import (
    APPLICATION,
    CONNECTIONS,
    ENGINE_VERSION,
    ORDERS,
    PACE,
    PLANS,
    WORKFLOW,
    errors_in_words,
    text_of,
)
from shared.settings.setting_values import DatabaseUrl

_REST_AFTER_SECONDS: Final = 30.0
_LOOK_WHILE_RESTING_SECONDS: Final = 1.0
# A worker without a free slot looks this soon whether it has one.
_WATCH_SLOTS_SECONDS: Final = 0.01
# Nobody waits longer at a time, because a worker may end meanwhile.
_MOST_SECONDS_AT_A_TIME: Final = 0.1


class Turn(NamedTuple):
    """Say how long to wait, and whether to look after that."""

    wait_seconds: float
    looks: bool


@dataclass(slots=True)
class Rhythm:
    """Time a worker's looks into each queue: at the queue's pace, more slowly without work.

    Each look is a query, so a fleet that has nothing to do would keep its database busy for
    nothing. A slot that gets free is filled at once. Times are seconds of one clock that does not
    go back.
    """

    pace: Mapping[str, float]
    """The seconds between two looks into a queue, while there is work."""
    _busy_at: float
    _looked_at: dict[str, float] = field(default_factory=dict)
    _full: set[str] = field(default_factory=set)

    def note_work(self, now: float) -> None:
        """Take note that a job begins or ends."""
        self._busy_at = now

    def turn(self, queue: str, now: float, *, full: bool) -> Turn:
        """Return what to do about a queue; if it is `full`, all its slots are taken."""
        if full:
            self._full.add(queue)
            return Turn(_WATCH_SLOTS_SECONDS, looks=False)
        if queue in self._full:
            self._full.remove(queue)
            self._looked_at[queue] = now
            return Turn(0.0, looks=True)
        wait = self._looked_at.get(queue, -math.inf) + self._pause(queue, now) - now
        if wait > _MOST_SECONDS_AT_A_TIME:
            return Turn(_MOST_SECONDS_AT_A_TIME, looks=False)
        wait = max(0.0, wait)
        self._looked_at[queue] = now + wait
        return Turn(wait, looks=True)

    def _pause(self, queue: str, now: float) -> float:
        rests = now - self._busy_at > _REST_AFTER_SECONDS
        return max(self.pace[queue], _LOOK_WHILE_RESTING_SECONDS if rests else 0.0)


# The same words within this time are passed on once; numbers at the end of a line may differ.
_COMPLAIN_AGAIN_SECONDS: Final = 60.0
_COMPLAINT_CHARACTERS: Final = 50

# The engine waits between two looks, and so do we, for as long as is right.
_ENGINE_WAITS_SECONDS: Final = 0.005

# The engine logs this for each job that an ending worker hands on; `perform` reports its errors.
_ENDED_BY_US: Final = "Exception encountered in background workflow"

Perform = Callable[[str, object], Mapping[str, Any]]


class JobClaimer:
    """Claim jobs and perform them, each in a thread, until the process ends."""

    def __init__(
        self,
        url: DatabaseUrl,
        worker: str,
        slots: int,
        plans: int,
        perform: Perform,
        warn: Callable[[str], None],
    ) -> None:
        """Begin to claim as `worker`: up to `slots` orders, and to coordinate up to `plans` plans.

        `warn` gets what DBOS complains of while it claims. `perform` gets a job's id and its
        document, and returns the answer as JSON. Whatever it returns after the job was given to
        another worker is discarded. Raises `FleetUnavailable`.
        """
        self._own_widths = {ORDERS: slots, PLANS: plans}
        self._widths = self._own_widths
        self._rhythm = Rhythm(PACE, time.monotonic())
        logging.getLogger("dbos").addHandler(_Complaints(warn))
        with errors_in_words(url):
            from dbos import DBOS, DBOSPortableJSONSerializer, WorkflowSerializationFormat

            self._dbos = DBOS(
                config={
                    "name": APPLICATION,
                    "system_database_url": text_of(url),
                    "dbos_system_schema": ENGINE_SCHEMA,
                    "application_version": ENGINE_VERSION,
                    "executor_id": worker,
                    "serializer": DBOSPortableJSONSerializer(),
                    "run_migrations": False,
                    "use_listen_notify": False,
                    "sys_db_pool_size": slots + plans + CONNECTIONS,
                }
            )

            def run(document: object) -> Mapping[str, Any]:
                job = DBOS.workflow_id
                assert job is not None, "the engine knows what it runs"
                self._rhythm.note_work(time.monotonic())
                try:
                    return perform(job, document)
                finally:
                    self._rhythm.note_work(time.monotonic())

            DBOS.workflow(name=WORKFLOW, serialization_type=WorkflowSerializationFormat.PORTABLE)(
                run
            )
            DBOS.listen_queues([ORDERS, PLANS])
            DBOS.launch()
            self._narrow()

    def stop(self) -> None:
        """Claim nothing more for now; what runs goes on."""
        self._widths = dict.fromkeys(self._own_widths, 0)

    def go_on(self) -> None:
        self._widths = self._own_widths

    def close(self) -> None:
        """End the threads that claim jobs, once nothing runs any more."""
        self._dbos.destroy()

    def _narrow(self) -> None:
        """Make this process see its own width in the queues, and look into them at its own pace.

        The engine reads a queue's row before each look into it, and does not look where the width
        is 0. Our queues never change while workers run, so each row is read once.
        """
        system = self._dbos._sys_db
        stored = system.get_queue
        read: dict[str, Any] = {}

        def get_queue(name: str, **more: Any) -> Any:
            if name not in self._widths:
                return stored(name, **more)
            queue = read.get(name) or stored(name, **more)
            if queue is not None:
                read[name] = queue
                queue._polling_interval_sec = _ENGINE_WAITS_SECONDS
                queue._worker_concurrency = self._widths[name] if self._is_time(name) else 0
            return queue

        system.get_queue = get_queue  # type: ignore[method-assign]

    def _is_time(self, queue: str) -> bool:
        """Wait for a moment, and return whether to look into a queue."""
        taken = self._dbos._active_workflows_set.count_for_queue(queue)
        full = taken >= self._widths[queue]
        turn = self._rhythm.turn(queue, time.monotonic(), full=full)
        time.sleep(turn.wait_seconds)
        return turn.looks


class _Complaints(logging.Handler):
    """Pass on what DBOS complains of, each complaint once in a while."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._warn = warn
        self._said: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on the first line of a record, unless its words were passed on a short while ago."""
        line = record.getMessage().splitlines()[0]
        if line.startswith(_ENDED_BY_US):
            return
        words, now = line[:_COMPLAINT_CHARACTERS], time.monotonic()
        if now - self._said.get(words, -_COMPLAIN_AGAIN_SECONDS) >= _COMPLAIN_AGAIN_SECONDS:
            self._said[words] = now
            self._warn(f"the queue's engine: {line}")
