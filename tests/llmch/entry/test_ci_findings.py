"""Findings and failed orders where a CI system looks: files, and annotations on stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness import commit_all, manifest, write_plan, writing
from tests.llmch.ci.test_findings import parsed, schema
from tests.llmch.command_line import Said, Say, Words, model_server, write_reply
from tests.llmch.verbs.test_check_command import write
from tests.planner.plans import creating, exists, order

BAD = creating(1, "a.py", preconditions=exists("b.py"), mood="sunny")


@pytest.fixture
def in_actions(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this a job of GitHub Actions that checked out `repo`."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(repo))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def annotated(said: Said) -> list[tuple[str, dict[str, str], str]]:
    assert "::" not in said.out  # stdout is the answer's
    return [parsed(line) for line in said.err.splitlines() if line.startswith("::")]


def test_check_writes_both_files(say: Say, repo: Path, cwd: Path) -> None:
    write(repo / "plan", BAD)
    files: Words = ["--sarif", cwd / "out.sarif", "--code-quality", cwd / "quality.json"]
    for _ in range(2):  # the second time over what it wrote the first time
        assert say("check", repo / "plan", "--no-repo", *files).code == 2
    document = json.loads((cwd / "out.sarif").read_text())
    schema().validate(document)
    (run,) = document["runs"]
    assert {each["ruleId"] for each in run["results"]} >= {"E101", "W102"}
    location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "plan/WO-01.json", "uriBaseId": "SRCROOT"}
    quality = json.loads((cwd / "quality.json").read_text())
    assert {each["location"]["path"] for each in quality} == {"plan/WO-01.json"}


def test_a_plan_without_findings_makes_files_that_say_so(say: Say, cwd: Path) -> None:
    folder = write(cwd / "plan", order(1))
    for _ in range(2):
        said = say("check", folder, "--no-repo", "--sarif", "a", "--code-quality", "b")
        assert said.code == 0
    assert json.loads((cwd / "a").read_text())["runs"][0]["results"] == []
    assert json.loads((cwd / "b").read_text()) == []


def test_where_nothing_can_be_judged_the_file_says_why(say: Say, cwd: Path) -> None:
    said = say("check", "nowhere", "--no-repo", "--sarif", "a", "--json")
    document = json.loads((cwd / "a").read_text())
    schema().validate(document)
    (invocation,) = document["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    assert note["message"]["text"] == said.error["message"] == "nowhere is not a directory"


@pytest.mark.parametrize("flag", ["--sarif", "--code-quality"])
def test_no_other_file_is_written_over(say: Say, cwd: Path, flag: str) -> None:
    folder = write(cwd / "plan", BAD)
    said = say("check", folder, "--no-repo", flag, folder / "WO-01.json")
    assert said.code == 2 and f"{flag} " in said.err and "would overwrite" in said.err
    assert json.loads((folder / "WO-01.json").read_text()) == BAD


def test_a_file_that_is_not_json_is_a_finding_at_its_fault(say: Say, cwd: Path) -> None:
    folder = write(cwd / "plan", "{\n  !")
    assert say("check", folder, "--no-repo", "--sarif", "out").code == 2
    (result,) = json.loads((cwd / "out").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_findings_are_annotations_at_their_lines(say: Say, repo: Path, in_actions: None) -> None:
    write(repo / "plan", json.dumps(BAD, indent=2))
    said = say("check", repo / "plan", "--no-repo", "--json")
    assert json.loads(said.out)["errors"] == 1
    found = {pairs["title"]: (name, pairs) for name, pairs, _ in annotated(said)}
    name, pairs = found["E101 WO-01"]
    assert (name, pairs["file"]) == ("error", "plan/WO-01.json") and int(pairs["line"]) > 1
    assert found["W102 WO-01"][0] == "warning"


def test_an_error_that_ends_a_command_is_an_annotation(say: Say, in_actions: None) -> None:
    said = say("check", "no-plan", "--no-repo", "--json")
    ((name, pairs, data),) = annotated(said)
    assert (name, pairs["title"]) == ("error", "llmch INVALID")
    assert said.error["message"] in data


def test_a_failed_order_is_an_annotation_at_its_file(
    say: Say, repo: Path, in_actions: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plan(repo / "plan", manifest([writing("1.txt", title="::error::x %0A")]))
    commit_all(repo)
    with model_server(monkeypatch, write_reply({"stray.txt": "::set-output name=a::b\n"})):
        said = say("run-all", "--repo", repo, "--workdir", repo / "plan", "--sandbox", "off",
                   "--reply-format", "json", "--max-attempts", "1", "--json")  # fmt: skip
    assert said.code == 1
    ((name, pairs, data),) = annotated(said)
    assert name == "error"
    assert pairs == {
        "file": "plan/WO-01.json",
        "line": "1",
        "title": "WO-01 write scope violation",
    }
    assert "::error::x %0A" in data and "stray.txt" in data


def test_elsewhere_nothing_is_annotated(
    say: Say, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    said = say("check", write(cwd / "plan", BAD), "--no-repo")
    assert "::" not in said.out + said.err
