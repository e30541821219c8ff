"""Timing that stands a noisy machine, and the counting of what costs: processes, syncs, memory."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from unittest import mock

_STARTS_A_PROCESS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty"})


@dataclass(frozen=True, slots=True)
class Samples:
    """The same figure, measured several times."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Samples:
        return cls(tuple(values))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def noise(self) -> float | None:
        """Half the spread of the middle half, as a part of the median; `None` for too few."""
        if len(self.values) < 4 or not self.median:
            return None
        low, _, high = statistics.quantiles(self.values, n=4)
        return (high - low) / 2 / abs(self.median)


def seconds_of(act: Callable[[], object]) -> float:
    """Return how long `act` takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def cpu_seconds_of(act: Callable[[], object]) -> float:
    """Return what `act` takes of the processor, whoever else wants it: for work without waits."""
    started = time.thread_time()
    act()
    return time.thread_time() - started


def interleave(
    cases: Mapping[str, Callable[[], float]], rounds: int, *, warm: bool = False
) -> dict[str, Samples]:
    """Measure every case once per round, so that what disturbs the machine disturbs them all.

    With `warm`, each case runs once before.
    """
    for case in cases.values() if warm else ():
        case()
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            taken[name].append(case())
    return {name: Samples.of(values) for name, values in taken.items()}


@dataclass(frozen=True, slots=True)
class ChildCost:
    """What one child process took."""

    seconds: float
    exit_code: int
    stdout: bytes


def run_child(argv: Sequence[str], env: Mapping[str, str]) -> ChildCost:
    """Run a program to its end; its stderr is dropped."""
    started = time.perf_counter()
    done = subprocess.run(
        argv,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return ChildCost(time.perf_counter() - started, done.returncode, done.stdout)


@dataclass(slots=True)
class Counts:
    """Processes that this process started, and waits for the disk that it asked for.

    What a child starts or syncs in its turn is not seen.
    """

    processes: int = 0
    syncs: int = 0

    def copy(self) -> Counts:
        return Counts(self.processes, self.syncs)

    def since(self, earlier: Counts) -> Counts:
        return Counts(self.processes - earlier.processes, self.syncs - earlier.syncs)


@contextlib.contextmanager
def counting() -> Iterator[Counts]:
    """Count while the block runs, in all threads."""
    counts = Counts()
    real_sync = os.fsync

    def fsync(descriptor: int) -> None:
        counts.syncs += 1
        real_sync(descriptor)

    watchers = _watchers()
    watchers.append(counts)
    try:
        with mock.patch.object(os, "fsync", fsync):
            yield counts
    finally:
        watchers.remove(counts)


@cache
def _watchers() -> list[Counts]:
    """Return the list of who counts now; an audit hook can't be taken back, so there is one."""
    watchers: list[Counts] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event in _STARTS_A_PROCESS:
            for each in watchers:
                each.processes += 1
        elif event == "ctypes.dlsym" and arguments[1] == "syncfs":  # looked up before each call
            for each in watchers:
                each.syncs += 1

    sys.addaudithook(watch)
    return watchers
