"""`llmch diff PLAN_A PLAN_B`: how two plans differ, whether or not one follows the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes import proposal
from tests.harness import Factory, Json, hashed, manifest, order, write_plan, writing
from tests.llmch.command_line import Say

ONE = {"id": "R1", "text": "Say hello."}
TWO = {"id": "R2", "text": "Say goodbye."}


def plan(orders: list[Json], *requirements: Json, **more: Any) -> Json:
    return hashed({**manifest(orders), "requirements": [*requirements], **more})


BEFORE = plan([writing("1.txt", 1), writing("2.txt", 2), writing("3.txt", 3)], ONE, TWO)
HASH = BEFORE["provenance"]["manifest_sha256"]
AFTER = plan(
    [
        writing("1.txt", 1),
        writing("2.txt", 2, notes="    Be brief.\nBe kind.", acceptance_commands=["false"]),
        writing("4.txt", 4, title="Say goodbye"),
    ],
    {"id": "R1", "text": "Say hello loudly."},
    {"id": "R3", "text": "Say when."},
    supersedes={"manifest_sha256": HASH},
    withdrawn=[{"id": "WO-03", "reason": "Nobody wants it."}],
)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return write_plan(tmp_path / "before", BEFORE)


@pytest.fixture
def after(tmp_path: Path) -> Path:
    return write_plan(tmp_path / "after", AFTER)


def test_two_plans_are_compared_by_requirement_and_by_order(
    say: Say, before: Path, after: Path
) -> None:
    said = say("diff", before, after)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        f"from {before} to {after}, which follows it",
        "",
        "Requirements",
        "    ~ R1: the text has changed",
        "    - Say hello.",
        "    + Say hello loudly.",
        "    + R3: Say when.",
        "    - R2: Say goodbye.",
        "● WO-02    replaced  Say hello",
        "    ~ acceptance_commands:",
        "    - true",
        "    + false",
        "    ~ notes:",
        "    +     Be brief.",
        "    + Be kind.",
        "○ WO-03    withdrawn Say hello  (Nobody wants it.)",
        "● WO-04    added     Say goodbye",
        "Orders that are kept as they are",
        "      WO-01",
        "",
        "Difference: 1 requirement changed, 1 added, 1 removed, 0 untouched; "
        "1 order added, 1 replaced, 1 withdrawn, 1 kept",
    ]


def test_the_document_for_programs(say: Say, before: Path, after: Path) -> None:
    document = say("diff", before, after, "--json").document
    assert document["plans"] == [str(before), str(after)]
    assert (document["equal"], document["follows"]) == (False, True)
    (changed,) = document["requirements"]["changed"]
    assert changed["id"] == "R1"
    assert (changed["before"], changed["after"]) == ("Say hello.", "Say hello loudly.")
    changes = {each["id"]: each["change"] for each in document["orders"]}
    assert changes == {
        "WO-01": "kept", "WO-02": "replaced", "WO-03": "withdrawn", "WO-04": "added"
    }  # fmt: skip
    assert document["orders"][1]["fields"][0] == {
        "field": "acceptance_commands", "lines": ["-true", "+false"]
    }  # fmt: skip


def test_equal_plans_are_said_to_be_equal(say: Say, before: Path) -> None:
    said = say("diff", before, f"{before}/")
    assert said.code == 0
    assert "both plans are to do the same (2 requirements, 3 orders)" in said.out
    assert say("diff", before, before, "--json").document["equal"] is True


def test_markdown_shows_the_same(say: Say, before: Path, after: Path) -> None:
    said = say("diff", before, after, "--markdown")
    assert said.code == 0
    assert "### WO-03 (withdrawn): Say hello (Nobody wants it.)" in said.out
    assert "- `+` `Say hello loudly.`\n" in said.out
    assert "- `+` `    Be brief.`\n" in said.out


def test_what_has_landed_is_said_where_a_repo_is_known(
    say: Say, before: Path, factory: Factory
) -> None:
    replies = {f"WO-0{n}": [proposal({f"{n}.txt": "text\n"})] for n in (1, 2, 3)}
    assert factory.run_all(before, replies, branch=None).verdict == "PASS"
    said = say("diff", before, before, "--repo", factory.repo, "--json")
    assert {each["state"] for each in said.document["orders"]} == {"landed"}
    elsewhere = say("diff", before, before, "--json")
    assert {each["state"] for each in elsewhere.document["orders"]} == {"to_do"}


# Which words name plans


def test_a_path_is_never_an_order(say: Say, cwd: Path) -> None:
    for name in ("WO-01", "WO-02"):
        write_plan(cwd / name, BEFORE)
    assert say("diff", "./WO-01", "./WO-02").code == 0
    assert say("diff", "WO-01", "WO-02").code != 0
    write_plan(cwd / "latest", BEFORE)
    assert say("diff", "latest", "WO-01").code != 0
    assert say("diff", "latest", "./WO-01").code == 0


def test_a_folder_without_a_plan_is_named(say: Say, before: Path, tmp_path: Path) -> None:
    said = say("diff", before, tmp_path / "none", "--json")
    assert (said.code, "none is not a directory" in said.error["message"]) == (2, True)
    (tmp_path / "empty").mkdir()
    assert "holds no work orders" in say("diff", tmp_path / "empty", before).err


def test_a_plan_of_which_nothing_can_be_read_is_refused(
    say: Say, before: Path, after: Path
) -> None:
    (after / "WO-01.json").write_text("{,")
    for pair in ((before, after), (after, before)):
        said = say("diff", *pair, "--json")
        assert said.code == 2
        assert f"the plan in {after} cannot be read: WO-01.json: not JSON" in said.error["message"]


def test_lines_are_counted_for_attempts_alone(say: Say, before: Path, after: Path) -> None:
    said = say("diff", before, after, "--stat", "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "--stat" in said.error["message"]


def test_plans_that_cannot_be_executed_are_compared_as_far_as_they_can_be_read(
    say: Say, before: Path, tmp_path: Path
) -> None:
    broken = write_plan(tmp_path / "broken", {"work_orders": [order(1, allowed_files=7)]})
    said = say("diff", before, broken)
    assert said.code == 0
    assert "    ~ allowed_files:\n    - 1.txt\n    + 7\n" in said.out


def test_hostile_texts_stay_in_their_lines(say: Say, before: Path, tmp_path: Path) -> None:
    evil = "\x1b[2J\u202eevil\nWO-09 landed\u2028<b>"
    changed = write_plan(tmp_path / "evil", plan([writing("1.txt", 1, title=evil, notes=evil)]))
    for form in ([], ["--markdown"]):
        text = say("diff", before, changed, *form).out
        assert not {"\x1b", "\u202e", "\u2028"} & set(text)
        assert not [line for line in text.splitlines() if line.startswith("WO-09")]
