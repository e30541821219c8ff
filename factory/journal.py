"""The steps of a run, kept in the repo's git folder so that the next start can pick up after it.

Each record is one line of JSON, appended whole. One is synced, and before the step that it
announces is taken: a commit about to land, whose objects are on the disk by then. Where the power
goes, so may any other record: the step it tells of shows by itself (a branch, a working tree, a
transcript), or is taken again.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from shared.atomic_io import sync_folder
from shared.errors import Busy, CommandFailed, PreflightRefused

_FORMAT = 1
_KILL_AT = "LLMCH_TEST_KILL_AT"


class Step(StrEnum):
    """What a record says: that something is about to be done, or is done."""

    RUN_BEGUN = "run_begun"
    WORKSPACE_OPENING = "workspace_opening"
    WORKSPACE_OPENED = "workspace_opened"
    ORDER_BEGUN = "order_begun"
    STAGE = "stage"
    ATTEMPT_FAILED = "attempt_failed"
    LANDING = "landing"
    LANDED = "landed"
    ORDER_ENDED = "order_ended"
    RUN_ENDED = "run_ended"


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: the step and its facts."""

    step: Step
    facts: Mapping[str, Any]


class Journal:
    """The journal of the run under way; one writer, who holds the repo's lock."""

    def __init__(self, path: Path, descriptor: int, watch: Callable[[Entry], None]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._watch = watch
        self._lock = threading.Lock()
        self._size = 0
        self._in_place = False

    def record(self, step: Step, *, sync: bool = False, **facts: Any) -> None:
        """Append a record, whole or not at all. Raises `CommandFailed` where the disk refuses.

        With the first one, the journal takes the place of the last run's.
        """
        line = json.dumps({"format": _FORMAT, "step": step, **facts}, default=str) + "\n"
        try:
            with self._lock:
                self._append(line.encode("utf-8", "backslashreplace"))
                self._watch(Entry(step, facts))
            if sync:
                self._sync()
        except OSError as error:
            raise CommandFailed(
                f"cannot write the run's journal: {error.strerror}",
                "free some space; the same command again goes on from here",
            ) from error
        _die_if_told(step)

    @property
    def begun(self) -> bool:
        """Whether it holds a record yet."""
        return self._size > 0

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        if not self._in_place:  # the name is no use to a run if it is still that of the last one
            sync_folder(self._path.parent)
            self._in_place = True

    def _append(self, line: bytes) -> None:
        first = not self.begun
        try:
            rest = line
            while rest:  # a disk that is nearly full takes a part
                rest = rest[os.write(self._descriptor, rest) :]
            if first:
                os.replace(_draft_of(self._path), self._path)  # noqa: PTH105  # as all calls here
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(line)


@contextlib.contextmanager
def open_journal(
    common_dir: Path, watch: Callable[[Entry], None] = lambda entry: None
) -> Iterator[Journal]:
    """Begin the journal of a run, and say at its end that it ended.

    `watch` is told of every record. An exception is an end too: what was opened is closed by then.
    Only a process that is killed leaves a journal without an end. What the last run left is in its
    journal alone, so that stays until this one has something to say.
    """
    path = journal_path(common_dir)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(_draft_of(path), flags, 0o644)
    except OSError as error:
        raise PreflightRefused(
            f"cannot write {path}: {error.strerror}", "make the repo's git folder writable"
        ) from error
    journal = Journal(path, descriptor, watch)
    try:
        yield journal
    finally:
        # A full disk must not hide what ended the run; the next start then clears up once more.
        with contextlib.suppress(CommandFailed):
            if journal.begun:
                journal.record(Step.RUN_ENDED)
        os.close(descriptor)


def _draft_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def journal_path(common_dir: Path) -> Path:
    """Return where the journal of a repo's latest run is."""
    return common_dir / "llmch" / "journal.jsonl"


def read_journal(path: Path) -> tuple[Entry, ...]:
    """Return the records of the latest run; none where there was no run.

    A torn last line is as good as never written. Raises `Busy` where any other line cannot be
    read: what a run did is never guessed.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Busy(f"cannot read {path}: {error.strerror}", "make it readable") from error
    return tuple(_parse(line, path, number) for number, line in enumerate(lines[:-1], 1))


def unfinished(entries: Sequence[Entry]) -> bool:
    """Return whether the run did not come to its own end."""
    return bool(entries) and entries[-1].step is not Step.RUN_ENDED


def _parse(line: bytes, path: Path, number: int) -> Entry:
    try:
        document = json.loads(line)
        if document.pop("format") != _FORMAT:
            raise ValueError("of another version")
        return Entry(Step(document.pop("step")), document)
    except (ValueError, KeyError, AttributeError) as fault:
        raise Busy(
            f"{path}, line {number} cannot be understood: {fault}",
            "`llmch reset` ends the run it belongs to and keeps all commits",
        ) from fault


def _die_if_told(step: Step) -> None:
    """Let a test see what a crash right after a record leaves behind: `landing`, or `landing:2`."""
    told = os.environ.get(_KILL_AT, "")
    name, _, count = told.partition(":")
    if name != step:
        return
    _seen[step] = _seen.get(step, 0) + 1
    if _seen[step] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)


_seen: dict[Step, int] = {}
