"""With a rerun, the commands judge the very tree of each commit again, in the sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from factory.audit.audit import Audit, audit, commits_named, rerunning
from factory.audit.audit_evidence import AuditEvidence, Claim, ClaimState
from factory.orders.documents import reply_sha256
from factory.preflight import find_repo
from factory.sandbox.policy import Backend
from shared.settings.settings import SandboxSettings
from shared.work_order.parse_order import EMPTY_SHA256
from tests.factory.audit.forging import Forger
from tests.factory.audit.honest import THREE_FILES, contradictions, describe, of_claim
from tests.fakes import proposal
from tests.harness import Factory, Json, fingerprint, git, writing

SANDBOXED = SandboxSettings(backend=Backend.AUTO)


def rerun(repo: Path, artifacts: Path, words: str = "main..work", **changes: Any) -> Audit:
    """Look into commits, with their commands run again."""
    options = Factory(repo, artifacts.parent).options(sandbox=SANDBOXED, **changes)
    place = find_repo(repo)
    ids = commits_named(place.git, words)
    evidence = AuditEvidence(place.git, (artifacts / "factory",))
    with rerunning(ids[-1], place, options, lambda event: None) as judge:
        return audit(evidence, ids, judge)


def checks(found: Audit, number: int = -1) -> ClaimState:
    return of_claim(found, Claim.CHECKS, number).standing


def test_an_honest_branch_passes_again_and_nothing_changes(forger: Forger) -> None:
    before = fingerprint(forger.repo), git(forger.repo, "for-each-ref")
    found = rerun(forger.repo, forger.artifacts)
    assert {checks(found, each) for each in range(4)} == {ClaimState.PROVEN}, describe(found)
    assert (fingerprint(forger.repo), git(forger.repo, "for-each-ref")) == before
    assert git(forger.repo, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_only_the_rerun_sees_what_agrees_with_itself(forger: Forger) -> None:
    """The commit, its statement, and the record of the reply are forged, and all agree."""
    commit, files = forger.commits[2], {**THREE_FILES, "src/app.py": "GREETING = 'night'\n"}
    reply = json.dumps({"summary": "as scripted", "writes": [
        {"path": path, "base_sha256": EMPTY_SHA256, "content": text}
        for path, text in files.items()
    ]})  # fmt: skip
    (forger.run_folder / "raw_llm_response.txt").write_text(reply)
    forged = forger.remade(commit, tree=forger.tree_with(commit, files))

    def edit(statement: Json) -> None:
        forger.rehash(forged)(statement)
        statement["predicate"]["replies"][-1]["sha256"] = reply_sha256(reply)

    forger.state_of(2, forged, edit)
    found = rerun(forger.repo, forger.artifacts)
    assert contradictions(found) == [Claim.CHECKS], describe(found)
    assert "grep" in of_claim(found, Claim.CHECKS).text


def test_commands_of_a_commit_that_is_contradicted_are_not_run(
    forger: Forger, tmp_path: Path
) -> None:
    forger.on(2)
    forger.amend(files={"scripts/verify.sh": f"touch {tmp_path}/ran\n"})
    found = rerun(forger.repo, forger.artifacts)
    assert checks(found) is ClaimState.NOT_PROVABLE
    assert not (tmp_path / "ran").exists()


def test_a_command_that_this_machine_lacks_decides_nothing(factory: Factory) -> None:
    program = factory.scratch / "bin" / "only-there"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ntrue\n")
    program.chmod(0o755)
    path = SandboxSettings(backend=Backend.OFF, path=(program.parent,))
    order = writing("one.txt", acceptance_commands=["only-there"])
    summary = factory.run(order, [proposal({"one.txt": "one\n"})], sandbox=path)
    if summary.verdict != "PASS":
        pytest.skip("the setting does not apply without a sandbox")
    found = rerun(factory.repo, factory.artifacts)
    assert checks(found) is ClaimState.NOT_PROVABLE, describe(found)


def test_an_exemption_that_a_statement_asks_for_is_not_taken(forger: Forger) -> None:
    """The exemption is not part of the order's key, so anybody can write it into a statement."""

    def edit(statement: Json) -> None:
        statement["predicate"]["order"]["document"]["verify_exempt"] = True

    forger.restate(forger.commits[0], edit)
    (forger.run_folder / "run.json").write_text("{}")  # so that the plan is not found
    found = rerun(forger.repo, forger.artifacts, f"{forger.commits[0]}")
    assert checks(found) is ClaimState.PROVEN
    assert "compiling" not in of_claim(found, Claim.CHECKS).text


@pytest.mark.rest
def test_a_red_base_is_allowed_as_in_the_run(factory: Factory) -> None:
    (factory.repo / "scripts/verify.sh").write_text("test ! -e red.txt\n")
    (factory.repo / "red.txt").write_text("red\n")
    git(factory.repo, "add", "--all")
    git(factory.repo, "commit", "--quiet", "--message=red")
    factory.run(
        writing("one.txt"), [proposal({"one.txt": "one\n"})], sandbox=SANDBOXED, allow_red=True
    )
    assert checks(rerun(factory.repo, factory.artifacts)) is ClaimState.CONTRADICTED
    found = rerun(factory.repo, factory.artifacts, allow_red=True)
    assert checks(found) is ClaimState.PROVEN, describe(found)
