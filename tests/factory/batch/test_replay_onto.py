"""`run-all --onto`: landed orders are replayed on another branch, each judged there anew."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from factory.audit.audit import audit, commits_named
from factory.audit.audit_evidence import AuditEvidence
from factory.batch.accept_proposals import NOBODY, options_onto
from factory.batch.batch import run_all
from factory.orders.documents import BatchSummary
from shared.errors import InvalidInput, LlmchError, PreflightRefused
from shared.events.events import Noted
from shared.git import trees
from shared.git.client import Git
from tests.factory.batch.batching import asked, states
from tests.fakes import Reply, proposal
from tests.harness import Factory, commit_all, git, manifest, order, stages, write_plan, writing

BASE = """def price(n):
    return n


def greet(name):
    return name


def last(items):
    return items[-1]
"""
DEARER = BASE.replace("return n\n", "return 3 * n\n")
POLITE = BASE.replace("return name\n", "return 'Hello, ' + name\n")
CHECK = "def test_price():\n    assert price(2) == {}\n"


def shop_order(number: int = 1, check: str = "price(2) == 6", **changes: Any) -> dict[str, Any]:
    command = f"python -c 'from shop import *; assert {check}'"
    fields = {"allowed_files": ["shop.py"], "acceptance_commands": [command], **changes}
    return order(number, **{"title": f"Change the shop {number}", **fields})


@dataclasses.dataclass
class Two:
    """Two plans for one file: the first landed on `work`, the second on `other`."""

    factory: Factory
    plan: Path

    def onto(
        self, onto: str = "other", replies: dict[str, list[Reply]] | None = None, **changes: Any
    ) -> BatchSummary:
        """Replay the first plan; without replies, nobody can be asked."""
        chosen = self.factory.options(**{"branch": None, **changes})
        source = NOBODY if replies is None else self.factory._script(replies)
        self.factory.events = []
        options = options_onto(self.plan, chosen, onto, asks_model=replies is not None)
        return run_all(self.plan, options, source, self.factory._take)


def landed_apart(factory: Factory, first: list[tuple[dict[str, Any], str]], other: str) -> Two:
    """Land the orders of a plan with the given shop on `work`, and another change on `other`."""
    base = commit_all(factory.repo, {"shop.py": BASE, "tests/test_shop.py": ""})
    orders = [each for each, _ in first]
    replies = {each["id"]: [proposal({each["allowed_files"][0]: text})] for each, text in first}
    plan = write_plan(factory.scratch / "first", manifest(orders))
    summary = factory.run_all(plan, replies, branch=None)
    assert summary.verdict == "PASS"
    git(factory.repo, "branch", "other", base)
    second = shop_order(1, "True", title="The other plan")
    if other:
        factory.run_all(
            write_plan(factory.scratch / "second", manifest([second], compile_hash="d" * 64)),
            {"WO-01": [proposal({"shop.py": other})]},
            branch="other",
        )
    return Two(factory, plan)


@pytest.mark.rest
def test_what_does_not_overlap_lands_without_a_model(factory: Factory) -> None:
    two = landed_apart(factory, [(shop_order(), DEARER)], POLITE)
    before = factory.tip("other")
    summary = two.onto()
    assert (summary.verdict, states(summary)) == ("PASS", ["landed"])
    branch = summary.branch
    assert branch.endswith("-onto-other")
    assert git(factory.repo, "rev-parse", f"{branch}~1") == before == factory.tip("other")
    both = DEARER.replace("return name\n", "return 'Hello, ' + name\n")
    assert git(factory.repo, "show", f"{branch}:shop.py") + "\n" == both
    assert summary.usage.calls == 0


@pytest.mark.rest
def test_equal_inputs_give_equal_commits(factory: Factory) -> None:
    two = landed_apart(factory, [(shop_order(), DEARER)], POLITE)
    first = two.onto()
    git(factory.repo, "branch", "-D", first.branch)
    again = two.onto()
    assert again.tip == first.tip
    assert two.onto(branch="elsewhere").tip == first.tip
    skipped = two.onto()
    assert states(skipped) == ["skipped"]


@pytest.mark.rest
def test_the_commit_says_what_it_came_from_and_is_proven(factory: Factory) -> None:
    two = landed_apart(factory, [(shop_order(), DEARER)], POLITE)
    summary = two.onto()
    before = git(factory.repo, "log", "-1", "--format=%H", git_branch(factory))
    message = git(factory.repo, "log", "-1", "--format=%B", summary.branch)
    assert message == git(factory.repo, "log", "-1", "--format=%B", before)
    note = git(factory.repo, "notes", "--ref=llmch", "show", summary.branch)
    assert "model: none" in note
    assert f"agent: commit {before[:12]} of {git_branch(factory)} {before}" in note
    (record,) = summary.orders[0].attempt_records
    assert record.agent is not None
    assert (record.agent.version, record.agent.merged) == (before, ("shop.py",))
    assert len(record.agent.replies) == 1
    repo = Git(factory.repo)
    evidence = AuditEvidence(repo, (factory.artifacts / "factory",))
    (found,) = audit(evidence, commits_named(repo, f"{summary.branch}~1..{summary.branch}")).commits
    rulings = {str(each.claim): str(each.standing) for each in found.rulings}
    assert "contradicted" not in rulings.values()
    assert rulings["reply"] == rulings["commit"] == rulings["files"] == "proven"


def git_branch(factory: Factory) -> str:
    names = git(factory.repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/factory")
    return next(each for each in names.splitlines() if "-onto-" not in each)


@pytest.mark.rest
def test_only_the_order_that_conflicts_asks(factory: Factory) -> None:
    orders = [
        (shop_order(), DEARER),
        (writing("more.py", 2), "x = 1\n"),
        (shop_order(3, "price(1) == 3", depends_on=["WO-01"]), DEARER + "\n\ny = 1\n"),
    ]
    two = landed_apart(factory, orders, BASE.replace("return n\n", "return n + 0\n"))
    mended = BASE.replace("return n\n", "return 3 * n + 0\n")
    summary = two.onto(replies={"WO-01": [proposal({"shop.py": mended})]})
    assert summary.verdict == "PASS"
    assert asked(factory) == ["WO-01"]
    (said,) = [each.message for each in factory.seen(Noted) if "not carried over" in each.message]
    assert "shop.py is changed by both at `return n + 0`" in said
    assert git(factory.repo, "show", f"{summary.branch}:shop.py").endswith("y = 1")


@pytest.mark.rest
def test_without_a_model_a_conflict_fails_by_name_and_what_rests_on_it_waits(
    factory: Factory,
) -> None:
    orders = [
        (shop_order(), DEARER),
        (writing("more.py", 2), "x = 1\n"),
        (shop_order(3, "price(1) == 3", depends_on=["WO-01"]), DEARER + "\n\ny = 1\n"),
    ]
    two = landed_apart(factory, orders, BASE.replace("return n\n", "return n + 0\n"))
    summary = two.onto(keep_going=True)
    assert states(summary) == ["failed", "landed", "blocked"]
    assert stages(summary.orders[0]) == ["conflict"]
    failure = summary.orders[0].failure
    assert failure is not None and "conflicts with other: shop.py" in failure.excerpt
    # What failed is made by a model later, and the rest goes on from there.
    mended = BASE.replace("return n\n", "return 3 * n + 0\n")
    later = two.onto(replies={"WO-01": [proposal({"shop.py": mended})]})
    assert (states(later), asked(factory)) == (["landed", "skipped", "landed"], ["WO-01"])


@pytest.mark.rest
def test_what_merges_and_is_wrong_there_goes_to_the_model(factory: Factory) -> None:
    """The other branch has the greeting shout, and the order's check reads it."""
    check = "greet(price(2)) == 6"
    two = landed_apart(factory, [(shop_order(1, check), DEARER)], POLITE)
    assert stages(two.onto().orders[0]) == ["acceptance_failed"]
    right = DEARER.replace("return name\n", "return name  # as it is\n")
    summary = two.onto(replies={"WO-01": [proposal({"shop.py": right})]}, max_attempts=1)
    assert stages(summary.orders[0]) == ["acceptance_failed", ""]
    assert "acceptance_failed" in factory.prompt()


