"""Encodes as JSON what goes through the queue: steps, outcomes, usage, options, files.

Texts of models and commands may hold any character, so the JSON is ASCII.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

from factory.attempt.attempt_state import Attempt, FactoryState
from factory.judging.acceptance_evidence import Evidence
from factory.judging.proof import KnownCommit
from factory.orders.documents import AttemptRecord, CommandFlag, VerifiedBy
from factory.orders.model_choice import ModelChoice, PastAttempt
from factory.orders.task import Errored, Failed, OrderResult, OrderTask, Passed, RunOptions
from factory.run.execution import OrderProgress
from shared import VERSION, errors
from shared.errors import LlmchError
from shared.files.atomic_io import make_folder, write_bytes
from shared.llm.usage import Tally
from shared.settings.settings import FormatChoice, StrengthSettings

# The version of the job documents. Workers take only jobs of their own protocol: two versions of
# llmch that differ in it can share a database, but neither does work of the other.
PROTOCOL = 3


class Kind(StrEnum):
    """Name the kind of a job."""

    PROPOSE = "propose"
    JUDGE = "judge"
    COORDINATE = "coordinate"


class JobState(StrEnum):
    """Name the state of a job."""

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
class JobStanding:
    """Hold the state of a job and, once it is done, what came of it."""

    id: str
    plan: str
    kind: str
    state: JobState
    worker: str = ""
    submission: str = ""
    about: str = ""
    answer: Answer | None = field(default=None, repr=False)


class JobMisread(ValueError):
    """Say in words why a job or an answer of the queue cannot be used."""


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
    """Return the job that the queue holds. Raises `JobMisread` if it is not of this protocol."""
    match value:
        case {"protocol": int(protocol), "llmch": str(version)} if protocol != PROTOCOL:
            raise JobMisread(
                f"the job speaks protocol {protocol} (llmch {version}), and this worker {PROTOCOL} "
                f"(llmch {VERSION})"
            )
        case {"protocol": int(), "kind": str(kind), "plan": str(plan), "document": dict(document)}:
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
    """Return the answer that the queue holds. Raises `JobMisread` if it is not one."""
    match value:
        case {"refused": {"code": int(code), "message": str(message), "hint": str(hint)}}:
            return Refusal(code, message, hint)
        case {"result": dict(result)}:
            return result
        case _:
            raise JobMisread("what the queue holds is not an answer of llmch")


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """Hold the options that decide what is asked and how it is judged, on any machine."""

    models: ModelChoice
    timeout_seconds: float
    strict_acceptance: bool
    strength: StrengthSettings
    format: FormatChoice
    verify: tuple[str, ...]
    dependencies: tuple[str, ...]
    attempts: int
    retry_flaky: int
    install_dependencies: bool
    allow_red: bool
    patience_seconds: float
    max_tokens: int | None
    max_cost: Decimal | None


def shared_options(options: RunOptions) -> SharedOptions:
    """Return the options of a run that hold on all machines."""
    settings = options.settings
    return SharedOptions(
        options.models,
        settings.timeout_seconds,
        settings.strict_acceptance,
        settings.strength,
        settings.format,
        settings.verify,
        settings.dependencies,
        settings.factory_attempts,
        options.retry_flaky,
        options.install_dependencies,
        options.allow_red,
        options.patience_seconds,
        settings.max_tokens,
        settings.max_cost,
    )


def with_shared(options: RunOptions, shared: SharedOptions) -> RunOptions:
    """Return this machine's options with what must be the same on all machines."""
    settings = replace(
        options.settings,
        timeout_seconds=shared.timeout_seconds,
        strict_acceptance=shared.strict_acceptance,
        strength=shared.strength,
        format=shared.format,
        verify=shared.verify,
        dependencies=shared.dependencies,
        factory_attempts=shared.attempts,
        max_tokens=shared.max_tokens,
        max_cost=shared.max_cost,
    )
    return replace(
        options,
        settings=settings,
        models=shared.models,
        retry_flaky=shared.retry_flaky,
        install_dependencies=shared.install_dependencies,
        allow_red=shared.allow_red,
        patience_seconds=shared.patience_seconds,
    )


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StateDocument:
    """Hold a `FactoryState`, less a verdict, which the result has."""

    attempt: Attempt
    past: tuple[PastAttempt, ...]
    records: tuple[AttemptRecord, ...]
    evidence: Evidence | None
    verdict: Passed | Failed | None


@dataclass(frozen=True, slots=True)
class StepDocument:
    """Hold a step with all that it takes: `run` names its refs, `replies` its replies on record."""

    run: str
    replies: str
    repo: str
    """The name of the repo's folder, which is the name of each workspace."""
    remote: str
    task: OrderTask
    state: StateDocument | None
    parent: str
    options: SharedOptions
    base: KnownCommit
    """The facts about the commit that the run began on."""


@dataclass(frozen=True, slots=True)
class ResultDocument:
    """Hold an `OrderResult`; `error` is what ends the whole run, if anything does."""

    verdict: Passed | Failed | None
    cause: str
    error: Refusal | None
    records: tuple[AttemptRecord, ...]
    flags: tuple[CommandFlag, ...]
    verified_by: VerifiedBy | None


