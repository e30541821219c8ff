"""`llmch accept` through the real entry, for what was done elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import git, manifest, write_plan, writing
from tests.llmch.command_line import Say, Words


@pytest.fixture
def command(repo: Path, cwd: Path) -> Words:
    """The command about a plan whose one order has no commit yet."""
    order = writing("1.txt", acceptance_commands=["grep -q text 1.txt"])
    plan = write_plan(cwd.parent / "plan", manifest([order, writing("2.txt", 2)]))
    words: Words = ["accept", "1", "--repo", repo, "--workdir", plan, "--branch", "work"]
    return [*words, "--sandbox", "off"]


def elsewhere(repo: Path, text: str, branch: str = "theirs") -> str:
    git(repo, "switch", "--quiet", "-C", branch, "main")
    (repo / "1.txt").write_text(text)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=theirs")
    git(repo, "switch", "--quiet", "main")
    return git(repo, "rev-parse", branch)


def test_a_proposal_lands_and_the_rest_is_named(say: Say, repo: Path, command: Words) -> None:
    elsewhere(repo, "wrong\n", "wrong")
    theirs = elsewhere(repo, "text\n")
    said = say(*command, "--commit", "wrong", "--commit", theirs)
    assert said.code == 0, said.err
    tip = git(repo, "rev-parse", "work")
    assert f"landed as {tip[:10]} on work" in said.out
    assert "fails: acceptance_failed" in said.out
    assert f"llmch run-all --workdir {command[5]} --branch work" in said.out
    status = say("status", "--repo", repo, "--json").document
    assert [each["state"] for each in status["orders"]] == ["SUCCESS", "INIT"]
    assert "landed" in say("report", "--repo", repo).out
    assert say("verify", "--repo", repo, "main..work").code == 0
    again = say(*command, "--commit", theirs)
    assert (again.code, "has landed as" in again.err) == (2, True)


def test_a_check_in_a_job_is_annotated_and_summed_up(
    say: Say, repo: Path, command: Words, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    theirs = elsewhere(repo, "wrong\n")
    said = say(*command, "--commit", theirs, "--check")
    assert said.code == 1
    assert "::error title=WO-01 acceptance failed::commit " in said.out + said.err
    assert "fails: acceptance" in summary.read_text()
    assert git(repo, "for-each-ref", "refs/heads/work") == ""
    said = say(*command, "--commit", elsewhere(repo, "text\n"), "--check", "--json")
    assert (said.code, said.document["verdict"], said.document["accepted"]) == (0, "PASS", False)


def test_a_check_of_a_commit_on_the_branch_records_nothing(
    say: Say, repo: Path, command: Words
) -> None:
    elsewhere(repo, "text\n", "work")
    words = (*command, "--commit", "work", "--json")
    said = say(*words, "--check")
    assert (said.code, said.document["accepted"], said.document["checked_only"]) == (0, False, True)
    assert "refs/notes" not in git(repo, "for-each-ref")
    assert say(*words).document["accepted"] is True


def test_a_missing_program_is_the_environments(say: Say, repo: Path, cwd: Path) -> None:
    order = writing("1.txt", acceptance_commands=["no-such-program 1.txt"])
    plan = write_plan(cwd.parent / "plan", manifest([order]))
    words: Words = ["accept", "1", "--repo", repo, "--workdir", plan, "--sandbox", "off", "--check"]
    assert say(*words, "--commit", elsewhere(repo, "text\n")).code == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "takes what was done for the order"),
        (["--undo", "--commit", "theirs"], "takes what was done for the order"),
        (["--commit", "main", "--commit", "theirs"], "main is on work already"),
        (["--diff", "nowhere.patch"], "nowhere.patch does not exist"),
    ],
)
def test_a_wrong_call_says_what_to_do(
    say: Say, repo: Path, command: Words, words: list[str], message: str
) -> None:
    elsewhere(repo, "text\n")
    said = say(*command, *words)
    assert (said.code, message in said.err) == (2, True), said.err
