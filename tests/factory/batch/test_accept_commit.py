"""`accept`: a person's commit stands for an order, if it passes as an attempt's would."""

from __future__ import annotations

import pytest

from factory.orders.stages import OrderState, Stage
from factory.record.journal import decisions_path
from factory.record.landed import coverage_of_repo, landed_commits
from shared.errors import InvalidInput, PreflightRefused
from shared.git.client import Git
from tests.factory.batch.batching import asked, each_writes, landed_on, step, wrote
from tests.factory.batch.taking_over import Person
from tests.fakes import refused
from tests.harness import Factory, git, manifest, write_plan

TEST = {"path": "tests/check.txt", "content": "as planned\n"}


def failed(factory: Factory, **changes: object) -> Person:
    """The second of three orders has failed, and the third needs it."""
    orders = [
        step(1),
        step(2, **{"acceptance_commands": ["grep -q hand 2.txt"], "covers": ["R-2"], **changes}),
        step(3, depends_on=["WO-02"]),
    ]
    replies = {**each_writes(1), "WO-02": [refused()] * 3}
    factory.run_all(manifest(orders), replies, max_attempts=1)
    return Person(factory)


def go_on(factory: Factory, *numbers: int) -> list[str]:
    """Return the states after the whole plan was run again."""
    summary = factory.run_all(factory.scratch / "plan", each_writes(*numbers))
    return [str(each.state) for each in summary.orders]


def test_the_commit_stands_for_the_order_and_later_orders_build_on_it(factory: Factory) -> None:
    person = failed(factory)
    commit = person.commits("2.txt")
    accepted = person.accept("WO-02", commit)
    assert accepted.failure is None
    assert git(factory.repo, "rev-parse", "work") == commit, "nothing moves"
    assert go_on(factory, 3) == ["skipped", "skipped", "landed"]
    assert asked(factory) == ["WO-03"]
    assert landed_on(factory.repo) == ["WO-01", "WO-03"]
    assert git(factory.repo, "rev-parse", "work~1") == commit


def test_the_commit_has_a_note_that_says_so(factory: Factory) -> None:
    person = failed(factory)
    commit = person.commits("2.txt")
    person.accept("WO-02", commit)
    lines = person.note(commit).splitlines()
    assert lines[0] == "accepted: WO-02"
    assert "covers: R-2" in lines
    assert any(each.startswith("proof: ") for each in lines)


def test_an_acceptance_is_taken_back(factory: Factory) -> None:
    person = failed(factory)
    commit = person.commits("2.txt")
    person.accept("WO-02", commit)
    assert person.take_back("WO-02") == commit
    assert git(factory.repo, "rev-parse", "work") == commit, "the commit stays"
    assert (
        git(
            factory.repo,
            "notes",
            "--ref=llmch",
            "list",
        ).count(commit)
        == 0
    )
    assert coverage_of_repo(Git(factory.repo)) == ()
    with pytest.raises(InvalidInput, match="no commit was accepted for WO-02 on work"):
        person.take_back("WO-02")
    assert person.accept("WO-02", commit).failure is None, "it can be accepted again"


@pytest.mark.rest
def test_one_of_two_acceptances_of_a_commit_is_taken_back(factory: Factory) -> None:
    person = failed(factory, acceptance_commands=["true"])
    commit = person.commits("2.txt", "3.txt")
    for name in ("WO-02", "WO-03"):
        assert person.accept(name, commit, allow_more=True).failure is None
    person.take_back("WO-03")
    assert person.note(commit).startswith("accepted: WO-02\n")
    assert "WO-03" not in person.note(commit)
    assert go_on(factory, 3) == ["skipped", "skipped", "landed"]


def test_the_report_knows_the_commit(factory: Factory) -> None:
    person = failed(factory)
    commit = person.commits("2.txt")
    person.accept("WO-02", commit)
    repo = Git(factory.repo)
    loaded = person.plan().named("WO-02")
    assert landed_commits(repo, loaded.plan).of(loaded.order) == (commit,)
    (row,) = coverage_of_repo(repo)
    assert (row.id, [each.commits for each in row.orders]) == ("R-2", [(commit,)])


def test_a_commit_that_fails_is_refused_and_nothing_is_recorded(factory: Factory) -> None:
    person = failed(factory)
    commit = person.commits("2.txt", text="wrong\n")
    accepted = person.accept("WO-02", commit)
    assert accepted.failure is not None
    assert accepted.failure.stage is Stage.ACCEPTANCE_FAILED
    assert accepted.failure.command == "grep -q hand 2.txt"
    assert not decisions_path(person.place.common_dir).exists()
    assert git(factory.repo, "notes", "--ref=llmch", "list").count(commit) == 0
    assert list(factory.workspaces.iterdir()) == []


@pytest.mark.rest
def test_a_commit_has_to_keep_the_declared_interfaces(factory: Factory) -> None:
    declared = [{"path": "two.py", "stub": "def two() -> int: ..."}]
    person = failed(
        factory, allowed_files=["two.py"], acceptance_commands=["true"], interfaces=declared
    )
    accepted = person.accept("WO-02", person.commits("two.py", text="def three(): ...\n"))
    assert accepted.failure is not None
    assert accepted.failure.stage is Stage.CONTRACT_VIOLATED
    right = person.commits("two.py", text="def two() -> int:\n    return 2\n")
    assert person.accept("WO-02", right).failure is None


def test_a_commit_that_holds_more_is_refused_by_its_files(factory: Factory) -> None:
    person = failed(factory)
    commit = person.commits("2.txt", "other.txt")
    with pytest.raises(InvalidInput, match=r"changes what WO-02 does not allow: .*other\.txt"):
        person.accept("WO-02", commit)
    accepted = person.accept("WO-02", commit, allow_more=True)
    assert (accepted.failure, accepted.offered.beyond) == (None, ("other.txt",))
    assert "beyond: other.txt" in person.note(commit)