def test_both_sides_append_code_and_tests(factory: Factory) -> None:
    """The tests of a plan are placed by llmch, and code that both append goes one after another."""
    test = {"path": "tests/test_shop.py", "append": CHECK.format(2)}
    mine = shop_order(1, "more() == 1", acceptance_files=[test])
    two = landed_apart(factory, [(mine, BASE + "\n\ndef more():\n    return 1\n")], "")
    git(factory.repo, "switch", "--quiet", "other")
    theirs = BASE + "\n\ndef most():\n    return 2\n"
    commit_all(
        factory.repo, {"shop.py": theirs, "tests/test_shop.py": "def test_it():\n    pass\n"}
    )
    git(factory.repo, "switch", "--quiet", "main")
    summary = two.onto()
    assert summary.verdict == "PASS", summary.orders[0].failure
    shop = git(factory.repo, "show", f"{summary.branch}:shop.py")
    assert shop + "\n" == theirs + "\n\ndef more():\n    return 1\n"
    tests = git(factory.repo, "show", f"{summary.branch}:tests/test_shop.py")
    assert "test_it" in tests and "test_price" in tests


@pytest.mark.parametrize(
    ("onto", "said"),
    [
        ("nowhere", "does not name a commit"),
        ("{own}", "is the branch that the orders are on"),
        ("unrelated", "no commit in common"),
        ("main", "has main already"),
    ],
)
def test_what_nothing_can_be_carried_onto_is_refused(
    factory: Factory, onto: str, said: str
) -> None:
    two = landed_apart(factory, [(shop_order(), DEARER)], "")
    tree = git(factory.repo, "rev-parse", "main^{tree}")
    git(factory.repo, "branch", "unrelated", git(factory.repo, "commit-tree", "-m", "x", tree))
    before = git(factory.repo, "for-each-ref")
    with pytest.raises(InvalidInput, match=said):
        two.onto(onto.format(own=git_branch(factory)))
    assert git(factory.repo, "for-each-ref") == before


