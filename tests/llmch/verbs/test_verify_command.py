"""`llmch verify` through the real entry: what it prints, and when it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.audit.audit_evidence import Claim
from llmch.verbs.verify import CLAIMS
from tests.harness import git, manifest, write_plan, writing
from tests.llmch.command_line import Say, model_server, snapshot, write_reply


@pytest.fixture
def branch(say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The range of a branch with two landed orders; afterwards there is no key."""
    workdir = write_plan(cwd.parent / "plan", manifest([writing("1.txt", 1), writing("2.txt", 2)]))
    replies = (write_reply({f"{each}.txt": "text\n"}) for each in (1, 2))
    with model_server(monkeypatch, *replies):
        said = say(
            "run-all", "--repo", repo, "--workdir", workdir, "--branch", "work",
            "--sandbox", "off", "--reply-format", "json",
        )  # fmt: skip
    assert said.code == 0, said.err
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return "main..work"


def test_the_claims_that_can_be_required_are_all() -> None:
    assert tuple(map(str, Claim)) == CLAIMS


def test_an_honest_branch_passes_and_stays_as_it_is(say: Say, repo: Path, branch: str) -> None:
    before = snapshot(repo)
    said = say("verify", branch, "--repo", repo)
    assert said.code == 0
    assert "nothing contradicted: 15 proven, 4 not provable here" in said.out
    assert say("verify", "--repo", repo) == said  # the branch of the latest run
    assert snapshot(repo) == before


def test_a_run_that_landed_nothing_is_passed_over(
    say: Say, repo: Path, cwd: Path, branch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = say("verify", "--repo", repo)
    workdir = write_plan(cwd.parent / "other", manifest([writing("3.txt", 1)]))
    with model_server(monkeypatch, write_reply({"4.txt": "text\n"})):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        said = say(
            "run-all", "--repo", repo, "--workdir", workdir, "--branch", "later",
            "--sandbox", "off", "--reply-format", "json", "--max-attempts", "1",
        )  # fmt: skip
    assert said.code == 1, said.err
    assert say("verify", "--repo", repo) == before


def test_the_document_has_each_claim(say: Say, repo: Path, branch: str) -> None:
    said = say("verify", branch, "--repo", repo, "--json")
    document = said.document
    assert document["verdict"] == "not_provable"
    assert [each["work_order"] for each in document["commits"]] == ["WO-01", "WO-02"]
    claims = {each["claim"]: each for each in document["commits"][0]["claims"]}
    assert claims["reply"]["verdict"] == "proven"
    assert claims["checks"]["verdict"] == "not_provable"
    assert "--rerun" in claims["checks"]["remedy"]
    assert document["chain"]["verdict"] == "proven"
    assert document["required_and_not_proven"] == []


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (("--require", "files"), 0),
        (("--require", "chain", "--require", "plan"), 0),
        (("--require", "checks"), 1),
        (("--require", "checks", "--rerun"), 0),
        (("--require", "signature"), 1),
        (("--strict",), 1),
    ],
)
def test_what_is_required_has_to_be_proven(
    say: Say, repo: Path, branch: str, asked: tuple[str, ...], code: int
) -> None:
    said = say("verify", branch, "--repo", repo, *asked)
    assert said.code == code, said.out
    assert ("required and not proven" in said.out) is bool(code)


def test_records_in_another_folder_are_found_by_the_journal(
    say: Say, repo: Path, branch: str, tmp_path: Path
) -> None:
    """As `report` finds them, where the run was asked to leave its records elsewhere."""
    said = say("verify", branch, "--repo", repo, "--artifacts-dir", tmp_path / "none",
               "--require", "reply", "--require", "plan")  # fmt: skip
    assert said.code == 0, said.out


def test_a_commit_that_was_amended_fails_and_says_why(say: Say, repo: Path, branch: str) -> None:
    git(repo, "switch", "--quiet", "work")
    git(repo, "commit", "--quiet", "--amend", "--no-edit", "--date=@1 +0000")
    said = say("verify", branch, "--repo", repo)
    assert said.code == 1
    assert "amended, rebased or forged" in said.out


def test_a_persons_commit_meets_no_requirement(say: Say, repo: Path, branch: str) -> None:
    git(repo, "switch", "--quiet", "work")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=mine")
    assert say("verify", branch, "--repo", repo).code == 0
    assert say("verify", branch, "--repo", repo, "--require", "files").code == 1


def test_what_is_no_commit_is_a_usage_error(say: Say, repo: Path) -> None:
    said = say("verify", "nowhere", "--repo", repo, "--json")
    assert said.code == 2
    assert said.error["hint"] == "give a branch, a hash, or a range FROM..TO"


def test_words_of_a_stranger_are_shown_as_text(say: Say, repo: Path) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "--message=\x1b[31mred \u202e <b>`")
    said = say("verify", "--repo", repo)
    assert said.code == 0
    assert "\x1b[31m" not in said.out and "\u202e" not in said.out
