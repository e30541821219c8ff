"""A run's own folder: its id, its `run.json`, its event log."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from shared.errors import Interrupted, InvalidInput, LlmchError
from shared.events import Emit, Event, ModelTextArrived, event_to_json, fan_out
from shared.files.atomic_io import make_folder, write_bytes, write_json, write_refused, write_text
from shared.secrets.redaction import redact, secret_values
from shared.version import VERSION

_EPOCH_DIGITS = 12  # beyond the year 30000; git's own limit is not much further


class Ending(StrEnum):
    """How a run came to its own end; `run.json` says so. One that was killed came to none."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    INTERNAL_ERROR = "internal error"


def ending_of(error: BaseException) -> Ending:
    """Return how a run ended that this exception ended."""
    match error:
        case KeyboardInterrupt() | Interrupted():
            return Ending.INTERRUPTED
        case LlmchError():
            return Ending.ERROR
        case _:
            return Ending.INTERNAL_ERROR


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where one run keeps its records. Made once, never reused or overwritten."""

    run_id: str
    path: Path
    started: datetime


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a role's model is asked in a run, as `run.json` keeps it.

    `models` names the model of each attempt; `replies` says whether a model or a transcript
    answers. `base_url` has no credentials, and is empty where nothing is asked.
    """

    models: tuple[str, ...]
    temperature: float | None
    max_output_tokens: int | None
    reasoning_effort: str | None
    replies: str
    base_url: str

    def to_json(self) -> dict[str, Any]:
        """Return the settings as a JSON object."""
        return {**asdict(self), "models": list(self.models), "base_url": self.base_url or None}


class RunHead:
    """A run's `run.json`: written first, as it begins, and completed last."""

    def __init__(self, folder: RunFolder, document: Mapping[str, Any]) -> None:
        self._path = folder.path / "run.json"
        self._document = {
            "run_id": folder.run_id,
            "llmch_version": VERSION,
            "started": folder.started.isoformat(timespec="milliseconds"),
            **document,
        }
        write_json(self._path, {**self._document, "status": "running"})

    def complete(self, status: Ending, results: Mapping[str, Any]) -> None:
        """Say how the run ended, and with what."""
        ended = datetime.now(UTC).isoformat(timespec="milliseconds")
        write_json(self._path, {**self._document, "status": status, "ended": ended, **results})


@dataclass(frozen=True, slots=True)
class Recording:
    """A run being recorded: where, whom to tell, and what goes into `run.json` at its end."""

    folder: RunFolder
    emit: Emit
    results: dict[str, Any] = field(default_factory=dict)


class EventLog:
    """Appends each event to `events.jsonl`, stamped with the seconds since the run began.

    Not synced: it tells what happened, and nothing is decided by it. The pieces of a streamed
    reply are left out: the transcript has it whole, and only there can a secret be seen whole.
    Raises `CommandFailed` where the disk refuses.
    """

    def __init__(self, folder: RunFolder, secrets: Sequence[str] = ()) -> None:
        self._started = folder.started
        self._secrets = secrets
        self._path = folder.path / "events.jsonl"
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise write_refused(self._path, error) from error
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ModelTextArrived):
            return
        seconds = (datetime.now(UTC) - self._started).total_seconds()
        line = json.dumps({"at": round(seconds, 3), **event_to_json(event)}, ensure_ascii=False)
        rest = (redact(line, self._secrets) + "\n").encode("utf-8", "backslashreplace")
        try:
            with self._lock:
                while rest:  # a disk that is nearly full takes a part
                    rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise write_refused(self._path, error) from error

    def close(self) -> None:
        """End the log."""
        self._file.close()


def new_run_id() -> str:
    """Return a ULID: unique, and sorted by the time it was made."""
    import ulid

    return str(ulid.new())


def new_run_folder(artifacts: Path, kind: str, run_id: str) -> RunFolder:
    """Create `artifacts/kind/run_id` and return it.

    Raises `CommandFailed` naming the folder where the disk refuses.
    """
    started = datetime.now(UTC)
    parent = artifacts / kind
    if not parent.exists():
        make_folder(parent)
        # Records below the user's repo must not make its tree dirty.
        write_bytes(parent / ".gitignore", b"*\n", sync=False)
    path = parent / run_id
    try:
        path.mkdir()
    except OSError as error:
        raise write_refused(path, error) from error
    return RunFolder(run_id, path.resolve(), started)


def commit_date(started: datetime, environ: Mapping[str, str] = os.environ) -> str:
    """Return the date that commits of a run carry, as git reads it for certain.

    It is `SOURCE_DATE_EPOCH` where that is set, so that builds can be reproduced, else the start
    of the run. Raises `InvalidInput` where the variable is no number of seconds.
    """
    given = environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        return f"@{int(started.timestamp())} +0000"
    if not (given.isascii() and given.isdigit() and len(given) <= _EPOCH_DIGITS):
        raise InvalidInput(
            f"SOURCE_DATE_EPOCH is {given!r}, not a number of seconds since 1970",
            "set it to digits only, or unset it",
        )
    # Without the @, git takes fewer than nine digits for a date of another form.
    return f"@{int(given)} +0000"


@contextlib.contextmanager
def recorded_run(folder: RunFolder, head: Mapping[str, Any], emit: Emit) -> Iterator[Recording]:
    """Keep the records of a run while the block runs, and say in `run.json` how it ended.

    A bug's traceback goes to `traceback.txt` there; every exception is passed on.
    """
    run_head = RunHead(folder, head)
    log = EventLog(folder, secret_values(os.environ))
    recording = Recording(folder, fan_out((log, emit)))
    ending = Ending.COMPLETED
    try:
        yield recording
    except BaseException as error:
        ending = ending_of(error)
        if isinstance(error, LlmchError) and ending is Ending.ERROR:
            recording.results["error"] = error.message
        if ending is Ending.INTERNAL_ERROR:
            write_text(folder.path / "traceback.txt", traceback.format_exc(), sync=False)
        raise
    finally:
        log.close()
        run_head.complete(ending, recording.results)