@pytest.mark.rest
def test_a_branch_that_moved_meanwhile_is_refused(factory: Factory) -> None:
    two = landed_apart(factory, [(shop_order(), DEARER)], POLITE)
    two.onto()
    tree = git(factory.repo, "rev-parse", "other^{tree}")
    moved = git(factory.repo, "commit-tree", "-m", "x", "-p", "other", tree)
    git(factory.repo, "branch", "--force", "other", moved)
    with pytest.raises(PreflightRefused, match="has moved since") as refused:
        two.onto()
    assert "--branch" in (refused.value.hint or "")
    assert two.onto(branch="again").verdict == "PASS"


def test_a_plan_that_has_not_landed_is_refused(factory: Factory) -> None:
    plan = write_plan(factory.scratch / "first", manifest([shop_order()]))
    with pytest.raises(InvalidInput, match="no order of the plan"):
        Two(factory, plan).onto("main")


@pytest.mark.rest
def test_a_deleted_branch_is_found_by_its_notes_and_a_merged_one_is_left_alone(
    factory: Factory,
) -> None:
    two = landed_apart(factory, [(shop_order(), DEARER)], POLITE)
    own = git_branch(factory)
    landed = factory.tip(own)
    git(factory.repo, "branch", "-D", own)
    assert two.onto().verdict == "PASS"
    git(factory.repo, "branch", "merged", landed)
    before = git(factory.repo, "for-each-ref", "refs/heads")
    summary = two.onto("merged")
    assert states(summary) == ["skipped"]
    assert git(factory.repo, "for-each-ref", "refs/heads") == before


@pytest.mark.rest
def test_a_protected_branch_is_only_read_and_a_dirty_checkout_is_refused(factory: Factory) -> None:
    two = landed_apart(factory, [(shop_order(), DEARER)], POLITE)
    git(factory.repo, "branch", "--move", "other", "release")
    before = factory.tip("release")
    assert two.onto("release", protected=("release",)).verdict == "PASS"
    assert factory.tip("release") == before
    (factory.repo / "shop.py").write_text("mine\n")
    with pytest.raises(LlmchError, match="uncommitted"):
        two.onto("release", branch="again")
    assert two.onto("release", branch="again", allow_dirty=True).verdict == "PASS"
    assert (factory.repo / "shop.py").read_text() == "mine\n"


def test_a_file_that_is_new_on_both_sides_conflicts(factory: Factory) -> None:
    two = landed_apart(factory, [(shop_order(1, "True", allowed_files=["n.py"]), "a = 1\n")], "")
    git(factory.repo, "switch", "--quiet", "other")
    commit_all(factory.repo, {"n.py": "b = 2\n"})
    git(factory.repo, "switch", "--quiet", "main")
    failure = two.onto().orders[0].failure
    assert failure is not None and "n.py is new on both sides" in failure.excerpt


@pytest.mark.parametrize("underline", ["=" * 37, "=" * 7, "<" * 60])
def test_lines_that_look_like_marks_of_a_conflict_are_text(
    factory: Factory, underline: str
) -> None:
    head = f"Shop\n{underline}\n\n"
    base = commit_all(factory.repo, {"README.rst": head + "one\n"})
    sides = [f"{head}{text}one\n{underline}\n{text}" for text in ("ours\n", "theirs\n")]
    both = trees.merged(Git(factory.repo), *(each.encode() for each in (
        sides[0], head + "one\n", sides[1]
    )))  # fmt: skip
    assert both == (
        f"{head}ours\ntheirs\none\n{underline}\nours\n{underline}\ntheirs\n".encode()
    ), (base, both)


def test_a_commit_that_only_claims_to_be_the_orders_is_a_proposal_like_any(
    factory: Factory,
) -> None:
    """Whoever can write a branch can name an order; what is not the order's stays where it is."""
    two = landed_apart(factory, [(shop_order(), DEARER)], "")
    own = git_branch(factory)
    message = git(factory.repo, "log", "-1", "--format=%B", own)
    git(factory.repo, "switch", "--quiet", "--create", "hostile", "main")
    files = {"shop.py": BASE + "bad = 1\n", "scripts/verify.sh": "true\n", ".gitignore": "*\n"}
    for path, text in files.items():
        (factory.repo / path).parent.mkdir(exist_ok=True)
        (factory.repo / path).write_text(text)
    git(factory.repo, "add", "--all", "--force")
    git(factory.repo, "commit", "--quiet", "--message", message)
    git(factory.repo, "switch", "--quiet", "main")
    git(factory.repo, "branch", "-D", own)
    summary = two.onto()
    assert stages(summary.orders[0]) == ["acceptance_failed"]
    assert factory.tip(summary.branch) == ""
    folder = factory.run_folder / "WO-01" / "attempt_1"
    assert "verify.sh" not in (folder / "proposed_writes.json").read_text()
