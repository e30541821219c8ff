"""`--sandbox off`: the command's record is complete though nothing is contained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from factory.sandbox import Backend, Cause, Policy, Sandbox, open_sandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    for name in ("work", "private"):
        (tmp_path / name).mkdir()
    return open_sandbox(
        Backend.OFF,
        Policy(tmp_path / "work", None, tmp_path / "private", Path(sys.executable)),
    )


def test_a_command_that_ends_by_itself_is_recorded(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = sandbox.run(
        ["sh", "-c", "echo a; echo b >&2; exit 4"], timeout_seconds=5, log=tmp_path / "log"
    )
    assert (ended.exit_code, ended.cause, ended.backend) == (4, Cause.EXITED, Backend.OFF)
    assert (ended.stdout.text, ended.stderr.text) == ("a\n", "b\n")
    assert ended.stdout.log.read_text() == "a\n"


def test_a_command_that_overstays_is_ended(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = sandbox.run(["sleep", "30"], timeout_seconds=0.1, log=tmp_path / "log")
    assert (ended.exit_code, ended.cause) == (137, Cause.TIMED_OUT)
    assert ended.duration_seconds < 1


def test_a_program_that_is_not_there_is_told_apart(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = sandbox.run(["no-such-program"], timeout_seconds=5, log=tmp_path / "log")
    assert (ended.exit_code, ended.cause) == (127, Cause.NOT_FOUND)
    assert "no-such-program" in ended.reason
