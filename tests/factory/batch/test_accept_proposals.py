"""`accept`: what anybody proposes for an order lands, if it passes as a reply would."""

from __future__ import annotations

import json

import pytest

from factory.audit.audit import audit, commits_named
from factory.audit.audit_evidence import AuditEvidence
from factory.batch.accept_proposals import (
    check_proposals,
    is_on_branch,
    land_proposals,
    read_proposals,
)
from factory.record.journal import journal_path
from shared.errors import InvalidInput, PreflightRefused
from shared.events.events import Warned
from shared.git.client import Git
from tests.factory.batch.batching import each_writes, landed_on, step
from tests.factory.batch.proposing import begun, folder_with, patch_of, propose, why
from tests.factory.batch.taking_over import Person
from tests.harness import Factory, commit_all, fingerprint, git, manifest, stages, write_plan

TEST = {"path": "tests/check.txt", "content": "as planned\n"}


@pytest.mark.rest
def test_a_commit_of_another_branch_lands_as_the_orders_own(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    before = factory.tip()
    judged = propose(person, ("commit", "theirs"))
    assert judged.passed and judged.landed
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]
    assert git(factory.repo, "rev-parse", "work~1") == before
    assert factory.tip() != theirs
    assert git(factory.repo, "show", "work:2.txt") == "by hand"
    message = git(factory.repo, "log", "-1", "--format=%B", "work")
    assert f"Proposed by commit {theirs[:12]} of Ada <ada@example.org>." in message
    assert factory.run_all(factory.scratch / "plan", each_writes(3)).verdict == "PASS"


def test_a_patch_lands(factory: Factory) -> None:
    person = begun(factory)
    judged = propose(person, ("diff", patch_of(person, person.commits("2.txt", branch="theirs"))))
    assert judged.passed
    assert git(factory.repo, "show", "work:2.txt") == "by hand"


def test_a_folder_lands_and_what_else_differs_is_named(factory: Factory) -> None:
    person = begun(factory)
    folder = folder_with(factory, {"2.txt": "by hand\n", "more.txt": "x\n", "src/app.py": "y\n"})
    judged = propose(person, ("dir", folder))
    assert judged.passed
    assert judged.given[0].by.dropped == ("more.txt", "src/app.py")
    assert any("left out is" in each.message for each in factory.seen(Warned))
    assert git(factory.repo, "show", "work:2.txt") == "by hand"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("2.txt", "```\nby hand\n```\n"),
        ("src/app.py", "X = 1\n# ... existing code unchanged ...\n# by hand\n"),
    ],
)
def test_what_is_written_by_hand_lands_byte_for_byte(
    factory: Factory, path: str, text: str
) -> None:
    commit_all(factory.repo, {"src/app.py": "X = 1\n"})
    person = begun(factory, allowed_files=[path], acceptance_commands=[f"grep -q hand {path}"])
    judged = propose(person, ("dir", folder_with(factory, {path: text})))
    assert judged.passed, why(judged)
    assert git(factory.repo, "show", f"work:{path}") == text.rstrip("\n")


@pytest.mark.rest
def test_all_commits_since_the_branch_was_left_make_the_change(factory: Factory) -> None:
    person = begun(factory, allowed_files=["2.txt", "b.txt"])
    person.commits("2.txt", text="no\n", branch="theirs")
    person.commits("2.txt", branch="theirs")
    theirs = person.commits("b.txt", branch="theirs")
    person.commits("other.txt")  # the branch goes on meanwhile
    assert propose(person, ("commit", theirs)).passed
    assert git(factory.repo, "ls-tree", "--name-only", "work", "2.txt", "b.txt") == "2.txt\nb.txt"


