"""The summary of a GitHub Actions job gets the report of the run by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from llmch.ci.run_reports import append_summary
from llmch.console import Console
from shared.errors import InvalidInput
from shared.events.events import ignore
from tests.harness import manifest, write_plan, writing
from tests.llmch.command_line import Say, model_server, write_reply


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of the summary, as GitHub Actions names it."""
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def run_all(say: Say, repo: Path, tmp_path: Path) -> Any:
    one = writing("one.txt", 1, title="Say <b>one</b>", acceptance_commands=["test -f one.txt"])
    folder = write_plan(tmp_path / "plan", manifest([one]))
    return say("run-all", "--workdir", folder, "--repo", repo, "--sandbox", "off", "--json")


def test_a_run_is_reported_once(
    say: Say, repo: Path, tmp_path: Path, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, write_reply({"one.txt": "1\n"})):
        said = run_all(say, repo, tmp_path)
    assert said.code == 0
    text = summary.read_text()
    assert text.count("1 of 1 order") == 1
    assert "WO-01" in text and said.document["tip"][:10] in text
    assert "<b>" not in text


def test_a_refused_repo_is_reported(
    say: Say, repo: Path, tmp_path: Path, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "README.md").write_text("changed\n")
    with model_server(monkeypatch):
        said = run_all(say, repo, tmp_path)
    assert said.error["code"] == 5
    assert "**error:**" in summary.read_text() and "README" in summary.read_text()


def test_a_summary_that_cannot_be_written_is_a_warning(
    say: Say, repo: Path, tmp_path: Path, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary.mkdir()
    with model_server(monkeypatch, write_reply({"one.txt": "1\n"})):
        said = run_all(say, repo, tmp_path)
    assert said.code == 0
    assert "the summary of the job could not be written" in said.err


def test_all_of_a_step_is_no_more_than_github_shows(summary: Path) -> None:
    """GitHub drops the whole summary of a step that has more than 1 MiB."""
    error, console = InvalidInput("x" * 600_000, ""), cast(Console, ignore)
    for _ in range(4):
        append_summary(summary, None, error, console)
    text = summary.read_text()
    assert 900_000 < len(text) < 1_000_000 and "The report goes on" in text


def test_elsewhere_nothing_is_written(
    say: Say, repo: Path, tmp_path: Path, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS")
    with model_server(monkeypatch, write_reply({"one.txt": "1\n"})):
        assert run_all(say, repo, tmp_path).code == 0
    assert not summary.exists()
