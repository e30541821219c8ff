"""What each further order of `run-all` costs beside the same git work and commands by hand."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.measure import Counts, Samples, counting, seconds_of
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import (
    Bench,
    chain,
    git,
    make_repo,
    module_path,
    replies_to,
    write_orders,
)
from factory.batch.batch import run_all
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.task import RunOptions
from factory.run.execution import prepare_graph
from factory.sandbox.policy import Backend
from shared.events.events import Event, OrderStarted
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import SandboxSettings, Settings
from tests.fakes import ScriptedModel

_SMALL, _SMALL_AIM = 10, Aim(factor=2.5)
# Git looks at every file in `status` and again in `commit`; llmch looks once.
_LARGE, _LARGE_AIM = 20_000, Aim(factor=1.2)
_FLOOR = "git with 2 notes, commands, 2 synced writes"
_GROWTH = Aim(factor=1.25)
# docs/performance.md lists each of them.
_PROCESSES = Aim(extra=8)
_SYNCS = Aim(extra=4)
_BRANCHES = itertools.count(1)


@dataclass(slots=True)
class _Watch:
    """Follows a run by its events: when each order began, and the counts at that time."""

    counts: Counts
    marks: list[tuple[float, Counts]] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        if isinstance(event, OrderStarted):
            self.marks.append((time.perf_counter(), self.counts.copy()))

    def seconds(self) -> list[float]:
        """Return what each order but the first and the last took, its commands included."""
        starts = [at for at, _ in self.marks]
        return [later - at for at, later in itertools.pairwise(starts)][1:]

    def per_order(self) -> Counts:
        """Return what a middle order started and synced, rounded down.

        The note of an order is added while the next one begins, so that one more or one less falls
        into the time that is looked at, however long that is.
        """
        (_, before), (_, after) = self.marks[1], self.marks[-1]
        orders, all_of_them = len(self.marks) - 2, after.since(before)
        return Counts(all_of_them.processes // orders, all_of_them.syncs // orders)


def measure_run_all(bench: Bench) -> Section:
    """Return the rows of `run-all`: sequential orders, a model that answers at once."""
    prepare_graph()
    sizes = ((_SMALL, _SMALL_AIM),) if bench.quick else ((_SMALL, _SMALL_AIM), (_LARGE, _LARGE_AIM))
    rows = [row for files, aim in sizes for row in _rows(bench, files, aim)]
    if not bench.quick:
        rows.append(_growth(bench))
    return Section("run-all, each further order: commands counted, model at once", tuple(rows))


def _rows(bench: Bench, files: int, aim: Aim) -> list[Row]:
    repo = make_repo(bench.folder("repo") / "project", files)
    bare = make_repo(bench.folder("floor") / "project", files)
    lengths = (4,) if bench.quick else (5, 20)
    taken: dict[int, list[float]] = {length: [] for length in lengths}
    floor: dict[int, list[float]] = {length: [] for length in lengths}
    watches: dict[int, _Watch] = {}
    for _ in range(bench.rounds(2 if files == _LARGE else 5)):
        for length in lengths:
            watches[length] = _run(bench, repo, length)
            taken[length] += watches[length].seconds()
            floor[length] += _floor_seconds(bare, length)
    seconds = [
        timed(
            f"{files:,} files, N = {length}",
            Samples.of(taken[length]),
            Samples.of(floor[length]),
            _FLOOR,
            aim,
        )
        for length in lengths
    ]
    counts = watches[lengths[-1]].per_order()
    return [
        *seconds,
        _count(f"{files:,} files: processes started", counts.processes, _PROCESSES),
        _count(f"{files:,} files: waits for the disk", counts.syncs, _SYNCS),
    ]


def _count(name: str, value: int, aim: Aim) -> Row:
    return Row(name, value, "", aim=aim, counted=True)


def _growth(bench: Bench) -> Row:
    """A long run: its late orders beside its early ones."""
    repo = make_repo(bench.folder("repo") / "project", _SMALL)
    seconds = _run(bench, repo, 200).seconds()
    early, late = Samples.of(seconds[:50]), Samples.of(seconds[-50:])
    return timed(f"{_SMALL} files, N = 200, the last 50", late, early, "the first 50", _GROWTH)


def _run(bench: Bench, repo: Path, length: int) -> _Watch:
    """Run a chain of so many orders on a branch of its own, as `llmch run-all` would."""
    orders = chain(length)
    model = ScriptedModel(replies_to(orders))
    workdir = write_orders(bench.folder("orders"), orders)
    options = replace(run_options(bench, repo), branch=f"bench/{next(_BRANCHES)}")
    with counting() as counts:
        watch = _Watch(counts)
        source = ModelSource(Mode.LIVE, lambda emit: model)
        summary = run_all(workdir, options, source, watch)
    assert summary.verdict == "PASS", summary
    assert len(watch.marks) == length, "each order is made: the branch is new"
    return watch


def run_options(bench: Bench, repo: Path) -> RunOptions:
    """Return what a run is asked for; what the sandbox costs is a row of its own."""
    return RunOptions(
        repo=repo,
        settings=Settings(
            artifacts_dir=bench.scratch / "artifacts",
            sandbox=SandboxSettings(backend=Backend.OFF),
        ),
        models=ModelChoice((Rung("scripted"),), temperature=None),
        python=Path(sys.executable),
    )


def _floor_seconds(repo: Path, orders: int) -> list[float]:
    """Return what so many orders take by hand, each with a record and a journal synced."""
    start = git(repo, "rev-parse", "HEAD")
    taken = [seconds_of(partial(_bare_order, repo, number)) for number in range(orders)]
    git(repo, "reset", "--hard", "--quiet", start)
    return taken[1:]


def _bare_order(repo: Path, number: int) -> None:
    path = repo / module_path(number)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"NUMBER = {number}\n")
    git(repo, "status", "--porcelain")
    # The acceptance command runs twice: first where it should fail, on the files as they were.
    for command in (["true"], ["bash", "scripts/verify.sh"], ["true"]):
        subprocess.run(command, cwd=repo, check=True, capture_output=True)
    git(repo, "add", module_path(number))
    git(repo, "commit", "--quiet", "--message=order")
    for name in ("people", "statements"):
        git(repo, "notes", f"--ref={name}", "add", "--force", "--message=order", "HEAD")
    record = repo / ".git" / "record.json"
    for file, mode in ((record.with_suffix(".tmp"), "w"), (record.with_suffix(".journal"), "a")):
        with file.open(mode) as open_file:
            open_file.write(json.dumps({"order": number}) + "\n")
            open_file.flush()
            os.fsync(open_file.fileno())
    record.with_suffix(".tmp").replace(record)
