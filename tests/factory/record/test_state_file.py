"""`state.json` follows the journal: soon while a run goes on, exactly at its end."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from pydantic_core import to_json

from factory.record.journal import journal_path, read_journal
from factory.record.journal_entries import RunBegun, RunConcluded, render_entry
from factory.record.projection import project
from factory.record.run_status import StateFile, read_status_document, state_path
from tests.fakes import proposal
from tests.harness import Factory, manifest, writing

_BEGUN = RunBegun(
    run_id="01RUN",
    pid=1,
    started="2024-01-01T00:00:00+00:00",
    folder=Path("/somewhere"),
    orders=(),
    branch="work",
    base="0" * 40,
    transcript=Path("/somewhere/transcript.jsonl"),
)


def test_at_the_end_of_a_run_it_is_the_projection_of_the_journal(factory: Factory) -> None:
    plan = manifest([writing("one.txt", 1), writing("two.txt", 2)])
    replies = {
        f"WO-0{n}": [proposal({f"{name}.txt": name})] for n, name in ((1, "one"), (2, "two"))
    }
    factory.run_all(plan, replies)
    common = factory.repo / ".git"
    status = project(read_journal(journal_path(common)))
    assert status is not None
    assert json.loads(state_path(common).read_text()) == json.loads(to_json(status))
    assert status.ended


def test_while_a_run_goes_on_it_is_written_without_being_asked_again(tmp_path: Path) -> None:
    (tmp_path / "llmch").mkdir()
    StateFile(tmp_path)(_BEGUN)
    deadline = time.monotonic() + 60
    while not state_path(tmp_path).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert json.loads(state_path(tmp_path).read_text())["run_id"] == "01RUN"


def test_it_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "llmch").mkdir()
    (tmp_path / "other").write_text("kept")
    state_path(tmp_path).with_suffix(".tmp").symlink_to(tmp_path / "other")
    state = StateFile(tmp_path)
    state(_BEGUN)
    state(RunConcluded())
    assert (tmp_path / "other").read_text() == "kept"
    assert json.loads(state_path(tmp_path).read_text())["run_id"] == "01RUN"


def test_a_run_goes_on_where_it_cannot_be_written(tmp_path: Path) -> None:
    state = StateFile(tmp_path)  # without the folder
    state(_BEGUN)
    state(RunConcluded())
    assert not state_path(tmp_path).exists()


def test_a_run_that_ends_while_its_status_is_read_was_not_cut_off(tmp_path: Path) -> None:
    path = journal_path(tmp_path)
    path.parent.mkdir()
    path.write_text(render_entry(_BEGUN) + "\n")
    lock = (path.parent / "lock").open("w")
    lock.write(str(os.getpid()))
    lock.flush()
    fcntl.flock(lock, fcntl.LOCK_EX)

    def end(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and arguments[0] == str(path):  # the reader has come so far
            lock.close()

    sys.addaudithook(end)  # it stays, and finds nothing of this test any more
    document = read_status_document(tmp_path)
    assert lock.closed
    assert document is not None
    assert document["state"] == "running"


def test_status_is_read_without_loading_what_only_a_run_needs() -> None:
    code = "import sys, factory.record.run_status; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pydantic", "openai", "langgraph", "rich"} & set(done.stdout.split())
