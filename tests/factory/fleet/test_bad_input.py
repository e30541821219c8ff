"""What a run on a fleet cannot go on with, or has to wait for: it says so in words."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from factory.fleet.fleet_admin import read_fleet
from factory.fleet.job_queue import Queue
from shared.errors import ExitCode
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.scale import large
from tests.factory.fleet.small_fleet import (
    SmallFleet,
    order,
    run_all,
    start_run_all_logged,
)
from tests.factory.fleet.traces import rows_left
from tests.harness import git


class _WantsPassword(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(401)
        self.send_header("www-authenticate", 'Basic realm="git"')
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def server_with_password() -> Iterator[str]:
    """Serve what answers no request without a password, and return its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _WantsPassword)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/project.git"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@large
def test_a_remote_that_wants_a_password_ends_the_run_and_asks_nobody(fleet: SmallFleet) -> None:
    _WantsPassword.asked.clear()
    with server_with_password() as remote:
        git(fleet.repo, "remote", "set-url", "origin", remote)
        said = run_all(fleet, fleet.repo, fleet.plan(order(1)), "--on", "fleet")
    assert said.code == ExitCode.FAILED
    assert "terminal prompts disabled" in said.error["message"]
    assert "git needs no password typed" in said.error["hint"]
    # Waiting gives no password: it is asked a few times at the run's begin and end, and not again.
    assert len(_WantsPassword.asked) < 10
    assert "Traceback" not in said.err


@dataclass(frozen=True)
class Run:
    """A run of one order on a fleet that has no worker of ours, and what it says."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def err(self) -> str:
        return self.log.with_suffix(".err").read_text()

    @property
    def out(self) -> str:
        return self.log.with_suffix(".out").read_text()


@pytest.fixture
def run(fleet: SmallFleet) -> Iterator[Run]:
    log = fleet.folder / "run"
    process = start_run_all_logged(fleet, fleet.plan(order(1)), log)
    yield Run(process, log)
    process.kill()
    process.wait()


@large
def test_a_run_names_the_workers_that_speak_another_protocol(
    cluster: Cluster, database: str, fleet: SmallFleet, run: Run
) -> None:
    cluster.execute(
        "INSERT INTO llmch.workers (id, host, pid, slots, lease_seconds, protocol, llmch_version) "
        "VALUES ('newer', 'there', 1, 1, 600, 99, '9.9')",
        database,
    )
    until(lambda: "newer speaks 99 (llmch 9.9)" in run.err, "the run says so")
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(240) == ExitCode.INTERRUPTED
    assert read_fleet(fleet.url).queue == ()
    assert fleet.refs_left() == ""


@large
def test_an_order_that_brought_workers_down_fails_and_names_them(
    cluster: Cluster, database: str, fleet: SmallFleet, run: Run
) -> None:
    until(lambda: bool(read_fleet(fleet.url).queue), "the step is queued")
    (job,) = read_fleet(fleet.url).queue
    for number in range(1, 6):
        cluster.execute(
            "INSERT INTO llmch.takeovers (job, worker) VALUES (%s, %s)",
            database,
            job.id,
            f"victim{number}",
        )
    with closing(Queue(fleet.url)) as queue:
        queue.cancel([job.id])
    assert run.process.wait(240) == ExitCode.FAILED, run.err
    assert "5 workers died while they had this step (victim1, " in run.out + run.err
    assert fleet.refs_left() == ""
    assert rows_left(cluster, database) == {}
