"""A retry or an acceptance that is killed ends right when the same command is given again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from factory.record.journal import decisions_path
from tests.factory.batch.batching import landed_on, step, wrote
from tests.factory.batch.taking_over import Person
from tests.fakes import refused
from tests.harness import Factory, git, manifest
from tests.llmch.command_line import Words, model_server, run, write_reply

pytestmark = pytest.mark.rest


def failed(factory: Factory) -> Person:
    orders = [step(1), step(2)]
    factory.run_all(manifest(orders), {"WO-01": [wrote(1)], "WO-02": [refused()]}, max_attempts=1)
    return Person(factory)


@pytest.mark.parametrize(
    "step_name", ["order_begun", "stage:3", "landing", "landed", "order_ended"]
)
def test_a_retry(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_name: str
) -> None:
    failed(factory)
    command: Words = [
        "retry",
        "2",
        "--repo",
        factory.repo,
        "--hint",
        "the digit",
        "--max-attempts",
        "1",
    ]
    command += ["--reply-format", "json", "--sandbox", "off", "--artifacts-dir", factory.artifacts]
    with model_server(monkeypatch, write_reply({"2.txt": "2\n"})) as server:
        killed = run(*command, cwd=tmp_path, LLMCH_TEST_KILL_AT=step_name)
        assert killed.code == -signal.SIGKILL
        again = run(*command, cwd=tmp_path)
        asked = len(server.received)
    assert (again.code, asked) == (0, 1), again.err
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]
    assert list(factory.workspaces.iterdir()) == []


def test_an_acceptance_between_its_note_and_its_record(factory: Factory) -> None:
    person = failed(factory)
    commit = person.commits("2.txt")
    person.accept("WO-02", commit)
    note = person.note(commit)
    decided = decisions_path(person.place.common_dir)
    whole = decided.read_bytes()
    decided.unlink()  # as a kill leaves it
    person.accept("WO-02", commit)
    assert decided.read_bytes() == whole
    assert [each for each in person.note(commit).splitlines() if not each.startswith("run: ")] == [
        each for each in note.splitlines() if not each.startswith("run: ")
    ]


@pytest.mark.parametrize("step_name", ["order_begun", "stage:3", "landing", "order_ended"])
def test_a_proposal(factory: Factory, tmp_path: Path, step_name: str) -> None:
    person = failed(factory)
    git(factory.repo, "branch", "theirs", "work")
    theirs = person.commits("2.txt", branch="theirs")
    command: Words = ["accept", "2", "--repo", factory.repo, "--commit", theirs]
    command += ["--sandbox", "off", "--artifacts-dir", factory.artifacts]
    killed = run(*command, cwd=tmp_path, LLMCH_TEST_KILL_AT=step_name)
    assert killed.code == -signal.SIGKILL
    again = run(*command, cwd=tmp_path)
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]
    if step_name == "order_ended":
        assert "WO-02 has landed as" in again.err
        return
    assert again.code == 0, again.err
    assert list(factory.workspaces.iterdir()) == []
