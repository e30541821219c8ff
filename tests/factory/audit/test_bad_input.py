"""What cannot be decided here is said, with what would help; nothing ends in a traceback."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from factory.audit.audit_evidence import Claim, ClaimState
from factory.statement.statement import PROOF_REF
from shared.errors import InvalidInput
from tests.factory.audit.forging import Forger
from tests.factory.audit.honest import Auditor, contradictions, of_claim, orders, standings
from tests.harness import git, manifest, write_plan

NOWHERE = Path("/nonexistent")


def clone(forger: Forger, folder: Path, *arguments: str) -> Path:
    git(folder, "clone", "--quiet", *arguments, "--branch=work", f"file://{forger.repo}", "clone")
    return folder / "clone"


def fetch_statements(repo: Path) -> None:
    git(repo, "fetch", "--quiet", "origin", f"{PROOF_REF}:{PROOF_REF}")


@pytest.mark.rest
def test_a_clone_without_notes_says_how_to_fetch_them(forger: Forger, tmp_path: Path) -> None:
    repo = clone(forger, tmp_path)
    auditor = Auditor(repo, NOWHERE)
    found = auditor.look("origin/main..HEAD")
    assert set(standings(found).values()) == {ClaimState.NOT_PROVABLE}
    remedy = of_claim(found, Claim.STATEMENT).remedy
    command = remedy.split("`")[1]
    assert command.startswith("git fetch origin ")
    git(repo, *command.split()[1:])
    found = auditor.look("origin/main..HEAD")
    proven = {claim for claim, each in standings(found).items() if each is ClaimState.PROVEN}
    assert proven == {
        Claim.STATEMENT, Claim.ORDER, Claim.COMMIT, Claim.PARENT, Claim.FILES, Claim.CHAIN,
    }  # fmt: skip


def test_records_and_plan_are_brought_by_name(forger: Forger, tmp_path: Path) -> None:
    repo = clone(forger, tmp_path)
    fetch_statements(repo)
    plan = write_plan(tmp_path / "plan", manifest(orders()))
    transcript = forger.run_folder / "transcript.jsonl"
    found = Auditor(repo, NOWHERE, plan, (transcript,)).look("origin/main..HEAD")
    assert standings(found)[Claim.REPLY] is ClaimState.PROVEN
    assert standings(found)[Claim.PLAN] is ClaimState.PROVEN


def test_another_plan_that_is_named_is_contradicted(forger: Forger, tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "plan", manifest(orders()[:1]))
    found = Auditor(forger.repo, NOWHERE, plan).look()
    assert contradictions(found) == [Claim.PLAN] * 4


def test_a_shallow_clone_says_what_it_lacks(forger: Forger, tmp_path: Path) -> None:
    repo = clone(forger, tmp_path, "--depth=1")
    fetch_statements(repo)
    found = Auditor(repo, NOWHERE).look("HEAD")
    assert contradictions(found) == []
    assert "--unshallow" in of_claim(found, Claim.FILES).remedy
    assert of_claim(found, Claim.COMMIT).standing is ClaimState.PROVEN
    with pytest.raises(InvalidInput, match="shallow"):
        Auditor(repo, NOWHERE).look("HEAD~3..HEAD")


def test_a_branch_that_only_origin_has_is_named_as_such(forger: Forger, tmp_path: Path) -> None:
    auditor = Auditor(clone(forger, tmp_path), NOWHERE)
    with pytest.raises(InvalidInput, match="'main' does not name a commit") as refused:
        auditor.look("main..HEAD")
    assert (refused.value.hint or "").endswith("say origin/main")
    with pytest.raises(InvalidInput) as refused:
        auditor.look("nowhere..HEAD")
    assert "origin" not in (refused.value.hint or "")


@pytest.mark.parametrize("left_out", ["blob:none", "tree:0"])
def test_a_partial_clone_decides_nothing_that_it_lacks(
    forger: Forger, tmp_path: Path, left_out: str
) -> None:
    git(forger.repo, "config", "uploadpack.allowFilter", "true")
    repo = clone(forger, tmp_path, f"--filter={left_out}", "--no-checkout")
    fetch_statements(repo)
    found = Auditor(repo, forger.artifacts).look("origin/main..HEAD")
    assert set(standings(found).values()) == {ClaimState.NOT_PROVABLE}
    assert "--refetch" in of_claim(found, Claim.STATEMENT).remedy
    git(repo, "fetch", "--quiet", "--refetch", str(forger.repo), f"{PROOF_REF}:{PROOF_REF}")
    found = Auditor(repo, forger.artifacts).look("origin/main..HEAD")
    assert contradictions(found) == []
    assert standings(found)[Claim.COMMIT] is ClaimState.PROVEN


def test_commits_of_a_version_without_statements_contradict_nothing(forger: Forger) -> None:
    git(forger.repo, "update-ref", "-d", PROOF_REF)
    found = Auditor(forger.repo, forger.artifacts).look()
    assert set(standings(found).values()) == {ClaimState.NOT_PROVABLE}


def test_a_branch_of_an_older_version_that_goes_on_says_so(forger: Forger) -> None:
    for each in forger.commits[:2]:
        git(forger.repo, "notes", f"--ref={PROOF_REF}", "remove", each)
    found = Auditor(forger.repo, forger.artifacts).look()
    assert contradictions(found) == []
    assert "without statements" in of_claim(found, Claim.STATEMENT, 0).text
    assert found.chain.standing is ClaimState.NOT_PROVABLE


def test_a_persons_commit_claims_nothing_and_leaves_a_gap(forger: Forger) -> None:
    forger.on(3)
    (forger.repo / "mine.txt").write_text("mine\n")
    git(forger.repo, "add", "mine.txt")
    git(forger.repo, "commit", "--quiet", "--message=Mine")
    found = Auditor(forger.repo, forger.artifacts).look()
    assert contradictions(found) == []
    assert [each.claim for each in found.commits[-1].rulings] == [Claim.STATEMENT]
    assert found.chain.standing is ClaimState.NOT_PROVABLE


@pytest.mark.parametrize("damage", ["none", "empty", "torn", "other", "folder", "fifo"])
def test_damaged_records_decide_nothing(forger: Forger, damage: str) -> None:
    folder = forger.run_folder
    for path in (*folder.rglob("transcript.jsonl"), *folder.rglob("raw_llm_response*.txt")):
        if damage == "torn":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            continue
        path.unlink()
        match damage:
            case "empty":
                path.write_bytes(b"")
            case "other":
                path.write_bytes(b"[]\n\xff\xfe\n" + b"[" * 100_000)
            case "folder":
                path.mkdir()
            case "fifo":
                os.mkfifo(path)
            case _:
                pass
    (folder / "run.json").write_text("[]")
    found = Auditor(forger.repo, forger.artifacts).look()
    assert contradictions(found) == []
    assert standings(found)[Claim.REPLY] is ClaimState.NOT_PROVABLE
    assert standings(found)[Claim.PLAN] is ClaimState.NOT_PROVABLE


def test_a_plan_that_has_moved_on_decides_nothing(forger: Forger, honest_plan: Path) -> None:
    shutil.rmtree(honest_plan)
    write_plan(honest_plan, manifest(orders()[:1]))
    found = Auditor(forger.repo, forger.artifacts).look()
    assert standings(found)[Claim.PLAN] is ClaimState.NOT_PROVABLE


@pytest.fixture
def honest_plan(forger: Forger, tmp_path: Path) -> Path:
    """A plan of the test's own, which the record of the run names."""
    head = forger.run_folder / "run.json"
    document = json.loads(head.read_text())
    head.write_text(json.dumps({**document, "workdir": str(tmp_path / "plan")}))
    return write_plan(tmp_path / "plan", manifest(orders()))


@pytest.mark.parametrize(
    "words", ["nobody", "main..nobody", "main...work", "work..main", "--all", "work..", ""]
)
def test_what_names_no_commit_is_refused(forger: Forger, words: str) -> None:
    git(forger.repo, "switch", "--quiet", "work")
    with pytest.raises(InvalidInput):
        Auditor(forger.repo, NOWHERE).look(words)


def test_notes_on_what_is_no_commit_are_left_alone(forger: Forger) -> None:
    blob = git(forger.repo, "hash-object", "-w", "--stdin", stdin=b"x")
    forger.note(blob, "anything")
    assert contradictions(Auditor(forger.repo, forger.artifacts).look()) == []
