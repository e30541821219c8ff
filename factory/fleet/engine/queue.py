"""Puts jobs into the queue, and looks what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from factory.fleet.engine.guard import errors_in_words, open_client, text_of, version_of
from factory.fleet.jobs import (
    PROTOCOL,
    Job,
    JobMisread,
    JobState,
    Kind,
    Refusal,
    Standing,
    job_to_json,
    parse_answer,
)
from factory.fleet.schema import ENGINE_SCHEMA
from shared.errors import ExitCode
from shared.settings.values.database import DatabaseUrl

if TYPE_CHECKING:
    from dbos import WorkflowStatus

WORKFLOW: Final = "llmch_job"
# Coordinators only wait, but they wait for orders: in one queue with these, plans that fill all
# slots would wait for ever.
ORDERS: Final = "llmch_orders"
PLANS: Final = "llmch_plans"
PACE: Final = {ORDERS: 0.1, PLANS: 1.0}
"""The seconds between two looks of a worker into a queue. A free worker finds its next step soon; a
plan may wait a moment for its coordinator."""
# What several workers may do for one plan at a time; the coordinator asks for less.
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
    """Put jobs into a fleet's queue, and look what came of them.

    Each call raises `FleetUnavailable` where the database cannot be reached; all can be repeated.
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
                    "app_version": version_of(PROTOCOL),
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

    def look(self, ids: Sequence[str]) -> Mapping[str, Standing]:
        """Return where jobs stand, by id; an unknown id is left out."""
        if not ids:
            return {}
        with errors_in_words(self._url):
            found = self._client.list_workflows(
                workflow_ids=list(ids), load_input=False, load_output=True
            )
        return {each.workflow_id: _standing(each) for each in found}

    def unfinished(self) -> Sequence[Standing]:
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

    def submitted(self) -> Sequence[Standing]:
        """Return the plans that were submitted, oldest first, also those that are over."""
        with errors_in_words(self._url):
            found = self._client.list_workflows(
                queue_name=PLANS, load_input=False, load_output=False
            )
        return [replace(_standing(each), answer=None) for each in found]

    def over_for_long(self, seconds: float) -> Sequence[str]:
        """Return the ids of the jobs that have been over for so long."""
        before = datetime.now(UTC) - timedelta(seconds=seconds)
        with errors_in_words(self._url):
            found = self._client.list_workflows(
                completed_before=before.isoformat(), load_input=False, load_output=False
            )
        return [each.workflow_id for each in found]

    def hand_on(self, job: Standing) -> None:
        """Give a job that a worker has claimed back to its queue, where another worker finds it."""
        queue = PLANS if job.kind == Kind.COORDINATE else ORDERS
        with errors_in_words(self._url):
            self._client.resume_workflow(job.id, queue_name=queue)

    def cancel(self, ids: Sequence[str]) -> None:
        """Have no worker begin these jobs; those that are running are told to stop."""
        if ids:
            with errors_in_words(self._url):
                self._client.cancel_workflows(list(ids))

    def forget(self, ids: Sequence[str]) -> None:
        """Delete all that the queue holds of these jobs."""
        if ids:
            with errors_in_words(self._url):
                self._client.delete_workflows(list(ids))

    def close(self) -> None:
        """Close the connections."""
        self._client.destroy()


def _standing(status: WorkflowStatus) -> Standing:
    state = _STATES[status.status]
    about = status.attributes or {}
    answer = None
    if state is JobState.DONE:
        try:
            answer = parse_answer(status.output if status.status == "SUCCESS" else None)
        except JobMisread as misread:
            said = str(status.error or misread)
            answer = Refusal(ExitCode.INTERNAL, f"job {status.workflow_id} failed: {said}")
    return Standing(
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
