"""Workers as processes, which a test starts, kills, freezes and wakes, and the jobs for them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from factory.fleet.database import Database
from factory.fleet.job_queue import Queue
from factory.fleet.leases import WorkerSeen, workers_seen
from factory.fleet.wire import Answer, Job, JobStanding, JobState, Kind
from shared.settings.setting_values import DatabaseUrl
from tests import processes

LEASE_SECONDS = 6.0  # the machine may be loaded: who is slower than this is declared dead
_PATIENCE_SECONDS = 90.0
_LOOK_EVERY_SECONDS = 0.05


def until(true: Callable[[], bool], what: str, seconds: float = _PATIENCE_SECONDS) -> None:
    """Wait for something that processes bring about; fail where it does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"did not happen within {seconds:.0f} s: {what}"
        time.sleep(_LOOK_EVERY_SECONDS)


@dataclass
class Worker:
    """One process that takes jobs."""

    id: str
    process: subprocess.Popen[Any]
    log: Path

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end and return the exit code."""
        return self.process.wait(_PATIENCE_SECONDS)

    @property
    def said(self) -> str:
        return self.log.read_text()


@dataclass
class FleetOfProcesses:
    """Start workers on a database, and queue jobs for them."""

    url: DatabaseUrl
    folder: Path
    workers: list[Worker] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        self.queue = Queue(self.url)
        self.database = Database(self.url, "test")

    @property
    def began(self) -> Path:
        """The file in which jobs note that they were begun, and by whom."""
        path = self.folder / "began"
        path.touch()
        return path

    @property
    def go(self) -> Path:
        """The file for which waiting jobs wait."""
        return self.folder / "go"

    def unfit(self, worker: str) -> Path:
        """The file that says, while it is there, that the machine of a worker is unfit."""
        return self.folder / f"{worker}.unfit"

    def start(self, worker: str, slots: int = 1, lease: float = LEASE_SECONDS) -> Worker:
        """Start a worker; it is under way when this returns, not yet ready."""
        log = self.folder / f"{worker}.log"
        told = {
            "worker": worker,
            "slots": slots,
            "lease_seconds": lease,
            "unfit": str(self.unfit(worker)),
        }
        with log.open("ab") as output:
            process = processes.start(
                [sys.executable, "-m", "tests.factory.fleet.driver", json.dumps(told)],
                stdout=output,
                stderr=output,
                env={**os.environ, "LLMCH_FLEET_DB": self.url.text},
                cwd=Path(__file__).parents[3],
            )
        started = Worker(worker, process, log)
        self.workers.append(started)
        return started

    def started(self, *workers: str, slots: int = 1) -> list[Worker]:
        """Start workers and wait until they take jobs."""
        found = [self.start(each, slots) for each in workers]
        for each in found:
            until(lambda each=each: "takes jobs" in each.said, f"{each.id} takes jobs")  # type: ignore[misc]
        return found

    def put(self, plan: str = "plan", kind: Kind = Kind.PROPOSE, **document: Any) -> str:
        """Queue a job and return its id; with `wait=True` it goes on when the file is there."""
        self._count += 1
        if document.pop("wait", False):
            document["go"] = str(self.go)
        document["began"] = str(self.began)
        job = Job(f"{plan}-{self._count}", kind, plan, document)
        self.queue.put(job)
        return job.id

    def beginnings(self, job: str = "") -> list[str]:
        """Return the workers that began this job, or any, in their sequence."""
        lines = [each.split() for each in self.began.read_text().splitlines()]
        return [worker for each, worker in lines if job in ("", each)]

    def standing(self, job: str) -> JobStanding:
        return self.queue.look([job])[job]

    def answer(self, job: str) -> Answer:
        """Wait for the answer to a job and return it."""
        until(lambda: self.standing(job).state is JobState.DONE, f"{job} is done")
        answer = self.standing(job).answer
        assert answer is not None
        return answer

    def seen(self, worker: str) -> WorkerSeen:
        return next(each for each in workers_seen(self.database) if each.id == worker)

    def close(self) -> None:
        for each in self.workers:
            with contextlib.suppress(ProcessLookupError):
                each.process.kill()
            each.process.wait()
        self.queue.close()
        self.database.close()


@contextlib.contextmanager
def fleet_on(url: DatabaseUrl, folder: Path) -> Iterator[FleetOfProcesses]:
    fleet = FleetOfProcesses(url, folder)
    try:
        yield fleet
    finally:
        fleet.close()
