"""`llmch check --accept-edits`: what a person edited becomes the plan, or nothing changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factory.orders.order_commit import identities
from factory.orders.read_orders import read_workdir
from factory.record.landed import plan_branch
from shared.errors import InvalidInput
from shared.git.client import Git
from shared.work_order.parse_order import manifest_sha256
from tests.harness import as_ordinary_user, fingerprint, git, hashed
from tests.harness import manifest as sealed
from tests.llmch.command_line import Say
from tests.planner.plans import exists, order

MANIFEST = "WORK_ORDERS_MANIFEST.json"
REQUIREMENTS = [{"id": "R1", "text": "All sources compile.", "line": 3}]
TITLE = "Check the sources"  # of the first order
BASE = [{"path": "src/app.py", "sha256": "a" * 64}]


def planned(*orders: Any, **fields: Any) -> Any:
    return hashed({**sealed(orders), "requirements": REQUIREMENTS, "base_files": BASE, **fields})


@pytest.fixture
def folder(cwd: Path) -> Path:
    """A plan of three orders as it was made: manifest and order files."""
    folder = cwd.parent / "plan"
    folder.mkdir()
    put(folder, planned(order(1, covers=["R1"]), order(2), order(3)))
    return folder


def put(folder: Path, document: Any) -> None:
    write(folder, MANIFEST, document)
    for each in document["work_orders"]:
        write(folder, f"{each['id']}.json", each)


def read(folder: Path, name: str = MANIFEST) -> Any:
    return json.loads((folder / name).read_text())


def write(folder: Path, name: str, document: Any) -> None:
    (folder / name).write_text(json.dumps(document))


def edit_file(folder: Path, name: str = "WO-02", **fields: Any) -> None:
    write(folder, f"{name}.json", {**read(folder, f"{name}.json"), **fields})


def edit_manifest(folder: Path, number: int = 2, **fields: Any) -> None:
    document = read(folder)
    document["work_orders"][number - 1].update(fields)
    write(folder, MANIFEST, document)


def is_true(folder: Path) -> Any:
    """Return the manifest of a plan that agrees with itself and can be run."""
    document = read(folder)
    assert document["provenance"]["manifest_sha256"] == manifest_sha256(document)
    names = {f"{each['id']}.json" for each in document["work_orders"]}
    present = {each.name for each in folder.glob("WO-*.json")}
    assert present in (names, set())
    assert all(read(folder, f"{each['id']}.json") == each for each in document["work_orders"])
    assert all(each.plan is not None for each in read_workdir(folder))
    return document


def marked(document: Any) -> list[str]:
    return [each["id"] for each in document["work_orders"] if each["provenance"].get("edited")]


@pytest.mark.parametrize(("edit", "source"), [(edit_file, "WO-02.json"), (edit_manifest, MANIFEST)])
def test_an_edited_order_is_taken_from_where_it_was_edited(
    say: Say, folder: Path, edit: Callable[..., None], source: str
) -> None:
    before = read(folder)
    edit(folder, notes="Use the new table.", title="Check again")
    with pytest.raises(InvalidInput) as refused:
        read_workdir(folder)
    assert f"`llmch check {folder} --accept-edits`" in refused.value.hint
    said = say("check", folder, "--accept-edits", "--no-repo")
    assert said.code == 0
    lines = [line for line in said.out.splitlines() if "taken: " in line]
    assert len(lines) == 1
    assert f"WO-02 changed in {source}: " in lines[0]
    assert {"title", "notes"} == {*lines[0].rpartition(": ")[2].split(", ")}
    after = is_true(folder)
    assert after["work_orders"][1]["notes"] == "Use the new table."
    assert marked(after) == ["WO-02"]
    for key in ("requirements", "base_files"):
        assert after[key] == before[key]
    origin = after["work_orders"][1]["provenance"]
    assert origin["planner_run_id"] == before["provenance"]["planner_run_id"]
    assert origin["manifest_sha256"] == after["provenance"]["manifest_sha256"]
    digest = before["provenance"]["manifest_sha256"]
    assert after["supersedes"] == {"manifest_sha256": digest, "earlier": [], "title": TITLE}
    # What was taken is the plan now.
    again = fingerprint(folder)
    assert say("check", folder, "--accept-edits", "--no-repo", "--json").document["edits"] == []
    assert fingerprint(folder) == again


def test_the_branch_and_the_lineage_go_on(say: Say, folder: Path) -> None:
    first = read_workdir(folder)[0].plan
    edit_file(folder, notes="one")
    say("check", folder, "--accept-edits", "--no-repo", "--quiet")
    second = read_workdir(folder)[0].plan
    edit_file(folder, notes="two")
    say("check", folder, "--accept-edits", "--no-repo", "--quiet")
    third = read_workdir(folder)[0].plan
    assert first
    assert second
    assert third
    assert third.lineage == (first.manifest_sha256, second.manifest_sha256)
    assert (third.root, third.title) == (first.root, first.title)


def test_edits_with_errors_change_nothing(say: Say, folder: Path) -> None:
    edit_file(folder, allowed_files=["../outside"])
    before = fingerprint(folder)
    said = say("check", folder, "--accept-edits", "--no-repo", "--json")
    assert said.code == 2
    assert [each["code"] for each in said.document["findings"]] == ["E005"]
    assert [each["order"] for each in said.document["edits"]] == ["WO-02"]
    assert fingerprint(folder) == before


def test_orders_are_added_and_removed(say: Say, folder: Path) -> None:
    (folder / "WO-03.json").unlink()
    said = say("check", folder, "--accept-edits", "--no-repo")
    assert "taken: WO-03 removed" in said.out
    assert [each["id"] for each in is_true(folder)["work_orders"]] == ["WO-01", "WO-02"]
    write(folder, "WO-03.json", order(3, title="By hand"))
    said = say("check", folder, "--accept-edits", "--no-repo", "--json")
    assert said.document["edits"] == [
        {"order": "WO-03", "change": "added", "source": "WO-03.json", "fields": []}
    ]
    assert marked(is_true(folder)) == ["WO-03"]


def test_a_gap_is_a_finding_and_changes_nothing(say: Say, folder: Path) -> None:
    (folder / "WO-02.json").unlink()
    before = fingerprint(folder)
    said = say("check", folder, "--accept-edits", "--no-repo", "--json")
    assert "E001" in {each["code"] for each in said.document["findings"]}
    assert fingerprint(folder) == before


def test_edits_are_fixed_before_they_are_taken(say: Say, folder: Path) -> None:
    edit_file(folder, allowed_files=["a.txt", "b.txt"], postconditions=exists("a.txt"))
    before = fingerprint(folder)
    assert say("check", folder, "--accept-edits", "--no-repo", "--json").code == 2
    assert fingerprint(folder) == before
    said = say("check", folder, "--accept-edits", "--fix", "--no-repo", "--json")
    assert (said.code, len(said.document["fixes"]), len(said.document["edits"])) == (0, 1, 1)
    assert is_true(folder)["work_orders"][1]["postconditions"] == exists("a.txt", "b.txt")


def test_where_both_were_edited_the_order_files_count(say: Say, folder: Path) -> None:
    edit_manifest(folder, 3, notes="in the manifest")
    edit_file(folder, notes="in the file")
    said = say("check", folder, "--accept-edits", "--no-repo", "--json")
    assert [each["source"] for each in said.document["edits"]] == ["WO-02.json", "WO-03.json"]
    orders = is_true(folder)["work_orders"]
    assert orders[1]["notes"] == "in the file"
    assert orders[2].get("notes") is None


def test_a_manifest_alone_is_taken_with_all_its_orders(say: Say, folder: Path) -> None:
    for name in ("WO-01", "WO-02", "WO-03"):
        (folder / f"{name}.json").unlink()
    edit_manifest(folder, 1, notes="new")
    said = say("check", folder, "--accept-edits", "--no-repo", "--json")
    assert {each["order"] for each in said.document["edits"]} == {"WO-01", "WO-02", "WO-03"}
    assert [each.name for each in folder.iterdir()] == [MANIFEST]
    assert len(read_workdir(folder)) == 3


def test_a_plan_that_was_edited_is_judged_and_named(say: Say, folder: Path) -> None:
    assert "was edited" not in say("check", folder, "--no-repo", "--verbose").err
    for number in (1, 2, 3):
        edit_file(folder, f"WO-0{number}", notes="new")
        edit_manifest(folder, number, notes="new")
    said = say("check", folder, "--no-repo", "--verbose")
    assert said.code == 0
    assert f"`llmch check {folder} --accept-edits`" in said.err + said.out


def test_an_edited_provenance_is_put_back(say: Say, folder: Path) -> None:
    before = fingerprint(folder)
    origin = read(folder, "WO-02.json")["provenance"]
    edit_file(folder, provenance={**origin, "bootstrap": True})
    said = say("check", folder, "--accept-edits", "--no-repo", "--json")
    assert said.document["edits"] == []
    assert is_true(folder)
    assert fingerprint(folder).keys() == before.keys()


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"id": 3}', '{"id": "WO-09"}'])
def test_an_order_that_cannot_be_read_changes_nothing(say: Say, folder: Path, text: str) -> None:
    (folder / "WO-02.json").write_text(text)
    before = fingerprint(folder)
    said = say("check", folder, "--accept-edits", "--no-repo", "--json")
    assert said.code == 2
    assert fingerprint(folder) == before


def test_a_disk_that_refuses_leaves_the_edits(say: Say, folder: Path) -> None:
    edit_file(folder, notes="new")
    before = fingerprint(folder)
    with as_ordinary_user(folder):
        folder.chmod(0o500)
        said = say("check", folder, "--accept-edits", "--no-repo", "--json")
        folder.chmod(0o700)
    assert said.code == 1
    assert {k: v[2] for k, v in fingerprint(folder).items()} == {k: v[2] for k, v in before.items()}


def test_orders_without_a_manifest_have_nothing_to_take(say: Say, folder: Path) -> None:
    (folder / MANIFEST).unlink()
    edit_file(folder, notes="new")
    before = fingerprint(folder)
    said = say("check", folder, "--accept-edits", "--no-repo", "--json")
    assert (said.code, said.document["edits"]) == (0, [])
    assert fingerprint(folder) == before


def test_a_file_that_an_edited_order_now_touches_is_recorded(
    say: Say, folder: Path, repo: Path
) -> None:
    edit_file(folder, context_files=["README.md"])
    assert say("check", folder, "--accept-edits", "--repo", repo).code == 0
    assert [each["path"] for each in is_true(folder)["base_files"]] == ["src/app.py", "README.md"]


def test_an_order_that_landed_is_not_edited(say: Say, folder: Path, repo: Path) -> None:
    (first, *_) = read_workdir(folder)
    trailers = identities(first.order, first.plan)[0].trailers()
    git(repo, "switch", "--quiet", "--create", plan_branch(Git(repo), [first]))
    git(repo, "commit", "--quiet", "--allow-empty", f"--message=WO-01: x\n\n{trailers}")
    commit = git(repo, "rev-parse", "HEAD")
    edit_file(folder, "WO-02", notes="new")
    assert say("check", folder, "--accept-edits", "--repo", repo).code == 0
    before = fingerprint(folder)
    edit_file(folder, "WO-01", notes="new")
    said = say("check", folder, "--accept-edits", "--repo", repo, "--json")
    assert f"WO-01 ({commit[:12]})" in said.error["message"]
    assert read(folder, "WO-01.json")["notes"] == "new"
    assert fingerprint(folder)[MANIFEST] == before[MANIFEST]
