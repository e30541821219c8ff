"""A fleet as its users have it: `llmch worker` processes, a bare remote, a model's server."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shared.settings.values.database import DatabaseUrl
from tests.factory.fleet.fleet_of_processes import LEASE_SECONDS
from tests.harness import Json, git, manifest, write_plan, writing
from tests.llmch.command_line import start as start_command
from tests.llmch.command_line import write_reply
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
            f'[fleet]\ndb = "{self.url.text}"\nlease_seconds = {LEASE_SECONDS}\n'
        )

    def start_worker(self, name: str, *flags: str, **variables: str) -> subprocess.Popen[str]:
        home = self.folder / name
        home.mkdir()
        self.configure(home)
        workspaces = str(home / "cache" / "workspaces")
        process = start_command(
            *("worker", "--id", name, "--sandbox", "off", *flags),
            cwd=home,
            HOME=str(home),
            LLMCH_WORKSPACES=workspaces,
            OPENAI_BASE_URL=self.model.base_url,
            **variables,
        )
        self.workers[name] = process
        return process

    def refs_left(self) -> str:
        return git(self.repo, "ls-remote", str(self.remote), "refs/llmch/*")

    def close(self) -> None:
        for process in self.workers.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()


@contextlib.contextmanager
def small_fleet(url: DatabaseUrl, folder: Path, repo: Path) -> Iterator[SmallFleet]:
    """Give the repo a bare remote, and a model that answers; workers are started by the test."""
    server = AnsweringServer(())
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
