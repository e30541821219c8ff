"""`llmch report --coverage`: from a plan, from a plan and its repo, and from a repo alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import proposal
from tests.harness import Factory, git, manifest, order, write_plan
from tests.llmch.command_line import Say

REQUIREMENTS = [
    {"id": "R1", "text": "Say hello.", "line": 3},
    {"id": "R2", "text": "Say goodbye.", "line": None},
]


@pytest.fixture
def plan_folder(tmp_path: Path) -> Path:
    document = manifest([order(1, covers=["R1", "R1"])])
    return write_plan(tmp_path / "plan", {**document, "requirements": REQUIREMENTS})


def test_a_plan_shows_each_requirement_with_its_orders_and_commands(
    say: Say, plan_folder: Path
) -> None:
    said = say("report", "--coverage", plan_folder)
    assert said.code == 0
    assert "R1 (line 3) Say hello." in said.out
    assert "1 of 2 requirements covered" in said.out
    assert "WO-01  Say hello" in said.out
    assert "$ test -f hello.txt" in said.out
    assert "R2 Say goodbye.\n    covered by no order" in said.out


def test_a_landed_order_is_found_by_its_trailer(
    say: Say, plan_folder: Path, factory: Factory
) -> None:
    summary = factory.run(order(1, covers=["R1", "R1"]), [proposal({"hello.txt": "hello\n"})])
    assert summary.verdict == "PASS"
    tip = factory.tip()
    said = say("report", "--coverage", plan_folder, "--repo", factory.repo, "--json")
    first, second = said.document["requirements"]
    assert first["orders"][0]["commits"] == [tip]
    assert first["orders"][0]["proofs"] == ["verified by bash scripts/verify.sh"]
    assert (second["orders"], said.document["uncovered"]) == ([], 1)
    shown = say("report", "--coverage", plan_folder, "--repo", factory.repo).out
    assert shown.splitlines()[:4] == [
        "R1 (line 3) Say hello.",
        "    WO-01  Say hello",
        "        $ test -f hello.txt",
        f"        commit {tip[:10]}, verified by bash scripts/verify.sh",
    ]
    alone = say("report", "--coverage", factory.repo)
    assert alone.code == 0
    assert "R1" in alone.out
    assert f"commit {tip[:10]}, verified by" in alone.out
    git(factory.repo, "notes", "--ref=llmch", "remove", tip)
    without = say("report", "--coverage", factory.repo, "--json").document["requirements"]
    assert without[0]["orders"][0]["proofs"] == [""]


def test_requirements_that_are_asserted_alike_share_a_line(say: Say, tmp_path: Path) -> None:
    ids = [f"FR-{number}" for number in range(1, 41)]
    idle = {"path": "test_idle.py", "content": f"# {' '.join(ids[8:39])}\n"}
    run, read = "pytest -q test_idle.py", "grep -q FR-40 hello.txt"
    idle_order = order(2, covers=ids[8:], acceptance_files=[idle], acceptance_commands=[run, read])
    plan = manifest([order(1, covers=ids[:8]), idle_order])
    wanted = [{"id": each, "text": f"It does {each}."} for each in ids]
    checked = say("check", write_plan(tmp_path / "plan", {**plan, "requirements": wanted}))
    lines = [each for each in (checked.out + checked.err).splitlines() if "FR-" in each]
    assert [each.strip() for each in lines] == [
        "8 requirements claimed only: no test of the plan and no command asserts it "
        "(FR-1, FR-2, FR-3, FR-4, FR-5 and 3 more)",
        "31 requirements mentioned only: in a comment, or in a test that is skipped or asserts "
        "nothing (FR-9, FR-10, FR-11, FR-12, FR-13 and 26 more)",
        "FR-40: asserted by a command (WO-02)",
    ]


def test_a_requirement_that_nothing_asserts_is_told_from_one_that_a_test_asserts(
    say: Say, tmp_path: Path
) -> None:
    test = {"path": "test_hello.py", "content": "def test_r2():\n    assert 1 + 1 == 2\n"}
    idle = {"path": "test_idle.py", "content": "def test_r4():\n    pass\n"}
    orders = [
        order(1, covers=["R1"]),
        order(2, covers=["R2"], acceptance_files=[test], acceptance_commands=["pytest -q"]),
        order(3, covers=["R1", "R3"], acceptance_commands=["grep -q hello hello.txt"]),
        order(
            4,
            covers=["R4", "R5"],
            acceptance_files=[idle],
            acceptance_commands=["pytest -q test_idle.py", "grep -q R5 hello.txt"],
        ),
    ]
    folder = write_plan(tmp_path / "plan", {**manifest(orders), "requirements": REQUIREMENTS})
    rows = say("report", "--coverage", folder, "--json").document["requirements"]
    assert [(each["id"], each["asserted_by"]) for each in rows] == [
        ("R1", "order"), ("R2", "test"), ("R3", "order"), ("R4", "comment"), ("R5", "command"),
    ]  # fmt: skip
    assert [each["asserted_by"] for each in rows[0]["orders"]] == ["nothing", "order"]
    shown = say("report", "--coverage", folder).out
    assert "        claimed only: no test of the plan and no command asserts it\n" in shown
    assert (
        "1 asserted by a test of the plan, 1 by a command, 2 tested with an order, "
        "1 mentioned only, 0 claimed only" in shown
    )
    checked = say("check", folder)
    said = checked.out + checked.err
    assert "R4: mentioned only: in a comment, or in a test that is skipped or asserts not" in said
    assert "R5: asserted by a command (WO-04)" in said
    assert not {"R1:", "R2:", "R3:"}.intersection(said.split())
    untried = "not tried on code that does nothing"
    assert f"1 requirement asserted by a test of the plan, {untried}\n" in said
    assert f"2 requirements tested with an order, not by name, {untried} (R1, R3)\n" in said
    assert say("check", folder, "--json").document["requirements"] == [
        {"id": "R1", "asserted_by": "order", "fails_on_hollow_code": None},
        {"id": "R2", "asserted_by": "test", "fails_on_hollow_code": None},
        {"id": "R3", "asserted_by": "order", "fails_on_hollow_code": None},
        {"id": "R4", "asserted_by": "comment", "fails_on_hollow_code": None},
        {"id": "R5", "asserted_by": "command", "fails_on_hollow_code": None},
    ]


def test_another_plans_order_of_the_same_id_does_not_count(
    say: Say, plan_folder: Path, factory: Factory
) -> None:
    other = order(1, covers=["R1"], title="Say something else")
    assert factory.run(other, [proposal({"hello.txt": "hello\n"})]).verdict == "PASS"
    said = say("report", "--coverage", plan_folder, "--repo", factory.repo, "--json")
    assert said.document["requirements"][0]["orders"][0]["commits"] == []


def test_an_order_without_requirements_has_no_such_trailer(say: Say, factory: Factory) -> None:
    factory.run(order(1), [proposal({"hello.txt": "hello\n"})])
    assert say("report", "--coverage", factory.repo, "--json").document["requirements"] == []


def test_what_is_neither_plan_nor_repo_is_refused(say: Say, tmp_path: Path) -> None:
    assert say("report", "--coverage", tmp_path / "nothing", "--json").error["code"] == 2


def test_a_plan_that_names_no_requirement_is_told_how_to_get_some(say: Say, tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "plan", manifest([order(1)]))
    said = say("report", "--coverage", folder)
    assert (said.code, "--require-coverage" in said.out) == (0, True)
    assert say("report", "--coverage", folder, "--json").document["requirements"] == []


@pytest.mark.parametrize("text", ["{", "{}", '{"id": "WO-01"}'])
def test_a_plan_that_cannot_be_read_has_no_report(say: Say, tmp_path: Path, text: str) -> None:
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "WO-01.json").write_text(text)
    said = say("report", "--coverage", tmp_path / "plan", "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "llmch check" in said.error["hint"]
