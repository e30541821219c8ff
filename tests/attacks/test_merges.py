"""Attacks on `llmch verify --merge`: a repo with programs of its own, and commits that lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.factory.drift.landed_shop import PRICE_TEST, SHOP, TOTAL_TEST, make_shop
from tests.harness import commit_all, git
from tests.llmch.command_line import run

SOFTER = f"{PRICE_TEST}\n\n{TOTAL_TEST}".replace("== cents", "== price(n)")


@pytest.mark.rest
def test_a_merge_driver_of_the_repo_is_not_run(repo: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    make_shop(repo)
    commit_all(repo, {".gitattributes": "shop.py merge=own\n"})
    git(repo, "branch", "--quiet", "theirs")
    commit_all(repo, {"shop.py": f"{SHOP}\n\n# ours\n"})
    git(repo, "switch", "--quiet", "theirs")
    commit_all(repo, {"shop.py": f"# theirs\n{SHOP}"})
    git(repo, "config", "merge.own.driver", f"touch {ran}")
    before = git(repo, "for-each-ref")
    said = run(
        "verify", "--merge", "work..theirs", "--repo", str(repo), "--sandbox", "off", cwd=repo
    )
    assert (said.code, "conflict: shop.py" in said.out) == (1, True), said.out
    assert not ran.exists() and git(repo, "for-each-ref") == before
    git(repo, "merge", "--quiet", "--no-edit", "work")
    assert ran.exists()  # the control: git itself runs it


@pytest.mark.rest
def test_a_commit_that_names_an_order_softens_nothing(repo: Path) -> None:
    first = make_shop(repo)[0]
    message = git(repo, "show", "--no-patch", "--no-notes", "--format=%B", first)
    git(repo, "switch", "--quiet", "--create", "theirs")
    (repo / "tests" / "test_shop.py").write_text(SOFTER)
    git(repo, "commit", "--quiet", "--all", f"--message={message}")
    where = ("--repo", str(repo), "--sandbox", "off", "--json")
    said = run("verify", "--merge", "work..theirs", *where, cwd=repo)
    rows = {each["id"]: each for each in said.document["requirements"]}
    assert (said.code, rows["R1"]["base"], rows["R1"]["merge"]) == (1, "proven", "weakened")
    # The control: the same commit with the test as it was.
    git(repo, "checkout", "--quiet", "work", "--", "tests/test_shop.py")
    git(repo, "commit", "--quiet", "--amend", "--allow-empty", "--all", "--no-edit")
    said = run("verify", "--merge", "work..theirs", *where, cwd=repo)
    assert (said.code, said.document["ok"]) == (0, True), said.out
