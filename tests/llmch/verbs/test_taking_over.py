"""`llmch retry`, `accept` and `skip` through the real entry: one order after the latest run."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.harness import git, manifest, write_plan, writing
from tests.llmch.command_line import Said, Say, Words, model_server, write_reply

STRAY = write_reply({"stray.txt": "text\n"})
TWO, THREE = (write_reply({f"{number}.txt": "text\n"}) for number in (2, 3))
SECRET = "sk-of-the-person-who-runs-it"


@pytest.fixture
def failed(say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> Said:
    """The second of three orders has failed on the branch `work`, and the third needs it."""
    orders = [writing("1.txt", 1), writing("2.txt", 2), writing("3.txt", 3, depends_on=["WO-02"])]
    workdir = write_plan(cwd.parent / "plan", manifest(orders))
    with model_server(monkeypatch, write_reply({"1.txt": "text\n"}), STRAY):
        said = say(
            "run-all", "--repo", repo, "--workdir", workdir, "--branch", "work",
            "--sandbox", "off", "--reply-format", "json", "--max-attempts", "1",
        )  # fmt: skip
    assert said.code == 1
    return said


def states_in_report(say: Say, repo: Path) -> list[str]:
    return [each["state"] for each in say("report", "--repo", repo, "--json").document["orders"]]


def by_hand(repo: Path, path: str) -> str:
    git(repo, "switch", "--quiet", "work")
    (repo / path).write_text("text\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=by hand")
    git(repo, "switch", "--quiet", "main")
    return git(repo, "rev-parse", "work")


def test_the_run_and_the_status_name_the_next_command(failed: Said, say: Say, repo: Path) -> None:
    advice = f"`llmch retry WO-02 --repo {repo} --hint TEXT` asks again with what you tell it"
    assert advice in failed.out
    assert f"next: {advice}" in say("status", "--repo", repo).out


def test_where_the_plan_is_wrong_the_status_says_how_a_correction_is_taken(
    say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = [{"kind": "file_exists", "path": "missing.txt"}]
    plan = write_plan(
        cwd.parent / "my plan", manifest([writing("1.txt", 1, preconditions=missing)])
    )
    run_all = ("run-all", "--repo", repo, "--workdir", plan, "--sandbox", "off")
    with model_server(monkeypatch) as server:
        assert say(*run_all).code == 1
    assert not server.received
    command = f"llmch check '{plan}' --accept-edits"
    advice = f"next: correct WO-01 and take the edit by `{command}`, or plan again"
    assert advice in say("status", "--repo", repo).out
    order = plan / "WO-01.json"
    order.write_text(order.read_text().replace("missing.txt", "scripts/verify.sh"))
    advice = f"next: `{command}` takes what you edited in the plan"
    assert advice in say("status", "--repo", repo).out
    taken = say(*shlex.split(command)[1:], "--repo", repo)
    assert taken.code == 0, taken.out


def test_an_order_that_has_landed_needs_no_key(
    failed: Said, say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert say("retry", "1", "--repo", repo).code == 0
    assert say("retry", "2", "--repo", repo, "--json").error["name"] == "MODEL"


@pytest.mark.rest
def test_after_an_error_of_the_model_the_status_names_what_there_is(
    failed: Said, say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch):  # it refuses every request
        assert say("retry", "2", "--repo", repo, "--reply-format", "json").code == 3
    said = say("status", "--repo", repo).out
    assert f"to look into it: `llmch diff WO-02 1 --repo {repo}`\n" in said
    assert "next: check the model's name" in said


@pytest.mark.rest
@pytest.mark.parametrize("word", ["2", "WO-02", "wo-2", "wo02"])
def test_a_retry_goes_on_as_the_run_did(
    failed: Said, say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    with model_server(monkeypatch, TWO):
        said = say(
            "retry", word, "--repo", repo, "--hint", "the digit two", "--reply-format", "json",
            "--json",
        )  # fmt: skip
    assert (said.code, said.document["work_order"]) == (0, "WO-02")
    assert git(repo, "log", "--format=%B", "main..work").count("Llmch-Work-Order: WO-") == 2
    head = json.loads((Path(said.document["run_dir"]).parent / "run.json").read_text())
    assert (head["command"], head["commands"]["backend"]) == ("retry", "off")
    assert states_in_report(say, repo) == ["skipped", "landed", "waiting"]


def test_a_secret_in_a_hint_reaches_neither_model_nor_records(
    failed: Said, say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    with model_server(monkeypatch, TWO) as server:
        said = say(
            "retry", "2", "--repo", repo, "--hint", f"use {SECRET}", "--reply-format", "json"
        )
    assert said.code == 0
    asked = json.dumps(server.bodies)
    assert "use [redacted]" in asked and SECRET not in asked
    texts = [each.read_bytes() for each in cwd.rglob("*") if each.is_file()]
    texts += [each.read_bytes() for each in (repo / ".git" / "llmch").rglob("*") if each.is_file()]
    assert texts and not any(SECRET.encode() in each for each in texts)


@pytest.mark.rest
def test_a_commit_is_accepted_and_the_plan_goes_on(
    failed: Said, say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = by_hand(repo, "2.txt")
    said = say("accept", "2", "--repo", repo, "--commit", commit[:10], "--json")
    assert (said.code, said.document["accepted"], said.document["commit"]) == (0, True, commit)
    status = say("status", "--repo", repo).out
    assert f"{commit[:10]} stands for it (accepted)" in status
    assert "last failure" not in status
    assert states_in_report(say, repo) == ["landed", "accepted", "blocked"]
    with model_server(monkeypatch, THREE):
        again = say(
            "run-all", "--repo", repo, "--workdir", cwd.parent / "plan", "--branch", "work",
            "--sandbox", "off", "--reply-format", "json", "--json",
        )  # fmt: skip
    assert [each["state"] for each in again.document["orders"]] == ["skipped", "skipped", "landed"]


@pytest.mark.rest
def test_the_command_that_accept_names_takes_it_back(
    failed: Said, say: Say, repo: Path, cwd: Path
) -> None:
    commit = by_hand(repo, "2.txt")
    said = say("accept", "2", "--repo", repo, "--commit", commit)
    (undo,) = re.findall("`llmch ([^`]*)` takes this back", said.out)
    undone = say(*shlex.split(undo))
    assert undone.code == 0, undone.err
    assert f"{commit[:10]} stays on work and does not count for WO-02 any more" in undone.out
    assert "stands for it" not in say("status", "--repo", repo).out
    again = say("accept", "2", "--repo", repo, "--undo", "--json")
    assert (again.code, again.error["hint"]) == (2, "there is nothing to take back")


def test_a_commit_that_fails_is_shown_why(failed: Said, say: Say, repo: Path) -> None:
    git(repo, "switch", "--quiet", "work")
    (repo / "scripts" / "verify.sh").write_text("echo it is broken; false\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=by hand")
    git(repo, "switch", "--quiet", "main")
    said = say("accept", "2", "--repo", repo, "--commit", "work")
    assert said.code == 2 and "scripts/verify.sh" in said.err
    said = say("accept", "2", "--repo", repo, "--commit", "work", "--allow-more")
    assert said.code == 1
    assert "is not accepted for it: verify_failed" in said.out
    assert "| it is broken" in said.out and "nothing was recorded" in said.out


def test_an_order_is_left_out_and_taken_up_again(
    failed: Said, say: Say, repo: Path, cwd: Path
) -> None:
    said = say("skip", "2", "--repo", repo, "--reason", "not\nwanted", "--json")
    assert said.code == 0
    assert {name: said.document[name] for name in ("left_out", "reason", "blocked")} == {
        "left_out": True, "reason": "not wanted", "blocked": ["WO-03"],
    }  # fmt: skip
    assert "left out: not wanted" in say("status", "--repo", repo).out
    assert states_in_report(say, repo) == ["landed", "left_out", "blocked"]
    command: Words = [
        "run-all",
        "--repo",
        repo,
        "--workdir",
        cwd.parent / "plan",
        "--branch",
        "work",
    ]
    again = say(*command, "--sandbox", "off", "--json")
    assert again.code == 1
    assert [each["state"] for each in again.document["orders"]] == [
        "skipped", "left_out", "blocked",
    ]  # fmt: skip
    undone = say("skip", "2", "--repo", repo, "--undo")
    assert undone.code == 0 and "WO-02 is to be made again" in undone.out
    assert f"--branch work --repo {repo} --sandbox off` makes it" in undone.out


@pytest.mark.rest
def test_the_command_that_goes_on_prepares_packages_as_the_run_did(
    failed: Said, say: Say, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, TWO):
        said = say("retry", "2", "--repo", repo, "--reply-format", "json", "--deps", "auto",
                   "--sandbox", "off")  # fmt: skip
    assert said.code == 0
    goes_on = f"--branch work --repo {repo} --sandbox off --deps auto`"
    assert f"{goes_on} goes on with the other orders" in said.out
    assert say("skip", "3", "--repo", repo, "--reason", "not wanted").code == 0
    assert f"{goes_on} makes it" in say("skip", "3", "--repo", repo, "--undo").out
    (tmp_path / "3.diff").write_text("--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-a\n+b\n")
    refused = say("accept", "3", "--repo", repo, "--diff", tmp_path / "3.diff")
    assert refused.code != 0 and "goes on with the other orders" not in refused.out


@pytest.mark.rest
@pytest.mark.parametrize("given", [True, False])
def test_the_command_that_goes_on_runs_commands_as_the_run_did(
    failed: Said, say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch, *, given: bool
) -> None:
    words = ("--sandbox", "off", "--python", sys.executable, "--model", "large one")
    flags = words if given else ()
    with model_server(monkeypatch, TWO):
        said = say("retry", "2", "--repo", repo, "--reply-format", "json", *flags)
    assert said.code == 0
    given_words = f" --python {sys.executable} --sandbox off --model 'large one'"
    more = given_words if given else " --sandbox off"
    assert f"--branch work --repo {repo}{more}` goes on" in said.out


@pytest.mark.rest
def test_a_command_that_goes_on_is_named_only_where_something_is_left(
    failed: Said, say: Say, repo: Path, cwd: Path
) -> None:
    said = say("skip", "2", "--repo", repo, "--reason", "not wanted")
    assert "these orders cannot be made: WO-03" in said.out
    assert "goes on with the other orders" not in said.out
    commit = by_hand(repo, "2.txt")
    said = say("accept", "2", "--repo", repo, "--commit", commit)
    assert "goes on with the other orders" in said.out
    last = by_hand(repo, "3.txt")
    said = say("accept", "3", "--repo", repo, "--commit", last)
    assert said.code == 0 and "goes on" not in said.out
    shown = say("show", cwd.parent / "plan", "--repo", repo, "--branch", "work").out
    assert shown.endswith("0 files new, 0 changed, 0 removed\n")


def test_what_cannot_be_meant_is_refused_in_words(failed: Said, say: Say, repo: Path) -> None:
    for words, code, said in (
        (["retry", "x"], 2, "'x' is not the id of an order"),
        (["retry", "9"], 2, "no order WO-09"),
        (["retry", "3"], 5, "WO-03 needs WO-02, not yet on work"),
        (["retry", "2", "--hint", "x" * 4001], 2, "over the limit of 4,000"),
        (["retry", "2", "--hint", "\x1b[2J"], 2, "U+001B, which is not text"),
        (["skip", "2", "--reason", " "], 2, "--reason is empty"),
        (["skip", "2"], 2, "--reason --undo is required"),
        (["accept", "2", "--commit", "nowhere"], 2, "does not name a commit"),
    ):
        answer = say(*words, "--repo", repo)
        assert answer.code == code, words
        assert said in answer.err


def test_without_a_run_the_plan_is_named(say: Say, repo: Path) -> None:
    said = say("skip", "1", "--repo", repo, "--reason", "x", "--json")
    assert said.code == 2
    assert "--workdir" in said.error["hint"]
