"""Trusted tools: whole output, a deadline that holds, and plain errors."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from shared.processes.process import Finished, ProgramMissing, ToolFailed, run_tool, start_service
from tests.processes import ended_by_its_deadline


def sh(script: str, cwd: Path, *, timeout: float = 120, stdin: bytes = b"") -> Finished:
    env = {"PATH": os.defpath}
    return run_tool(["sh", "-c", script], cwd=cwd, env=env, timeout_seconds=timeout, stdin=stdin)


def overstaying(script: str, cwd: Path, begun: Path) -> Finished:
    """Run a script that would sleep on for ten minutes after it has made the file `begun`."""
    done = ended_by_its_deadline(lambda timeout: sh(script, cwd, timeout=timeout), begun.exists)
    assert done.duration_seconds < 300
    return done


def test_both_streams_and_the_exit_code_come_back_whole(tmp_path: Path) -> None:
    done = sh("head -c 300000 /dev/zero; echo bad >&2; exit 3", tmp_path)
    assert (len(done.stdout), done.stderr, done.exit_code) == (300_000, b"bad\n", 3)
    assert not done.timed_out


def test_stdin_is_what_was_given_and_otherwise_empty(tmp_path: Path) -> None:
    assert sh("cat", tmp_path, stdin=b"x" * 200_000).stdout == b"x" * 200_000
    assert sh("cat", tmp_path).stdout == b""


def test_only_the_given_environment_is_passed(tmp_path: Path) -> None:
    done = run_tool(["/usr/bin/env"], cwd=tmp_path, env={"ONLY": "this"}, timeout_seconds=10)
    assert done.stdout == b"ONLY=this\n"


def test_a_tool_has_no_terminal_to_ask_on(tmp_path: Path) -> None:
    assert sh("exec 2>/dev/null; (: </dev/tty) && echo asked", tmp_path).stdout == b""


def test_the_deadline_ends_the_whole_group(tmp_path: Path) -> None:
    child = tmp_path / "child"
    script = "echo before; sleep 600 & echo $! > new; mv new child; wait"
    done = overstaying(script, tmp_path, child)
    assert (done.timed_out, done.exit_code, done.stdout) == (True, -9, b"before\n")
    # All were killed at once, and the system takes them away one by one.
    until = time.monotonic() + 60
    while _alive(int(child.read_text())):
        assert time.monotonic() < until, "the group's other processes live on"


def test_the_deadline_holds_while_a_stray_grandchild_keeps_the_pipe(tmp_path: Path) -> None:
    strays = tmp_path / "strays"
    script = "setsid sh -c 'echo $$ >> strays; exec sleep 600' & sleep 600"
    done = overstaying(script, tmp_path, strays)
    for stray in strays.read_text().split():
        os.kill(int(stray), signal.SIGKILL)
    assert done.timed_out


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing, match="no-such-tool"):
        run_tool(["no-such-tool"], cwd=tmp_path, env={}, timeout_seconds=1)
    plain = tmp_path / "plain"
    plain.write_text("not executable")
    with pytest.raises(ProgramMissing, match="plain"):
        run_tool([str(plain)], cwd=tmp_path, env={}, timeout_seconds=1)


def test_a_working_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="gone"):
        run_tool([sys.executable], cwd=tmp_path / "gone", env={}, timeout_seconds=1)


def test_a_nul_in_an_argument_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="null byte"):
        run_tool(["echo", "a\0b"], cwd=tmp_path, env={}, timeout_seconds=1)


def _alive(pid: int) -> bool:
    """Whether the process still runs: a zombie waiting for init does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_service_is_spoken_to_through_its_descriptors(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    script = f"echo $PWD > /proc/self/fd/{writing}; echo lost; exec sleep 60"
    env = {"PATH": os.defpath}
    service = start_service(["sh", "-c", script], cwd=tmp_path, env=env, pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading) as said:
        assert said.readline() == f"{tmp_path}\n"
    assert os.getsid(service.pid) == service.pid
    service.kill()
    assert service.wait() == -9
