"""Keeps the journal of a run, and what a person decided of its orders.

Each record is one line of JSON, appended whole. Only the record that a commit is about to land is
synced, before the branch moves; by then the commit's objects are on the disk. A power loss may take
any other record: its step shows elsewhere (in a branch, a working tree, a transcript), or the next
run repeats the step.

Only the holder of the repo's lock writes. A file that cannot be understood is an error: a guess
could make, and pay for, an order that somebody left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from factory.orders.stages import NOTHING_DECIDED, Decision, DecisionKey
from factory.record.journal_entries import (
    Entry,
    JournalStep,
    RunConcluded,
    parse_entry,
    render_entry,
)
from shared.errors import Busy, CommandFailed, PreflightRefused
from shared.events.events import Ending, ending_of
from shared.files.atomic_io import make_folder, sync_folder, write_json, write_refused
from shared.files.text_sources import read_plain
from shared.files.typed_documents import read_as
from shared.work_order import parse_order

if TYPE_CHECKING:
    from factory.orders.read_orders import LoadedOrder
    from shared.work_order.work_order import WorkOrder


_CLOSED = -1
_MAKE_READABLE = "make the file readable, or remove what is in its place"
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
            hint = "free some space; the same command then continues from here"
            raise write_refused(self._path, error, hint=hint) from error
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
        _draft_of(path).unlink(missing_ok=True)  # of a run that recorded nothing, or not ours
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
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
        lines = read_plain(path).split(b"\n")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Busy(f"cannot read {path}: {error.strerror}", _MAKE_READABLE) from error
    return tuple(_parse(line, path, number) for number, line in enumerate(lines[:-1], 1))


def read_understood(path: Path) -> tuple[Entry, ...]:
    """Return the records of the latest run that can be understood; none if the file is unreadable.

    A line that cannot be understood is left out.
    """
    try:
        lines = read_plain(path).split(b"\n")
    except OSError:
        return ()
    found: list[Entry] = []
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError):
            found.append(parse_entry(line))
    return tuple(found)


def unfinished(entries: Sequence[Entry]) -> bool:
    """Return whether the run began and its journal does not record its end."""
    return bool(entries) and not isinstance(entries[-1], RunConcluded)


def _parse(line: bytes, path: Path, number: int) -> Entry:
    try:
        return parse_entry(line)
    except (ValueError, RecursionError) as fault:
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


_FORMAT: Final = 1
_MOST_BYTES: Final = 10_000_000


def decisions_path(common_dir: Path) -> Path:
    """Return the path of the decisions in a repo's git folder."""
    return common_dir / "llmch" / "decisions.json"


def read_decisions(common_dir: Path) -> Mapping[DecisionKey, Decision]:
    """Return all decisions on file; the result is empty if there is no file.

    Raises `Busy` if the file cannot be understood.
    """
    path = decisions_path(common_dir)
    try:
        data = read_plain(path, _MOST_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Busy(f"cannot read {path}: {error.strerror}", _MAKE_READABLE) from error
    try:
        return _parse_decisions(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError) as fault:
        raise Busy(
            f"{path} cannot be understood: {type(fault).__name__}: {fault}",
            "restore the file, or remove it: its hints, accepted commits and left-out orders are "
            "then forgotten",
        ) from fault


def write_decision(common_dir: Path, key: DecisionKey, decision: Decision) -> None:
    """Put a decision in the place of the one before; an empty one is removed.

    The write is durable, and whole or not at all. The caller holds the repo's lock. Raises as
    `read_decisions` does, and `CommandFailed` if the disk refuses.
    """
    before = read_decisions(common_dir)
    if before.get(key, NOTHING_DECIDED) == decision:
        return
    now = {each: made for each, made in before.items() if each != key}
    if not decision.is_empty:
        now[key] = decision
    path = decisions_path(common_dir)
    make_folder(path.parent)
    rows = [{**asdict(each), **_render(made)} for each, made in now.items()]
    write_json(path, {"format": _FORMAT, "decisions": rows})


def _render(decision: Decision) -> dict[str, Any]:
    return {name: value for name, value in asdict(decision).items() if value}


def _parse_decisions(document: Any) -> dict[DecisionKey, Decision]:
    if document["format"] != _FORMAT:
        raise ValueError("it was written by another version")
    rows = document["decisions"]
    return {read_as(DecisionKey, row): read_as(Decision, row) for row in rows}


def decision_key(loaded: LoadedOrder, branch: str) -> DecisionKey:
    """Return the key of the decision about an order, which holds while its wording stays."""
    return key_in_plan(loaded.order, loaded.plan.root if loaded.plan else "", branch)


def key_in_plan(order: WorkOrder, root: str, branch: str) -> DecisionKey:
    """Return the key of an order whose oldest plan has the hash `root`, "" if it has no plan."""
    return DecisionKey(branch, root, order.id, parse_order.order_key(order))


def decisions_of(
    common_dir: Path, branch: str, orders: Iterable[LoadedOrder]
) -> Mapping[str, Decision]:
    """Return the decisions about a plan's orders on a branch, by the order's id.

    Orders without a decision are left out. Raises as `read_decisions` does.
    """
    known = read_decisions(common_dir)
    if not known:
        return {}
    keys = {each.order.id: decision_key(each, branch) for each in orders}
    return {name: known[key] for name, key in keys.items() if key in known}


def with_hints(
    orders: Sequence[LoadedOrder], decisions: Mapping[str, Decision]
) -> tuple[LoadedOrder, ...]:
    """Return the orders, each with the hint that holds for it."""
    return tuple(
        replace(each, hint=decisions[each.order.id].hint) if each.order.id in decisions else each
        for each in orders
    )


def accepted_commits(
    decisions: Mapping[str, Decision], on_branch: Collection[str]
) -> Mapping[str, str]:
    """Return the commits on the branch that were accepted for orders, by the order's id."""
    return {
        name: each.accepted.commit
        for name, each in decisions.items()
        if each.accepted is not None and each.accepted.commit in on_branch
    }


def left_out(decisions: Mapping[str, Decision]) -> Mapping[str, str]:
    """Return the reasons of the orders that are left out, by id."""
    return {name: each.left_out for name, each in decisions.items() if each.left_out}


def is_settled(decision: Decision | None) -> bool:
    """Return whether an order need not be made: a commit was accepted for it, or it is left out."""
    return decision is not None and bool(decision.left_out or decision.accepted)
