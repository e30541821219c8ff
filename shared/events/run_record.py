"""Keeps the folder of a run, `run.json` and the events, and reads them again."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from shared import VERSION
from shared.errors import InvalidInput, LlmchError
from shared.events import events
from shared.files.atomic_io import make_folder, write_bytes, write_json, write_refused, write_text
from shared.files.secret_values import redact, secret_values
from shared.files.text_sources import read_regular_file
from shared.files.typed_documents import Faults, Misfit, read_as

_EPOCH_DIGITS = 12  # beyond the year 30000; git's own limit is not much further


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Name the folder of one run's records; it is made once and never reused or overwritten."""

    run_id: str
    path: Path
    started: datetime


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Describe how a role's model is asked in a run, as `run.json` keeps it.

    `models` names the model of each attempt; `replies` says whether a model or a transcript
    answers. `base_url` has no credentials, and is empty if no server is asked.
    """

    models: tuple[str, ...] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    replies: str = ""
    base_url: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "models": list(self.models), "base_url": self.base_url or None}


class RunHead:
    """Write a run's `run.json`: first when the run begins, and completed when it ends."""

    def __init__(self, folder: RunFolder, document: Mapping[str, Any]) -> None:
        self._path = folder.path / "run.json"
        self._document = {
            "run_id": folder.run_id,
            "llmch_version": VERSION,
            "started": folder.started.isoformat(timespec="milliseconds"),
            **document,
        }
        write_json(self._path, {**self._document, "status": "running"})

    def complete(self, status: events.Ending, results: Mapping[str, Any]) -> None:
        """Write how the run ended, and its results."""
        ended = datetime.now(UTC).isoformat(timespec="milliseconds")
        write_json(self._path, {**self._document, "status": status, "ended": ended, **results})


@dataclass(frozen=True, slots=True)
class Recording:
    """Hold the folder of a run, the sink of its events, and the results for its `run.json`."""

    folder: RunFolder
    emit: events.Emit
    results: dict[str, Any] = field(default_factory=dict)


class EventLog:
    """Append each event to `events.jsonl`, stamped with the seconds since the run began.

    The file is not synced, because no decision depends on it. The pieces of a streamed reply are
    left out: the transcript has the whole reply, and only there can a secret be seen whole.
    Raises `CommandFailed` if the file cannot be written.
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

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.ModelTextArrived):
            return
        seconds = (datetime.now(UTC) - self._started).total_seconds()
        line = json.dumps(
            {"at": round(seconds, 3), **events.event_to_json(event)}, ensure_ascii=False
        )
        rest = (redact(line, self._secrets) + "\n").encode("utf-8", "backslashreplace")
        try:
            with self._lock:
                while rest:  # a disk that is nearly full may take only a part
                    rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise write_refused(self._path, error) from error

    def close(self) -> None:
        self._file.close()


def new_run_id() -> str:
    """Return a ULID: it is unique, and ULIDs sort by the time they were made."""
    import ulid

    return str(ulid.new())


def is_run_id(text: str) -> bool:
    """Return whether a text has the form of a run's id."""
    return re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", text) is not None


def new_run_folder(artifacts: Path, kind: str, run_id: str) -> RunFolder:
    """Create `artifacts/kind/run_id` and return it.

    Raises `CommandFailed`, which names the folder, where the disk refuses.
    """
    started = datetime.now(UTC)
    parent = artifacts / kind
    if not parent.exists():
        make_folder(parent)
        # Records inside the user's repo must not make its tree dirty.
        write_bytes(parent / ".gitignore", b"*\n", sync=False)
    path = parent / run_id
    try:
        path.mkdir()
    except OSError as error:
        raise write_refused(path, error) from error
    return RunFolder(run_id, path.resolve(), started)


