"""Kills workers and coordinators of plans at random moments, and goes on until all has landed.

A number says all that is random about it: the same number tries the same again, as far as time
repeats itself.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from factory.fleet.fleet_admin import read_fleet
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.small_fleet import (
    SmallFleet,
    start_run_all_logged,
    start_submit_logged,
)
from tests.harness import git
from tests.kill.zygote import kill

COORDINATOR = "coordinator"
WORKER = "worker"
# Between two kills there are up to so many seconds, so that some work is done, too.
_SECONDS_BETWEEN_KILLS = 4.0
# That part of the kills hits coordinators.
_COORDINATORS = 0.3
# A run that is left alone ends. One that was given up (its jobs were poison) goes on by itself.
_MOST_STARTS_IN_PEACE = 6
_PATIENCE_SECONDS = 240.0


@dataclass
class Chaos:
    """Kill as often as asked, over as many branches as the test has the plan land on."""

    fleet: SmallFleet
    plan: Path
    random: Random
    machines: int
    slots: int
    kills_left: int
    submitted: bool = False
    """Whether the plan is submitted, so that a worker coordinates it, and not the command."""
    killed: Counter[str] = field(default_factory=Counter)
    ended_by_themselves: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """What the runs said that ended otherwise than by landing all."""
    _workers: dict[str, tuple[str, subprocess.Popen[str]]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def begin(self) -> None:
        """Start a worker on each machine."""
        for number in range(self.machines):
            self._start_worker(f"machine{number}")

    def land(self, branch: str) -> str:
        """Have the plan land on a branch, and return the tip that the run told."""
        peaceful = 0
        while peaceful < _MOST_STARTS_IN_PEACE:
            peaceful += not self.kills_left
            code, out, err = self._run_once(branch)
            if code == 0:
                if self.submitted:
                    git(self.fleet.repo, "fetch", "--quiet", "origin", f"{branch}:{branch}")
                return str(json.loads(out)["tip"])
            if code != -signal.SIGKILL:
                assert code in (1, 8, 9), (code, out, err)
                self.said.append(json.loads(out).get("error", {}).get("message", out))
        raise AssertionError(f"the plan does not end: {self.said}, {err}")

    def end(self) -> None:
        """End the workers, and start one more on each machine, which removes what is left there."""
        until(self._killed_are_dead, "those that were killed are declared dead", _PATIENCE_SECONDS)
        for _, process in self._workers.values():
            process.send_signal(signal.SIGTERM)
        for machine, process in self._workers.values():
            assert process.wait(_PATIENCE_SECONDS) == 0, machine
        self._workers.clear()
        for number in range(self.machines):
            name = self._start_worker(f"machine{number}")
            until(lambda name=name: "takes jobs" in self.fleet.said_by(name), f"{name} takes jobs")  # type: ignore[misc]
            process = self._workers.pop(name)[1]
            process.send_signal(signal.SIGTERM)
            assert process.wait(_PATIENCE_SECONDS) == 0, self.fleet.said_by(name)

    def tell(self, more: str) -> None:
        """Print what happened, which `pytest -rP` shows."""
        kills = ", ".join(f"{count} {kind}s" for kind, count in self.killed.items())
        lines = [f"{more}; killed: {kills}", *self.said, *self.ended_by_themselves]
        sys.stdout.write("\n".join(lines) + "\n")

    def _killed_are_dead(self) -> bool:
        """Return whether only our workers are left: at first one that was killed seems to live."""
        now = read_fleet(self.fleet.url)
        return {each.id for each in (*now.workers, *now.runs) if not each.dead} <= set(
            self._workers
        )

    def _run_once(self, branch: str) -> tuple[int, str, str]:
        """Run the command once, to its end or to its death, and kill workers meanwhile."""
        log = self.fleet.folder / f"coordinator{next(self._numbers)}"
        start = start_submit_logged if self.submitted else start_run_all_logged
        process = start(self.fleet, self.plan, log, branch)
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self._pause())
                break
            self._replace_those_that_ended()
            if self.kills_left:
                self._kill_one(process)
        code = process.wait()
        return code, log.with_suffix(".out").read_text(), log.with_suffix(".err").read_text()

    def _pause(self) -> float:
        return self.random.uniform(0, _SECONDS_BETWEEN_KILLS) if self.kills_left else 1.0

    def _kill_one(self, coordinator: subprocess.Popen[str]) -> None:
        """Kill a process, or also all that it has started, as when the power goes."""
        self.kills_left -= 1
        tree = self.random.choice((False, True))
        if self.random.random() < _COORDINATORS:
            self.killed[COORDINATOR] += 1
            if self.submitted:
                self._kill_worker(self._coordinating(), tree=tree)
            else:
                kill(coordinator.pid, tree=tree)
        else:
            self.killed[WORKER] += 1
            self._kill_worker(self._victim(), tree=tree)

    def _kill_worker(self, name: str, *, tree: bool) -> None:
        machine, process = self._workers.pop(name)
        kill(process.pid, tree=tree)
        process.wait()
        self._start_worker(machine)

    def _coordinating(self) -> str:
        """Return the worker that runs the plan, or any, while none does."""
        at_it = {each.coordinator for each in read_fleet(self.fleet.url).plans}
        return self.random.choice(sorted(at_it & self._workers.keys()) or list(self._workers))

    def _victim(self) -> str:
        """Choose a worker, more often than not one that has a job."""
        jobs = read_fleet(self.fleet.url).queue
        busy = sorted({each.worker for each in jobs} & self._workers.keys())
        either = self.random.choice((busy, busy, list(self._workers)))
        return self.random.choice(either or list(self._workers))

    def _replace_those_that_ended(self) -> None:
        """Start workers in the place of those that ended by themselves: load may do that."""
        for name, (machine, process) in list(self._workers.items()):
            if process.poll() is not None:
                self.ended_by_themselves.append(self.fleet.said_by(name)[-300:])
                del self._workers[name]
                self._start_worker(machine)

    def _start_worker(self, machine: str) -> str:
        name = f"{machine}-{next(self._numbers)}"
        process = self.fleet.start_worker(name, "--slots", str(self.slots), machine=machine)
        self._workers[name] = (machine, process)
        return name
