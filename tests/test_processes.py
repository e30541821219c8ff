"""The tests' own promise: no process outlives its test, nor the pytest that ran it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parents[1]

PARENT = """
import time
from tests import processes
print(processes.start(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""


def is_living(pid: int) -> bool:
    """Say whether a process runs: one that has ended and was not waited for does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] not in "ZX"
    return False


def is_named(pid: int, name: str) -> bool:
    """Say whether a process runs that program already: it may not have got its turn yet."""
    return name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:1]


def comes_true(condition: Callable[[], bool]) -> None:
    """Wait for `condition`; on a machine under load that may take long."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_test_that_leaves_a_process_fails_and_the_process_is_killed() -> None:
    with (
        pytest.raises(AssertionError, match="sleep 600"),
        processes.none_left(patience_seconds=0),
    ):
        left = subprocess.Popen(["sleep", "600"])
        comes_true(lambda: is_named(left.pid, "sleep"))
    assert left.wait(60) != 0


def test_a_process_whose_own_parent_has_ended_is_found_as_well() -> None:
    with (
        pytest.raises(AssertionError, match="sleep 601"),
        processes.none_left(patience_seconds=0),
    ):
        script = "sleep 601 >/dev/null 2>&1 & echo $!"
        said = subprocess.run(["sh", "-c", script], check=True, capture_output=True)
        comes_true(lambda: is_named(int(said.stdout), "sleep"))
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)


def test_a_process_ends_with_the_pytest_that_started_it_also_where_that_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        comes_true(lambda: is_named(child, "sleep"))
        parent.kill()
    comes_true(lambda: not is_living(child))
