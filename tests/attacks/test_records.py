"""What happened to an order is on record, whatever its commands print and however its run ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from factory.judging.failure_brief import account_of
from factory.orders.documents import FailureBrief
from factory.orders.stages import Stage
from factory.record.run_status import read_status, render_failures, status_document
from factory.record.summary import public_json
from factory.run.run_request import Continuation, after_the_orders
from factory.sandbox.policy import Backend, Captured, Cause, Ended
from factory.sandbox.supervision import TAIL_BYTES
from shared.errors import Busy, ExitCode
from shared.events.events import Warned
from tests.fakes import proposal
from tests.harness import Factory, Json, order
from tests.llmch.command_line import ROOT, Say, own_environment, say_in

PRINTER = """
import sys

def noise():
    for number in range(3000):
        print(f"step {number}: module number {number} of the application is built", file=stream)

def frames():
    for number in range(400):
        place = f"/srv/app/node_modules/some-library/lib/deep/handler{number}.js:{number}:17"
        print(f"    at Object.handle{number} ({place})", file=stream)

stream = getattr(sys, sys.argv[1])
noise()
print("Error: the answer is 41, not 42", file=stream)
frames()
sys.exit(1)
"""


def brief_after(factory: Factory, code: str, *words: str) -> FailureBrief:
    """Return the brief of an attempt whose acceptance command runs `code` with `words`."""
    command = " ".join(("python", "said.py", *words))
    asked = order(allowed_files=["said.py"], acceptance_commands=[command])
    summary = factory.run(asked, [proposal({"said.py": code})], max_attempts=1)
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    return brief


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_error_between_noise_and_many_frames_is_in_excerpt_and_facts(
    factory: Factory, stream: str
) -> None:
    brief = brief_after(factory, PRINTER, stream)
    assert brief.log == f"attempt_1/logs/accept_1.{stream}.log"
    whole = (factory.run_folder / brief.log).read_text()
    assert "the answer is 41" not in whole[:33_000] + whole[-33_000:], "head and tail lack it"
    assert len(whole) > TAIL_BYTES, "the output does not fit into what is kept of it"
    assert "Error: the answer is 41, not 42" in brief.primary_error_excerpt
    assert any("the answer is 41, not 42" in fact for fact in brief.facts)


TRACE = """Traceback (most recent call last):
  File "a.py", line 1, in <module>
