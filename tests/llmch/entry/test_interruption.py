"""Ctrl-C, SIGTERM and a full disk in the middle of things: the exit code, and nothing left."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pytest

from shared.events.run_record import killed_runs
from tests import processes
from tests.harness import commit_all, manifest, order, write_plan, writing
from tests.llmch.command_line import (
    Words,
    own_environment,
    plan_reply,
    run,
    snapshot,
    start,
    write_reply,
)
from tests.planner.plans import creating, plan
from tests.shared.llm.scripted_server import Act, Silence, scripted_server

_PATIENCE_SECONDS = 120
GOOD = write_reply({"hello.txt": "hello\n"})
both_signals = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
all_signals = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


def read_until(process: subprocess.Popen[str], words: str, stream: IO[str] | None = None) -> None:
    """Read lines up to the first with `words`: by then, what it announces is under way.

    `stream` is the standard output, where it is left out. A process that says nothing of the kind
    is killed after some time.
    """
    stream, seen = stream or process.stdout, []
    assert stream is not None
    patience = threading.Timer(_PATIENCE_SECONDS, process.kill)
    patience.start()
    try:
        for line in stream:
            seen.append(line)
            if words in line:
                return
    finally:
        patience.cancel()
    raise AssertionError(f"{words!r} never came: {''.join(seen)}")


def interrupt(process: subprocess.Popen[str], number: signal.Signals) -> tuple[str, str]:
    """Send the signal and return what the process still said; it must end by it in good order."""
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    return out, err


def living_processes() -> Iterator[str]:
    """Yield the command lines of all processes there are."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


def wait_for(command: str) -> None:
    """Return when a process of that command is there: none tells when an unjudged one starts."""
    until = time.monotonic() + 120
    while not any(command in each for each in living_processes()):
        assert time.monotonic() < until, f"{command} was never run"
        time.sleep(0.05)


