"""What does not fit the commit that it would follow: made again, never landed as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.errors import CommandFailed
from shared.events.events import Noted, OrderStarted
from shared.llm.model_client import Request
from tests.factory.batch.batching import (
    answer,
    asked,
    counted,
    each_writes,
    landed_on,
    loose_orders,
    states,
    step,
    wrong,
    wrote,
)
from tests.fakes import Reply, proposal
from tests.harness import Factory, blob, commit_all, git, manifest, stages

# Both files may be there only where the second knows of the first.
EITHER_OR = "if test -f 1.txt && test -f 2.txt; then grep -q together 2.txt; fi\n"


def sent_back(factory: Factory) -> list[str]:
    return [each.message for each in factory.seen(Noted) if "sent back" in each.message]


# Each green alone, red together


@pytest.fixture
def either_or(factory: Factory) -> Factory:
    commit_all(factory.repo, {"scripts/verify.sh": EITHER_OR})
    return factory


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_fails_beside_another_order_is_told_so_and_lands(
    either_or: Factory, jobs: int
) -> None:
    replies = {"WO-01": [wrote(1)], "WO-02": [wrote(2, "alone\n"), wrote(2, "together\n")]}
    summary = either_or.run_all(manifest([step(1), step(2)]), replies, jobs=jobs)
    assert states(summary) == ["landed", "landed"]
    assert sent_back(either_or) == []
    assert blob(either_or.repo, "work", "2.txt") == b"together\n"
    assert git(either_or.repo, "log", "--format=%H", "work", "--", "2.txt").count("\n") == 0
    assert counted(either_or) == {"WO-01": 1, "WO-02": 2}
    assert stages(summary.orders[1]) == ["verify_failed", ""]
    assert "verify_failed" in either_or.model.requests[-1].prompt


def test_what_never_fits_fails_and_leaves_the_tip_alone(either_or: Factory) -> None:
    replies = {"WO-01": [wrote(1)], "WO-02": [wrote(2, "alone\n"), wrote(2, "still\n")]}
    summary = either_or.run_all(manifest([step(1), step(2)]), replies, max_attempts=2)
    assert states(summary) == ["landed", "failed"]
    assert summary.verdict == "FAIL"
    assert landed_on(either_or.repo) == ["WO-01"]
    assert summary.tip == either_or.tip() == summary.orders[0].commit
    assert [each.baseline for each in either_or.seen(OrderStarted)] == [summary.base] * 2


# What fits the commit that it follows, whatever it began with


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_lacks_an_undeclared_file_is_judged_where_it_is(factory: Factory, jobs: int) -> None:
    """Nothing says that 2 needs 1: neither the order nor the words of its command."""
    needing = step(2, acceptance_commands=["python -c \"open('1' + '.txt')\""])
    summary = factory.run_all(manifest([step(1), needing]), each_writes(1, 2), jobs=jobs)
    assert states(summary) == ["landed", "landed"]
    assert counted(factory) == {"WO-01": 1, "WO-02": 1}
    assert summary.orders[1].attempts == 1


def test_what_fails_for_a_reason_of_its_own_is_not_paid_for_twice(factory: Factory) -> None:
    replies: dict[str, list[Reply]] = {"WO-01": [wrote(1)], "WO-02": [wrong, wrong]}
    summary = factory.run_all(manifest([step(1), step(2)]), replies, max_attempts=2, jobs=2)
    assert states(summary) == ["landed", "failed"]
    assert counted(factory) == {"WO-01": 1, "WO-02": 2}


# Files that changed meanwhile: here after an order was changed between two runs


def first_run(factory: Factory) -> None:
    """Order 1 fails, 2 lands with a file that a later version of 1 writes too."""
    orders = loose_orders(factory.scratch / "orders", step(1), step(2))
    replies = {**each_writes(2), "WO-01": [wrong]}
    summary = factory.run_all(orders, replies, max_attempts=1, keep_going=True)
    assert states(summary) == ["failed", "landed"]


def changed_orders(factory: Factory) -> Path:
    return loose_orders(
        factory.scratch / "orders", step(1, allowed_files=["1.txt", "2.txt"]), step(2)
    )


def test_what_changes_a_file_that_another_changed_is_made_again_on_the_tip(
    factory: Factory,
) -> None:
    first_run(factory)

    def reply(request: Request) -> str:
        old = "2\n" if "```\n2\n```" in request.prompt else ""
        files = {"1.txt": "1\n", "2.txt": old + "and more\n"}
        return answer(proposal(files), request)

    summary = factory.run_all(changed_orders(factory), {"WO-01": [reply, reply]})
    assert states(summary) == ["landed", "skipped"]
    assert sent_back(factory) == [
        "WO-01: sent back to be made on the tip: what landed since changes the same files: 2.txt"
    ]
    assert blob(factory.repo, "work", "2.txt") == b"2\nand more\n"
    assert landed_on(factory.repo) == ["WO-02", "WO-01"]
    assert asked(factory) == ["WO-01", "WO-01"]


def test_a_precondition_that_the_tip_no_longer_meets_fails_the_order(factory: Factory) -> None:
    first_run(factory)
    absent = [{"kind": "file_absent", "path": "2.txt"}]
    orders = loose_orders(factory.scratch / "orders", step(1, preconditions=absent), step(2))
    summary = factory.run_all(orders, {"WO-01": [wrote(1)]})
    assert states(summary) == ["failed", "skipped"]
    assert sent_back(factory) == [
        "WO-01: sent back to be made on the tip: precondition file_absent '2.txt' does not hold at "
        "this point of the chain: it exists"
    ]
    assert stages(summary.orders[0]) == ["preflight"]


# The branch moved by someone else in the middle


def somebody_commits(repo: Path, branch: str, path: str = "theirs.txt") -> str:
    """Put a commit on a branch without touching any working tree, as a fetch or a push would."""
    parent = git(repo, "rev-parse", branch)
    content = git(repo, "hash-object", "-w", "--stdin", stdin=b"theirs\n")
    tree = git(repo, "mktree", stdin=f"100644 blob {content}\t{path}\n".encode())
    commit = git(repo, "commit-tree", tree, "-p", parent, "-m", "theirs")
    git(repo, "update-ref", "refs/heads/work", commit)
    return commit


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("keep_going", [False, True])
def test_a_branch_that_someone_else_moves_is_left_as_it_is(
    factory: Factory, jobs: int, keep_going: bool
) -> None:
    theirs: list[str] = []

    def meanwhile(request: Request) -> str:
        theirs.append(somebody_commits(factory.repo, "work"))
        return answer(wrote(2), request)

    chain = [step(1), step(2, context_files=["1.txt"]), step(3), step(4, context_files=["3.txt"])]
    replies = {**each_writes(1, 3, 4), "WO-02": [meanwhile]}
    with pytest.raises(CommandFailed, match="someone else moved it") as error:
        factory.run_all(manifest(chain), replies, jobs=jobs, keep_going=keep_going)
    assert factory.tip() == theirs[0]
    kept = error.value.hint.partition("git merge ")[2].partition("`")[0]
    assert git(factory.repo, "show", f"{kept}:2.txt") == "2"
    summary = factory.record("run_summary.json")
    assert summary["verdict"] == "ERROR"
    assert [each["state"] for each in summary["orders"]] == [
        "landed",
        "failed",
        "pending",
        "pending",
    ]
    assert "WO-04" not in asked(factory)
    assert list(factory.workspaces.iterdir()) == []


def test_a_branch_that_someone_else_makes_in_the_middle_is_left_as_it_is(
    factory: Factory,
) -> None:
    def meanwhile(request: Request) -> str:
        somebody_commits(factory.repo, "main")
        return answer(wrote(1), request)

    with pytest.raises(CommandFailed, match="someone else moved it"):
        factory.run_all(manifest([step(1)]), {"WO-01": [meanwhile]})
    assert git(factory.repo, "log", "-1", "--format=%s", "work") == "theirs"


@pytest.mark.rest
def test_the_next_run_goes_on_from_where_someone_else_moved_it(factory: Factory) -> None:
    def meanwhile(request: Request) -> str:
        somebody_commits(factory.repo, "work")
        return answer(wrote(2), request)

    chain = manifest([step(1), step(2, context_files=["1.txt"]), step(3)])
    with pytest.raises(CommandFailed):
        factory.run_all(chain, {**each_writes(1), "WO-02": [meanwhile]})
    theirs = factory.tip()
    summary = factory.run_all(chain, each_writes(2, 3))
    assert states(summary) == ["skipped", "landed", "landed"]
    assert summary.orders[1].parent == theirs
    assert [each.baseline for each in factory.seen(OrderStarted)] == [theirs, theirs]


def test_the_users_edit_in_the_middle_is_not_overwritten(factory: Factory) -> None:
    """The branch is checked out, and what is about to land is being edited there."""
    git(factory.repo, "switch", "--quiet", "-c", "work")

    def meanwhile(request: Request) -> str:
        (factory.repo / "2.txt").write_text("mine\n")
        return answer(wrote(2), request)

    replies = {**each_writes(1, 3), "WO-02": [meanwhile]}
    with pytest.raises(CommandFailed, match="could not follow"):
        factory.run_all(manifest([step(1), step(2), step(3)]), replies)
    assert (factory.repo / "2.txt").read_text() == "mine\n"
    assert landed_on(factory.repo) == ["WO-01"]
    assert git(factory.repo, "status", "--porcelain") == "?? 2.txt"
