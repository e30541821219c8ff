"""Runs one acceptance command on the tree of a commit, in the sandbox, and says what it read."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.drift.kept_answers import (
    Entries,
    KeptAnswers,
    kept_run,
    key_of,
    paths_key,
    watch_reads,
)
from factory.drift.requirement_states import CommandAtRev
from factory.judging.count_tests import tests_of
from factory.judging.environment_faults import count_failures, find_fault, surroundings_of
from factory.judging.failure_brief import find_failures, shorten, stable_text
from factory.judging.proof import RedCheck, why_nothing_is_proven
from factory.judging.run_checks import parse_check, run_to_its_end, verification_key
from factory.orders.task import RunOptions
from factory.preflight import Repo
from factory.proposal.scope import FileKind
from factory.sandbox.policy import Cause, Ended
from factory.sandbox.toolchains import changed_ns
from factory.sandbox.visible_files import interpreter_of
from factory.workbench.pool import Workbench, WorkbenchPool
from factory.workbench.tree import NotReadable, Tree
from shared.errors import CommandFailed
from shared.events.events import Emit, Noted
from shared.files.atomic_io import make_folder, write_refused
from shared.git import trees
from shared.work_order.parse_order import sha256_bytes
from shared.work_order.work_order import WorkOrder

Overlay = Mapping[str, bytes | None]
"""What is written over a commit's files before a command runs, by path; `None` removes a file."""

_SAID_CHARACTERS: Final = 240
_NAMED: Final = 20


@dataclass
class CommandRuns:
    """Run commands on the trees of commits, unless it is kept how they end; logs go to `folder`.

    Threads may share it.
    """

    options: RunOptions
    repo: Repo
    pool: WorkbenchPool
    kept: KeptAnswers
    folder: Path
    emit: Emit
    started: int = field(default=0, init=False)
    """How many commands were run and not looked up."""
    _numbers: Iterator[int] = field(default_factory=itertools.count, init=False)
    _trees: dict[str, TreeAtRev] = field(default_factory=dict, init=False)
    _entries: dict[str, Entries] = field(default_factory=dict, init=False)
    _under_way: dict[str, threading.Lock] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def tree(self, commit: str) -> TreeAtRev:
        """Return what a commit's tree holds, and the key of all that is around it."""
        with self._lock:
            if commit not in self._trees:
                with self.pool.lend(commit) as bench:
                    bench.follow_manifests()
                    around = verification_key("", (), bench, self.options)
                    outside = tuple(outside_of(bench))
                entries = trees.all_entries_of(self.repo.git, commit)
                self._trees[commit] = TreeAtRev(entries, paths_key(entries), around, outside)
            return self._trees[commit]

    def entries(self, commit: str) -> Entries:
        """Return the files of a commit, by path, without a workspace."""
        with self._lock:
            if commit not in self._entries:
                self._entries[commit] = trees.all_entries_of(self.repo.git, commit)
            return self._entries[commit]

    def run(
        self, commit: str, order: WorkOrder, command: str, overlay: Overlay, *, again: bool = True
    ) -> CommandAtRev:
        """Return how an order's command ends on a commit; a failing one is run `again`.

        The tree is the commit's with the overlay, before each run: no run sees what one before it
        left. Raises as `WorkbenchPool.lend` does.
        """
        tree = self.tree(commit)
        laid = {path: data and sha256_bytes(data) for path, data in overlay.items()}
        tests = sorted(each.path for each in order.acceptance_files)
        tries = 1 + max(1, self.options.retry_flaky) if again else 1
        key = key_of(tree.around, command, tests, laid, tries)
        with self._lock:
            under_way = self._under_way.setdefault(key, threading.Lock())
        with under_way:
            found = self.kept.run(key, tree.entries, tree.paths)
            if found is None:
                found, read = self._run(commit, order, command, overlay, tries)
                if not found.flaky:
                    self.kept.keep_run(key, kept_run(tree.entries, tree.paths, read, found))
            return found

    def _run(
        self, commit: str, order: WorkOrder, command: str, overlay: Overlay, tries: int
    ) -> tuple[CommandAtRev, frozenset[str] | None]:
        with self.pool.lend(commit) as bench:
            found, read = self._once(bench, commit, order, command, overlay)
            for _ in range(tries - 1):
                if found.ok or found.fault:
                    break
                again, also = self._once(bench, commit, order, command, overlay)
                read = None if read is None or also is None else read | also
                if again.ok:
                    self.emit(Noted(f"{order.id}: `{command}` failed, and passed when run again"))
                    return replace(again, said=found.said, failed=found.failed, flaky=True), read
            return found, read

    def _once(
        self, bench: Workbench, commit: str, order: WorkOrder, command: str, overlay: Overlay
    ) -> tuple[CommandAtRev, frozenset[str] | None]:
        bench.restore()
        if problem := _lay_over(bench, overlay):
            return CommandAtRev(command, ok=False, said=problem), None
        bench.follow_manifests()
        root = bench.workspace.root
        with self._lock:
            self.started += 1
            log = make_folder(self.folder) / f"run_{next(self._numbers)}"
        seen = watch_reads(root, {*bench.workspace.files, *overlay}, root / ".git")
        tests = [each.path for each in order.acceptance_files]
        seconds = self.options.settings.timeout_seconds
        try:
            ended = run_to_its_end(
                parse_check(command), bench.sandbox, tests, seconds=seconds, log=log
            )
        except OSError as error:
            raise write_refused(log, error) from error
        finally:
            read = seen()
        return self._read(command, ended, bench, commit), read

    def _read(self, command: str, ended: Ended, bench: Workbench, commit: str) -> CommandAtRev:
        tests, output = tests_of(ended), ended.output
        nothing = why_nothing_is_proven(command, tests)
        if not (ended.ok or nothing):
            nothing = RedCheck.of(ended, bench.workspace.files).nothing
        if ended.ok and not nothing:
            skipped = tests.skipped if tests else 0
            return CommandAtRev(command, True, tests.ran if tests else None, skipped)
        failures = count_failures(output)
        fault = (
            None if ended.ok else find_fault(ended, surroundings_of(bench, self.options, commit))
        )
        return CommandAtRev(
            command,
            ok=False,
            ran=tests.ran if tests else None,
            skipped=tests.skipped if tests else 0,
            failed=tuple(sorted(failures.names))[:_NAMED] if failures else (),
            all_named=bool(failures and failures.all_named and failures.count <= _NAMED),
            said=nothing or _said(ended, stable_text(output, bench.path_names().items())),
            fault=fault.what if fault else "",
            ran_nothing=bool(nothing),
        )


