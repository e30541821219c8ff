"""`--junit`: written however a run ends, and refused before anything is paid where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest

from tests.harness import manifest, order, write_plan, writing
from tests.llmch.ci.test_junit import outcomes, read
from tests.llmch.command_line import Said, Say, model_server, write_reply
from tests.shared.llm.edge import error_answer

ONE, TWO = (write_reply({f"{number}.txt": "text\n"}) for number in (1, 2))
STRAY = write_reply({"stray.txt": "text\n"})


@pytest.fixture
def workdir(cwd: Path) -> Path:
    return write_plan(cwd.parent / "plan", manifest([writing("1.txt"), writing("2.txt", 2)]))


def run_all(say: Say, repo: Path, workdir: Path, *flags: str | Path) -> Said:
    return say(
        "run-all", "--repo", repo, "--workdir", workdir, "--sandbox", "off", "--reply-format",
        "json", "--max-attempts", "1", "--junit", "junit.xml", *flags,
    )  # fmt: skip


def junit(cwd: Path) -> Element:
    return read((cwd / "junit.xml").read_text())


def test_a_run_leaves_the_file(
    say: Say, repo: Path, workdir: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, TWO):
        said = run_all(say, repo, workdir)
    assert said.code == 0
    assert f"JUnit: {cwd / 'junit.xml'}" in said.out
    assert {how for _, how in outcomes(junit(cwd))} == {"passed"}
    assert not [*cwd.glob("*.tmp")]


def test_the_next_run_writes_the_file_anew(
    say: Say, repo: Path, workdir: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, STRAY):
        assert run_all(say, repo, workdir).code == 1
    assert junit(cwd).get("failures") == "1"
    with model_server(monkeypatch, TWO):
        assert run_all(say, repo, workdir).code == 0
    assert [how for _, how in outcomes(junit(cwd))][:1] == ["skipped"]


def test_a_run_that_ends_in_an_error_leaves_what_is_on_record(
    say: Say, repo: Path, workdir: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, error_answer(401, "invalid_api_key")):
        said = run_all(say, repo, workdir, "--json")
    assert said.error["code"] == 3
    root = junit(cwd)
    cases = {suite.get("id"): outcomes(suite) for suite in root.iter("testsuite")}
    assert {how for _, how in cases["WO-01"]} == {"passed"}
    assert cases["run-all"][0][1] == "error"


def test_a_refused_repo_is_an_error_in_the_file(
    say: Say, repo: Path, workdir: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "README.md").write_text("changed\n")
    with model_server(monkeypatch):
        assert run_all(say, repo, workdir).code == 5
    error = junit(cwd).find("testsuite/testcase/error")
    assert error is not None and error.get("type") == "PREFLIGHT"


def test_a_single_order_has_a_suite(
    say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "WO-01.json").write_text(json.dumps(order(1)))
    with model_server(monkeypatch, write_reply({"hello.txt": "hello\n"})):
        said = say("run", "--repo", repo, "--work-order", "WO-01.json", "--sandbox", "off",
                   "--reply-format", "json", "--junit", "junit.xml")  # fmt: skip
    assert said.code == 0
    assert [each.get("id") for each in junit(cwd).iter("testsuite")] == ["WO-01"]


def a_directory(path: Path) -> None:
    path.mkdir()


def another_file(path: Path) -> None:
    path.write_text("my notes\n")


@pytest.mark.parametrize(
    ("make", "words"),
    [(a_directory, "is a directory"), (another_file, "would overwrite a file")],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_paid(
    make: Any, words: str, say: Say, repo: Path, workdir: Path, cwd: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    make(cwd / "junit.xml")
    with model_server(monkeypatch) as server:
        said = run_all(say, repo, workdir, "--json")
        assert server.received == []
    assert said.error["code"] == 2 and words in said.error["message"]


def test_a_folder_that_is_not_there_is_refused(say: Say, repo: Path, workdir: Path) -> None:
    said = say("run-all", "--repo", repo, "--workdir", workdir, "--junit", "no/junit.xml")
    assert said.code == 2 and "is not there" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["submit", "--workdir", "x", "--repo", "y"], "the run is not over then"),
        (["fleet", "status"], "--junit belongs to `llmch fleet wait`"),
        (["report", "--coverage", "x"], "not on a run"),
    ],
)
def test_the_option_is_refused_where_it_means_nothing(
    words: list[str], told: str, say: Say
) -> None:
    said = say(*words, "--junit", "junit.xml")
    assert said.code == 2 and told in said.err


def test_report_writes_the_file_of_any_run(
    say: Say, repo: Path, workdir: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, TWO):
        assert run_all(say, repo, workdir).code == 0
    said = say("report", "--repo", repo, "--junit", "again.xml")
    assert said.code == 0
    assert fromstring((cwd / "again.xml").read_text()).get("tests") == junit(cwd).get("tests")
