"""A run's folder is made once, its head is written first and completed last."""

from __future__ import annotations

import json
import resource
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.errors import CommandFailed, ExitCode, Interrupted, InvalidInput
from shared.events.events import Ending, Event, Noted, Warned, ending_of
from shared.events.run_record import (
    EventLog,
    RunFolder,
    commit_date,
    new_run_folder,
    new_run_id,
    recorded_run,
)

STARTED = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return new_run_folder(tmp_path, "factory", "01RUN")


def head_of(folder: RunFolder) -> Any:
    return json.loads((folder.path / "run.json").read_text())


def logged(folder: RunFolder) -> list[Any]:
    return [json.loads(line) for line in (folder.path / "events.jsonl").read_bytes().splitlines()]


# Folder and id


def test_ids_are_unique_and_sorted_by_time() -> None:
    ids = [new_run_id() for _ in range(50)]
    assert len(set(ids)) == 50
    assert {len(each) for each in ids} == {26}
    assert [each[:10] for each in ids] == sorted(each[:10] for each in ids)


def test_a_folder_is_made_once(tmp_path: Path, folder: RunFolder) -> None:
    assert folder.path == tmp_path / "factory/01RUN"
    with pytest.raises(CommandFailed, match=r"cannot write .*01RUN: File exists"):
        new_run_folder(tmp_path, "factory", "01RUN")


def test_records_in_a_repo_are_ignored_by_git(tmp_path: Path, folder: RunFolder) -> None:
    assert (tmp_path / "factory/.gitignore").read_text() == "*\n"


def test_a_users_own_ignore_file_stays(tmp_path: Path) -> None:
    (tmp_path / "factory").mkdir()
    (tmp_path / "factory/.gitignore").write_text("mine\n")
    new_run_folder(tmp_path, "factory", "01RUN")
    assert (tmp_path / "factory/.gitignore").read_text() == "mine\n"


# The date of commits


@pytest.mark.parametrize(
    ("given", "date"),
    [
        ("", "@1714979289 +0000"),
        ("0", "@0 +0000"),
        ("007", "@7 +0000"),
        ("1" * 12, f"@{'1' * 12} +0000"),
    ],
)
def test_commits_are_dated_as_told_or_by_the_start_of_the_run(given: str, date: str) -> None:
    assert commit_date(STARTED, {"SOURCE_DATE_EPOCH": given}) == date
    assert commit_date(STARTED, {}) == "@1714979289 +0000"


@pytest.mark.parametrize("given", ["-1", "1.5", "now", " 1", "\uff11", "1" * 13, "1_000", "0x1"])
def test_a_date_that_is_no_number_of_seconds_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="SOURCE_DATE_EPOCH") as refused:
        commit_date(STARTED, {"SOURCE_DATE_EPOCH": given})
    assert refused.value.exit_code is ExitCode.INVALID


# The record


def test_a_run_that_ends_well_is_completed_with_its_results(folder: RunFolder) -> None:
    told: list[Event] = []
    with recorded_run(folder, {"command": "run"}, told.append) as recording:
        running = head_of(folder)
        recording.emit(Noted("begun"))
        recording.results["summary"] = {"verdict": "PASS"}
    assert (running["status"], running["command"]) == ("running", "run")
    assert "ended" not in running
    ended = head_of(folder)
    assert (ended["status"], ended["summary"]) == ("completed", {"verdict": "PASS"})
    assert ended["started"] <= ended["ended"]
    assert told == [Noted("begun")]
    assert [each["event"] for each in logged(folder)] == ["noted"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (Interrupted("by SIGTERM"), "interrupted"),
        (CommandFailed("no way"), "error"),
        (RuntimeError("a bug"), "internal error"),
        (SystemExit(3), "internal error"),
    ],
)
def test_a_run_that_ends_otherwise_says_how(
    folder: RunFolder, error: BaseException, status: str
) -> None:
    with pytest.raises(type(error)), recorded_run(folder, {}, lambda event: None):
        raise error
    assert head_of(folder)["status"] == status
    assert (folder.path / "traceback.txt").exists() == (status == "internal error")
    if status == "error":
        assert head_of(folder)["error"] == "no way"


def test_a_traceback_is_kept_for_a_bug(folder: RunFolder) -> None:
    with pytest.raises(RuntimeError), recorded_run(folder, {}, lambda event: None):
        raise RuntimeError("a bug")
    assert "RuntimeError: a bug" in (folder.path / "traceback.txt").read_text()


def test_events_hold_text_of_any_kind(folder: RunFolder) -> None:
    log = EventLog(folder)
    log(Warned("ü \ud800 \n"))
    log.close()
    assert logged(folder)[0]["message"] == "ü \ud800 \n"


def test_each_event_is_on_the_disk_as_it_happens(folder: RunFolder) -> None:
    log = EventLog(folder)
    log(Noted("one"))
    assert len(logged(folder)) == 1
    log.close()


def test_a_disk_that_refuses_an_event_is_named(folder: RunFolder) -> None:
    log = EventLog(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(CommandFailed, match=r"cannot write .*events.jsonl: File too large"):
            log(Noted("one"))
        log.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_log_that_cannot_be_made_is_named(folder: RunFolder) -> None:
    (folder.path / "events.jsonl").mkdir()
    with pytest.raises(CommandFailed, match=r"cannot write .*events.jsonl: Is a directory"):
        EventLog(folder)


def test_an_interrupt_that_a_library_turned_into_another_error_is_one() -> None:
    with pytest.raises(ImportError) as turned:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("cannot import name")  # noqa: B904 (as libraries do)
    assert ending_of(turned.value) is Ending.INTERRUPTED
    assert ending_of(ImportError("of its own")) is Ending.INTERNAL_ERROR
    assert ending_of(CommandFailed("said in words", "")) is Ending.ERROR
