"""`llmch show`: what a plan will do, for people and for programs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from llmch.console import Color, Format, Verbosity, open_console
from llmch.entry.boundary import answer
from shared.errors import InvalidInput
from tests.fakes import proposal
from tests.harness import (
    Factory,
    Json,
    commit_all,
    git,
    hashed,
    manifest,
    order,
    write_plan,
    writing,
)
from tests.llmch.command_line import Say, snapshot
from tests.llmch.verbs.test_agreement import mutated_plans

TEST = {"path": "tests/test_hello.py", "content": "def test_r2():\n    assert 1 + 1 == 2\n"}
REQUIREMENTS = [
    {"id": "R1", "text": "Say hello."},
    {"id": "R2", "text": "Test it."},
    {"id": "R3", "text": "Say goodbye."},
]


def two_orders(**more: Any) -> Json:
    document = manifest(
        [
            order(1, covers=["R1"]),
            order(
                2,
                title="Test the greeting",
                allowed_files=["README.md", "tests/__init__.py"],
                context_files=["hello.txt"],
                acceptance_files=[TEST],
                removed_files=["src/app.py"],
                acceptance_commands=["python -m pytest -q tests/test_hello.py"],
                covers=["R2"],
            ),
        ]
    )
    return hashed({**document, "requirements": REQUIREMENTS, **more})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_plan(tmp_path / "plan", two_orders())


def test_each_order_is_shown_with_what_it_will_do(say: Say, folder: Path, repo: Path) -> None:
    before = snapshot(repo)
    said = say("show", folder, "--repo", repo)
    assert (said.code, said.err) == (0, "")
    lines = [each for each in said.out.splitlines() if "expected about" not in each]
    assert lines == [
        lines[0],
        "",
        "● WO-01    to do     Say hello",
        "    + hello.txt",
        "    $ test -f hello.txt",
        "      covers R1 by a claim only",
        "● WO-02    to do     Test the greeting",
        "    ~ README.md",
        "    + tests/__init__.py",
        "    + tests/test_hello.py  (a test of the plan)",
        "    - src/app.py",
        "      needs WO-01",
        "    $ python -m pytest -q tests/test_hello.py",
        "      covers R2 by a test",
        "Requirements that no order covers",
        "    ! R3 Say goodbye.",
        "",
    ]
    assert f"for {repo}: its branch factory/say-hello-" in lines[0]
    assert "does not exist yet" in lines[0]
    *_, last = said.out.splitlines()
    assert last.startswith(
        "Plan: 2 orders, 2 to do; 3 files new, 1 changed, 1 removed; expected about $"
    )
    assert snapshot(repo) == before


def test_an_order_that_expects_to_be_exempt_says_so(say: Say, tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "exempt", manifest([order(1, verify_exempt=True), order(2)]))
    said = say("show", plan, "--no-repo")
    assert said.out.count("expected to be proven by compiling alone") == 1
    document = say("show", plan, "--no-repo", "--json").document
    assert [each["exempt"] for each in document["orders"]] == [True, False]


def test_the_document_for_programs(say: Say, folder: Path, repo: Path) -> None:
    document = say("show", folder, "--repo", repo, "--json").document
    assert (document["branch_exists"], document["follows"], document["findings"]) == (
        False,
        [],
        None,
    )
    one, two = document["orders"]
    assert (one["state"], one["commit"], one["needs"]) == ("to_do", None, [])
    assert two["needs"] == ["WO-01"]
    assert two["files"][2] == {"path": "tests/test_hello.py", "effect": "new", "is_test": True}
    assert two["covers"] == [{"id": "R2", "asserted_by": "test"}]
    assert one["forecast"]["orders"] == 1
    assert document["forecast"]["orders"] == 2
    assert document["counts"] == {
        "orders": 2, "to_do": 2, "landed": 0, "accepted": 0, "left_out": 0, "files_new": 3,
        "files_changed": 1, "files_removed": 1, "uncovered": 1,
    }  # fmt: skip
    assert [each["asserted_by"] for each in document["requirements"]] == ["nothing", "test", None]


def test_quiet_is_the_line_that_counts(say: Say, folder: Path) -> None:
    said = say("show", folder, "--no-repo", "--quiet")
    assert len(said.out.splitlines()) == 1
    assert said.out.startswith("Plan: 2 orders, 2 to do; 4 files new, 0 changed, 0 removed; ")


def test_without_a_repo_the_plan_is_shown_for_an_empty_one(say: Say, folder: Path) -> None:
    said = say("show", folder)
    assert "is not in a git repo: the plan is shown for an empty one" in said.out
    assert f"{folder}, for an empty repo" in said.out
    assert say("show", folder, "--json").document["repo"] is None


def test_what_has_landed_is_shown_as_its_commit_made_it(
    say: Say, tmp_path: Path, factory: Factory
) -> None:
    plan = hashed(manifest([writing("1.txt", 1), writing("2.txt", 2, context_files=["1.txt"])]))
    folder = write_plan(tmp_path / "plan", plan)
    factory.run_all(
        folder,
        {"WO-01": [proposal({"1.txt": "text\n"})], "WO-02": [proposal({"no.txt": "x\n"})]},
        max_attempts=1,
        branch=None,
    )
    branch = git(factory.repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/factory")
    commit = git(factory.repo, "rev-parse", branch)
    said = say("show", folder, "--repo", factory.repo)
    assert f"on the branch {branch} of {factory.repo}" in said.out
    assert f"✓ WO-01    landed    Say hello  ({commit[:10]})\n    + 1.txt\n● WO-02" in said.out
    assert "Plan: 2 orders, 1 landed, 1 to do; 1 file new, 0 changed, 0 removed; " in said.out
    document = say("show", folder, "--repo", factory.repo, "--json").document
    assert [each["commit"] for each in document["orders"]] == [commit, None]
    assert document["orders"][0]["forecast"] is None
    assert document["forecast"]["orders"] == 1
    assert say("show", "--repo", factory.repo).out == said.out
    other = say("show", folder, "--repo", factory.repo, "--branch", "main", "--json").document
    assert other["counts"]["landed"] == 0


def test_an_order_of_a_plan_before_is_landed_in_the_one_that_follows(
    say: Say, tmp_path: Path, factory: Factory
) -> None:
    first = hashed(manifest([writing("1.txt", 1)]))
    before = write_plan(tmp_path / "before", first)
    factory.run_all(before, {"WO-01": [proposal({"1.txt": "text\n"})]}, branch="work")
    follows = {"manifest_sha256": first["provenance"]["manifest_sha256"], "title": "Say hello"}
    second = manifest([writing("1.txt", 1), writing("2.txt", 2)])
    gone = [{"id": "WO-07", "reason": "Nobody wants it."}]
    after = write_plan(
        tmp_path / "after", hashed({**second, "supersedes": follows, "withdrawn": gone})
    )
    said = say("show", after, "--repo", factory.repo, "--branch", "work")
    assert f"it follows the plan {follows['manifest_sha256'][:10]}\n" in said.out
    assert "✓ WO-01    landed" in said.out
    assert "○ WO-07    withdrawn Nobody wants it." in said.out
    document = say("show", after, "--repo", factory.repo, "--branch", "work", "--json").document
    assert document["follows"] == [follows["manifest_sha256"]]
    assert document["withdrawn"] == gone


def test_the_files_are_those_of_the_branch(say: Say, folder: Path, repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "work")
    commit_all(repo, {"hello.txt": "hello\n"})
    git(repo, "switch", "--quiet", "main")
    ways = {"main": "new", "work": "changed"}
    for branch, effect in ways.items():
        document = say("show", folder, "--repo", repo, "--branch", branch, "--json").document
        assert document["orders"][0]["files"][0]["effect"] == effect


def test_the_rules_are_asked_where_the_user_wants_it(say: Say, folder: Path, repo: Path) -> None:
    assert "W302" not in say("show", folder, "--repo", repo).out
    said = say("show", folder, "--repo", repo, "--check")
    assert "! W302 requirements[2]: no order covers R3" in said.out
    document = say("show", folder, "--repo", repo, "--check", "--json").document
    assert "W302" in [each["code"] for each in document["findings"]]
    assert all(each["findings"] is not None for each in document["orders"])


# Plans that are wrong, empty or large


def test_what_can_be_read_of_an_invalid_plan_is_shown(say: Say, tmp_path: Path) -> None:
    broken = order(2, acceptance_commands=[7]) | {"title": ["no"]}
    folder = tmp_path / "plan"
    folder.mkdir()
    document = {"work_orders": [order(1), broken, 3]}
    (folder / "WORK_ORDERS_MANIFEST.json").write_text(json.dumps(document))
    said = say("show", folder, "--no-repo")
    assert said.code == 2
    assert "● WO-01    to do     Say hello\n    + hello.txt\n" in said.out
    assert "● WO-02    to do     (no title)\n    ! title: " in said.out
    assert "the order is not an object" in said.out
    assert f"`llmch check {folder}` says why" in said.out
    document = say("show", folder, "--no-repo", "--json").document
    assert "WORK_ORDERS_MANIFEST.json is not a valid work order" in document["refusal"]
    assert document["forecast"] is None


def test_an_order_file_without_json_is_named(say: Say, tmp_path: Path) -> None:
    (tmp_path / "WO-01.json").write_text("{")
    assert "    ! WO-01.json: not JSON: " in say("show", tmp_path, "--no-repo").out


@pytest.mark.parametrize("text", ["", "{", "[]", '{"work_orders": []}'])
def test_a_plan_without_orders_is_no_traceback(say: Say, tmp_path: Path, text: str) -> None:
    (tmp_path / "WORK_ORDERS_MANIFEST.json").write_text(text)
    said = say("show", tmp_path, "--no-repo")
    assert said.code == 2
    assert "llmch check" in said.out + said.err


def test_without_a_run_no_plan_is_meant(say: Say, repo: Path) -> None:
    said = say("show", "--repo", repo)
    assert said.code == 2
    assert "no run of this repo says which plan is meant" in said.err
    assert "name the plan's folder" in said.err


def test_a_folder_without_a_plan_is_refused(say: Say, tmp_path: Path) -> None:
    said = say("show", tmp_path, "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert say("show", tmp_path / "none", "--json").code == 2


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(mutated_plans())
def test_whatever_a_plan_holds_it_is_shown_or_refused_in_words(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    (tmp_path / "WORK_ORDERS_MANIFEST.json").write_text(json.dumps(document))
    with open_console(
        verbosity=Verbosity.QUIET, color=Color.NEVER, output=Format.JSON, stdout=None, stderr=None,
        environ={},
    ) as console:  # fmt: skip
        try:
            shown = answer(["show", str(tmp_path), "--no-repo"], console).document
        except InvalidInput as refused:
            assert refused.message
            return
    assert json.dumps(shown.to_json())
    assert [*shown.blocks()]


HOSTILE = "\x1b[2J\u202eevil ` | <b>**x**</b>\nWO-09 landed"


def test_hostile_texts_stay_in_their_lines(say: Say, tmp_path: Path) -> None:
    one = order(1, title=HOSTILE, acceptance_commands=[f"echo '{HOSTILE}'"], covers=["R1"])
    document = manifest([one])
    requirements = [{"id": "R1", "text": HOSTILE}, {"id": "R2", "text": HOSTILE}]
    folder = write_plan(tmp_path / "plan", hashed({**document, "requirements": requirements}))
    text = say("show", folder, "--no-repo").out
    assert not {"\x1b", "\u202e"} & set(text)
    assert not [line for line in text.splitlines() if line.startswith("WO-09")]
    markdown = say("show", folder, "--no-repo", "--markdown").out
    assert not {"\x1b", "\u202e"} & set(markdown)
    assert [line for line in markdown.splitlines() if line.startswith("#")] == [
        r"### WO-01 (to do): evil \` \| &lt;b&gt;\*\*x\*\*&lt;/b&gt; WO-09 landed",
        "### Requirements that no order covers",
    ]


def test_markdown_is_the_only_thing_on_standard_output(say: Say, folder: Path) -> None:
    said = say("show", folder, "--markdown")
    assert ", for an empty repo\n\n### WO-01 (to do): Say hello\n\n- `+` `hello.txt`" in said.out
    assert "- `-` `src/app.py`\n" in said.out
    assert "is not in a git repo" in said.err


def test_two_formats_exclude_each_other(say: Say, folder: Path) -> None:
    said = say("show", folder, "--markdown", "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "not allowed with" in said.error["message"]


def test_two_hundred_orders_are_shown_in_moments(say: Say, tmp_path: Path) -> None:
    orders = [
        writing(f"m{number}.py", number, context_files=[f"m{number - 1}.py"])
        for number in range(1, 201)
    ]
    folder = write_plan(tmp_path / "plan", manifest(orders))
    say("show", folder, "--no-repo")  # so that no import counts
    started = time.process_time()
    said = say("show", folder, "--no-repo")
    assert time.process_time() - started < 1.5
    assert said.code == 0
    assert "Plan: 200 orders, 200 to do; 200 files new" in said.out


def test_what_the_plan_reads_into_the_specification_is_shown_and_stays_with_the_commit(
    say: Say, factory: Factory
) -> None:
    open_one = {
        "kind": "contradiction",
        "text": "R1 says hello, R2 good day.",
        "reading": "hello",
        "requirements": ["R1"],
        "work_orders": ["WO-01"],
    }
    document = manifest([order(covers=["R1"]), order(2, allowed_files=["b.txt"])])
    folder = write_plan(factory.scratch / "plan", hashed({**document, "assumptions": [open_one]}))
    line = "    ! contradiction: R1 says hello, R2 good day. -> hello  (A-"
    said = say("show", folder, "--no-repo")
    assert "Read into the specification\n" in said.out and line in said.out
    (shown,) = say("show", folder, "--no-repo", "--json").document["assumptions"]
    assert {**shown, "id": ""} == {"id": "", **open_one}
    assert line in say("check", folder, "--no-repo").out
    assert say("check", folder, "--no-repo", "--json").document["assumptions"] == [shown]
    summary = factory.run(folder / "WO-01.json", [proposal({"hello.txt": "hello\n"})])
    note = git(factory.repo, "notes", "--ref=llmch", "show", summary.commit or "")
    assert note.endswith("\ncontradiction: R1 says hello, R2 good day. -> hello")