@pytest.mark.rest
def test_the_first_that_passes_lands_and_each_other_is_answered(factory: Factory) -> None:
    person = begun(factory)
    wrong = person.commits("2.txt", text="wrong\n", branch="theirs")
    git(factory.repo, "branch", "right", "work")
    right = person.commits("2.txt", branch="right")
    patch = patch_of(person, right)
    judged = propose(
        person, ("commit", wrong), ("commit", wrong), ("diff", patch), ("commit", right)
    )
    assert stages(judged.summary) == ["acceptance_failed", "write_scope_violation", ""]
    assert "has the files of commit" in why(judged, 1)
    rows = judged.document()["proposals"]
    assert [each["state"] for each in rows] == ["failed", "failed", "passed", "not_judged"]
    assert rows[0]["failure"]["command"] == "grep -q hand 2.txt"
    assert rows[2]["files"] == ["2.txt"]
    assert judged.document()["accepted"] is True


def test_a_proposal_that_fails_lands_nothing(factory: Factory) -> None:
    person = begun(factory)
    person.commits("2.txt", text="wrong\n", branch="theirs")
    before = factory.tip()
    judged = propose(person, ("commit", "theirs"))
    assert not judged.passed
    assert judged.document()["accepted"] is False
    assert factory.tip() == before
    assert landed_on(factory.repo) == ["WO-01"]


def test_a_check_judges_and_changes_nothing(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    journal = journal_path(person.place.common_dir)
    before = (journal.read_bytes(), git(factory.repo, "for-each-ref"), fingerprint(factory.repo))
    judged = propose(person, ("commit", theirs), check=True)
    assert (judged.passed, judged.document()["accepted"]) == (True, False)
    assert judged.document()["checked_only"] is True
    after = (journal.read_bytes(), git(factory.repo, "for-each-ref"), fingerprint(factory.repo))
    assert after == before
    assert list(factory.workspaces.iterdir()) == []
    wrong = person.commits("2.txt", text="wrong\n", branch="theirs")
    assert why(propose(person, ("commit", wrong), check=True)) != ""


@pytest.mark.rest
def test_the_tests_of_the_plan_are_placed_whatever_a_proposal_has(factory: Factory) -> None:
    person = begun(factory, acceptance_files=[TEST])
    without = person.commits("2.txt", branch="theirs")
    assert propose(person, ("commit", without), check=True).passed
    same = person.commits("tests/check.txt", text=TEST["content"], branch="theirs")
    assert propose(person, ("commit", same), check=True).passed
    other = person.commits("tests/check.txt", text="weaker\n", branch="theirs")
    judged = propose(person, ("commit", other), check=True)
    assert "changes tests of the plan: tests/check.txt" in why(judged)
    judged = propose(person, ("commit", other), allow_more=True)
    assert judged.passed
    assert judged.given[0].by.dropped == ("tests/check.txt",)
    assert git(factory.repo, "show", "work:tests/check.txt") == "as planned"


@pytest.mark.rest
def test_what_goes_beyond_the_order_is_refused_by_name_or_left_out(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", "other.txt", branch="theirs")
    assert "changes what WO-02 does not allow: other.txt" in why(
        propose(person, ("commit", theirs))
    )
    assert propose(person, ("commit", theirs), allow_more=True).passed
    assert git(factory.repo, "ls-tree", "--name-only", "work", "other.txt") == ""


@pytest.mark.rest
def test_a_file_that_the_branch_changed_since_is_stale(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    person.commits("2.txt", text="meanwhile\n")
    judged = propose(person, ("commit", theirs))
    assert stages(judged.summary) == ["stale_context"]
    git(factory.repo, "branch", "--force", "theirs", "work")
    assert propose(person, ("commit", person.commits("2.txt", branch="theirs"))).passed


def test_what_is_on_the_branch_is_not_a_proposal(factory: Factory) -> None:
    person = begun(factory)
    plan, place = person.plan(), person.place
    theirs = person.commits("2.txt", branch="theirs")
    assert is_on_branch(plan, place, "work")
    assert is_on_branch(plan, place, factory.tip("main"))
    assert not is_on_branch(plan, place, theirs)
    assert not is_on_branch(plan, place, "no-such")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("commit", "no-such"), "does not name a commit"),
        (("diff", "no-such.patch"), "does not exist"),
        (("dir", "no-such"), "no such folder"),
    ],
)
def test_what_is_not_there_is_refused(factory: Factory, given: tuple[str, str], words: str) -> None:
    person = begun(factory)
    with pytest.raises(InvalidInput, match=words):
        propose(person, given)


