"""Keeps a run's journal in the repo's git folder, so that the next start can pick up after it.

Each record is one line of JSON, appended whole. One kind is synced, before the step that it
announces is taken: a commit is about to land, whose objects are on the disk by then. Any other
record may be lost with the power: the step shows by itself (a branch, a working tree, a
transcript), or is taken again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from factory.record.journal_entries import Entry, JournalStep, RunConcluded
from factory.record.journal_format import parse_entry, render_entry
from shared.errors import Busy, CommandFailed, PreflightRefused
from shared.files.atomic_io import sync_folder
from shared.run_record import Ending, ending_of

_CLOSED = -1
_KILL_AT = "LLMCH_TEST_KILL_AT"


class Journal:
    """The journal of the run under way; one writer, who holds the repo's lock."""

    def __init__(self, path: Path, descriptor: int, watch: Callable[[Entry], None]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._watch = watch
        self._lock = threading.Lock()
        self._size = 0
        self._in_place = False

    def record(self, entry: Entry, *, sync: bool = False) -> None:
        """Append a record, whole or not at all. Raises `CommandFailed` where the disk refuses.

        The first record puts the journal in the place of the last run's.
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
                "free some space; the same command again goes on from here",
            ) from error
        _die_if_told(entry.step)

    @property
    def begun(self) -> bool:
        """Whether it holds a record yet."""
        return self._size > 0

    def close(self) -> None:
        """Take no more records: a thread that was left behind finds the journal closed."""
        with self._lock:
            os.close(self._descriptor)
            self._descriptor = _CLOSED

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
    """Begin the journal of a run, and record at its end that it ended, and how.

    `watch` gets every record and must not raise. An exception is an end too: what the run opened
    is closed by then. Only a process that is killed leaves a journal without an end. The journal of
    the last run is all that says what it left, so it stays until this run records something.
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
        # A full disk must not hide what ended the run; the next start then clears up once more.
        with contextlib.suppress(CommandFailed):
            if journal.begun:
                journal.record(RunConcluded(ending))
        journal.close()


def _draft_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def journal_path(common_dir: Path) -> Path:
    """Return where the journal of a repo's latest run is."""
    return common_dir / "llmch" / "journal.jsonl"


def read_journal(path: Path) -> tuple[Entry, ...]:
    """Return the records of the latest run; none where there was no run.

    A torn last line counts as never written. Raises `Busy` where any other line cannot be read:
    what a run did is never guessed.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Busy(f"cannot read {path}: {error.strerror}", "make it readable") from error
    return tuple(_parse(line, path, number) for number, line in enumerate(lines[:-1], 1))


def read_understood(path: Path) -> tuple[Entry, ...]:
    """Return the records of the latest run that can be understood; none where it cannot be read."""
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
    """Return whether the run did not come to its own end."""
    return bool(entries) and not isinstance(entries[-1], RunConcluded)


def _parse(line: bytes, path: Path, number: int) -> Entry:
    try:
        return parse_entry(line)
    except ValueError as fault:
        raise Busy(
            f"{path}, line {number} cannot be understood: {fault}",
            "`llmch reset` ends the run it belongs to and keeps all commits",
        ) from fault


def _die_if_told(step: JournalStep) -> None:
    """Let a test see what a crash right after a record leaves behind: `landing`, or `landing:2`."""
    told = os.environ.get(_KILL_AT, "")
    name, _, count = told.partition(":")
    if name != step:
        return
    _seen[step] = _seen.get(step, 0) + 1
    if _seen[step] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)


_seen: dict[JournalStep, int] = {}