def commit_date(started: datetime, environ: Mapping[str, str] = os.environ) -> str:
    """Return the date of a run's commits, in a form that git always reads the same.

    The date is `SOURCE_DATE_EPOCH` where that is set, so that builds can be reproduced, else the
    start of the run. Raises `InvalidInput` if the variable is not a number of seconds.
    """
    given = environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        return f"@{int(started.timestamp())} +0000"
    if not (given.isascii() and given.isdigit() and len(given) <= _EPOCH_DIGITS):
        raise InvalidInput(
            f"SOURCE_DATE_EPOCH is {given!r}, not a number of seconds since 1970",
            "set it to digits only, or unset it",
        )
    # Without the @, git reads a number of fewer than nine digits as a date in another form.
    return f"@{int(given)} +0000"


@contextlib.contextmanager
def recorded_run(
    folder: RunFolder, head: Mapping[str, Any], emit: events.Emit
) -> Iterator[Recording]:
    """Keep the records of a run while the block runs, and write to `run.json` how the run ended.

    The traceback of a bug goes to `traceback.txt` in the same folder. Every exception is passed
    on. The kernel lets go of the folder also where the process is killed: see `killed_runs`.
    """
    with _held(folder.path):
        yield from _recorded(folder, head, emit)


def _recorded(folder: RunFolder, head: Mapping[str, Any], emit: events.Emit) -> Iterator[Recording]:
    run_head = RunHead(folder, head)
    log = EventLog(folder, secret_values(os.environ))
    recording = Recording(folder, events.fan_out((log, emit)))
    ending = events.Ending.COMPLETED
    try:
        yield recording
    except BaseException as error:
        ending = events.ending_of(error)
        if isinstance(error, LlmchError) and ending is events.Ending.ERROR:
            recording.results["error"] = error.message
        if ending is events.Ending.INTERNAL_ERROR:
            write_text(folder.path / "traceback.txt", traceback.format_exc(), sync=False)
        raise
    finally:
        log.close()
        run_head.complete(ending, recording.results)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Hold the folder while the block runs; yield `False` if another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _lock(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Return whether it is locked now; on a file system without locks it never is."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


_MOST_LOOKED_AT = 20
_MOST_HEAD_BYTES = 4 * 1024 * 1024


def killed_runs(kind: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield folder and `run.json` of those of the newest runs whose process did not end them.

    They are held while the caller looks at them. Runs that go on are left out.
    """
    for folder in sorted(kind.glob("[0-9A-Z]*"), reverse=True)[:_MOST_LOOKED_AT]:
        with contextlib.suppress(InvalidInput, ValueError, RecursionError, OSError):
            document = json.loads(
                read_regular_file(folder / "run.json", "record", _MOST_HEAD_BYTES).data
            )
            if isinstance(document, dict) and document.get("status") == "running":
                with _held(folder) as is_over:
                    if is_over:
                        yield folder, document


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """Hold an event of a log; `at` is the seconds since the run began."""

    at: float
    event: events.Event


_MOST_LOG_BYTES = 64 * 1024 * 1024  # of one run; 200 orders of five attempts leave four


def read_events(path: Path) -> Iterator[TimedEvent]:
    """Yield the events of an `events.jsonl`; a line that is not an event is left out.

    The last line of a run that was killed may be cut off. A file that cannot be read has none.
    """
    try:
        data = read_regular_file(path, "record", _MOST_LOG_BYTES).data
    except InvalidInput:
        return
    for line in data.split(b"\n"):
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) and (event := event_from_json(document)):
            yield TimedEvent(_time_of(document), event)


def _time_of(document: Mapping[str, Any]) -> float:
    try:
        return max(0.0, read_as(float, document.get("at")))
    except Misfit:
        return 0.0


def event_from_json(document: Mapping[str, Any]) -> events.Event | None:
    """Return the event that `event_to_json` made the document of; `None` if it is not one.

    An event is shown or not, and nothing depends on it, so one of another version is not an error.
    """
    kind = _kinds().get(str(document.get("event", "")))
    try:
        return None if kind is None else read_as(kind, document, Faults())
    except Misfit:
        return None


@cache
def _kinds() -> Mapping[str, type[events.Event]]:
    return {
        each.kind: each
        for each in vars(events).values()
        if isinstance(each, type) and issubclass(each, events.Event) and each is not events.Event
    }