def test_an_order_that_has_landed_takes_no_proposal(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("1.txt", branch="theirs")
    with pytest.raises(InvalidInput, match="WO-01 has landed as"):
        propose(person, ("commit", theirs), name="WO-01")


def test_a_red_base_is_refused_before_a_proposal_is_judged(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    for check in (True, False):
        with pytest.raises(PreflightRefused, match="false"):
            propose(person, ("commit", theirs), check=check, verify=("false",))


def test_a_protected_branch_is_checked_and_never_landed_on(factory: Factory) -> None:
    folder = write_plan(factory.scratch / "plan", manifest([step(1)]))
    git(factory.repo, "branch", "theirs")
    person = Person(factory)
    theirs = person.commits("1.txt", branch="theirs")
    plan = person.plan(folder, "main")
    given = read_proposals(plan, "WO-01", person.place, [("commit", theirs)])
    words = (plan, "WO-01", given, person.place, factory.options(), factory._take)
    assert check_proposals(*words).passed
    with pytest.raises(PreflightRefused, match="protected"):
        land_proposals(*words)


def test_verify_proves_what_landed(factory: Factory) -> None:
    person = begun(factory)
    propose(person, ("commit", person.commits("2.txt", branch="theirs")))
    repo = Git(factory.repo)
    evidence = AuditEvidence(repo, (factory.artifacts / "factory",))
    (found,) = audit(evidence, commits_named(repo, "work~1..work")).commits
    rulings = {str(each.claim): str(each.standing) for each in found.rulings}
    assert "contradicted" not in rulings.values()
    assert rulings["reply"] == rulings["commit"] == rulings["files"] == "proven"
    note = person.note(factory.tip()).splitlines()
    assert "model: none" in note
    assert [each for each in note if each.startswith("agent: commit ")]


def test_three_ways_in_propose_the_same(factory: Factory) -> None:
    files = ["2.txt", "src/app.py", "new/a.txt"]
    person = begun(factory, allowed_files=files)
    theirs = person.commits(*files, text="by hand \u00e9\r\n\n", branch="theirs")
    folder = factory.scratch / "copy"
    git(factory.repo, "clone", "--quiet", "--branch", "theirs", ".", str(folder))
    patch = factory.scratch / "their.patch"
    git(factory.repo, "diff", "--output", str(patch), "work", theirs)
    ways = [("commit", theirs), ("diff", str(patch)), ("dir", str(folder))]
    plan, place = person.plan(), person.place
    found = [read_proposals(plan, "WO-02", place, [each])[0] for each in ways]
    assert [each.problem for each in found] == [""] * 3
    writes = [json.loads(each.reply)["writes"] for each in found]
    assert writes[0] == writes[1] == writes[2]
    assert [each["path"] for each in writes[0]] == sorted(files)
    same = read_proposals(plan, "WO-02", place, ways)
    assert [bool(each.problem) for each in same] == [False, True, True]


@pytest.mark.rest
def test_an_order_that_was_left_out_is_taken_up(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    person.skip("WO-02")
    assert propose(person, ("commit", theirs), check=True).passed
    assert propose(person, ("commit", theirs)).passed


def test_an_order_that_lacks_another_is_checked_and_does_not_land(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("3.txt", branch="theirs")
    assert propose(person, ("commit", theirs), name="WO-03", check=True).passed
    with pytest.raises(PreflightRefused, match="WO-03 needs WO-02"):
        propose(person, ("commit", theirs), name="WO-03")
