"""Defines what goes through a fleet's queue and what comes back, as JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shared.version import VERSION

# What a job's document means. Workers take only jobs of their own protocol: two versions of llmch
# that differ in it can share a database, but neither does work of the other.
PROTOCOL = 1


class Kind(StrEnum):
    """Say what a job asks for."""

    PROPOSE = "propose"
    JUDGE = "judge"
    COORDINATE = "coordinate"


class JobState(StrEnum):
    """Say where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Job:
    """Hold one piece of work.

    An id that ended stays ended, so `id` contains the run's. Workers go round the `turn`s, and take
    of each the job with the lowest `priority`, from 1 on; without one, a plan's jobs share a turn.
    `submission` names the submitted plan that the job is done for, if it is done for one. `about`
    says in a few words what the job is, for those who look at the queue.
    """

    id: str
    kind: Kind
    plan: str
    document: Mapping[str, Any]
    priority: int = 1
    turn: str = ""
    submission: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Say in words why a job has no result; `code` is the exit code for a command that waited."""

    code: int
    message: str
    hint: str = ""


Answer = Mapping[str, Any] | Refusal


@dataclass(frozen=True, slots=True)
class Standing:
    """Say where a job stands and, once it is done, what came of it."""

    id: str
    plan: str
    kind: str
    state: JobState
    worker: str = ""
    submission: str = ""
    about: str = ""
    answer: Answer | None = field(default=None, repr=False)


class JobMisread(ValueError):
    """Say in words why a job, or an answer, of the queue is not done or not taken."""


def job_to_json(job: Job) -> dict[str, Any]:
    """Return the job as the queue holds it."""
    return {
        "protocol": PROTOCOL,
        "llmch": VERSION,
        "kind": job.kind.value,
        "plan": job.plan,
        "document": dict(job.document),
    }


def parse_job(job_id: str, value: object) -> Job:
    """Return the job that the queue holds. Raises `JobMisread` where it is not of this protocol."""
    match value:
        case {"protocol": int(protocol), "llmch": str(version)} if protocol != PROTOCOL:
            raise JobMisread(
                f"the job speaks protocol {protocol} (llmch {version}), and this worker {PROTOCOL} "
                f"(llmch {VERSION})"
            )
        case {"kind": str(kind), "plan": str(plan), "document": dict(document)}:
            try:
                return Job(job_id, Kind(kind), plan, document)
            except ValueError:
                raise JobMisread(f"the job is of an unknown kind: {kind!r}") from None
        case _:
            raise JobMisread("the job is not one of llmch's")


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as the queue holds it."""
    match answer:
        case Refusal(code, message, hint):
            return {"refused": {"code": code, "message": message, "hint": hint}}
        case _:
            return {"result": dict(answer)}


def parse_answer(value: object) -> Answer:
    """Return the answer that the queue holds. Raises `JobMisread` where it is not one."""
    match value:
        case {"refused": {"code": int(code), "message": str(message), "hint": str(hint)}}:
            return Refusal(code, message, hint)
        case {"result": dict(result)}:
            return result
        case _:
            raise JobMisread("what the queue holds is not an answer of llmch")