@dataclass(frozen=True, slots=True)
class OutcomeDocument:
    """Hold how far a step brought an order, and all that a local run would have recorded.

    `files` are those of the order's folder by their path in it, in base64. `events` and `entries`
    are what was announced, and what the journal gets. `usage` is that of the step alone.
    """

    state: StateDocument
    result: ResultDocument | None
    unfit: str
    files: Mapping[str, str]
    events: tuple[Mapping[str, Any], ...]
    entries: tuple[str, ...]
    usage: Tally


def render(document: object) -> str:
    """Return a document of this file as one text of ASCII."""
    adapter = _adapter(type(document))
    # Pydantic does not know read-only mappings.
    return json.dumps(adapter.dump_python(document, mode="json", fallback=_plain, warnings=False))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} does not go through the queue")


def parse(kind: type[T], text: object) -> T:
    """Return the document that `render` made. Raises `JobMisread` if it is not one."""
    from pydantic import ValidationError

    if not isinstance(text, str):
        raise JobMisread(f"the job has no {kind.__name__}")
    try:
        parsed: T = _adapter(kind).validate_python(json.loads(text))
    except (ValidationError, ValueError, RecursionError) as error:
        raise JobMisread(f"{kind.__name__} cannot be read: {str(error)[:300]}") from None
    return parsed


_ADAPTERS: dict[type, Any] = {}


def _adapter(kind: type) -> Any:
    from pydantic import TypeAdapter

    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def state_document(state: FactoryState) -> StateDocument:
    """Return a state as it goes through the queue."""
    verdict = state["verdict"]
    return StateDocument(
        state["attempt"],
        state["past"],
        state["records"],
        state["evidence"],
        None if isinstance(verdict, Errored) else verdict,
    )


def state_of(document: StateDocument) -> FactoryState:
    """Return the state that came through the queue."""
    return FactoryState(
        attempt=document.attempt,
        past=document.past,
        records=document.records,
        evidence=document.evidence,
        verdict=document.verdict,
    )


def result_document(result: OrderResult | None) -> ResultDocument | None:
    """Return a result as it goes through the queue."""
    if result is None:
        return None
    verdict, cause, error = result.verdict, "", None
    if isinstance(verdict, Errored):
        cause = verdict.cause
        error = refusal_of(verdict.error) if verdict.error else None
    return ResultDocument(
        None if isinstance(verdict, Errored) else verdict,
        cause,
        error,
        result.records,
        result.flags,
        result.verified_by,
    )


def progress_of(document: OutcomeDocument) -> OrderProgress:
    """Return how far an order has come, as it came through the queue."""
    found = document.result
    if found is None:
        return OrderProgress(state_of(document.state), None, document.unfit)
    verdict = found.verdict or Errored(found.cause, error_of(found.error) if found.error else None)
    result = OrderResult(verdict, found.records, found.flags, found.verified_by)
    return OrderProgress(state_of(document.state), result, document.unfit)


def refusal_of(error: LlmchError) -> Refusal:
    """Return an error as it goes through the queue."""
    return Refusal(int(error.exit_code), error.message, error.hint)


def error_of(refusal: Refusal) -> LlmchError:
    """Return the error that came through the queue, with the exit code that it had."""
    kinds = (each for each in vars(errors).values() if isinstance(each, type))
    ours = (each for each in kinds if issubclass(each, LlmchError) and each is not LlmchError)
    for each in ours:
        if each.exit_code == refusal.code:
            return each(refusal.message, refusal.hint)
    return errors.CommandFailed(refusal.message, refusal.hint)


# The database is not for larger files, such as the log of a command that never stops.
_MOST_BYTES_OF_A_FILE: Final = 1024 * 1024
_MOST_BYTES: Final = 32 * 1024 * 1024
# These hold paths of the folder that they were written in.
_RECORDS: Final = frozenset((".json", ".jsonl"))


def pack(folder: Path) -> Mapping[str, str]:
    """Return the files below a folder by their path in it, in base64; large ones are left out.

    Files of up to 1 MiB are carried, until they are 32 MiB together.
    """
    return dict(_packed(folder))


def _packed(folder: Path) -> Iterator[tuple[str, str]]:
    room = _MOST_BYTES
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        size = path.stat().st_size
        if size <= min(_MOST_BYTES_OF_A_FILE, room):
            room -= size
            content = base64.b64encode(path.read_bytes()).decode("ascii")
            yield str(path.relative_to(folder)), content


def unpack(files: Mapping[str, str], folder: Path, was: str = "") -> None:
    """Write carried files into a folder; in records, this folder takes the place of `was`.

    A path that leads out of the folder is passed over. Raises `ValueError` for what is not base64,
    and for a path that is to be a file and a folder.
    """
    names = frozenset(map(PurePosixPath, files))
    for path, content in files.items():
        parts = PurePosixPath(path)
        if not parts.parts or parts.is_absolute() or ".." in parts.parts:
            continue
        if not names.isdisjoint(parts.parents):
            raise ValueError(f"{path!r} is below a file")
        target = folder / parts
        make_folder(target.parent)
        data = base64.b64decode(content)
        if was and target.suffix in _RECORDS:
            data = data.replace(_in_json(was), _in_json(str(folder)))
        write_bytes(target, data, sync=False)


def _in_json(path: str) -> bytes:
    return json.dumps(path)[1:-1].encode()
