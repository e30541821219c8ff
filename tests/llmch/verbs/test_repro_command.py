"""`llmch repro`: the rejected files once more, the command that failed, and nothing left behind."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeAlias

import pytest

from factory.sandbox.detect import find_backends
from factory.sandbox.policy import Backend
from tests.harness import commit_all, git, order
from tests.llmch.command_line import (
    Said,
    Say,
    Words,
    model_server,
    own_environment,
    snapshot,
    start,
    write_reply,
)
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import Act, Silence, scripted_server

Run: TypeAlias = Callable[..., Said]
"""Runs one order with these replies, one for each attempt."""

WRONG = write_reply({"hello.txt": "wrong\n"})
RIGHT = write_reply({"hello.txt": "right\n"})
UNCONTAINED: Words = ["--sandbox", "off"]
PICKY = "grep right hello.txt README.md"
NOISY = "python -c \"print('said'); open('litter', 'w'); import sys; sys.exit('complained')\""

WORKING = [each for each in find_backends() if not each.problem]


class Terminal:
    """Runs a command of llmch on a pseudo-terminal, and types on it."""

    def __init__(self, *arguments: str | Path, cwd: Path) -> None:
        self._ours, self._theirs = pty.openpty()
        self._open = [self._ours, self._theirs]
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "llmch", *map(str, arguments)],
            cwd=cwd,
            env=own_environment(TERM="dumb"),
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.hang_up()

    @property
    def mode(self) -> list[object]:
        """The mode of the terminal."""
        return termios.tcgetattr(self._theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def await_text(self, text: str) -> None:
        """Read what is shown until `text` has been, at most for two minutes."""
        while text not in self.seen:
            ready, _, _ = select.select([self._ours], [], [], 120)
            assert ready, f"{text!r} never came; only {self.seen!r}"
            self.seen += os.read(self._ours, 65536).decode("utf-8", "replace")

    def hang_up(self) -> None:
        """Take the terminal away."""
        while self._open:
            os.close(self._open.pop())


@pytest.fixture
def run_once(say: Say, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(
        *replies: Act,
        command: str = PICKY,
        options: Words = UNCONTAINED,
        attempts: int = 0,
        **fields: Any,
    ) -> Said:
        path = tmp_path / "WO-01.json"
        path.write_text(json.dumps(order(acceptance_commands=[command], **fields)))
        with model_server(monkeypatch, *replies):
            return say(
                *("run", "--repo", repo, "--work-order", path, "--reply-format", "json"),
                *("--max-attempts", str(attempts or len(replies)), *options),
            )

    return run


def workspaces() -> list[Path]:
    return list(Path(os.environ["LLMCH_WORKSPACES"]).rglob("README.md"))


def timeless(text: str) -> list[str]:
    """Return the lines without their times; the two streams of a command come in any order."""
    return sorted(re.sub(r"\d\d:\d\d:\d\dZ", "", text).splitlines())


def test_the_command_fails_again_and_the_repo_stays_as_it_was(
    say: Say, repo: Path, run_once: Run
) -> None:
    assert run_once(WRONG, command=NOISY).code == 1
    before = snapshot(repo)
    said = say("repro", "WO-01", "--repo", repo)
    assert said.code == 1
    assert "$ python -c" in said.out
    assert {"said", "complained"} <= set(said.out.splitlines())
    assert said.out.rstrip().endswith("it ended with exit code 1, as in the run")
    assert snapshot(repo) == before
    assert workspaces() == []
    assert list((repo / ".git" / "llmch" / "beside").iterdir()) == []
    last = say("repro", "--repo", repo)  # the last attempt that failed
    assert timeless(last.out) == timeless(said.out)


def test_the_tests_of_the_plan_are_in_place_and_in_the_patch(
    say: Say, repo: Path, run_once: Run
) -> None:
    test = {"path": "tests/wanted.txt", "content": "right\n"}
    command = "diff tests/wanted.txt hello.txt"
    assert run_once(WRONG, command=command, acceptance_files=[test]).code == 1
    said = say("repro", "WO-01", "--repo", repo)
    assert said.code == 1
    assert {"< right", "> wrong"} <= set(said.out.splitlines())
    shown = say("diff", "WO-01", "--repo", repo, "--json").document
    assert [each["path"] for each in shown["files"]] == ["hello.txt", "tests/wanted.txt"]


def test_files_that_the_order_removes_are_gone_and_in_the_patch(
    say: Say, repo: Path, run_once: Run
) -> None:
    commit_all(repo, {"old/gone.txt": "old\n"})
    command = "ls old"
    assert run_once(WRONG, command=command, removed_files=["old/gone.txt"]).code == 1
    before = snapshot(repo)
    said = say("repro", "WO-01", "--repo", repo)
    assert (said.code, "gone.txt" in said.out) == (1, False)
    assert said.out.rstrip().endswith("as in the run")
    assert snapshot(repo) == before
    shown = say("diff", "WO-01", "--repo", repo, "--json").document
    assert [each["path"] for each in shown["files"]] == ["hello.txt", "old/gone.txt"]


@pytest.mark.parametrize("path", [".git/config", "../outside.txt", "/etc/hosts"])
def test_a_record_that_names_other_files_to_remove_is_not_followed(
    say: Say, repo: Path, cwd: Path, run_once: Run, path: str
) -> None:
    run_once(WRONG, command=NOISY)
    outside = repo.parent / "outside.txt"
    outside.write_text("mine\n")
    (record,) = (cwd / "artifacts" / "factory").glob("*/attempt_1/write_result.json")
    record.write_text(json.dumps({"write_ok": True, "removed_files": [path]}))
    said = say("repro", "WO-01", "--repo", repo)
    assert "is not a path that an order may remove" in said.err
    assert outside.read_text() == "mine\n"
    assert (repo / ".git" / "config").is_file()


def test_the_answer_for_programs(say: Say, repo: Path, run_once: Run) -> None:
    run_once(WRONG, command=NOISY)
    document = say("repro", "WO-01", "--repo", repo, "--json").document
    assert (document["work_order"], document["attempt"], document["command"]) == (
        "WO-01", 1, NOISY,
    )  # fmt: skip
    assert (document["cause"], document["exit_code"], document["exit_code_in_run"]) == (
        "exited", 1, 1,
    )  # fmt: skip
    assert (document["stdout"], document["stderr"]) == ("said\n", "complained\n")


def test_the_run_can_be_named(say: Say, repo: Path, cwd: Path, run_once: Run) -> None:
    run_once(WRONG)
    (first,) = (each.name for each in (cwd / "artifacts/factory").glob("*/"))
    run_once(RIGHT, command="true")
    assert say("repro", "WO-01", "--repo", repo).code == 2, "the latest run has no failure"
    said = say("repro", "WO-01", "--repo", repo, "--run", first, "--json")
    assert (said.code, said.document["run_id"]) == (1, first)
    gone = say("repro", "WO-01", "--repo", repo, "--run", "01GONE")
    assert gone.code == 2 and "there is no run '01GONE'" in gone.err


def test_quiet_prints_the_verdict_alone(say: Say, repo: Path, run_once: Run) -> None:
    run_once(WRONG)
    (line,) = say("repro", "WO-01", "--repo", repo, "--quiet").out.splitlines()
    assert line == f"`{PICKY}`: it ended with exit code 1, as in the run"


def test_what_passes_now_ends_with_0(say: Say, repo: Path, run_once: Run, tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    run_once(WRONG, command=f"test -f {switch}")
    switch.touch()
    said = say("repro", "WO-01", "--repo", repo)
    assert said.code == 0
    assert "it passes now; in the run it ended with exit code 1" in said.out


def test_an_earlier_attempt_can_be_named(say: Say, repo: Path, run_once: Run) -> None:
    assert run_once(WRONG, RIGHT).code == 0
    assert say("repro", "WO-01", "1", "--repo", repo).code == 1
    assert say("repro", "latest", "WO-01", "1", "--repo", repo).code == 1


def test_uncommitted_work_is_no_hindrance(say: Say, repo: Path, run_once: Run) -> None:
    run_once(WRONG)
    (repo / "README.md").write_text("right\n")
    (repo / "new.txt").write_text("new\n")
    assert say("repro", "WO-01", "--repo", repo).code == 1
    assert (repo / "README.md").read_text() == "right\n"


def test_the_objects_of_the_attempt_may_be_gone(say: Say, repo: Path, run_once: Run) -> None:
    run_once(WRONG)
    git(repo, "prune", "--expire=now")
    assert say("repro", "WO-01", "--repo", repo).code == 1


# What there is nothing to reproduce of


def test_an_attempt_that_passed(say: Say, repo: Path, run_once: Run) -> None:
    run_once(WRONG, RIGHT)
    said = say("repro", "WO-01", "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "passed: there is no failure to reproduce" in said.error["message"]
    assert "`llmch repro WO-01 1`" in said.error["hint"]
    assert say("repro", "--repo", repo, "--json").document["attempt"] == 1


def test_without_a_failure_there_is_nothing_to_reproduce(
    say: Say, repo: Path, run_once: Run
) -> None:
    run_once(RIGHT)
    assert say("repro", "--repo", repo, "--json").error["message"] == "no attempt on record failed"


@pytest.mark.parametrize(
    ("replies", "stage"),
    [
        ([chat_stream("I would rather not.")] * 3, "llm_output_invalid"),
        ([write_reply({"stray.txt": "x\n"})] * 2, "write_scope_violation"),
    ],
)
def test_an_attempt_that_failed_on_no_command(
    say: Say, repo: Path, run_once: Run, replies: list[Act], stage: str
) -> None:
    run_once(*replies, attempts=1)
    said = say("repro", "WO-01", "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert stage in said.error["message"]
    assert "llmch diff WO-01 1" in said.error["hint"]


def test_a_run_that_is_gone(say: Say, cwd: Path, repo: Path, run_once: Run) -> None:
    run_once(WRONG)
    shutil.rmtree(cwd / "artifacts")
    said = say("repro", "WO-01", "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "there is no run of this repo" in said.error["message"]


def test_a_base_commit_that_is_gone(say: Say, repo: Path, run_once: Run) -> None:
    run_once(WRONG)
    git(repo, "commit", "--amend", "--quiet", "--message=another")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "for-each-ref", "--format=delete %(refname)", "refs/heads/factory")
    git(repo, "prune", "--expire=now")
    said = say("repro", "WO-01", "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert "is not in this repo any more" in said.error["message"]


@pytest.mark.parametrize(
    "changes",
    [
        {"base_sha256": "0" * 64},
        {"path": "../outside.txt"},
        {"path": ".git/hooks/pre-commit"},
        {"path": "README.md/below"},
        {"path": "src"},
    ],
)
def test_a_proposal_that_no_longer_applies(
    say: Say, cwd: Path, repo: Path, run_once: Run, changes: dict[str, str]
) -> None:
    run_once(WRONG)
    (path,) = (cwd / "artifacts" / "factory").glob("*/attempt_1/proposed_writes.json")
    document = json.loads(path.read_text())
    document["writes"][0] |= changes
    path.write_text(json.dumps(document))
    before = snapshot(repo)
    said = say("repro", "WO-01", "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert "no longer applies" in said.error["message"]
    assert snapshot(repo) == before
    assert workspaces() == []


# The settings of the run


def test_the_run_s_own_settings_are_used(say: Say, repo: Path, run_once: Run) -> None:
    commit_all(repo, {".gitignore": "/packages/\n"})
    (repo / "packages").mkdir()
    (repo / "packages" / "name.txt").write_text("linked\n")
    options: Words = ["--sandbox", "off", "--link", "packages", "--timeout-seconds", "7"]
    run_once(WRONG, command="grep other packages/name.txt hello.txt", options=options)
    said = say("repro", "WO-01", "--repo", repo)
    assert "no isolation" in said.out or "sandbox off" in said.out
    assert "as in the run" in said.out
    assert "No such file" not in said.out


@pytest.mark.skipif(
    all(each.problem for each in find_backends()), reason="no sandbox works on this machine"
)
def test_a_record_that_came_with_the_repo_cannot_switch_the_sandbox_off(
    say: Say, cwd: Path, repo: Path, run_once: Run
) -> None:
    run_once(WRONG)
    shutil.move(cwd / "artifacts", repo / "artifacts")
    git(repo, "add", "--force", "artifacts")
    git(repo, "commit", "--quiet", "--message=records")
    said = say("repro", "WO-01", "--repo", repo, "--artifacts-dir", repo / "artifacts")
    assert said.code == 1
    assert "its settings are not followed" in said.out
    assert f"sandbox {Backend.OFF}" not in said.out


# Beside runs, and after a kill


@pytest.mark.rest
def test_a_run_under_way_is_not_disturbed(
    say: Say, repo: Path, run_once: Run, tmp_path: Path
) -> None:
    run_once(WRONG)
    with scripted_server(Silence()) as server:
        command: Words = ["run", "--repo", repo, "--work-order", tmp_path / "WO-01.json"]
        with start(*command, cwd=tmp_path, OPENAI_BASE_URL=server.base_url) as process:
            assert process.stdout is not None
            next(line for line in process.stdout if "ask" in line)
            (workspace,) = workspaces()
            first = min((tmp_path / "cwd" / "artifacts" / "factory").glob("0*")).name
            said = say("repro", first, "WO-01", "--repo", repo)
            assert said.code == 1, said.err
            assert workspaces() == [workspace]
            assert say("status", "--repo", repo, "--json").document["state"] == "running"
            process.terminate()
            process.communicate(timeout=120)
    assert process.returncode == 130


WAITING = "python -c \"print('ready', flush=True); import time; time.sleep(600)\""


@pytest.fixture
def waiting(cwd: Path, run_once: Run) -> Path:
    """The brief of an attempt, as if it had failed on a command that never ends."""
    run_once(WRONG)
    (brief,) = (cwd / "artifacts" / "factory").glob("*/attempt_1/failure_brief.json")
    brief.write_text(json.dumps(json.loads(brief.read_text()) | {"command": WAITING}))
    return brief


def stopped(repo: Path, cwd: Path, by: signal.Signals) -> int:
    """Stop `repro` by a signal while its command runs, and return its exit code."""
    with start("repro", "WO-01", "--repo", repo, cwd=cwd) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if line == "ready\n")
        assert len(workspaces()) == 1
        process.send_signal(by)
        process.communicate(timeout=120)
    return process.returncode


@pytest.mark.rest
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_removes_the_workspace(
    repo: Path, cwd: Path, waiting: Path, by: signal.Signals
) -> None:
    assert stopped(repo, cwd, by) == 130
    assert workspaces() == []


@pytest.mark.rest
@pytest.mark.parametrize("sweeper", ["repro", "run", "reset"])
def test_what_a_kill_leaves_is_removed_by_the_next_start(
    say: Say, repo: Path, cwd: Path, run_once: Run, waiting: Path, sweeper: str
) -> None:
    stopped(repo, cwd, signal.SIGKILL)
    assert len(workspaces()) == 1
    match sweeper:
        case "repro":
            waiting.write_text(json.dumps(json.loads(waiting.read_text()) | {"command": "true"}))
            assert say("repro", "WO-01", "--repo", repo).code == 0
        case "run":
            assert run_once(RIGHT).code == 0
        case _:
            assert say("reset", "--repo", repo, "--yes").code == 0
    assert workspaces() == []
    assert len(git(repo, "worktree", "list", "--porcelain").split("\n\n")) == 1


@pytest.mark.rest
def test_reset_leaves_the_workspace_of_a_living_repro_alone(
    say: Say, repo: Path, cwd: Path, waiting: Path
) -> None:
    with start("repro", "WO-01", "--repo", repo, cwd=cwd) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if line == "ready\n")
        assert say("reset", "--repo", repo, "--yes").code == 0
        assert len(workspaces()) == 1
        process.terminate()
        process.communicate(timeout=120)
    assert workspaces() == []


# The shell


@pytest.mark.rest
@pytest.mark.parametrize("backend", [Backend.OFF, *(each.backend for each in WORKING)])
def test_the_shell_is_a_terminal_of_its_own_on_the_rejected_files(
    repo: Path, cwd: Path, run_once: Run, backend: Backend
) -> None:
    run_once(WRONG, options=["--sandbox", backend])
    before = snapshot(repo)
    typed = "cat hello.txt; set -o | grep monitor; bash -c 'echo asleep; exec sleep 600'\n"
    with Terminal("repro", "WO-01", "--shell", "--repo", repo, cwd=cwd) as terminal:
        terminal.await_text("WO-01 repo")
        terminal.type(typed)
        terminal.await_text("asleep\r\n")
        assert "wrong\r\n" in terminal.seen
        assert re.search(r"monitor\s+on\r\n", terminal.seen), "the shell controls its jobs"
        terminal.type("\x03")  # ends the sleep, not the shell
        terminal.type("echo still $((1 + 1))here; exit 3\n")
        terminal.await_text("still 2here")
        terminal.await_text("its files are removed")
        assert terminal.process.wait(timeout=120) == 0
    assert snapshot(repo) == before
    assert workspaces() == []


@pytest.mark.rest
def test_a_terminal_that_goes_away_ends_the_shell(repo: Path, cwd: Path, run_once: Run) -> None:
    run_once(WRONG)
    with Terminal("repro", "WO-01", "--shell", "--repo", repo, cwd=cwd) as terminal:
        terminal.await_text("WO-01 repo")
        terminal.hang_up()
        terminal.process.wait(timeout=120)
    assert workspaces() == []


@pytest.mark.rest
def test_a_signal_gives_the_terminal_its_mode_back(repo: Path, cwd: Path, run_once: Run) -> None:
    run_once(WRONG)
    with Terminal("repro", "WO-01", "--shell", "--repo", repo, cwd=cwd) as terminal:
        before = terminal.mode
        terminal.await_text("WO-01 repo")
        assert terminal.mode != before
        terminal.process.terminate()
        assert terminal.process.wait(timeout=120) == 130
        assert terminal.mode == before
    assert workspaces() == []


def test_a_shell_needs_a_terminal(say: Say, repo: Path, run_once: Run) -> None:
    run_once(WRONG)
    said = say("repro", "WO-01", "--shell", "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "needs a terminal" in said.error["message"]