ValueError: no port"""


@pytest.mark.parametrize(
    ("stdout", "stderr", "log"),
    [
        ("Error: no such table", "(node:12) Warning: an old call", "stdout"),
        ("all well\nfailed: 3 is not 4", "it ran", "stdout"),
        ("the value is wrong", "DeprecationWarning: an old call\n", "stdout"),
        ("Error: retrying", TRACE, "stderr"),
        ("compiled", "app: fatal: no config", "stderr"),
        ("", "no config", "stderr"),
    ],
)  # fmt: skip
def test_the_log_of_a_brief_is_the_stream_with_the_error(
    tmp_path: Path, stdout: str, stderr: str, log: str
) -> None:
    account = account_of(ended(tmp_path, stdout, stderr), "", str, lambda argv: "")
    assert account.stream.log.name == log
    assert account.stream.text == (stdout if log == "stdout" else stderr)


def test_a_line_that_begins_as_an_error_counts_only_where_no_tool_has_reported(
    tmp_path: Path,
) -> None:
    account = account_of(ended(tmp_path, f"Error: retrying\n{TRACE}", ""), "", str, lambda argv: "")
    assert account.facts == ("ValueError: no port (a.py, line 1)",)
    plain = account_of(ended(tmp_path, "Error: retrying", ""), "", str, lambda argv: "")
    assert plain.facts == ("Error: retrying",), "alone, that line is the fact"


def ended(folder: Path, stdout: str, stderr: str) -> Ended:
    return Ended(
        argv=("app",),
        exit_code=1,
        cause=Cause.EXITED,
        stdout=Captured(stdout, len(stdout), False, folder / "stdout"),
        stderr=Captured(stderr, len(stderr), False, folder / "stderr"),
        duration_seconds=1.0,
        backend=Backend.OFF,
    )


PICKY = order(acceptance_commands=["grep hello hello.txt missing.txt"])
BAD = proposal({"hello.txt": "bad\n"})


def test_an_order_that_ends_by_repeated_files_keeps_their_failure(factory: Factory) -> None:
    summary = factory.run(PICKY, [BAD] * 4, max_attempts=5)
    judged, repeated = (each.failure_brief for each in summary.attempt_records)
    assert judged is not None and repeated is not None and summary.failure is not None
    assert "missing.txt: No such file" in judged.primary_error_excerpt, "the model is at fault here"

    repeats = {"attempt": 1, "stage": "acceptance_failed"}
    failure = {"command": PICKY["acceptance_commands"][0], "exit_code": 2}
    assert repeated.stage is Stage.REPEATED, "this is how the order ended"
    assert repeated.facts[1:] == judged.facts and repeated.log == judged.log

    printed = json.loads(json.dumps(public_json(summary)))["failure"]
    recorded = factory.record("attempt_2/failure_brief.json")
    (shown,) = status_of(factory)["orders"]
    for each in (
        printed,
        recorded,
        factory.record("run_summary.json")["failure"],
        shown["failure"],
    ):
        assert each["stage"] == "repeated" and each["repeats"] == repeats
        assert failure.items() <= each.items()
        excerpt = each.get("excerpt") or each["primary_error_excerpt"]
        assert excerpt == judged.primary_error_excerpt
    assert (shown["attempts"], shown["attempts_left"]) == (2, 3)
    (line, *_) = render_failures(status_of(factory))
    assert "repeated, the files of attempt 1 again: acceptance_failed: `grep" in line


def test_a_failure_that_is_not_a_repetition_names_none(factory: Factory) -> None:
    factory.run(PICKY, [BAD], max_attempts=1)
    assert "repeats" not in factory.record("attempt_1/failure_brief.json")
    assert "repeats" not in factory.record("run_summary.json")["failure"]


def status_of(factory: Factory) -> Json:
    common_dir = factory.repo / ".git"
    status = read_status(common_dir)
    assert status is not None
    return status_document(status, common_dir)


KILLED = """
import os, signal, sys
from pathlib import Path
from shared.events.events import StageStarted
from tests.fakes import proposal
from tests.harness import Factory, order

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def look(event):
    if isinstance(event, StageStarted) and event.stage == sys.argv[3]:
        die()