def test_a_commit_of_another_branch_is_refused(factory: Factory) -> None:
    person = failed(factory)
    elsewhere = person.commits("2.txt", branch="main")
    with pytest.raises(InvalidInput, match="is not on the first-parent line of branch 'work'"):
        person.accept("WO-02", elsewhere)


def test_a_branch_that_does_not_exist_is_named_instead_of_the_commit(factory: Factory) -> None:
    person = failed(factory)
    elsewhere = person.commits("2.txt", branch="main")
    git(factory.repo, "branch", "-D", "work")
    with pytest.raises(InvalidInput, match="branch 'work' does not exist in this repo"):
        person.accept("WO-02", elsewhere)


def test_a_commit_from_before_the_plan_is_refused(factory: Factory) -> None:
    git(factory.repo, "branch", "work")
    old = Person(factory).commits("2.txt")
    Person(factory).commits("more.txt")
    person = failed(factory)
    with pytest.raises(InvalidInput, match="before the first run of the plan began"):
        person.accept("WO-02", old)


def test_the_commit_of_another_order_is_refused(factory: Factory) -> None:
    person = failed(factory)
    with pytest.raises(InvalidInput, match="is the commit of WO-01"):
        person.accept("WO-02", factory.tip())


def test_an_order_that_has_landed_is_refused(factory: Factory) -> None:
    person = failed(factory)
    with pytest.raises(InvalidInput, match="WO-01 has landed as"):
        person.accept("WO-01", person.commits("1.txt"))


@pytest.mark.parametrize("given", ["0" * 40, "no-such", "-x", "HEAD:2.txt"])
def test_what_is_no_commit_is_refused(factory: Factory, given: str) -> None:
    person = failed(factory)
    with pytest.raises(InvalidInput, match="does not name a commit"):
        person.accept("WO-02", given)


def test_the_tests_of_the_plan_have_to_be_in_the_commit(factory: Factory) -> None:
    person = failed(factory, acceptance_files=[TEST])
    commit = person.commits("2.txt")
    with pytest.raises(InvalidInput, match=r"does not have the plan's test 'tests/check\.txt'"):
        person.accept("WO-02", commit)
    changed = person.commits("tests/check.txt", text="otherwise\n")
    with pytest.raises(InvalidInput, match="is not the plan's test but for its layout"):
        person.accept("WO-02", changed)
    right = person.commits("tests/check.txt", text=TEST["content"])
    assert person.accept("WO-02", right).failure is None


def test_what_the_order_removes_has_to_be_gone(factory: Factory) -> None:
    person = failed(factory, removed_files=["src/app.py"])
    with pytest.raises(InvalidInput, match=r"still has 'src/app\.py', which the order removes"):
        person.accept("WO-02", person.commits("2.txt"))
    git(factory.repo, "switch", "--quiet", "work")
    (factory.repo / "src/app.py").unlink()
    accepted = person.accept("WO-02", person.commits("2.txt", text="by hand, too\n"))
    assert accepted.failure is None
    assert accepted.offered.changed == {"2.txt", "src/app.py"}


def test_one_commit_may_stand_for_two_orders(factory: Factory) -> None:
    orders = [step(1, allowed_files=["1.txt", "2.txt"]), step(2, allowed_files=["1.txt", "2.txt"])]
    factory.run_all(manifest(orders), {"WO-01": [refused()]}, max_attempts=1)
    git(factory.repo, "branch", "--force", "work", "main")
    person = Person(factory)
    commit = person.commits("1.txt", "2.txt")
    for name in ("WO-01", "WO-02", "WO-02"):
        assert person.accept(name, commit).failure is None
    assert person.note(commit).count("accepted: ") == 2
    assert go_on(factory) == ["skipped", "skipped"]


@pytest.mark.rest
def test_a_commit_that_left_the_branch_is_asked_about(factory: Factory) -> None:
    person = failed(factory)
    tip = factory.tip()
    commit = person.commits("2.txt")
    person.accept("WO-02", commit)
    git(factory.repo, "branch", "--force", "work", tip)
    with pytest.raises(PreflightRefused) as refusal:
        go_on(factory)
    assert "which was accepted for WO-02, is not on the branch" in refusal.value.message
    assert "llmch accept WO-02" in refusal.value.hint
    assert person.retry("WO-02", [wrote(2, "by hand\n")]).state is OrderState.LANDED


@pytest.mark.rest
def test_two_commits_that_left_the_branch_are_made_one_after_the_other(factory: Factory) -> None:
    person = failed(factory)
    tip = factory.tip()
    person.accept("WO-02", person.commits("2.txt"))
    person.accept("WO-03", person.commits("3.txt"))
    git(factory.repo, "branch", "--force", "work", tip)
    assert person.retry("WO-02", [wrote(2, "by hand\n")]).state is OrderState.LANDED
    assert person.retry("WO-03", [wrote(3)]).state is OrderState.LANDED


def test_an_order_whose_plan_was_worded_anew_is_not_taken_for_done(factory: Factory) -> None:
    person = failed(factory)
    person.accept("WO-02", person.commits("2.txt"))
    other = manifest([step(1), step(2, intent="Otherwise."), step(3)])
    folder = write_plan(factory.scratch / "other", other)
    assert person.plan(folder, "work").decisions(person.place.common_dir) == {}


def test_a_single_run_of_an_accepted_order_makes_nothing(factory: Factory) -> None:
    person = failed(factory)
    commit = person.commits("2.txt")
    person.accept("WO-02", commit)
    summary = factory.run(factory.scratch / "plan" / "WO-02.json", [])
    assert (summary.state, summary.commit) == ("skipped", commit)
