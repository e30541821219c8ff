"""Keeps a run's journal in the repo's git folder, so that the next start can pick up after it.

Each record is one line of JSON, appended whole. Only the record that a commit is about to land is
synced, before the branch moves; by then the commit's objects are on the disk. A power loss may take
any other record: its step shows elsewhere (in a branch, a working tree, a transcript), or the next
run repeats the step.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from factory.record.journal_entries import (
    Entry,
    JournalStep,
    RunConcluded,
    parse_entry,
    render_entry,
)
from shared.errors import Busy, CommandFailed, PreflightRefused
from shared.events.events import Ending, ending_of
from shared.files.atomic_io import sync_folder

_CLOSED = -1
_KILL_AT = "LLMCH_TEST_KILL_AT"


class Journal:
    """Write the journal of the current run. Its only writer holds the repo's lock."""

    def __init__(self, path: Path, descriptor: int, watch: Callable[[Entry], None]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._watch = watch
        self._lock = threading.Lock()
        self._size = 0
        self._in_place = False

    def record(self, entry: Entry, *, sync: bool = False) -> None:
        """Append a record, whole or not at all. Raises `CommandFailed` if the disk refuses.

        The first record puts this journal in the place of the last run's journal.
        """
        line = render_entry(entry) + "\n"
        try:
            with self._lock:
                self._append(line.encode("ascii"))
                self._watch(entry)
            if sync:
                self._sync()
        except OSError as error:
            raise CommandFailed(
                f"cannot write the run's journal: {error.strerror}",
                "free some space; the same command then continues from here",
            ) from error
        _die_if_asked(entry.step)

    @property
    def begun(self) -> bool:
        return self._size > 0

    def close(self) -> None:
        """Close the journal: a thread that is left behind cannot record anything any more."""
        with self._lock:
            os.close(self._descriptor)
            self._descriptor = _CLOSED

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        if not self._in_place:  # until then, a crash may bring the last run's journal back
            sync_folder(self._path.parent)
            self._in_place = True

    def _append(self, line: bytes) -> None:
        first = not self.begun
        try:
            rest = line
            while rest:  # a disk that is nearly full may accept only a part
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
    """Begin the journal of a run, and record at the end of the run how it ended.

    `watch` gets every record and must not raise. An exception counts as an end too, because the
    run has then closed whatever it opened. Only a process that is killed leaves a journal without
    an end. The journal of the last run stays until this run records something, because nothing
    else says what the last run left behind.
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
    ending = Ending.COMPLETED
    try:
        yield journal
    except BaseException as error:
        ending = ending_of(error)
        raise
    finally:
        # A full disk must not hide what ended the run; the next start then cleans up again.
        with contextlib.suppress(CommandFailed):
            if journal.begun:
                journal.record(RunConcluded(ending))
        journal.close()


def _draft_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def journal_path(common_dir: Path) -> Path:
    """Return the path of the journal of a repo's latest run."""
    return common_dir / "llmch" / "journal.jsonl"


def read_journal(path: Path) -> tuple[Entry, ...]:
    """Return the records of the latest run; none if there was no run.

    A torn last line counts as never written. Raises `Busy` if any other line cannot be read,
    because llmch never guesses what a run did.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Busy(f"cannot read {path}: {error.strerror}", "make the file readable") from error
    return tuple(_parse(line, path, number) for number, line in enumerate(lines[:-1], 1))


def read_understood(path: Path) -> tuple[Entry, ...]:
    """Return the records of the latest run that can be understood; none if the file is unreadable.

    A line that cannot be understood is left out.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return ()
    found: list[Entry] = []
    for line in lines:
        with contextlib.suppress(ValueError):
            found.append(parse_entry(line))
    return tuple(found)


def unfinished(entries: Sequence[Entry]) -> bool:
    """Return whether the run began and its journal does not record its end."""
    return bool(entries) and not isinstance(entries[-1], RunConcluded)


def _parse(line: bytes, path: Path, number: int) -> Entry:
    try:
        return parse_entry(line)
    except ValueError as fault:
        raise Busy(
            f"{path}, line {number} cannot be understood: {fault}",
            "`llmch reset` ends the run of this journal and keeps all commits",
        ) from fault


def _die_if_asked(step: JournalStep) -> None:
    """Kill this process right after the record that a test names: `landing`, or `landing:2`.

    The test then sees what such a crash leaves behind.
    """
    asked = os.environ.get(_KILL_AT, "")
    name, _, count = asked.partition(":")
    if name != step:
        return
    _seen[step] = _seen.get(step, 0) + 1
    if _seen[step] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)


_seen: dict[JournalStep, int] = {}
