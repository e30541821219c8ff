"""`llmch verify --merge`: what a merge leaves of the requirements that both sides have proven."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.factory.drift.landed_shop import SHOP, make_shop
from tests.harness import commit_all, git
from tests.llmch.command_line import Say

RATED = SHOP.replace("3 * n", "rates.FACTOR * n")
SPLIT = f"import rates\n\n\n{RATED}"


@pytest.fixture
def split(repo: Path) -> Path:
    """A landed shop and two branches, `theirs` checked out: each passes, and they do not conflict.

    One gives the factor another name, and the other uses it at a second place.
    """
    make_shop(repo)
    commit_all(repo, {"rates.py": "FACTOR = 3\n", "shop.py": SPLIT})
    git(repo, "branch", "--quiet", "theirs")
    commit_all(repo, {"rates.py": "CENTS = 3\n", "shop.py": SPLIT.replace("FACTOR", "CENTS")})
    git(repo, "switch", "--quiet", "theirs")
    commit_all(repo, {"shop.py": SPLIT.replace("sum(map(price, ns))", "rates.FACTOR * sum(ns)")})
    return repo


@pytest.mark.rest
def test_two_sides_that_pass_and_their_merge_does_not(say: Say, split: Path) -> None:
    where = ("--repo", split, "--sandbox", "off")
    said = say("verify", "--merge", "work..theirs", *where, "--json")
    assert said.code == 1, said.err
    rows = {each["id"]: each for each in said.document["requirements"]}
    assert {name: (r["base"], r["head"], r["merge"], r["ok"]) for name, r in rows.items()} == {
        "R1": ("proven", "proven", "proven", True),
        "R2": ("proven", "proven", "proven", True),
        "R3": ("proven", "proven", "broken", False),
        "R4": ("unproven", "unproven", "unproven", True),
    }
    assert "FACTOR" in rows["R3"]["detail"]
    assert said.document["requirements"][0]["id"] == "R3"
    refs = git(split, "for-each-ref", "--contains", said.document["merge"])
    assert refs == ""  # the merge was made, and nothing has it
    # As CI has it: the merge commit is checked out, and no branch.
    git(split, "switch", "--quiet", "--detach", "work")
    git(split, "merge", "--quiet", "--no-edit", "theirs")
    said = say("verify", "--merge", "HEAD^1..HEAD", *where, "--markdown")
    assert said.code == 1
    assert "| R3 | proven | proven | broken |" in said.out
    # The control: without the second use, nothing is lost.
    git(split, "switch", "--quiet", "--create", "other", "theirs~1")
    commit_all(split, {"other.txt": "more\n"})
    said = say("verify", "--merge", "work..other", *where)
    assert (said.code, "nothing lost by the merge" in said.out) == (0, True), said.out


def test_a_merge_that_conflicts_is_named(say: Say, repo: Path) -> None:
    make_shop(repo)
    git(repo, "branch", "--quiet", "theirs")
    commit_all(repo, {"shop.py": SHOP.replace("3 * n", "n * 3")})
    git(repo, "switch", "--quiet", "theirs")
    commit_all(repo, {"shop.py": SHOP.replace("3 * n", "n + n + n")})
    said = say("verify", "--merge", "work..theirs", "--repo", repo, "--sandbox", "off")
    assert (said.code, "conflict: shop.py" in said.out) == (1, True), said.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--merge", "work"), "does not name two commits"),
        (("--merge", "work...HEAD"), "does not name two commits"),
        (("--merge", "work..nowhere"), "does not name a commit"),
        (("--merge", "work..HEAD", "--rerun"), "does not go with --rerun"),
    ],
)
def test_what_is_refused(say: Say, repo: Path, words: tuple[str, ...], problem: str) -> None:
    git(repo, "branch", "--quiet", "work")
    said = say("verify", *words, "--repo", repo)
    assert (said.code, problem in said.err) == (2, True), said.err
