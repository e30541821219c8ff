"""An order is known on a branch by its commit, whatever was done to the branch since."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from factory.orders.order_commit import identities, landed_orders
from factory.orders.read_orders import LoadedOrder
from factory.record.landed import LandedOrders, find_landed, landed_on, plan_branch
from shared.git.client import Git
from shared.work_order.parse_order import parse_document
from shared.work_order.plan_folder import PlanFacts
from shared.work_order.work_order import WorkOrder
from tests.harness import commit_all, git, writing

PLAN = PlanFacts("c" * 64, "01RUN", "Three files", lineage=("a" * 64, "b" * 64))


def loaded(count: int = 3, plan: PlanFacts | None = PLAN) -> tuple[LoadedOrder, ...]:
    documents = [writing(f"{number}.txt", number) for number in range(1, count + 1)]
    return tuple(LoadedOrder(parse_document(WorkOrder, each), plan) for each in documents)


def land(repo: Path, order: LoadedOrder, plan: str = PLAN.manifest_sha256) -> str:
    """Commit the order's file as a run of the plan would, note included."""
    (named,) = [each for each in identities(order.order, order.plan) if each.plan in (plan, "")]
    path = order.order.allowed_files[0]
    (repo / path).write_text(f"made by {order.order.id}\n")
    git(repo, "add", path)
    message = f"{order.order.id}: Say hello\n\n{named.trailers()}\n"
    git(repo, "commit", "--quiet", "--file=-", stdin=message.encode())
    commit = git(repo, "rev-parse", "HEAD")
    git(repo, "notes", "--ref=llmch", "add", "--force", "--message=run: 01", commit)
    return commit


@pytest.fixture
def work(repo: Path) -> Path:
    """A repo with the branch of a plan checked out."""
    git(repo, "switch", "--quiet", "--create", "work")
    return repo


def found(repo: Path, branch: str = "work", orders: tuple[LoadedOrder, ...] = ()) -> LandedOrders:
    tip = git(repo, "rev-parse", branch)
    return find_landed(Git(repo), branch, tip, orders or loaded())


def reworded(repo: Path, text: str = "Someone's own words") -> str:
    git(repo, "commit", "--quiet", "--amend", f"--message={text}")
    return git(repo, "rev-parse", "HEAD")


def test_an_order_has_landed_by_any_plan_of_its_lineage(work: Path) -> None:
    orders = loaded()
    commits = [
        land(work, order, plan)
        for order, plan in zip(orders, ("a" * 64, "b" * 64, "c" * 64), strict=True)
    ]
    names = ("WO-01", "WO-02", "WO-03")
    assert landed_on(Git(work), orders, "work") == dict(zip(names, commits, strict=True))
    unrelated = loaded(plan=PlanFacts("d" * 64, "01RUN", "Another plan"))
    assert landed_on(Git(work), unrelated, "work") == {}
    changed = LoadedOrder(orders[0].order.model_copy(update={"intent": "Another."}), PLAN)
    assert landed_on(Git(work), (changed,), "work") == {}


def test_the_branch_is_the_plans_own_where_none_is_named(work: Path) -> None:
    orders = loaded()
    commit = land(work, orders[0])
    git(work, "branch", plan_branch(Git(work), orders))
    git(work, "switch", "--quiet", "main")
    assert landed_on(Git(work), orders) == {"WO-01": commit}
    assert landed_on(Git(work), orders, "main") == {}
    # A branch that does not exist would start from HEAD.
    assert landed_on(Git(work), orders, "absent") == {}
    git(work, "merge", "--quiet", "--no-ff", "--no-edit", "work")
    assert landed_on(Git(work), orders, "absent") == {"WO-01": commit}


def test_a_rebase_keeps_what_landed(work: Path) -> None:
    land(work, loaded()[0])
    git(work, "switch", "--quiet", "main")
    commit_all(work, {"more.txt": "more\n"})
    git(work, "switch", "--quiet", "work")
    git(work, "rebase", "--quiet", "main")
    assert found(work).landed == {"WO-01": git(work, "rev-parse", "HEAD")}


def _squashed_by_git(repo: Path) -> None:
    git(repo, "merge", "--quiet", "--squash", "work")
    git(repo, "commit", "--quiet", "--no-edit")


