"""`llmch drift` through the real entry: what it prints, and when it fails."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.factory.drift.landed_shop import SHOP, land_as_llmch, make_shop, orders, plan_of
from tests.fakes import proposal
from tests.harness import Factory, commit_all, fingerprint, git, order, write_plan
from tests.llmch.command_line import Say

SHOP_TEST = "tests/test_shop.py"


@pytest.fixture
def shop(repo: Path) -> Path:
    """A repo with the landed shop, on the branch `work`, in which a total is wrong."""
    make_shop(repo)
    commit_all(repo, {"shop.py": SHOP.replace("sum(", "max(")})
    return repo


def test_one_look_is_shown_in_every_way(say: Say, shop: Path, cwd: Path) -> None:
    """Only the first of these runs a command: the tree is the same for all."""
    before = fingerprint(shop), git(shop, "for-each-ref")
    asked = ("drift", "--repo", shop, "--sandbox", "off")
    said = say(*asked, "--json", "--sarif", cwd / "drift.sarif")
    assert said.code == 1, said.err
    rows = {each["id"]: each for each in said.document["requirements"]}
    assert {name: each["state"] for name, each in rows.items()} == {
        "R1": "proven",
        "R2": "proven",
        "R3": "broken",
        "R4": "unproven",
    }
    assert {name: each["asserted_by"] for name, each in rows.items()} == {
        **dict.fromkeys(("R1", "R2", "R3"), "order"), "R4": "nothing"
    }  # fmt: skip
    assert rows["R3"]["text"] == "A total is the sum of the prices."
    assert (rows["R3"]["work_orders"], rows["R3"]["tests"]) == (["WO-03"], [SHOP_TEST])
    assert "test_total" in rows["R3"]["detail"] and rows["R3"]["strength"] is None
    assert said.document["verification"]["state"] == "passed"
    assert said.document["gaps"] == []

    (run,) = json.loads((cwd / "drift.sarif").read_text())["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert (result["level"], place["uri"]) == ("error", SHOP_TEST)
    assert run["automationDetails"] == {"id": "llmch/drift/"}

    shown = say(*asked)
    assert shown.code == 1
    lines = [each.split()[:2] for each in shown.out.splitlines() if " R" in each]
    assert lines[:4] == [["broken", "R3"], ["unproven", "R4"], ["proven", "R1"], ["proven", "R2"]]
    assert "4 requirements: 2 proven, 1 unproven, 1 broken" in shown.out
    assert "tested with its order, not by name: R3, R1, R2" in shown.out
    assert "| broken | R3 |" in say(*asked, "--markdown").out
    for flags, code in (
        (("--fail-on", "gone,weakened"), 0),
        (("--fail-on", "none"), 0),
        (("--fail-on", "unproven"), 1),
        (("--fail-on", "proven"), 2),
        (("--requirement", "R9"), 2),
        (("nowhere",), 2),
    ):
        assert say(*asked, *flags).code == code, flags
    assert (fingerprint(shop), git(shop, "for-each-ref")) == before


@pytest.mark.rest
def test_it_is_said_once_that_packages_are_prepared(say: Say, shop: Path) -> None:
    said = say("drift", "--repo", shop, "--sandbox", "off", "--deps", "auto")
    assert said.code == 1
    assert (said.out + said.err).count("preparing the target's dependencies") == 1


def test_where_a_branch_has_moved_on_status_and_report_say_so(
    say: Say, factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = factory.repo
    document = order(acceptance_commands=["test -s hello.txt"], covers=["R1"])
    factory.run(document, [proposal({"hello.txt": "hi\n"})], branch="work")
    monkeypatch.setenv("LLMCH_SANDBOX_BACKEND", "off")
    asked = ("--repo", repo, "--artifacts-dir", factory.artifacts)
    assert "since the last order" not in say("status", "--repo", repo).out
    git(repo, "switch", "--quiet", "work")
    commit_all(repo, {"other.txt": "x\n"})
    moved = "work has 1 commit since the last order: "
    assert moved in say("status", "--repo", repo).out
    said = say("report", *asked)
    assert moved in said.out + said.err and "as last looked at" not in said.out + said.err
    assert say("drift", *asked).code == 0
    assert "(as last looked at: 1 requirement" in say("status", "--repo", repo).out


def test_a_repo_without_orders_passes(say: Say, repo: Path) -> None:
    said = say("drift", "--repo", repo, "--sandbox", "off")
    assert said.code == 0
    assert "no order has landed here" in said.out


@pytest.mark.rest
def test_one_requirement_of_another_commit(say: Say, shop: Path) -> None:
    said = say(
        "drift", "HEAD~1", "--repo", shop, "--sandbox", "off", "--requirement", "R2", "--json"
    )
    assert said.code == 0, said.err
    (only,) = said.document["requirements"]
    assert (only["id"], only["state"]) == ("R2", "proven")
    assert said.document["rev"] == git(shop, "rev-parse", "HEAD~1")


@pytest.mark.rest
def test_a_clone_without_notes_says_what_to_fetch_and_takes_the_plan(
    say: Say, shop: Path, cwd: Path
) -> None:
    git(cwd, "clone", "--quiet", str(shop), "clone")
    clone = cwd / "clone"
    asked = ("drift", "--repo", clone, "--sandbox", "off", "--requirement", "R2", "--json")
    said = say("drift", "--repo", clone, "--sandbox", "off", "--json")
    assert (said.code, said.document["requirements"]) == (1, [])
    assert said.document["is_whole"] is False
    (gap,) = said.document["gaps"]
    fetch = "git fetch origin refs/notes/llmch-proof:refs/notes/llmch-proof"
    assert f"{fetch} refs/notes/llmch:refs/notes/llmch" in gap
    plan = write_plan(cwd / "plan", plan_of(orders()))
    planned = say(*asked, "--plan", plan)
    git(clone, *f"{fetch} refs/notes/llmch:refs/notes/llmch".split()[1:])
    noted = say(*asked)
    for said in (planned, noted):
        assert said.code == 0, said.err
        (row,) = said.document["requirements"]
        assert (row["state"], row["text"]) == ("proven", "Somebody is greeted by name.")
        assert said.document["gaps"] == []


@pytest.mark.rest
def test_the_strength_of_one_requirement_is_measured_where_it_is_asked_for(
    say: Say, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMCH_STRENGTH_MUTANTS", "3")
    where = ("--repo", shop, "--sandbox", "off", "--requirement", "R1")
    git(shop, "revert", "--no-edit", "HEAD")  # tests that fail measure nothing
    (row,) = say("drift", *where, "--strength", "--json").document["requirements"]
    assert (row["id"], row["state"]) == ("R1", "proven")
    strength = row["strength"]
    assert (strength["of"], len(strength["survivors"])) == (3, 3 - strength["killed"])
    # A line keeps its author where it moves, so the same faults are found a line below.
    commit_all(shop, {"shop.py": "# so\n" + (shop / "shop.py").read_text()})
    assert re.search(r"R1: strength \d of 3", say("drift", *where, "--strength").out)


def test_an_order_that_covers_nothing_stands_for_itself(say: Say, repo: Path) -> None:
    (page,) = (each for each in orders() if each["covers"] == ["R4"])
    page |= {"id": "WO-01", "covers": []}
    asked = ("drift", "--repo", repo, "--sandbox", "off")
    assert "no order has landed" in say(*asked).out
    land_as_llmch(repo, plan_of([page], {}), {"WO-01": {"page.txt": "Come in.\n"}}, {})
    said = say(*asked, "--json")
    (row,) = said.document["requirements"]
    assert (row["id"], row["text"]) == ("WO-01", "Make a page")
    assert (said.code, row["state"], row["work_orders"]) == (0, "unproven", ["WO-01"])
