"""`run-all` on a branch that somebody rebased, squashed, merged or moved since."""

from __future__ import annotations

import pytest

from shared.errors import PreflightRefused
from shared.events.events import Noted
from tests.factory.batch.batching import asked, each_writes, states, step, wrong
from tests.harness import Factory, Json, git, hashed, manifest


def plan() -> Json:
    return manifest([step(1), step(2), step(3)])


def follow_up(before: Json) -> Json:
    """Return a plan that follows `before`: the same orders and one more."""
    digest = before["provenance"]["manifest_sha256"]
    orders = [*before["work_orders"], step(4)]
    origin = dict(before["provenance"])
    orders[-1]["provenance"] = {**origin, "bootstrap": False}
    return hashed(
        {
            **before,
            "work_orders": orders,
            "provenance": origin,
            "supersedes": {"manifest_sha256": digest, "title": "Say hello"},
        }
    )


@pytest.mark.rest
def test_a_plan_that_follows_another_makes_only_what_is_new(factory: Factory) -> None:
    first = plan()
    branch = factory.run_all(first, each_writes(1, 2, 3), branch=None).branch
    summary = factory.run_all(follow_up(first), each_writes(4), branch=None)
    assert (summary.verdict, summary.branch) == ("PASS", branch)
    assert states(summary) == ["skipped", "skipped", "skipped", "landed"]
    assert asked(factory) == ["WO-04"]


def test_a_merged_branch_that_is_gone_is_not_made_again(factory: Factory) -> None:
    factory.run_all(plan(), each_writes(1, 2, 3))
    git(factory.repo, "merge", "--quiet", "--no-ff", "--no-edit", "work")
    git(factory.repo, "branch", "-D", "work")
    summary = factory.run_all(plan(), {}, push=True)
    assert (summary.verdict, states(summary)) == ("PASS", ["skipped"] * 3)
    assert (factory.tip(), summary.pushed) == ("", None)


@pytest.mark.rest
def test_orders_follow_a_squashed_commit(factory: Factory) -> None:
    document = manifest([step(1), step(2), step(3, acceptance_commands=["test -f 1.txt"])])
    factory.run_all(document, {**each_writes(1, 2), "WO-03": [wrong]}, max_attempts=1)
    git(factory.repo, "switch", "--quiet", "work")
    git(factory.repo, "reset", "--quiet", "--soft", "main")
    git(factory.repo, "commit", "--quiet", "--message=Two files")
    squashed = factory.tip()
    summary = factory.run_all(document, each_writes(3))
    assert states(summary) == ["skipped", "skipped", "landed"]
    assert {each.commit for each in summary.orders[:2]} == {squashed}
    assert summary.orders[2].parent == squashed
    notes = [each.message for each in factory.seen(Noted)]
    assert any("WO-02 counts as landed" in each and squashed[:12] in each for each in notes)


@pytest.mark.rest
def test_a_lost_commit_is_asked_about_before_anything_is_paid(factory: Factory) -> None:
    lost = factory.run_all(manifest([step(1)]), each_writes(1)).tip
    git(factory.repo, "switch", "--quiet", "work")
    (factory.repo / "1.txt").write_text("by hand\n")
    git(factory.repo, "commit", "--quiet", "--all", "--amend", "--message=By hand")
    with pytest.raises(PreflightRefused) as refusal:
        factory.run_all(manifest([step(1)]), each_writes(1))
    assert f"WO-01 ({lost[:12]})" in refusal.value.message
    assert "llmch accept WO-01 --commit SHA" in refusal.value.hint
    assert factory.model.requests == []
    summary = factory.run_all(manifest([step(1)]), each_writes(1), allow_lost=True)
    assert states(summary) == ["landed"]