factory = Factory(Path(sys.argv[1]), Path(sys.argv[2]), on_event=look)
factory.run(order(), [die if sys.argv[3] == "call" else proposal({"hello.txt": "hello\\n"})])
"""
IN_FLIGHT = {"role": "factory", "order": "WO-01", "attempt": 1}
DOUBT = "the call of factory WO-01 attempt 1 was begun, but its reply is not on record"


def kill_run(factory: Factory, moment: str) -> None:
    """Have a run of one order killed: during the model's call, or when a stage begins."""
    words = (sys.executable, "-c", KILLED, str(factory.repo), str(factory.scratch), moment)
    done = subprocess.run(words, cwd=ROOT, env=own_environment(), capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.fixture
def say(factory: Factory, capsys: pytest.CaptureFixture[str]) -> Say:
    return say_in(factory.repo, capsys)


@pytest.mark.rest
def test_a_call_in_flight_at_a_kill_is_named_by_status_report_and_reset(
    factory: Factory, say: Say
) -> None:
    kill_run(factory, "call")
    assert factory.record("run.json")["status"] == "running", "nobody has ended the record"

    assert say("status", "--json").document["uncertain_calls"] == [IN_FLIGHT]
    assert DOUBT in say("status").out
    report = say("report", "--artifacts-dir", factory.artifacts).out
    assert DOUBT in report and "the same command again goes on" in report

    said = say("reset", "--yes", "--json")
    assert said.document["uncertain_calls"] == [IN_FLIGHT]
    head, summary = factory.record("run.json"), factory.record("run_summary.json")
    assert (head["status"], head["summary"]) == ("killed", summary)
    assert summary["verdict"] == "ERROR" and summary["uncertain_calls"] == [IN_FLIGHT]
    assert "`llmch reset` wrote this summary" in summary["cause"]
    report = say("report", "--artifacts-dir", factory.artifacts).out
    assert DOUBT in report
    assert "the same command again" not in report, "nothing is left to go on from"
    assert say("reset", "--yes").code == 0, "once more, there is nothing to end"


@pytest.mark.rest
def test_the_next_start_names_a_call_in_flight_at_a_kill_and_ends_the_record(
    factory: Factory,
) -> None:
    kill_run(factory, "call")
    killed = factory.run_folder
    summary = factory.run(order(), [proposal({"hello.txt": "hello\n"})])
    assert summary.verdict == "PASS" and factory.run_folder != killed
    assert any(DOUBT in each.message for each in factory.seen(Warned))
    recorded = json.loads((killed / "run_summary.json").read_text())
    assert recorded["uncertain_calls"] == [IN_FLIGHT]
    assert status_of(factory)["uncertain_calls"] == []


@pytest.mark.rest
def test_a_run_that_was_killed_between_calls_names_none(factory: Factory, say: Say) -> None:
    kill_run(factory, "verify")
    assert say("status", "--json").document["uncertain_calls"] == []
    assert DOUBT not in say("report", "--artifacts-dir", factory.artifacts).out
    assert say("reset", "--yes", "--json").document["uncertain_calls"] == []
    assert factory.record("run.json")["status"] == "killed"


def test_reset_ends_no_record_of_a_run_that_ended_by_itself(factory: Factory, say: Say) -> None:
    factory.run(PICKY, [BAD], max_attempts=1)
    before = {name: factory.record(name) for name in ("run.json", "run_summary.json")}
    assert say("reset", "--yes").code == 0
    assert before == {name: factory.record(name) for name in before}


@pytest.mark.rest
def test_a_replay_that_lacks_a_reply_is_not_said_to_go_on_by_the_same_command(
    factory: Factory, say: Say
) -> None:
    factory.run(PICKY, [BAD], max_attempts=1)
    transcript = factory.run_folder / "transcript.jsonl"
    words = ("run", "--work-order", factory.scratch / "orders/WO-01.json", "--branch", "other")
    replay = (*words, "--llm", "replay", "--transcript", transcript, "--sandbox", "off")
    once = (*replay, "--artifacts-dir", factory.artifacts, "--reply-format", "json")
    said = say(*once, "--factory-model", "scripted", "--max-attempts", "2")
    assert said.code == 3 and "no recorded reply" in said.err
    again = say(*once, "--factory-model", "scripted", "--max-attempts", "2")
    assert again.code == 3 and "no recorded reply" in again.err, "the same command changes nothing"
    shown = say("status").out
    for text in (said.out + said.err, shown):
        assert "the same command" not in text
        assert "--llm live" in text


def test_the_same_command_is_named_only_where_it_can_bring_something_else(factory: Factory) -> None:
    live = Continuation(factory.options(), moved=False)
    replay = replace(live, replayed=True)
    failed = factory.run(PICKY, [BAD], max_attempts=1)
    assert "the same command again goes on" in after_the_orders(live, [failed], None)
    assert "would replay the same replies" in after_the_orders(replay, [failed], None)
    repeated = factory.run(PICKY, [BAD] * 4, branch="other")
    assert repeated.attempt_records[-1].repeats == 1
    assert "the same command" not in after_the_orders(live, [repeated], None)


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", ["journal.jsonl", "decisions.json"])
def test_what_is_no_file_in_the_place_of_a_record_is_refused_without_waiting(
    factory: Factory, say: Say, name: str, kind: str
) -> None:
    factory.run(order(), [proposal({"hello.txt": "hello\n"})])
    place = factory.repo / ".git/llmch" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place) if kind == "pipe" else place.symlink_to("/dev/zero")
    said = say("status")
    assert said.code == ExitCode.BUSY and f"cannot read {place}" in said.err
    assert "remove what is in its place" in said.err
    with pytest.raises(Busy):
        factory.run(order(), [proposal({"hello.txt": "hello\n"})])
    if name == "journal.jsonl":
        assert say("reset", "--yes").code == 0
        assert say("status").code == 0


@pytest.mark.parametrize("name", ["journal.jsonl.new", "verified.json", "plans.json", "state.json"])
def test_what_is_no_file_in_the_place_of_a_draft_is_replaced(factory: Factory, name: str) -> None:
    (factory.repo / ".git/llmch").mkdir(exist_ok=True)
    os.mkfifo(factory.repo / ".git/llmch" / name)
    assert factory.run(order(), [proposal({"hello.txt": "hello\n"})]).verdict == "PASS"