@all_signals
def test_an_interrupt_while_the_command_starts_is_answered_as_any(
    cwd: Path, number: signal.Signals
) -> None:
    with processes.start(
        [sys.executable, "-X", "importtime", "-m", "llmch", "explain", "--json"],
        cwd=cwd, env=own_environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        read_until(process, "argparse", process.stderr)
        out, _ = interrupt(process, number)
    assert json.loads(out)["error"]["name"] == "INTERRUPTED"


@pytest.mark.rest
@all_signals
def test_an_interrupt_while_the_model_is_asked_leaves_nothing(
    repo: Path, cwd: Path, order_file: Path, number: signal.Signals
) -> None:
    before = snapshot(repo)
    with scripted_server(Silence()) as server:
        command: Words = ["run", "--repo", repo, "--work-order", order_file, "--branch", "work"]
        with start(*command, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process:
            read_until(process, "ask")
            _, err = interrupt(process, number)
    assert "interrupted" in err
    assert snapshot(repo) == before
    assert list(Path(os.environ["LLMCH_WORKSPACES"]).glob("*/*")) == []
    (run_folder,) = (cwd / "artifacts" / "factory").glob("*/")
    assert json.loads((run_folder / "run.json").read_text())["status"] == "interrupted"


@pytest.mark.rest
def test_a_plan_that_was_killed_is_on_record_as_killed_and_goes_on(
    cwd: Path,
) -> None:
    cwd.joinpath("spec.md").write_text("# Greeting\n\nhello.txt says hello.\n")
    command: Words = ["plan", "--spec", "spec.md", "--no-review", "--no-repo"]
    with scripted_server(plan_reply("no plan"), Silence()) as server:
        environment = {"OPENAI_BASE_URL": server.base_url}
        with start(*command, cwd=cwd, **environment) as process:
            read_until(process, "attempt   2")
            during = cwd.joinpath("artifacts", "planner")
            (killed,) = during.glob("*/")
            until = time.monotonic() + 120
            while len(server.received) < 2 and time.monotonic() < until:
                time.sleep(0.01)
            assert [each for each, _ in killed_runs(during)] == []
            process.kill()
    ((folder, head),) = killed_runs(during)
    assert (folder, head["status"]) == (killed.resolve(), "running")
    with scripted_server(plan_reply(plan(creating(1, "hello.txt")))) as server:
        assert run(*command, cwd=cwd, OPENAI_BASE_URL=server.base_url).code in (0, 2)
        assert len(server.received) == 1, "the first reply was paid for again"
    after = json.loads((killed / "run.json").read_text())
    assert (after["status"], len(after["uncertain_calls"])) == ("killed", 1)
    summary = json.loads((killed / "compile_summary.json").read_text())
    assert "ended without recording its end" in summary["error"]
    assert list(killed_runs(during)) == []


@pytest.mark.rest
@all_signals
def test_an_interrupt_while_a_command_runs_ends_the_command_too(
    repo: Path, cwd: Path, order_file: Path, number: signal.Signals
) -> None:
    sleep = f"sleep 30{number}.{os.getpid()}"
    commit_all(repo, {"scripts/verify.sh": f"{sleep}\n"})
    before = snapshot(repo)
    with scripted_server(GOOD) as server:
        command: Words = ["run", "--repo", repo, "--work-order", order_file, "--branch", "work"]
        with start(*command, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process:
            read_until(process, "$ bash scripts/verify.sh")
            interrupt(process, number)
    assert snapshot(repo) == before
    assert [each for each in living_processes() if sleep in each] == []


@pytest.mark.rest
def test_a_terminal_that_closes_ends_a_run_in_good_order(
    repo: Path, cwd: Path, order_file: Path
) -> None:
    """Nothing can be printed any more, and a shell may pass the signal on once more."""
    sleep = f"sleep 30.{os.getpid()}"
    commit_all(repo, {"scripts/verify.sh": f"{sleep}\n"})
    before = snapshot(repo)
    terminal, inside = pty.openpty()
    words = ["run", "--repo", str(repo), "--work-order", str(order_file), "--branch", "work"]
    # A shell is a process of its own there, which has the terminal.
    shell = f"import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); {_BECOME}"
    with subprocess.Popen(
        [sys.executable, "-c", shell, "-m", "llmch", *words],
        cwd=cwd, env=own_environment(OPENAI_API_KEY="none"), start_new_session=True,
        stdin=inside, stdout=inside, stderr=inside,
    ) as process:  # fmt: skip
        os.close(inside)
        wait_for(sleep)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=120) == 130
    assert snapshot(repo) == before
    assert [each for each in living_processes() if sleep in each] == []
    (run_folder,) = (cwd / "artifacts" / "factory").glob("*/")
    assert json.loads((run_folder / "run.json").read_text())["status"] == "interrupted"


_BECOME = "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"


@pytest.mark.rest
def test_a_run_under_nohup_goes_on_when_the_terminal_closes(
    repo: Path, cwd: Path, order_file: Path
) -> None:
    with scripted_server(GOOD) as server:
        words: Words = ["run", "--repo", repo, "--work-order", order_file, "--branch", "work"]
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            process = start(*words, cwd=cwd, OPENAI_BASE_URL=server.base_url)
        finally:
            signal.signal(signal.SIGHUP, before)
        with process:
            read_until(process, "$ bash scripts/verify.sh")
            process.send_signal(signal.SIGHUP)
            _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err


@pytest.mark.rest
@both_signals
@pytest.mark.parametrize("strict", [True, False])
def test_an_interrupt_while_acceptance_is_tried_on_the_baseline_ends_it_too(
    repo: Path, cwd: Path, number: signal.Signals, strict: bool
) -> None:
    sleep = f"sleep 3{strict:d}{number}.{os.getpid()}"
    interfaces = [{"path": "hello.py", "stub": "def hello() -> str: ...\n"}]
    document = order(
        allowed_files=["hello.py"], acceptance_commands=[sleep, sleep], interfaces=interfaces
    )
    (cwd.parent / "WO-01.json").write_text(json.dumps(document))
    before = snapshot(repo)
    with scripted_server(Silence()) as server:
        command: Words = [
            "run",
            "--repo",
            repo,
            "--work-order",
            "../WO-01.json",
            "--branch",
            "work",
        ]
        flags = ["--strict-acceptance"] if strict else []
        with start(*command, *flags, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process:
            wait_for(sleep)
            interrupt(process, number)
    assert [each for each in living_processes() if sleep in each] == []
    assert snapshot(repo) == before
    assert list(Path(os.environ["LLMCH_WORKSPACES"]).glob("*/*")) == []


@pytest.mark.rest
def test_an_interrupt_ends_the_type_checker_too(repo: Path, cwd: Path) -> None:
    interfaces = [{"path": "hello.py", "stub": "def hello() -> str: ...\n"}]
    document = order(allowed_files=["hello.py"], interfaces=interfaces)
    (cwd.parent / "WO-01.json").write_text(json.dumps(document))
    with scripted_server(Silence()) as server:
        command: Words = [
            "run",
            "--repo",
            repo,
            "--work-order",
            "../WO-01.json",
            "--branch",
            "work",
        ]
        with start(*command, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process:
            until = time.monotonic() + 120
            while not (checkers := list(type_checkers_of(process.pid))):
                assert time.monotonic() < until, "no type checker was ever started"
                time.sleep(0.05)
            interrupt(process, signal.SIGTERM)
    assert [each for each in checkers if each.exists()] == []


def type_checkers_of(parent: int) -> Iterator[Path]:
    """Yield the folders in /proc of the type checkers that a process has started."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_own = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            if is_own and b"checker_worker.py" in (folder / "cmdline").read_bytes():
                yield folder
        except OSError:
            continue


@pytest.mark.rest
def test_an_interrupt_ends_what_is_tried_for_orders_side_by_side(repo: Path, cwd: Path) -> None:
    sleep = f"sleep 39.{os.getpid()}"
    orders = [writing(f"{n}.txt", n, acceptance_commands=[sleep, sleep]) for n in (1, 2)]
    write_plan(cwd.parent / "plan", manifest(orders))
    with scripted_server(Silence()) as server:
        command: Words = ["run-all", "--repo", repo, "--workdir", "../plan", "--jobs", "2"]
        with start(*command, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process:
            wait_for(sleep)
            interrupt(process, signal.SIGINT)
    assert [each for each in living_processes() if sleep in each] == []
    assert list(Path(os.environ["LLMCH_WORKSPACES"]).glob("*/*")) == []


@pytest.mark.rest
def test_a_reply_is_not_paid_for_again_after_an_interrupt(
    repo: Path, cwd: Path, order_file: Path
) -> None:
    commit_all(repo, {"scripts/verify.sh": "test -e hello.txt || exit 0\nsleep 300\n"})
    command: Words = ["run", "--repo", repo, "--work-order", order_file, "--branch", "work"]
    with scripted_server(GOOD) as server:
        for _ in range(2):
            with start(*command, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process:
                read_until(process, " apply ")
                read_until(process, "$ bash scripts/verify.sh")
                interrupt(process, signal.SIGINT)
        assert len(server.received) == 1


@pytest.mark.rest
@both_signals
def test_an_interrupted_plan_says_so_in_its_records(cwd: Path, number: signal.Signals) -> None:
    (cwd / "spec.md").write_text("# Say hello\n")
    with scripted_server(Silence()) as server:
        command: Words = ["plan", "--spec", "spec.md", "--outdir", "plan", "--json"]
        with start(*command, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process:
            read_until(process, "ask", process.stderr)
            out, _ = interrupt(process, number)
    error = json.loads(out)["error"]
    assert error["name"] == "INTERRUPTED"
    assert "the same command goes on" in error["hint"]
    assert not (cwd / "plan").exists()
    (run_folder,) = (cwd / "artifacts" / "planner").glob("*/")
    assert json.loads((run_folder / "run.json").read_text())["status"] == "interrupted"
    assert json.loads((run_folder / "compile_summary.json").read_text())["success"] is False


@pytest.mark.rest
@pytest.mark.parametrize("more", [[], ["--transcript", "kept.jsonl"]])
def test_an_interrupted_plan_goes_on_from_its_replies(cwd: Path, more: Words) -> None:
    (cwd / "spec.md").write_text("# Say hello\n")
    with scripted_server(plan_reply("no plan"), Silence(), Silence()) as server:
        command: Words = ["plan", "--spec", "spec.md", *more]
        for seen in ("attempt   2", "(replayed)"):
            with start(*command, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process:
                read_until(process, seen)
                _, err = interrupt(process, signal.SIGINT)
            assert "the same command goes on; no reply on record is paid for again" in err


# `llmch build`: what is said of going on is true in each phase


BUILD: Words = ["build", "--spec", "spec.md", "--sandbox", "off", "--no-review", "--yes"]
BUILD += ["--reply-format", "json", "--repo", "../repo"]
PLAN = plan_reply(plan(creating(1, "1.txt"), creating(2, "2.txt")))
ONE, TWO = (write_reply({f"{number}.txt": "text\n"}) for number in (1, 2))


def said_where_build_is_interrupted(cwd: Path, words: Sequence[str], *acts: Act) -> str:
    """Interrupt where the last of these words has come, each after the one before."""
    (cwd / "spec.md").write_text("# Two files\n")
    with (
        scripted_server(*acts) as server,
        start(*BUILD, cwd=cwd, OPENAI_BASE_URL=server.base_url) as process,
    ):
        for each in words:
            read_until(process, each)
        return interrupt(process, signal.SIGINT)[1]


def calls_of_build(cwd: Path, *acts: Act) -> int:
    """Build to the end, and return how often the model was asked."""
    with scripted_server(*acts) as server:
        said = run(*BUILD, cwd=cwd, OPENAI_BASE_URL=server.base_url)
        assert said.code == 0, said.err
        return len(server.received)


@pytest.mark.rest
def test_a_build_that_is_interrupted_before_its_plan_starts_again(repo: Path, cwd: Path) -> None:
    commit_all(repo, {"scripts/verify.sh": f"test -e {cwd}/go || sleep 300\n"})
    said = said_where_build_is_interrupted(cwd, ["$ bash scripts/verify.sh"])
    assert "the same command goes on" in said
    assert list(Path(os.environ["LLMCH_WORKSPACES"]).glob("*/*")) == []
    (cwd / "go").touch()
    assert calls_of_build(cwd, PLAN, ONE, TWO) == 3


@pytest.mark.rest
def test_a_build_that_is_interrupted_while_it_plans_starts_again(repo: Path, cwd: Path) -> None:
    said = said_where_build_is_interrupted(cwd, ["ask"], Silence())
    assert "the same command goes on" in said
    assert calls_of_build(cwd, PLAN, ONE, TWO) == 3


@pytest.mark.rest
def test_a_build_that_is_interrupted_after_its_plan_does_not_plan_again(
    repo: Path, cwd: Path
) -> None:
    said = said_where_build_is_interrupted(cwd, ["accepted", "WO-01"], PLAN, Silence())
    assert "the same command again" in said
    assert calls_of_build(cwd, ONE, TWO) == 2


@pytest.mark.rest
def test_a_build_that_is_interrupted_at_an_order_goes_on_there(repo: Path, cwd: Path) -> None:
    seen = ["orders on factory/", "PASS", "WO-02"]
    said = said_where_build_is_interrupted(cwd, seen, PLAN, ONE, Silence())
    assert "the state is kept: the same command again goes on from here" in said
    assert calls_of_build(cwd, TWO) == 1


# A full disk: a file system of some kilobytes that only the command itself sees


def _can_mount() -> bool:
    if os.geteuid() or not shutil.which("unshare"):
        return False
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


needs_mount = pytest.mark.skipif(not _can_mount(), reason="needs root and a mount namespace")


def said_on_full_disk(disk: Path, kilobytes: int, *command: str | Path, **variables: str) -> str:
    """Run llmch where the folder `disk` has only so much room; return what it said on stderr."""
    disk.mkdir()
    script = f'mount -t tmpfs -o size={kilobytes}k tmpfs "{disk}" && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-m", "llmch", *command],
        cwd=disk.parent,
        env=own_environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.rest
@needs_mount
@pytest.mark.parametrize("kilobytes", [4, 16, 64])
def test_a_full_disk_ends_a_plan_in_words(cwd: Path, kilobytes: int) -> None:
    (cwd / "spec.md").write_text("# Say hello\n")
    reply = plan_reply(plan(creating(1, "a.py", notes="x" * 100_000)))
    with scripted_server(reply) as server:
        said = said_on_full_disk(
            cwd / "disk",
            kilobytes,
            *("plan", "--spec", "spec.md", "--artifacts-dir", "disk/a"),
            OPENAI_BASE_URL=server.base_url,
        )
    assert "No space left on device" in said
    assert "disk/a" in said


@needs_mount
def test_a_repo_on_a_full_disk_is_named_before_a_model_is_asked(
    repo: Path, cwd: Path, order_file: Path
) -> None:
    (repo / ".git" / "llmch").mkdir()
    command = ("run", "--repo", repo, "--work-order", order_file, "--branch", "work")
    mount = 'mount -t tmpfs -o size=4k tmpfs "$1" && head -c 4096 /dev/zero >"$1/full"'
    script = f'{mount}; shift; exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", repo / ".git" / "llmch",
         sys.executable, "-m", "llmch", *command],
        cwd=cwd,
        env=own_environment(OPENAI_BASE_URL="http://127.0.0.1:9/v1"),
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 5, done.stderr
    assert "llmch/lock: No space left on device" in done.stderr


@pytest.mark.rest
@needs_mount
@pytest.mark.parametrize("kilobytes", [4, 16, 40])
def test_a_full_disk_ends_a_run_and_leaves_the_repo_as_it_was(
    repo: Path, cwd: Path, order_file: Path, kilobytes: int
) -> None:
    before = snapshot(repo)
    with scripted_server(write_reply({"hello.txt": "hello\n" * 9000})) as server:
        said = said_on_full_disk(
            cwd / "disk",
            kilobytes,
            *("run", "--repo", repo, "--work-order", order_file, "--branch", "work"),
            *("--sandbox", "off", "--artifacts-dir", "disk/a"),
            OPENAI_BASE_URL=server.base_url,
        )
    assert "No space left on device" in said
    assert snapshot(repo) == before
