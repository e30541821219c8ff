"""Claims jobs of the queue and performs them.

DBOS stores the width of a worker with the queue, the same for all. Here each worker has its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from factory.fleet.engine.guard import (
    APPLICATION,
    CONNECTIONS,
    errors_in_words,
    text_of,
    version_of,
)
from factory.fleet.engine.queue import ORDERS, PACE, PLANS, WORKFLOW
from factory.fleet.engine.rhythm import Rhythm
from factory.fleet.jobs import PROTOCOL
from factory.fleet.schema import ENGINE_SCHEMA
from shared.settings.values.database import DatabaseUrl

# The same words within this time are passed on once; numbers at the end of a line may differ.
_COMPLAIN_AGAIN_SECONDS: Final = 60.0
_COMPLAINT_CHARACTERS: Final = 50

# The engine waits between two looks, and so do we, for as long as is right.
_ENGINE_WAITS_SECONDS: Final = 0.005

# What a worker that ends says of the jobs that it hands on; `perform` reports its own errors.
_ENDED_BY_US: Final = "Exception encountered in background workflow"

Perform = Callable[[str, object], Mapping[str, Any]]


class Claiming:
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
                    "application_version": version_of(PROTOCOL),
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
        """Claim again after `stop`."""
        self._widths = self._own_widths

    def close(self) -> None:
        """End the threads that claim jobs, once nothing runs any more."""
        self._dbos.destroy()

    def _narrow(self) -> None:
        """Have this process see its own width in the queues, and look into them at its own pace.

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
