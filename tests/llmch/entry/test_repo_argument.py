"""`--repo` is the current folder by default; outside of a repo each verb says what that means."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harness import commit_all, git, manifest, order, write_plan, writing
from tests.llmch.command_line import Say, model_server, plan_reply, say_in


@pytest.fixture
def below(repo: Path) -> Path:
    """A folder inside a repo that has the file which a plan demands."""
    commit_all(repo, {"sub/there.txt": "there\n"})
    return repo / "sub"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    needs = {"kind": "file_exists", "path": "sub/there.txt"}
    return write_plan(
        tmp_path / "plan", manifest([order(preconditions=[needs], forbidden=["sub/there.txt"])])
    )


def test_inside_a_repo_a_plan_is_judged_for_it(
    below: Path, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say = say_in(below, capsys)
    said = say("check", plan)
    assert (said.code, said.err) == (0, "")
    assert say("check", plan, "--repo", "..") == said


def test_inside_a_repo_one_can_go_without_it(
    below: Path, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = say_in(below, capsys)("check", plan, "--no-repo", "--json")
    assert said.code == 2
    assert [each["code"] for each in said.document["findings"] if each["severity"] == "error"]
    assert "is not in a git repo" not in said.err


def test_outside_of_a_repo_a_line_says_what_that_means(say: Say, cwd: Path, plan: Path) -> None:
    said = say("check", plan)
    assert said.code == 2
    assert f"{cwd} is not in a git repo: the plan is judged for an empty one" in said.out + said.err
    quiet = say("check", plan, "--no-repo")
    assert "is not in a git repo" not in quiet.out + quiet.err
    covered = say("report", "--coverage", plan)
    assert "is not in a git repo: no commits are shown" in covered.out + covered.err


def test_a_bare_repo_is_not_taken_for_no_repo(say: Say, cwd: Path, plan: Path) -> None:
    git(cwd, "init", "--quiet", "--bare", ".")
    said = say("check", plan, "--json")
    assert (said.code, "is a bare repo" in said.error["message"]) == (5, True)
    assert "findings" in say("check", plan, "--no-repo", "--json").document


@pytest.mark.parametrize("verb", [["check"], ["report", "--coverage"]])
def test_a_repo_cannot_be_named_and_left_out(say: Say, plan: Path, verb: list[str]) -> None:
    said = say(*verb, plan, "--repo", ".", "--no-repo", "--json")
    assert said.code == 2
    assert "--no-repo" in said.error["message"]


def test_a_folder_that_is_named_must_be_a_repo(say: Say, cwd: Path, plan: Path) -> None:
    said = say("check", plan, "--repo", ".", "--json")
    assert said.code == 2
    assert f"{cwd} is not a git working tree" in said.error["message"]
    assert "--no-repo" in said.error["hint"]


@pytest.mark.rest
def test_a_plan_is_made_for_the_repo_that_one_stands_in(
    below: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (below.parent.parent / "spec.md").write_text("Write a greeting.\n")
    say = say_in(below, capsys)
    reply = plan_reply({"work_orders": [order()]})
    command = "plan", "--spec", "../../spec.md", "--no-review", "--json"

    def repo_of_plan(*options: str) -> tuple[object, bool]:
        with model_server(monkeypatch, reply) as server:
            said = say(*command, *options)
        assert said.code == 0, said.err
        run = json.loads((Path(said.document["run_dir"]) / "run.json").read_text())
        return run["repo"], "sub/there.txt" in json.dumps(server.bodies)

    assert repo_of_plan() == (str(below), True)
    assert repo_of_plan("--no-repo") == (None, False)


@pytest.mark.parametrize(
    "words",
    [
        ["status"], ["reset"], ["diff", "WO-01"], ["repro", "WO-01"],
        ["run-all", "--workdir", "../plan"], ["run", "--work-order", "../plan/WO-01.json"],
    ],
)  # fmt: skip
def test_verbs_that_need_a_repo_name_the_folder_that_is_none(
    say: Say, cwd: Path, plan: Path, words: list[str]
) -> None:
    error = say(*words, "--json").error
    assert (error["code"], error["message"]) == (5, f"{cwd} is not a git repo")
    assert "git init" in error["hint"]
    assert "--repo" in error["hint"]


def test_orders_are_run_on_the_repo_that_one_stands_in(
    repo: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    write_plan(tmp_path / "plan", manifest([writing("1.txt", 1)]))
    say = say_in(repo, capsys)
    assert say("status", "--json").document["state"] == "none"
    refused = say("run-all", "--workdir", "../plan", "--branch", "main", "--json")
    assert "'main' is protected" in refused.error["message"]


def test_the_doctor_looks_at_the_repo_that_it_is_called_in(
    below: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = say_in(below, capsys)("doctor", "--json").document["findings"]
    (found,) = [each for each in findings if each["name"] == "repo"]
    assert found["health"] == "well"
    assert found["detail"].startswith(f"{below.parent} on {git(below, 'branch', '--show-current')}")


def test_the_doctor_needs_no_repo(say: Say, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    findings = say("doctor", "--json").document["findings"]
    (found,) = [each for each in findings if each["name"] == "repo"]
    assert (found["health"], found["detail"]) == ("limited", f"{cwd} is not in a git repo")


def test_the_doctor_says_what_keeps_git_from_answering(
    say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = cwd / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", os.fspath(empty))
    findings = say("doctor", "--json").document["findings"]
    assert "broken" in [each["health"] for each in findings if each["name"] in ("git", "repo")]