@dataclass(frozen=True, slots=True)
class TreeAtRev:
    """Hold the files of a commit, and the keys of their paths and of all that is around them.

    `outside` are places outside of the tree, and when each last changed.
    """

    entries: Entries
    paths: str
    around: str
    outside: tuple[tuple[str, int], ...]


def outside_of(bench: Workbench) -> Iterator[tuple[str, int]]:
    """Yield the places outside the tree that commands depend on, and when each last changed."""
    python = interpreter_of(bench.python)
    packages = (each for p in python.prefixes for each in sorted(p.glob("lib/*/*-packages")))
    linked = (each.source for each in bench.linked)
    for each in (bench.python, *packages, *linked, *bench.toolchains.read):
        yield str(each), changed_ns(Path(each))


def _lay_over(bench: Workbench, overlay: Overlay) -> str:
    """Write and remove files; return why that cannot be done, "" if it was."""
    tree = bench.workspace.tree
    for path, data in overlay.items():
        try:
            if data is None:
                tree.remove(path)
            else:
                _put(tree, path, data)
        except NotReadable:
            return f"{path} cannot be put there: something else is in its place"
        except OSError as error:
            raise CommandFailed(f"{path} cannot be written: {error}") from error
    return ""


def _put(tree: Tree, path: str, data: bytes) -> None:
    """Write a file; a link in its place goes."""
    if tree.kind_of(path) is FileKind.LINK:
        tree.remove(path)
    tree.write(path, data)


def _said(ended: Ended, text: str) -> str:
    """Return a line that tells why a command failed."""
    if ended.doubt:
        return ended.doubt
    if ended.cause is not Cause.EXITED:
        return ended.reason or f"it {str(ended.cause).replace('_', ' ')}"
    lines = text.split("\n")
    for report in find_failures(lines):
        told = [lines[each].strip() for each in report.lines if each < len(lines)]
        if told := [each for each in told if each]:
            errors = [each.removeprefix("E ").strip() for each in told if each.startswith("E ")]
            # A traceback says at its end what was wrong.
            line = told[-1] if told[0].startswith("Traceback ") else (errors or told)[0]
            return shorten(line, _SAID_CHARACTERS)
    last = [each.strip() for each in lines if each.strip()]
    return shorten(last[-1], _SAID_CHARACTERS) if last else f"exit code {ended.exit_code}"
