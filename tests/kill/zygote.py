"""Starts drivers by fork, everything imported: a process of its own each, at no start-up cost.

`python -m tests.kill.zygote`: an order as a line of JSON in, a line with its wait status out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from factory.run.execution import prepare_graph
from tests import processes
from tests.kill.driver import Order, perform
from tests.kill.faults import plant


class Zygote:
    """The other end: has orders performed, one at a time."""

    def __init__(self, root: Path) -> None:
        self._process = processes.start(
            [sys.executable, "-m", "tests.kill.zygote"],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def perform(self, order: Order) -> int:
        """Return the exit code of the run, -9 where it was killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(order.to_json() + "\n")
        self._process.stdin.flush()
        return os.waitstatus_to_exitcode(int(self._process.stdout.readline()))

    def close(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()


def main() -> None:
    prepare_graph()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a driver prints is not for the other end
    for line in sys.stdin:
        order = Order(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _become_driver(order)
        if order.kill_after is not None:
            time.sleep(order.kill_after)
            kill(pid, tree=order.kill_tree)
        _, status = os.waitpid(pid, 0)
        answers.write(f"{status}\n")
        answers.flush()


def _become_driver(order: Order) -> None:
    code = 70
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if order.faults is not None:
            plant(order.faults)
        code = perform(order)
    finally:
        os._exit(code)


def kill(pid: int, *, tree: bool) -> None:
    """Kill a driver that has not been waited for yet, so that its pid is its own."""
    doomed = [pid]
    for each in doomed if tree else ():  # grows: one that is stopped starts nothing more
        send(each, signal.SIGSTOP)
        doomed += [child for child in descendants(pid) if child not in doomed]
    for each in doomed:
        send(each, signal.SIGKILL)


def send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def descendants(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            facts = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(facts[1])
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


if __name__ == "__main__":
    main()