def _squashed_by_a_forge(repo: Path) -> None:
    messages = git(repo, "log", "--reverse", "--format=* %B", "main..work")
    git(repo, "merge", "--quiet", "--squash", "work")
    co_authors = "---------\n\nCo-authored-by: Ada <ada@example.org>\n"
    text = f"Three files (#12)\n\n{messages}\n{co_authors}"
    git(repo, "commit", "--quiet", "--file=-", stdin=text.encode())


def _squashed_in_own_words(repo: Path) -> None:
    git(repo, "merge", "--quiet", "--squash", "work")
    git(repo, "commit", "--quiet", "--message=Three files")


@pytest.mark.parametrize("squash", [_squashed_by_git, _squashed_by_a_forge, _squashed_in_own_words])
def test_one_squashed_commit_stands_for_several_orders(
    work: Path, squash: Callable[[Path], None]
) -> None:
    for order in loaded():
        land(work, order)
    git(work, "switch", "--quiet", "main")
    squash(work)
    commit = git(work, "rev-parse", "main")
    result = found(work, "main")
    assert result.landed == dict.fromkeys(("WO-01", "WO-02", "WO-03"), commit)
    assert result.lost == ()
    assert bool(result.by_content) is (squash is _squashed_in_own_words)


def test_a_reset_and_one_commit_of_all_stands_for_them(work: Path) -> None:
    for order in loaded():
        land(work, order)
    git(work, "reset", "--quiet", "--soft", "main")
    git(work, "commit", "--quiet", "--message=Three files")
    result = found(work)
    assert result.landed == dict.fromkeys(("WO-01", "WO-02", "WO-03"), result.first_parents[0])


def test_a_reworded_commit_is_known_by_what_it_changes(work: Path) -> None:
    first = land(work, loaded()[0])
    land(work, loaded()[1])
    commit = reworded(work)
    result = found(work)
    assert result.landed == {"WO-01": first, "WO-02": commit}
    assert (result.by_content, result.lost) == (("WO-02",), ())


def test_a_cherry_pick_in_other_words_is_known_on_another_branch(work: Path) -> None:
    land(work, loaded()[0])
    picked = land(work, loaded()[1])
    git(work, "switch", "--quiet", "--create", "other", "main")
    commit_all(work, {"more.txt": "more\n"})
    git(work, "cherry-pick", picked)
    commit = reworded(work)
    result = found(work, "other")
    assert result.landed == {"WO-02": commit}
    assert result.lost == ()  # WO-01 was never on this branch


def test_a_rewritten_commit_that_changes_something_else_is_asked_about(work: Path) -> None:
    commit = land(work, loaded()[0])
    (work / "1.txt").write_text("another text\n")
    git(work, "add", "1.txt")
    reworded(work)
    result = found(work)
    assert result.landed == {}
    assert [(each.order, each.commit) for each in result.lost] == [("WO-01", commit)]
    assert result.compared == 1


def test_a_branch_that_was_moved_back_is_not_asked_about(work: Path) -> None:
    first = land(work, loaded()[0])
    land(work, loaded()[1])
    git(work, "reset", "--quiet", "--hard", "HEAD~1")
    assert (found(work).landed, found(work).lost) == ({"WO-01": first}, ())
    commit_all(work, {"more.txt": "the person goes on\n"})
    assert found(work).lost == ()


def test_a_commit_that_git_no_longer_has_is_passed_over(work: Path) -> None:
    commit = land(work, loaded()[0])
    git(work, "reset", "--quiet", "--hard", "HEAD~1")
    commit_all(work, {"more.txt": "more\n"})
    git(work, "reflog", "expire", "--expire=now", "--all")
    git(work, "update-ref", "-d", "ORIG_HEAD")
    git(work, "prune", "--expire=now")
    assert commit in git(work, "notes", "--ref=llmch", "list")
    assert (found(work).landed, found(work).lost) == ({}, ())


@pytest.mark.parametrize("indent", [" ", "  ", "   ", "\t", "> "])
def test_a_line_that_only_looks_like_a_trailer_is_none(indent: str) -> None:
    (identity, *_) = identities(loaded()[0].order, PLAN)
    quoted = "\n".join(indent + line for line in identity.trailers().splitlines())
    assert landed_orders([("c", f"Title\n\n{quoted}\n")]) == {}
    assert landed_orders([("c", f"Title\n\n{identity.trailers()}\n")]) == {identity: "c"}
