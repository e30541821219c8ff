"""`llmch check`: all rules on a plan's folder, no model."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.factory.judging.test_evidence import RIGHT, STRONG, declaring
from tests.fakes import proposal
from tests.harness import Factory, Json, commit_all, fingerprint, git, manifest, write_plan, writing
from tests.llmch.command_line import Say, own_environment
from tests.planner.compile.test_dry_run import scored
from tests.planner.plans import creating, exists, order, plan
from tests.real_tools import needs_sandbox

FINDING = {"code", "severity", "work_order", "field", "message", "remedy"}


def write(folder: Path, *orders: Any, manifest: Any = None) -> Path:
    folder.mkdir(exist_ok=True)
    for number, each in enumerate(orders, 1):
        text = each if isinstance(each, str) else json.dumps(each)
        (folder / f"WO-{number:02d}.json").write_text(text)
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        (folder / "WORK_ORDERS_MANIFEST.json").write_text(text)
    return folder


@pytest.fixture
def folder(cwd: Path) -> Path:
    return cwd.parent / "plan"


def test_a_good_plan_passes(say: Say, folder: Path) -> None:
    write(folder, order(1), order(2), manifest=plan(order(1), order(2)))
    said = say("check", folder)
    assert (said.code, said.err) == (0, "")
    assert "PASS" in said.out
    assert "2 work orders, 0 errors, 0 warnings" in said.out


def test_orders_alone_and_a_manifest_alone_are_plans_too(say: Say, folder: Path) -> None:
    assert say("check", write(folder, order(1))).code == 0
    assert say("check", write(folder.parent / "other", manifest=plan(order(1)))).code == 0


def test_a_finding_tells_where_and_how_to_mend_it(say: Say, folder: Path) -> None:
    said = say("check", write(folder, creating(1, "a.py", preconditions=exists("b.py"))))
    assert said.code == 2
    assert "E101" in said.out
    assert "WO-01" in said.out
    assert "preconditions[0]" in said.out
    assert "b.py" in said.out
    assert "1 work order, 1 error, " in said.out


def test_json_is_one_document_with_the_promised_keys(say: Say, folder: Path) -> None:
    write(folder, creating(1, "a.py", preconditions=exists("b.py"), mood="sunny"))
    said = say("check", folder, "--json")
    document = said.document
    assert said.code == 2
    assert document.keys() >= {"ok", "errors", "warnings", "findings"}
    assert all(each.keys() == FINDING for each in document["findings"])
    found = {each["code"]: each for each in document["findings"]}
    assert found["E101"]["severity"] == "error"
    assert found["W102"]["severity"] == "warning"
    assert (found["E101"]["work_order"], found["E101"]["field"]) == ("WO-01", "preconditions[0]")
    errors = [each for each in document["findings"] if each["severity"] == "error"]
    assert (document["ok"], document["errors"]) == (False, len(errors))
    assert document["warnings"] == len(document["findings"]) - len(errors)


def test_orders_that_expect_to_be_exempt_are_named(say: Say, folder: Path) -> None:
    write(folder, order(1, verify_exempt=True), order(2))
    assert say("check", folder, "--json").document["exempt"] == ["WO-01"]
    assert "WO-01: expected to be proven by compiling alone" in say("check", folder).out


def test_warnings_alone_pass(say: Say, folder: Path) -> None:
    said = say("check", write(folder, order(1, mood="sunny")), "--json")
    assert (said.code, said.document["ok"], said.document["warnings"]) == (0, True, 1)


def test_quiet_is_the_verdict_alone(say: Say, folder: Path) -> None:
    said = say("check", write(folder, order(1, id="1")), "--quiet")
    assert said.code == 2
    (line,) = said.out.splitlines()
    assert "FAIL" in line


def test_the_repo_counts_where_it_is_named(say: Say, folder: Path, repo: Path) -> None:
    write(folder, creating(1, "src/more.py", preconditions=exists("src/app.py")))
    assert say("check", folder).code == 2
    assert say("check", folder, "--repo", repo).code == 0


def test_the_files_of_a_branch_count_where_it_is_named(say: Say, folder: Path, repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "work")
    commit_all(repo, {"src/new.py": ""})
    git(repo, "switch", "--quiet", "-")
    write(folder, creating(1, "src/more.py", preconditions=exists("src/new.py")))
    assert say("check", folder, "--repo", repo).code == 2
    assert say("check", folder, "--repo", repo, "--branch", "work").code == 0
    said = say("check", folder, "--repo", repo, "--branch", "other")
    assert said.code == 2
    assert "branch 'other' does not exist yet" in said.out


def test_what_verifies_the_repo_is_no_acceptance_command(
    say: Say, folder: Path, repo: Path
) -> None:
    git(repo, "rm", "--quiet", "-r", ".")
    commit_all(repo, {"package.json": '{"scripts": {"test": "node --test"}}'})
    write(folder, order(1, acceptance_commands=["npm test", "test -f a"]))
    said = say("check", folder, "--repo", repo)
    assert said.code == 2
    assert "E105" in said.out
    assert say("check", folder, "--repo", repo, "--fix").code == 0
    assert "npm" not in (folder / "WO-01.json").read_text()


def calling(number: int, name: str) -> Any:
    command = f'python -c "from src.app import {name}; assert {name}() == 1"'
    return order(number, acceptance_commands=[command])


def test_commands_are_judged_on_what_the_repo_declares(say: Say, folder: Path, repo: Path) -> None:
    (repo / "src" / "app.py").write_text("def one() -> int:\n    return 1\n")
    commit_all(repo)
    said = say("check", write(folder, calling(1, "one"), calling(2, "two")), "--repo", repo)
    assert said.code == 2
    assert "2 work orders, 1 error, 0 warnings" in said.out
    assert "E211" in said.out
    assert '"two"' in said.out


def test_a_checker_that_cannot_start_is_no_pass(
    say: Say, folder: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    said = say("check", write(folder, calling(1, "one")), "--repo", repo, "--json")
    assert said.code == 2
    assert [each["code"] for each in said.document["findings"]] == ["E299"]


@pytest.mark.rest
def test_without_python_commands_no_checker_is_started_or_imported(folder: Path) -> None:
    stub = {"path": "a.py", "stub": "def one() -> int: ..."}
    write(folder, creating(1, "a.py", interfaces=[stub]))
    code = (
        "import sys, tempfile; tempfile.tempdir = '/nowhere'\n"
        "from llmch.cli import main\n"
        f"code = main(['check', {str(folder)!r}, '--no-repo', '--json'])\n"
        "sys.exit(code or 10 * ('mypy' in sys.modules))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], env=own_environment(), capture_output=True, check=False
    )
    assert ended.returncode == 0, ended


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"a": 1, "a": 2}', '{"id": "\\ud800"}', "[" * 100_000],
    ids=["empty", "cut", "list", "number", "duplicate", "surrogate", "deep"],
)
def test_a_malformed_document_is_a_finding_and_no_error(say: Say, folder: Path, text: str) -> None:
    said = say("check", write(folder, text), "--json")
    assert said.code == 2
    assert [each["code"] for each in said.document["findings"]] == ["E000"]
    said = say("check", write(folder, order(1), manifest=text), "--json")
    assert said.code == 2
    assert [each["code"] for each in said.document["findings"]] == ["E000"]


def test_a_manifest_that_disagrees_with_its_orders_is_refused(say: Say, folder: Path) -> None:
    said = say("check", write(folder, order(1), manifest=plan(order(1, title="x"))), "--json")
    assert said.code == 2
    assert "WO-01.json and WORK_ORDERS_MANIFEST.json disagree" in said.error["message"]


@pytest.mark.parametrize("name", ["none", "none/below", "x" * 300])
def test_what_is_no_folder_is_refused(say: Say, cwd: Path, name: str) -> None:
    said = say("check", cwd / name, "--json")
    assert said.code in (1, 2)
    assert name in said.error["message"]
    assert said.error["hint"]


def test_an_empty_folder_is_refused(say: Say, cwd: Path) -> None:
    said = say("check", cwd, "--json")
    assert said.code == 2
    assert "holds no work orders" in said.error["message"]


def test_a_repo_that_is_none_is_refused(say: Say, folder: Path, cwd: Path) -> None:
    said = say("check", write(folder, order(1)), "--repo", cwd, "--json")
    assert said.code == 2
    assert "not a git working tree" in said.error["message"]


def test_checking_writes_nothing(say: Say, folder: Path, cwd: Path) -> None:
    write(folder, order(1, id="1"))
    for file in folder.iterdir():
        file.chmod(stat.S_IRUSR)
    before = fingerprint(folder)
    assert say("check", folder).code == 2
    assert (fingerprint(folder), list(cwd.iterdir())) == (before, [])


def test_names_in_a_plan_cannot_act_on_the_terminal(say: Say, folder: Path) -> None:
    said = say("check", write(folder, order(1, id="\x1b[2J\x07WO")))
    assert said.code == 2
    assert "\x1b" not in said.out
    assert "\x07" not in said.out


def test_the_same_plan_gives_the_same_report(say: Say, folder: Path) -> None:
    orders = [order(3, id="x"), creating(2, "a.py", context_files=["*", "b"]), 7, order(2)]
    write(folder, manifest=plan(*orders))
    assert say("check", folder, "--json") == say("check", folder, "--json")


@pytest.mark.rest
def test_an_assertion_that_was_tried_on_code_that_does_nothing_is_said_to_hold_or_not(
    say: Say, factory: Factory
) -> None:
    def both(test: str) -> Json:
        first = declaring(STRONG[0], covers=["R1"])
        command = f"python -c 'from other import two; assert {test}'"
        stub = [{"path": "other.py", "stub": "def two() -> int: ..."}]
        fields: Json = {"interfaces": stub, "acceptance_commands": [command], "covers": ["R2"]}
        return manifest([first, writing("other.py", 2, **fields)])

    document = both("two() >= 0")
    folder = write_plan(factory.scratch / "plan", document)
    command = ("check", folder, "--repo", factory.repo)
    rows = say(*command, "--json").document["requirements"]
    assert [each["fails_on_hollow_code"] for each in rows] == [None, None]
    two = proposal({"other.py": "def two() -> int:\n    return 2\n"})
    factory.run_all(document, {"WO-01": [RIGHT], "WO-02": [two]})
    said = say(*command)
    proven = "1 requirement tested with an order, not by name, 1 of them failing on code that do"
    assert proven in said.out
    rows = say(*command, "--json").document["requirements"]
    assert rows[0] == {"id": "R1", "asserted_by": "order", "fails_on_hollow_code": True}
    assert rows[1]["fails_on_hollow_code"] is False
    not_all = "R2: tested with its order, not by name, but not all of the commands fail on code "
    assert not_all in said.out
    edited = write_plan(factory.scratch / "edited", both("two() == 2"))
    rows = say(*command[:1], edited, *command[2:], "--json").document["requirements"]
    assert [each["fails_on_hollow_code"] for each in rows] == [True, None]


@pytest.mark.rest
@needs_sandbox()
def test_a_plan_on_disk_is_tried_where_that_is_asked_for(
    say: Say, folder: Path, repo: Path
) -> None:
    commit_all(repo, {"tests/conftest.py": ""})
    (wrong,) = scored("python -m pytest -q --runslow tests/test_score.py")["work_orders"]
    before = fingerprint(write(folder, wrong))
    rules = ("check", folder, "--repo", repo, "--json")
    assert say(*rules).code == 0
    said = say(*rules, "--dry-run", "--fix")
    assert said.code == 2
    assert [each["code"] for each in said.document["findings"]] == ["E402"]
    assert "--runslow" in said.document["findings"][0]["message"]
    assert fingerprint(folder) == before
    assert git(repo, "status", "--porcelain") == ""
    (right,) = scored("python -m pytest -q tests/test_score.py")["work_orders"]
    write(folder, right)
    assert say(*rules, "--dry-run").code == 0


def test_nothing_is_tried_without_a_sandbox(
    say: Say, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMCH_SANDBOX_BACKEND", "off")
    said = say("check", write(folder, order(1)), "--dry-run", "--json")
    assert said.code == 2
    assert "there is no sandbox" in said.error["message"]
    assert say("check", folder, "--json").code == 0
