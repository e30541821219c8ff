"""A fleet as its users have it: `llmch worker` processes, a bare remote, a model's server."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shared.settings.setting_values import DatabaseUrl
from tests import processes
from tests.factory.fleet.fleet_of_processes import LEASE_SECONDS
from tests.harness import Json, git, manifest, write_plan, writing
from tests.llmch.command_line import Said, Words, own_environment, write_reply
from tests.llmch.command_line import run as run_command
from tests.llmch.command_line import start as start_command
from tests.shared.llm.scripted_server import Act, Received, ScriptedServer

DATE = {"SOURCE_DATE_EPOCH": "1700000000"}
_NUMBER = re.compile(r"Write file number (\d+)\.")


class AnsweringServer(ScriptedServer):
    """Answers each order's request with the file that it asks for, in whatever sequence.

    The orders in `clumsy` are first answered with a file that they may not write.
    """

    clumsy: frozenset[str] = frozenset()

    def _next(self, received: Received) -> Act:
        with self._lock:
            self.received.append(received)
        prompt = json.dumps(received.body)
        found = _NUMBER.search(prompt)
        assert found, "the prompt names the file"
        if found[1] in self.clumsy and "stray.txt" not in prompt:
            return write_reply({"stray.txt": "elsewhere\n"})
        return write_reply({f"{found[1]}.txt": f"{found[1]}\n"})


def order(number: int, file: int = 0, **changes: object) -> Json:
    """Return an order that writes a file of its own, by default the one of its number."""
    file = file or number
    return writing(f"{file}.txt", number, intent=f"Write file number {file}.", **changes)


@dataclass
class SmallFleet:
    """Start and end workers; run plans on them."""

    url: DatabaseUrl
    folder: Path
    repo: Path
    model: AnsweringServer
    workers: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    lease_seconds: float = LEASE_SECONDS

    @property
    def remote(self) -> Path:
        return self.folder / "remote.git"

    def plan(self, *orders: Json) -> Path:
        return self.plan_in("plan", *orders)

    def plan_in(self, folder: str, *orders: Json) -> Path:
        return write_plan(self.folder / folder, manifest(list(orders)))

    def copy_of_repo(self) -> Path:
        """Return another clone, for a run without the fleet."""
        copy = self.folder / "copy" / self.repo.name
        git(self.folder, "clone", "--quiet", "--branch=main", str(self.remote), str(copy))
        return copy

    def configure(self, home: Path) -> None:
        """Have commands that are called in `home` find the fleet."""
        (home / "llmch.toml").write_text(
            f'[fleet]\ndb = "{self.url.text}"\nlease_seconds = {self.lease_seconds}\n'
        )

    def start_worker(
        self, name: str, *flags: str, machine: str = "", lie: str = "", **variables: str
    ) -> subprocess.Popen[str]:
        """Start a worker with a home of its own, or with that of a `machine`.

        With a `lie` it is a hostile one: see `tests.factory.fleet.hostile`.
        """
        home = self.folder / (machine or name)
        home.mkdir(exist_ok=True)
        self.configure(home)
        own = {
            "HOME": str(home),
            "LLMCH_WORKSPACES": str(home / "cache" / "workspaces"),
            "OPENAI_BASE_URL": self.model.base_url,
        }
        words: Words = ["worker", "--id", name, "--sandbox", "off", *flags]
        program = ["tests.factory.fleet.hostile", lie] if lie else ["llmch"]
        log, variables = self.log_of(name), {**own, **variables}
        process = start_logged(words, home, program, out=log, err=log, **variables)
        self.workers[name] = process
        return process

    def log_of(self, worker: str) -> Path:
        """Return the file that has what a worker said."""
        return self.folder / f"{worker}.log"

    def said_by(self, worker: str) -> str:
        """Return what a worker has said so far."""
        return self.log_of(worker).read_text()

    def person(self) -> Path:
        """Return the folder in which the person calls commands."""
        home = self.folder / "person"
        home.mkdir(exist_ok=True)
        self.configure(home)
        return home

    def refs_left(self) -> str:
        return git(self.repo, "ls-remote", str(self.remote), "refs/llmch/*")

    def close(self) -> None:
        for process in self.workers.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()


def run_all(fleet: SmallFleet, repo: Path, plan: Path, *flags: str, branch: str = "work") -> Said:
    """Run a plan to its end, on this machine unless the flags say otherwise."""
    words = _words(repo, plan, branch, *flags)
    return run_command(*words, cwd=fleet.person(), **_surroundings(fleet))


def start_run_all(
    fleet: SmallFleet, plan: Path, *flags: str, branch: str = "work"
) -> subprocess.Popen[str]:
    """Start `run-all --on fleet`, whose arguments and surroundings are those of `run_all`."""
    words = _words(fleet.repo, plan, branch, "--on", "fleet", *flags)
    return start_command(*words, cwd=fleet.person(), **_surroundings(fleet))


def start_run_all_logged(
    fleet: SmallFleet, plan: Path, log: Path, branch: str = "work"
) -> subprocess.Popen[str]:
    """Do as `start_run_all`, with what it says in `log` with the suffixes `.out` and `.err`."""
    words = _words(fleet.repo, plan, branch, "--on", "fleet")
    out, err = log.with_suffix(".out"), log.with_suffix(".err")
    return start_logged(words, fleet.person(), out=out, err=err, **_surroundings(fleet))


def start_submit_logged(
    fleet: SmallFleet, plan: Path, log: Path, branch: str = "work"
) -> subprocess.Popen[str]:
    """Submit a plan and wait for its end, as `start_run_all_logged` runs one."""
    words: Words = [
        *("submit", "--repo", fleet.remote, "--workdir", plan, "--branch", branch, "--wait"),
        *("--json", "--reply-format", "json"),
    ]
    out, err = log.with_suffix(".out"), log.with_suffix(".err")
    return start_logged(words, fleet.person(), out=out, err=err, **_surroundings(fleet))


def start_logged(
    words: Words,
    cwd: Path,
    program: Sequence[str] = ("llmch",),
    *,
    out: Path,
    err: Path,
    **variables: str,
) -> subprocess.Popen[str]:
    """Start a command in a process of its own, which appends what it says to files."""
    with out.open("a") as stdout, err.open("a") as stderr:
        return processes.start(
            [sys.executable, "-m", *program, *words],
            cwd=cwd,
            env=own_environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
        )


def _words(repo: Path, plan: Path, branch: str, *flags: str) -> Words:
    return [
        *("run-all", "--repo", repo, "--workdir", plan, "--branch", branch, "--json"),
        *("--sandbox", "off", "--reply-format", "json", *flags),
    ]


def _surroundings(fleet: SmallFleet) -> dict[str, str]:
    return {"OPENAI_BASE_URL": fleet.model.base_url, **DATE}


@contextlib.contextmanager
def small_fleet(
    url: DatabaseUrl, folder: Path, repo: Path, server: AnsweringServer | None = None
) -> Iterator[SmallFleet]:
    """Give the repo a bare remote, and a model that answers; workers are started by the test."""
    server = server or AnsweringServer(())
    server.start()
    fleet = SmallFleet(url, folder, repo, server)
    git(
        folder,
        "init",
        "--quiet",
        "--bare",
        "--template=",
        "--initial-branch=main",
        str(fleet.remote),
    )
    git(repo, "remote", "add", "origin", str(fleet.remote))
    git(repo, "push", "--quiet", "origin", "main")
    try:
        yield fleet
    finally:
        fleet.close()
        server.stop()
