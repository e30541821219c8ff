"""`--pr`: a pull request by the person's own gh or glab, here programs that note their calls."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.harness import git, manifest, write_plan, writing
from tests.llmch.command_line import Said, Say, model_server, write_reply
from tests.llmch.forges import FakeForge, Rule

TITLE = "Say `$(touch pwned)`; --body x\u202e ::error::y"
REPO = {"repo": {"full_name": "ada/shop"}}
SHOP = {"number": 7, "html_url": "https://github.com/ada/shop/pull/7", "body": "By hand.",
        "head": REPO, "base": REPO}  # fmt: skip
FORKS = SHOP | {"number": 6, "html_url": "x", "head": {"repo": {"full_name": "eve/shop"}}}


@pytest.fixture
def forge(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeForge:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-of-the-model")
    return FakeForge(folder, repo)


@pytest.fixture
def workdir(cwd: Path) -> Path:
    return write_plan(cwd.parent / "plan", manifest([writing("1.txt", title=TITLE)]))


@pytest.fixture
def run_all(say: Say, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run_all(*flags: str | Path) -> Said:
        with model_server(monkeypatch, write_reply({"1.txt": "text\n"})):
            return say(
                "run-all", "--repo", repo, "--workdir", workdir, "--sandbox", "off",
                "--reply-format", "json", "--branch", "work", *flags,
            )  # fmt: skip

    return run_all


OPENS: list[Rule] = [("pulls?state=open", 0, "[]"), ("--method POST", 0, json.dumps(SHOP))]


def test_a_pull_request_is_opened_with_the_report(
    run_all: Any, forge: FakeForge, repo: Path, cwd: Path
) -> None:
    forge.origin("git@github.com:ada/shop.git")
    forge.install("gh", rules=OPENS)
    said = run_all("--pr", "--json")
    assert said.code == 0 and said.document["pushed"] is True
    assert said.document["pull_request"] == {
        "url": SHOP["html_url"], "action": "opened", "problem": None, "commands": [],
    }  # fmt: skip
    sent = forge.sent()
    assert (sent["head"], sent["base"]) == ("work", "main")
    assert sent["title"] == "Say `$(touch pwned)`; --body x ::error::y"
    assert "1 of 1 order on work" in sent["body"]
    assert git(repo, "ls-remote", "origin", "refs/heads/work").startswith(said.document["tip"])
    for call in forge.calls:
        assert not any(TITLE[:5] in each for each in call["argv"])  # nothing of a model's text
        assert call["secret"] == [] and Path(call["cwd"]) != repo
        assert call["argv"][:3] == ["api", "--hostname", "github.com"]
    assert not (cwd / "pwned").exists()


def test_an_open_request_gets_the_new_report_and_keeps_a_person_s_words(
    run_all: Any, forge: FakeForge
) -> None:
    forge.origin("git@github.com:ada/shop.git")
    there = json.dumps([FORKS, SHOP])
    forge.install("gh", rules=[("pulls?state=open", 0, there), ("PATCH", 0, "{}")])
    said = run_all("--pr")
    assert said.code == 0 and f"updated {SHOP['html_url']}" in said.out
    assert forge.calls[-1]["argv"][-1] == "repos/ada/shop/pulls/7"
    body = forge.sent()["body"]
    assert body.startswith("By hand.\n\n") and body.count("1 of 1 order") == 1


def test_a_merge_request_is_opened_on_gitlab(run_all: Any, forge: FakeForge, repo: Path) -> None:
    forge.origin("ssh://git@gitlab.example.org:2222/group/sub/shop.git")
    git(repo, "switch", "--quiet", "--create", "here-alone")
    opened = {"iid": 3, "web_url": "https://gitlab.example.org/3", "description": ""}
    forge.install("glab", rules=[
        ("source_branch=work", 0, "[]"),
        ("--method POST", 0, json.dumps(opened)),
        ("projects/group%2Fsub%2Fshop", 0, json.dumps({"default_branch": "trunk"})),
    ])  # fmt: skip
    said = run_all("--pr", "--json")
    assert said.document["pull_request"]["url"] == opened["web_url"]
    sent = forge.sent()
    assert (sent["source_branch"], sent["target_branch"]) == ("work", "trunk")
    assert "1 of 1 order" in sent["description"]
    assert forge.calls[0]["argv"][2] == "gitlab.example.org"


def test_on_another_host_the_one_that_can_sign_in_is_asked(run_all: Any, forge: FakeForge) -> None:
    forge.origin("git@code.example.org:ada/shop.git")
    forge.install("gh", "glab", rules=[("auth status", 1, "not signed in")])
    said = run_all("--pr", "--json")
    assert [each["program"] for each in forge.calls] == ["gh", "glab"]
    answer = said.document["pull_request"]
    assert said.code == 0 and "not signed in at code.example.org" in answer["problem"]
    assert [each.split()[0] for each in answer["commands"]] == ["llmch", "glab"]


def test_a_refusal_changes_nothing_of_the_run(run_all: Any, forge: FakeForge) -> None:
    forge.origin("git@github.com:ada/shop.git")
    forge.install("gh", rules=[("pulls", 1, "HTTP 403: \x1b[31mno rights\x1b[0m")])
    said = run_all("--pr", "--json")
    assert (said.code, said.document["verdict"]) == (0, "PASS")
    answer = said.document["pull_request"]
    assert answer["url"] is None and answer["problem"] == "gh: HTTP 403: no rights"
    assert "no pull request was opened: gh: HTTP 403: no rights" in said.err


@pytest.mark.rest
@pytest.mark.parametrize("answer", ["not JSON", "[1, 2]", '"text"', '{"number": "7"}', "[" * 9999])
def test_an_odd_answer_is_a_warning(run_all: Any, forge: FakeForge, answer: str) -> None:
    forge.origin("git@github.com:ada/shop.git")
    forge.install("gh", rules=[("", 0, answer)])
    said = run_all("--pr", "--json")
    assert said.code == 0
    assert said.document["pull_request"]["url"] is None
    assert said.document["pull_request"]["problem"]


def test_without_a_program_the_command_is_shown_and_works(
    run_all: Any, forge: FakeForge, say: Say, repo: Path
) -> None:
    forge.origin("git@github.com:ada/shop.git")
    if any((Path(each) / "gh").exists() for each in os.environ["PATH"].split(":")):
        pytest.skip("gh is installed here")
    said = run_all("--pr")
    assert said.code == 0
    (line,) = (each.strip() for each in said.out.splitlines() if "gh pr create" in each)
    report, _, create = line.partition(" | ")
    words = shlex.split(create)
    assert words[:7] == ["gh", "pr", "create", "--repo", "ada/shop", "--head", "work"]
    assert words[words.index("--title") + 1] == "Say `$(touch pwned)`; --body x ::error::y"
    again = say(*shlex.split(report)[1:], "--repo", repo)
    assert again.code == 0 and "1 of 1 order on work" in again.out


def test_nothing_is_asked_for_what_was_not_pushed(
    run_all: Any, forge: FakeForge, repo: Path
) -> None:
    git(repo, "remote", "add", "origin", str(repo.parent / "nowhere"))
    forge.install("gh", rules=[])
    said = run_all("--pr", "--json")
    assert (said.code, said.document["pushed"]) == (0, False)
    assert said.document["pull_request"]["problem"] == "the branch was not pushed"
    assert forge.calls == []


def test_an_origin_on_this_machine_has_no_requests(
    run_all: Any, repo: Path, forge: FakeForge
) -> None:
    bare = repo.parent / "bare.git"
    git(repo.parent, "init", "--quiet", "--bare", str(bare))
    git(repo, "remote", "add", "origin", str(bare))
    forge.install("gh", "glab", rules=[])
    said = run_all("--pr", "--json")
    assert said.document["pushed"] is True and forge.calls == []
    answer = said.document["pull_request"]
    assert answer["commands"] == [] and "is not on a host" in answer["problem"]


def test_pr_and_no_push_are_refused(run_all: Any) -> None:
    said = run_all("--pr", "--no-push")
    assert said.code == 2 and "--no-push keeps it here" in said.err


def test_without_pr_the_document_does_not_speak_of_one(run_all: Any) -> None:
    assert "pull_request" not in run_all("--json").document
