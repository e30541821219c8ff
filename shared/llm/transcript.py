"""Keeps the append-only record of model calls, which resumes runs and replays demos without a key.

The intent of every call is synced to disk before the call, and the reply after it, so a reply on
record is never paid for twice. A call that has an intent and no outcome may have been paid for:
it is made again, and reported as uncertain.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from shared.errors import CommandFailed, EnvironmentFault, InvalidInput
from shared.files.atomic_io import is_disk_full, sync_folder
from shared.llm.model_client import CallPlace, Completion, ReplyFailed, Request, Role
from shared.llm.transcript_lines import (
    AUTHORED,
    CallFailure,
    Header,
    Intent,
    Record,
    ReplyOrigin,
    Response,
    changed_parts,
    parse_record,
    render_record,
    reply_of,
    request_key,
)

_CHUNK = 1 << 16


def uncertain_calls(path: Path) -> tuple[CallPlace, ...]:
    """Return the calls of a transcript that may have been paid for; none if it cannot be read."""
    if not path.is_file():  # opening a FIFO would wait for a writer
        return ()
    try:
        return Transcript.read(path).uncertain
    except InvalidInput:
        return ()


def describe_uncertain(place: CallPlace | str) -> str:
    """Return the sentence that says why a call may have been paid for."""
    return (
        f"the call of {place} was begun, but its reply is not on record: it may have been paid for"
    )


_CHOOSE = "name a file with --transcript in a directory that exists and can be written to"


def check_can_record(path: Path) -> None:
    """Raise `InvalidInput` if a live run cannot record at `path`; nothing is written."""
    if path.is_file():  # opening a FIFO would wait for a writer
        Transcript.read(path)
    if path.is_dir():
        why = "it is a directory"
    elif path.exists():
        why = "" if os.access(path, os.W_OK) else "it cannot be written to"
    elif not path.parent.is_dir():
        why = f"{path.parent} is not a directory"
    else:
        writable = os.access(path.parent, os.W_OK | os.X_OK)
        why = "" if writable else f"{path.parent} cannot be written to"
    if why:
        raise InvalidInput(f"--transcript {path}: {why}", _CHOOSE)


class Transcript:
    """Represent one transcript file, which is read once.

    It is safe for threads, and for several processes at a time. `Transcript.open` is for writing,
    `Transcript.read` for replaying.
    """

    def __init__(
        self,
        path: Path,
        origin: ReplyOrigin,
        descriptor: int | None,
        secrets: Sequence[str],
        today: Callable[[], str] | None,
    ) -> None:
        self.path = path
        self.origin = origin
        self._descriptor = descriptor
        self._secrets = secrets
        self._today = today
        self._lock = threading.Lock()
        self._answers: dict[str, Response | CallFailure] = {}
        self._pending: Counter[tuple[str, CallPlace]] = Counter()
        self._places: dict[str, CallPlace] = {}

    @classmethod
    def open(
        cls,
        path: Path,
        origin: ReplyOrigin,
        *,
        secrets: Sequence[str] = (),
        today: Callable[[], str] | None = None,
    ) -> Self:
        """Open the transcript at `path` for reading and writing.

        A new file gets `origin` in its header. `secrets` never reach the file. `today` gives the
        date for each reply. Without it records hold no date, so that generating an authored
        transcript again gives the same bytes. Raises `InvalidInput` if the file is not a
        transcript, `CommandFailed` if it cannot be opened.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise CommandFailed(
                f"cannot open the transcript {path}: {error.strerror}", _CHOOSE
            ) from None
        transcript = cls(path, origin, descriptor, secrets, today)
        try:
            next(transcript._records(), None)  # before a torn line is cut off
            transcript._begin_file()
            transcript._load()
        except BaseException:
            transcript.close()
            raise
        return transcript

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the transcript at `path`, for lookups only.

        Raises `InvalidInput` if the file cannot be read or is not a transcript.
        """
        transcript = cls(path, AUTHORED, None, (), None)
        transcript._load()
        return transcript

    @property
    def uncertain(self) -> tuple[CallPlace, ...]:
        """Return the calls that have an intent and no outcome; they may have been paid for."""
        with self._lock:
            pending = (place for (_, place), count in self._pending.items() if count > 0)
            return tuple(dict.fromkeys(pending))

    @property
    def roles(self) -> frozenset[Role]:
        with self._lock:
            return frozenset(place.role for place in self._places.values())

    def lookup(self, request: Request) -> Completion | None:
        """Return the reply on record, or `None`.

        Raises `ReplyFailed` if a failure is on record that used up the attempt.
        """
        with self._lock:
            answer = self._answers.get(request_key(request))
        return None if answer is None else reply_of(answer)

    def begin(self, request: Request) -> str:
        """Record the intent of a call and return the key for its outcome."""
        key = request_key(request)
        self._append(Intent(key, request))
        return key

    def finish(self, key: str, completion: Completion) -> Completion:
        """Record the reply and return it as read back from the record.

        The usage and `replayed` are those of `completion`.
        """
        recorded = self._append(Response(key, completion))
        assert isinstance(recorded, Response)
        return replace(recorded.completion, usage=completion.usage, replayed=completion.replayed)

    def fail(self, key: str, failed: ReplyFailed, *, handed_on: bool) -> None:
        self._append(CallFailure(key, failed, handed_on))

    def explain_miss(self, request: Request) -> str:
        """Return in words why this transcript has no reply to `request`."""
        at_place: Intent | None = None
        places: dict[str, None] = {}
        for record in self._records():
            if isinstance(record, Intent):
                places[str(record.request.place)] = None
                if record.request.place == request.place:
                    at_place = record
        if at_place is None:
            held = ", ".join(places) or "no call at all"
            return f"nothing is recorded for {request.place}; the transcript holds {held}"
        changes = "; ".join(changed_parts(at_place.request, request))
        if not changes:
            return f"the call of {request.place} was begun, but its reply is not on record"
        return f"the request of {request.place} has changed: {changes}"

    def close(self) -> None:
        """Close the file. `lookup` still works afterwards."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def _begin_file(self) -> None:
        with self._locked_file() as descriptor:
            if _cut_torn_line(descriptor) == 0:
                _write_synced(descriptor, render_record(Header(self.origin), self._secrets), 0)
                sync_folder(self.path.parent)

    def _load(self) -> None:
        for record in self._records():
            self._take(record)

    def _take(self, record: Record) -> None:
        match record:
            case Header(origin):
                self.origin = origin
            case Intent(key, request):
                self._places[key] = request.place
                self._pending[key, request.place] += 1
            case Response(key) | CallFailure(key):
                self._answer(key, record)

    def _answer(self, key: str, record: Response | CallFailure) -> None:
        if place := self._places.get(key):
            self._pending[key, place] -= 1
        stays = isinstance(record, Response) or record.handed_on
        if stays and not isinstance(self._answers.get(key), Response):
            self._answers[key] = record

    def _append(self, record: Record) -> Record:
        date = self._today() if self._today and not isinstance(record, Intent) else None
        line = render_record(record, self._secrets, date)
        recorded = record if isinstance(record, Intent) else parse_record(line)
        with self._lock, self._locked_file() as descriptor:
            _write_synced(descriptor, line, _cut_torn_line(descriptor))
            self._take(recorded)
        return recorded

    @contextmanager
    def _locked_file(self) -> Iterator[int]:
        assert self._descriptor is not None, "the transcript was opened for reading, or is closed"
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                yield self._descriptor
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        except OSError as error:
            refused = EnvironmentFault if is_disk_full(error) else CommandFailed
            raise refused(
                f"cannot write the transcript {self.path}: {error.strerror}",
                hint="free some space or choose another place; the run can be continued",
            ) from None

    def _records(self) -> Iterator[Record]:
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    # A last line that a crash tore does not count, unless it was never a header.
                    if line.endswith(b"\n") or (number == 1 and not _begins_header(line)):
                        yield self._record(number, line)
        except OSError as error:
            raise InvalidInput(
                f"cannot read the transcript {self.path}: {error.strerror}"
            ) from None

    def _record(self, number: int, line: bytes) -> Record:
        try:
            record = parse_record(line)
        except ValueError as fault:
            raise InvalidInput(
                f"{self.path}, line {number} is not a line of a transcript: {fault}",
                hint="restore the file, or remove it to start a new one",
            ) from None
        if (number == 1) != isinstance(record, Header):
            raise InvalidInput(
                f"{self.path}, line {number}: a transcript has one header, on its first line"
            )
        return record


def _begins_header(line: bytes) -> bool:
    start = b'{"record": "header"'
    return line.startswith(start[: len(line)])


def _cut_torn_line(descriptor: int) -> int:
    """Cut off a last line that a crash tore, and return the size of the rest in bytes."""
    size = os.fstat(descriptor).st_size
    end = size
    while end > 0:
        start = max(0, end - _CHUNK)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end != size:
        os.ftruncate(descriptor, end)
    return end


def _write_synced(descriptor: int, line: bytes, size: int) -> None:
    """Append `line` to a file of `size` bytes and sync it; cut the line off again on failure."""
    try:
        written = os.write(descriptor, line)
        while written < len(line):
            written += os.write(descriptor, line[written:])
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise
