"""Puts jobs into the queue of DBOS, and reads their outcomes.

A row of DBOS may be a pickle, whatever the serializer, and reading one runs code. So this is
refused before anything is read.

A job is a DBOS workflow without steps: what a dead worker had begun is begun again, and replays
from git and from the replies on record. DBOS gives the queue's claims, their fencing (each claim
has a token, and the outcome of a former owner is discarded), turns between plans, and cancelling.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from factory.fleet.database import (
    ENGINE_SCHEMA,
    import_driver,
    is_loss,
    lost,
    packages_missing,
    said_by,
)
from factory.fleet.wire import (
    PROTOCOL,
    Job,
    JobMisread,
    JobStanding,
    JobState,
    Kind,
    Refusal,
    job_to_json,
    parse_answer,
)
from shared.errors import ExitCode, FleetUnavailable
from shared.settings.setting_values import DatabaseUrl

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus


APPLICATION: Final = "llmch"
CONNECTIONS: Final = 5
"""How many connections a process keeps beside those of its jobs."""


_importing: Final = threading.Lock()


class PickleRefused(Exception):
    """Say that a row of the queue is a pickle, which is never read."""


ENGINE_VERSION: Final = f"llmch-{PROTOCOL}"
"""The mark by which the engine keeps apart the jobs of different protocols."""


def open_client(url: DatabaseUrl) -> DBOSClient:
    """Return a client of the queue. Raises what DBOS raises; see `errors_in_words`."""
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    return DBOSClient(
        system_database_url=text_of(url),
        dbos_system_schema=ENGINE_SCHEMA,
        serializer=DBOSPortableJSONSerializer(),
        application_name=APPLICATION,
        system_database_pool_size=CONNECTIONS,
        retry_connection_errors=False,
    )


def text_of(url: DatabaseUrl) -> str:
    """Return the URL in the form that DBOS understands."""
    return "postgresql://" + url.text.partition("://")[2]


@contextlib.contextmanager
def errors_in_words(url: DatabaseUrl) -> Iterator[None]:
    """Make DBOS safe to import, and its errors `FleetUnavailable`."""
    _refuse_pickles()
    from dbos._error import DBOSException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, DBOSException) as error:
        cause = getattr(error, "orig", None) or error
        if is_loss(cause):
            raise lost(url, cause) from None
        raise FleetUnavailable(
            f"the fleet's queue in {url} does not answer: {said_by(cause)}",
            "see that PostgreSQL runs there, and that `llmch fleet init` of this llmch was run",
        ) from None


def import_engine() -> None:
    """Import DBOS and the driver, which takes long, so that no later call waits for it.

    An error here is ignored, because it comes again where the queue is opened.
    """
    with contextlib.suppress(Exception):
        import_driver()
        _refuse_pickles()


def _refuse_pickles() -> None:
    with _importing:
        _refuse_pickles_once()


@cache
def _refuse_pickles_once() -> None:
    """Import DBOS so that it neither reads pickles nor prints."""
    logger = logging.getLogger("dbos")
    logger.addHandler(logging.NullHandler())  # else DBOS adds one that prints
    logger.propagate = False
    try:
        from dbos import _serialization as written
    except ImportError:
        raise packages_missing() from None

    def refuse(self: object, serialized_data: str) -> Any:
        raise PickleRefused("the row is a pickle, which llmch never reads")

    def in_plain_text(self: object, data: object) -> str:
        return str(data)  # what DBOS records about a row that was refused

    written.DefaultSerializer.deserialize = refuse  # type: ignore[method-assign,assignment]
    written.DefaultSerializer.serialize = in_plain_text  # type: ignore[method-assign]
    del written.pickle  # type: ignore[attr-defined]  # whatever else might use it fails


WORKFLOW: Final = "llmch_job"
# Coordinators only wait, but they wait for orders: in one queue with these, plans that fill all
# slots would wait for ever.
ORDERS: Final = "llmch_orders"
PLANS: Final = "llmch_plans"
PACE: Final = {ORDERS: 0.1, PLANS: 1.0}
"""The seconds between two looks of a worker into a queue. A free worker finds its next step soon; a
plan may wait a moment for its coordinator."""
# The most jobs of one plan that run at a time on all workers; the coordinator asks for fewer.
_OF_ONE_PLAN: Final = 100

_STATES: Final = {
    "DELAYED": JobState.WAITING,
    "ENQUEUED": JobState.WAITING,
    "PENDING": JobState.RUNNING,
    "SUCCESS": JobState.DONE,
    "ERROR": JobState.DONE,
    "CANCELLED": JobState.CANCELLED,
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": JobState.CANCELLED,
}


def prepare_engine(url: DatabaseUrl) -> bool:
    """Make the queue's tables and the queues; return whether tables were missing.

    This is for the administrator of the database. Raises `FleetUnavailable`.
    """
    with errors_in_words(url):
        from dbos import DBOS

        before = _has_tables(url)
        DBOS.migrate(text_of(url), schema=ENGINE_SCHEMA)
        client = open_client(url)
        try:
            # A worker that does not know its own width yet takes nothing.
            client.register_queue(
                ORDERS,
                worker_concurrency=0,
                partition_concurrency=_OF_ONE_PLAN,
                polling_interval_sec=PACE[ORDERS],
            )
            # The turn of a plan is its branch: one coordinator works on a branch at a time.
            client.register_queue(
                PLANS,
                worker_concurrency=0,
                partition_concurrency=1,
                polling_interval_sec=PACE[PLANS],
            )
        finally:
            client.destroy()
    return not before


class Queue:
    """Put jobs into a fleet's queue, and read their outcomes.

    Each call raises `FleetUnavailable` if the database cannot be reached. All can be repeated.
    """

    def __init__(self, url: DatabaseUrl) -> None:
        self._url = url
        with errors_in_words(url):
            self._client = open_client(url)

    def put(self, job: Job) -> None:
        """Queue a job, unless one with this id is or was there."""
        with errors_in_words(self._url):
            from dbos import WorkflowSerializationFormat

            self._client.enqueue(
                {
                    "workflow_name": WORKFLOW,
                    "queue_name": PLANS if job.kind is Kind.COORDINATE else ORDERS,
                    "workflow_id": job.id,
                    "app_version": ENGINE_VERSION,
                    "priority": job.priority,
                    "queue_partition_key": job.turn or job.plan,
                    "serialization_type": WorkflowSerializationFormat.PORTABLE,
                    "attributes": {
                        "kind": job.kind.value,
                        "plan": job.plan,
                        "submission": job.submission,
                        "about": job.about,
                    },
                },
                job_to_json(job),
            )

    def look(self, ids: Sequence[str]) -> Mapping[str, JobStanding]:
        """Return the state of jobs, by id; an unknown id is left out."""
        if not ids:
            return {}
        with errors_in_words(self._url):
            found = self._client.list_workflows(
                workflow_ids=list(ids), load_input=False, load_output=True
            )
        return {each.workflow_id: _standing(each) for each in found}

    def unfinished(self) -> Sequence[JobStanding]:
        """Return the jobs that are not over."""
        with errors_in_words(self._url):
            found = self._client.list_workflows(
                status=["PENDING", "ENQUEUED"], load_input=False, load_output=False
            )
        return [_standing(each) for each in found]

    def all_of(self, plan: str) -> Sequence[str]:
        """Return the ids of all jobs of a plan, also of those that are over."""
        with errors_in_words(self._url):
            found = self._client.list_workflows(
                attributes={"plan": plan}, load_input=False, load_output=False
            )
        return [each.workflow_id for each in found]

    def submitted(self) -> Sequence[JobStanding]:
        """Return the plans that were submitted, oldest first, also those that are over."""
        with errors_in_words(self._url):
            found = self._client.list_workflows(
                queue_name=PLANS, load_input=False, load_output=False
            )
        return [replace(_standing(each), answer=None) for each in found]

    def over_before(self, time: datetime) -> Sequence[str]:
        """Return the ids of the jobs that ended before a time, by the clock of the database."""
        with errors_in_words(self._url):
            found = self._client.list_workflows(
                completed_before=time.isoformat(), load_input=False, load_output=False
            )
        return [each.workflow_id for each in found]

    def hand_on(self, job: JobStanding) -> None:
        """Give a job that a worker has claimed back to its queue, where another worker finds it.

        One that was cancelled since stays so.
        """
        queue = PLANS if job.kind == Kind.COORDINATE else ORDERS
        now = self.look([job.id]).get(job.id)
        if now is None or (now.state, now.worker) != (job.state, job.worker):
            return
        with errors_in_words(self._url):
            self._client.resume_workflow(job.id, queue_name=queue)

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel these jobs: no worker begins them, and those that are running stop."""
        if ids:
            with errors_in_words(self._url):
                self._client.cancel_workflows(list(ids))

    def forget(self, ids: Sequence[str]) -> None:
        """Delete all that the queue holds of these jobs."""
        if ids:
            with errors_in_words(self._url):
                self._client.delete_workflows(list(ids))

    def close(self) -> None:
        self._client.destroy()


def _standing(status: WorkflowStatus) -> JobStanding:
    state = _STATES.get(status.status, JobState.CANCELLED)
    about = status.attributes if isinstance(status.attributes, dict) else {}
    answer = None
    if state is JobState.DONE:
        try:
            answer = parse_answer(status.output if status.status == "SUCCESS" else None)
        except JobMisread as misread:
            said = str(status.error or misread)
            answer = Refusal(ExitCode.INTERNAL, f"job {status.workflow_id} failed: {said}")
    return JobStanding(
        status.workflow_id,
        str(about.get("plan", "")),
        str(about.get("kind", "")),
        state,
        status.executor_id or "",
        str(about.get("submission", "")),
        str(about.get("about", "")),
        answer,
    )


def _has_tables(url: DatabaseUrl) -> bool:
    try:
        open_client(url).destroy()
    except Exception:
        return False
    return True
