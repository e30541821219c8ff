"""`--issue`: the text of an issue is a specification, read by gh, by glab, or from a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.llmch.command_line import Said, Say, model_server, plan_reply
from tests.llmch.forges import NOTHING, FakeForge
from tests.planner.plans import plan
from tests.planner.replanning import writing

BODY = "- R1: Lines are read. <!-- hidden -->\n- R2: Lines end.\n\n![x](http://y)\n"
ISSUE = {"number": 33, "title": "Read lines; $(touch pwned)", "body": BODY, "comments": 2,
         "html_url": "https://github.com/ada/shop/issues/33"}  # fmt: skip
URL = "https://github.com/ada/shop/issues/33"
PLAN = plan_reply(plan(writing(1, "R1"), writing(2, "R2")))


@pytest.fixture
def forge(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeForge:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return FakeForge(folder, repo)


@pytest.fixture
def planned(say: Say, monkeypatch: pytest.MonkeyPatch) -> Any:
    def planned(issue: str | Path) -> Said:
        with model_server(monkeypatch, PLAN):
            return say("plan", "--issue", issue, "--no-review", "--no-repo", "--outdir", "plan")

    return planned


@pytest.mark.parametrize("gitlab", [False, True])
def test_an_issue_of_a_host_becomes_a_plan(
    planned: Any, forge: FakeForge, cwd: Path, gitlab: bool
) -> None:
    forge.install("glab" if gitlab else "gh")
    issue = {"iid": 33, "title": ISSUE["title"], "description": BODY} if gitlab else ISSUE
    forge.db = NOTHING | {"issues": {"33": issue}}
    host = "gitlab.example.org" if gitlab else "github.com"
    dash = "/-" if gitlab else ""
    said = planned(f"https://{host}/ada/shop{dash}/issues/33")
    assert said.code == 0, said.out + said.err
    (call,) = forge.calls
    assert call["argv"][:3] == ["api", "--hostname", host] and call["secret"] == []
    (spec,) = cwd.glob(f"artifacts/issues/{host}-ada-shop-33/issue.md")
    text = spec.read_text()
    assert text.startswith("# Read lines; $(touch pwned)\n\n- R1: Lines are read. \n")
    assert "hidden" not in text and "1 hidden comment, 1 picture" in said.out
    assert ("its comments" in said.out) is False and ("(2) are not read" in said.out) is not gitlab
    assert json.loads((cwd / "plan" / "WO-02.json").read_text())["covers"] == ["R2"]
    assert not (cwd / "pwned").exists()


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_issue_of_a_file_asks_nobody(
    planned: Any, forge: FakeForge, cwd: Path, wrapped: bool
) -> None:
    forge.install("gh")
    path = cwd / "issue.json"
    path.write_text(json.dumps({"issue": ISSUE, "action": "opened"} if wrapped else ISSUE))
    said = planned(path)
    assert said.code == 0 and forge.calls == [], said.out
    assert (cwd / "artifacts/issues/github.com-ada-shop-33/issue.md").is_file()


@pytest.mark.parametrize(
    ("code", "answer", "named"),
    [
        (1, "gh: Not Found (HTTP 404)", "issues/33 of ada/shop is not there, or was deleted"),
        (1, "gh: API rate limit exceeded (HTTP 403)", "takes no more requests for now"),
        (1, "gh: Resource not accessible by integration (HTTP 403)", "has no right to issues/33"),
        (4, "To get started with GitHub CLI, please run:  gh auth login", "gh is not signed in"),
        (
            4,
            "gh: To use GitHub CLI in a GitHub Actions workflow, set the GH_TOKEN environment "
            "variable. Example:\n  env:\n    GH_TOKEN: ${{ github.token }}",
            "gh is not signed in",
        ),
        (1, 'unknown command "api" for "gh"', "this gh is too old"),
        (0, "<html>Sign in</html>", "something that is not JSON"),
        (0, "[1]", "something else than an object"),
    ],
)
def test_a_host_that_refuses_is_named_with_what_to_do(
    say: Say, forge: FakeForge, code: int, answer: str, named: str
) -> None:
    forge.install("gh", rules=[("issues/33", code, answer)])
    said = say("plan", "--issue", URL, "--no-repo", "--json")
    assert said.code == 5 and named in said.error["message"], said.out
    assert said.error["hint"]


def test_without_a_program_the_issue_can_be_a_file(
    say: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = say("plan", "--issue", URL, "--no-repo", "--json")
    assert said.code == 5 and "gh is not installed" in said.error["message"]
    assert "give the issue as a file" in said.error["hint"]


@pytest.mark.parametrize(
    "given",
    ["https://github.com/ada/shop", "https://-x/a/b/issues/1", "http://[/a/b/issues/1", "no.json"],
)
def test_what_is_no_issue_is_refused(say: Say, given: str) -> None:
    said = say("plan", "--issue", given, "--no-repo", "--json")
    assert said.code == 2 and said.error["hint"], said.out


@pytest.mark.parametrize("document", ["[1]", "x", "{}", '{"number": 1}', '{"title": "x"}'])
def test_a_file_that_holds_no_issue_is_refused(say: Say, cwd: Path, document: str) -> None:
    (cwd / "issue.json").write_text(document)
    said = say("plan", "--issue", "issue.json", "--no-repo", "--json")
    assert said.code == 2 and said.error["hint"], said.out
