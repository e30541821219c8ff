"""What happened to an order is on record, whatever its commands print and however its run ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factory.judging.failure_brief import account_of
from factory.orders.documents import FailureBrief
from factory.orders.stages import Stage
from factory.record.run_status import read_status, render_failures, status_document
from factory.record.summary import public_json
from factory.sandbox.policy import Backend, Captured, Cause, Ended
from factory.sandbox.supervision import TAIL_BYTES
from tests.fakes import proposal
from tests.harness import Factory, Json, order

PRINTER = """
import sys

def noise():
    for number in range(3000):
        print(f"step {number}: module number {number} of the application is built", file=stream)

def frames():
    for number in range(400):
        place = f"/srv/app/node_modules/library/lib/handler{number}.js:{number}:17"
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
    assert "the answer is 41" not in whole[:32_000] + whole[-32_000:], "head and tail lack it"
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
