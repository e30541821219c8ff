"""`status`, `reset`, `doctor` and `show --graph`: what they tell, and what they leave alone."""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from factory import run_flags
from factory.workbench.dependencies import is_remembered, remember
from shared.settings.settings import Settings
from tests.harness import commit_all, factory_branch, git, manifest, write_plan, writing
from tests.llmch.command_line import (
    Say,
    Words,
    model_server,
    own_environment,
    snapshot,
    start,
    write_reply,
)
from tests.shared.llm.scripted_server import Silence, scripted_server

PROOF = "verified by bash scripts/verify.sh"


@pytest.fixture
def workdir(cwd: Path) -> Path:
    orders = [writing("1.txt", 1), writing("2.txt", 2)]
    return write_plan(cwd.parent / "plan", manifest(orders))


@pytest.fixture
def half_done(say: Say, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repo after a run whose first order landed and whose second failed."""
    replies = write_reply({"1.txt": "text\n"}), write_reply({"stray.txt": "text\n"})
    with model_server(monkeypatch, *replies):
        said = say(
            *("run-all", "--repo", repo, "--workdir", workdir, "--sandbox", "off"),
            *("--reply-format", "json", "--max-attempts", "1"),
        )
    assert said.code == 1
    return repo


# status


def test_the_status_of_a_run_that_is_over(say: Say, half_done: Path) -> None:
    said = say("status", "--repo", half_done)
    assert said.code == 0
    one, two = (line for line in said.out.splitlines() if line.startswith("WO-"))
    assert git(half_done, "rev-parse", factory_branch(half_done))[:10] in one
    assert one.endswith(f", {PROOF}")
    assert "write_scope_violation" in two
    why = said.out.partition("last failure of WO-02 (attempt 1): ")[2].splitlines()
    assert why[0] == "write_scope_violation"
    assert why[1].startswith("  | ")


def test_the_status_names_what_looks_into_a_failure(say: Say, half_done: Path) -> None:
    (line,) = (
        line
        for line in say("status", "--repo", half_done).out.splitlines()
        if line.startswith("to look into it: ")
    )
    commands = re.findall("`llmch ([^`]*)`", line)
    assert [each.split()[:2] for each in commands] == [
        ["diff", "WO-02"],
        ["explain", "write_scope_violation"],
    ]
    assert all(say(*shlex.split(each)).code == 0 for each in commands)


def test_the_status_for_programs(say: Say, half_done: Path) -> None:
    document = say("status", "--repo", half_done, "--json").document
    assert (document["state"], document["branch"]) == ("ended", factory_branch(half_done))
    assert [each["id"] for each in document["orders"]] == ["WO-01", "WO-02"]
    assert document["usage"]["calls"] == 2
    assert [each["proof"] for each in document["orders"]] == [PROOF, None]


def test_a_repo_that_nothing_has_run_on(say: Say, repo: Path) -> None:
    assert say("status", "--repo", repo, "--json").document["state"] == "none"


@pytest.mark.rest
def test_the_status_while_another_process_runs(say: Say, repo: Path, workdir: Path) -> None:
    with scripted_server(Silence()) as server:
        command: Words = ["run-all", "--repo", repo, "--workdir", workdir]
        with start(*command, cwd=workdir, OPENAI_BASE_URL=server.base_url) as process:
            assert process.stdout is not None
            next(line for line in process.stdout if "ask" in line)
            document = say("status", "--repo", repo, "--json").document
            refused = say("reset", "--repo", repo, "--yes", "--json")
            checked = say("doctor", "--repo", repo).out
            process.terminate()
            process.communicate(timeout=120)
    after = say("status", "--repo", repo).out
    assert "interrupted; the same command again goes on from there" in after
    assert "stopped at: propose" in after and "now:" not in after
    assert (document["state"], document["pid"]) == ("running", process.pid)
    assert document["elapsed_seconds"] >= 0
    assert (refused.code, refused.error["name"]) == (8, "BUSY")
    assert str(process.pid) in refused.error["message"]
    assert f"a run holds the repo (pid {process.pid})" in checked


@pytest.mark.rest
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_watching_begins_before_anything_has_run(
    say: Say, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    replies = write_reply({"1.txt": "text\n"}), write_reply({"2.txt": "text\n"})
    with start("status", "--repo", repo, "--watch", *form, cwd=workdir) as watching:
        stream = watching.stderr if form else watching.stdout
        assert stream is not None
        assert "waiting for a run to begin" in stream.readline()
        with model_server(monkeypatch, *replies):
            done = say(
                *("run-all", "--repo", repo, "--workdir", workdir, "--sandbox", "off"),
                *("--reply-format", "json"),
            )
        out, err = watching.communicate(timeout=120)
    assert done.code == 0, done.err
    assert watching.returncode == 0, err
    if form:
        assert [each["state"] for each in json.loads(out)["orders"]] == ["SUCCESS", "SUCCESS"]
    else:
        assert f"{factory_branch(repo)}: ended" in out


@pytest.mark.rest
def test_an_interrupted_run_is_told_from_one_that_ended(
    say: Say, repo: Path, workdir: Path
) -> None:
    with scripted_server(write_reply({"stray.txt": "text\n"}), Silence()) as server:
        command: Words = ["run-all", "--repo", repo, "--workdir", workdir, "--reply-format", "json"]
        with start(*command, cwd=workdir, OPENAI_BASE_URL=server.base_url) as process:
            assert process.stdout is not None
            asked = (line for line in process.stdout if " ask " in line)
            assert len([next(asked), next(asked)]) == 2  # the second time, after a failure
            process.terminate()
            process.communicate(timeout=120)
    document = say("status", "--repo", repo, "--json").document
    assert (process.returncode, document["state"]) == (130, "interrupted")
    one, two = document["orders"]
    assert (one["state"], one["attempts"], one["attempts_left"]) == ("PATCHING", 2, 4)
    assert (one["failure"]["attempt"], one["failure"]["stage"]) == (1, "write_scope_violation")
    assert one["usage"]["calls"] == 1
    assert (two["state"], two["failure"], two["attempts_left"]) == ("INIT", None, None)
    text = say("status", "--repo", repo).out
    assert "last failure of WO-01 (attempt 1): write_scope_violation; 4 attempts left" in text


@pytest.mark.rest
def test_what_a_killed_run_leaves_is_told(say: Say, repo: Path, workdir: Path) -> None:
    with scripted_server(Silence()) as server:
        command: Words = ["run-all", "--repo", repo, "--workdir", workdir]
        with start(*command, cwd=workdir, OPENAI_BASE_URL=server.base_url) as process:
            assert process.stdout is not None
            next(line for line in process.stdout if "ask" in line)
            process.kill()
            process.communicate(timeout=120)
    status = say("status", "--repo", repo).out
    assert "cut off; the same command again goes on from there" in status
    assert "stopped at: propose" in status
    assert "1 working tree of a run" in say("doctor", "--repo", repo).out
    workspaces = Path(os.environ["LLMCH_WORKSPACES"])
    assert list(workspaces.rglob("README.md"))
    assert say("reset", "--repo", repo, "--yes").code == 0
    assert not list(workspaces.rglob("README.md"))
    assert "working tree of a run" not in say("doctor", "--repo", repo).out
    assert len(git(repo, "worktree", "list", "--porcelain").split("\n\n")) == 1


def test_a_state_that_cannot_be_read_is_never_guessed(say: Say, half_done: Path) -> None:
    (half_done / ".git" / "llmch" / "journal.jsonl").write_text("{}\n")
    said = say("status", "--repo", half_done, "--json")
    assert (said.code, said.error["name"]) == (8, "BUSY")
    assert "llmch reset" in said.error["hint"]
    assert say("reset", "--repo", half_done, "--yes").code == 0
    assert say("status", "--repo", half_done, "--json").document["state"] == "none"


@pytest.mark.parametrize("verb", ["status", "reset"])
def test_a_folder_without_a_repo_is_refused(say: Say, cwd: Path, verb: str) -> None:
    said = say(verb, "--repo", cwd, "--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")


# reset


def test_reset_keeps_commits_and_records(say: Say, half_done: Path, cwd: Path) -> None:
    before = snapshot(half_done)
    said = say("reset", "--repo", half_done, "--yes", "--json")
    assert said.code == 0
    assert said.document["removed"]
    assert [path for path in said.document["removed"] if Path(path).exists()] == []
    assert snapshot(half_done) == before
    assert list((cwd / "artifacts" / "factory").glob("*/run.json"))
    assert say("reset", "--repo", half_done, "--json").document == {
        "removed": [],
        "uncertain_calls": [],
    }


def test_reset_asks_and_without_anyone_to_answer_removes_nothing(say: Say, half_done: Path) -> None:
    said = say("reset", "--repo", half_done, "--json")
    assert said.code == 2
    assert "--yes" in said.error["hint"]
    assert say("status", "--repo", half_done, "--json").document["state"] == "ended"


def in_terminal(repo: Path, answers: str, *words: str) -> tuple[str, int]:
    """Return what a command asks in a terminal, and its exit code."""
    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    done = subprocess.run(
        [sys.executable, "-m", "llmch", *words, "--repo", repo],
        cwd=repo,
        env=own_environment(),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=False,
        timeout=120,
    )
    os.close(theirs)
    asked = os.read(ours, 10_000).decode()
    os.close(ours)
    return asked, done.returncode


@pytest.mark.rest
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2), ("\x04", 2)])
def test_reset_does_what_a_person_answers(half_done: Path, answer: str, code: int) -> None:
    asked, exit_code = in_terminal(half_done, answer, "reset")
    assert exit_code == code
    assert "go on? [y/N]" in asked
    assert (half_done / ".git" / "llmch" / "journal.jsonl").exists() == (code != 0)


# doctor


def test_the_doctor_finds_what_keeps_llmch_from_working(say: Say, repo: Path) -> None:
    said = say("doctor", "--repo", repo)
    assert said.code == 1
    assert "OPENAI_API_KEY" in said.out
    document = say("doctor", "--repo", repo, "--json").document
    assert document["ok"] is False
    names = [each["name"] for each in document["findings"]]
    assert {"git", "python", "sandbox", "planner", "factory", "records", "repo"} <= set(names)


def test_a_machine_that_is_well(say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    before = snapshot(repo)
    said = say("doctor", "--repo", repo, "--json")
    broken = [each for each in said.document["findings"] if each["health"] == "broken"]
    assert [each["name"] for each in broken if each["name"] != "sandbox"] == []
    assert snapshot(repo) == before


@pytest.mark.rest
def test_the_doctor_tries_the_base_and_counts_its_tests(say: Say, repo: Path) -> None:
    (repo / "scripts/verify.sh").unlink()
    commit_all(repo, {"test_it.py": "def test_it():\n    assert True\n"})
    (repo / "README.md").write_text("changed\n")  # a run would refuse this, and HEAD is tried
    document = say("doctor", "--repo", repo, "--base", "--json").document
    assert (document["base"]["ok"], document["base"]["tests"]) == (True, 1)
    (found,) = [each for each in document["findings"] if each["name"] == "base"]
    assert found["detail"].endswith("passes 1 test")
    assert say("doctor", "--repo", repo, "--no-base", "--json").document["base"] is None


def test_the_doctor_says_so_where_a_runner_does_not_count_its_tests(say: Say, repo: Path) -> None:
    commit_all(repo, {"scripts/verify.sh": "printf 'ok  \\texample.org/x\\t0.003s\\n'\n"})
    base = say("doctor", "--repo", repo, "--base", "--json").document["base"]
    assert base["detail"].endswith("passes at least 1 test")


@pytest.mark.parametrize(("file", "advised"), [("notes.js", False), ("notes.test.js", True)])
def test_the_doctor_asks_for_a_folder_without_dots_only_where_there_are_tests(
    say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch, file: str, advised: bool
) -> None:
    monkeypatch.setenv("LLMCH_WORKSPACES", str(repo.parent / ".cache" / "workspaces"))
    commit_all(repo, {"scripts/verify.sh": "echo 'no tests ran in 0.01s'\n", file: "\n"})
    said = say("doctor", "--repo", repo, "--base", "--json").document["base"]["detail"]
    assert "passes no test" in said
    assert ("LLMCH_WORKSPACES" in said) == advised


def test_the_doctor_names_declared_packages_that_are_not_there(say: Say, repo: Path) -> None:
    commit_all(repo, {"package.json": '{"devDependencies": {"ava": "^6.0.0"}}'})

    def finding() -> tuple[str, str | None]:
        found = say("doctor", "--repo", repo, "--json").document["findings"]
        return next((e["health"], e["remedy"]) for e in found if e["name"] == "dependencies")

    health, remedy = finding()
    assert health == "limited" and remedy and "--deps auto" in remedy
    remember(repo)
    assert finding() == ("well", None)


@pytest.mark.rest
@pytest.mark.parametrize("answers", ["n\n", "y\nn\n"])
def test_the_doctor_asks_before_it_runs_or_prepares_anything(repo: Path, answers: str) -> None:
    commit_all(repo, {"scripts/verify.sh": "exit 3\n", "requirements.txt": "no-such-plugin\n"})
    asked, _ = in_terminal(repo, answers, "doctor")
    assert "Run the verification once now" in asked
    assert ("Install them outside of the repo" in asked) == (answers[0] == "y")
    assert not is_remembered(repo)


def test_what_a_person_answered_for_a_repo_holds_for_later_runs(repo: Path) -> None:
    parser = argparse.ArgumentParser()
    run_flags.add_judging_arguments(parser)

    def installs(*words: str) -> bool:
        args = parser.parse_args(["--repo", str(repo), *words])
        return run_flags.judging_options(args, Settings()).install_dependencies

    assert (installs(), installs("--deps", "auto")) == (False, True)
    forged = repo / ".git" / "llmch" / "deps-auto"
    forged.parent.mkdir(exist_ok=True)
    forged.touch()
    assert not installs(), "a git folder may come from a stranger"
    remember(repo)
    assert (installs(), installs("--deps", "off")) == (True, False)


def test_the_doctor_names_what_verifies_a_repo(
    say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def details() -> list[tuple[str, str | None]]:
        found = say("doctor", "--repo", repo, "--json").document["findings"]
        return [(each["detail"], each["remedy"]) for each in found if each["name"] == key]

    key = "verification"
    (repo / "scripts/verify.sh").unlink()
    package = json.dumps({"scripts": {"test": "node --test"}})
    commit_all(repo, {"package.json": package, "go/go.mod": "module a\n"})
    (own, _), (nested, remedy) = details()
    assert own == "verified by `npm test` (package.json: scripts.test)"
    assert nested == "go/go.mod is not run"
    assert remedy and remedy.startswith("`--verify 'env -C go go test ./...'`")
    monkeypatch.setenv("LLMCH_VERIFY", "make a\nmake b")
    assert details() == [("verified by `make a` and `make b` (the setting verify)", None)]


def test_the_doctor_looks_at_a_reviewer_with_a_server_of_its_own(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    def health() -> dict[str, str]:
        findings = say("doctor", "--json").document["findings"]
        return {each["name"]: each["health"] for each in findings}

    assert "reviewer" not in health()
    monkeypatch.setenv("LLMCH_REVIEWER_BASE_URL", "https://models.example/v1")
    assert (health()["planner"], health()["reviewer"]) == ("well", "broken")


def test_the_doctor_asks_nobody_unless_told_to(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(monkeypatch) as server:
        say("doctor")
    assert server.received == []


def test_the_doctor_shows_no_key(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:sk-secret-0123456789@127.0.0.1:9/v1")
    said = say("doctor")
    assert "sk-secret" not in said.out + said.err


def test_the_doctor_sees_a_repo_that_is_not_ready(say: Say, repo: Path) -> None:
    (repo / "README.md").write_text("changed\n")
    findings = say("doctor", "--repo", repo, "--json").document["findings"]
    (detail,) = [each["detail"] for each in findings if each["name"] == "repo"]
    assert "uncommitted changes" in detail


def test_the_doctor_names_filters_that_do_not_run(say: Say, repo: Path) -> None:
    git(repo, "config", "filter.shout.clean", "tr a-z A-Z")
    commit_all(repo, {".gitattributes": "*.txt filter=shout\n"})
    findings = say("doctor", "--repo", repo, "--json").document["findings"]
    (found,) = [each for each in findings if "filters that" in each["detail"]]
    assert (found["name"], found["health"]) == ("repo", "limited")
    assert found["detail"].endswith(": shout")
    assert "--allow-repo-filters" in found["remedy"]


def test_the_older_name_of_a_findings_detail_stays(say: Say) -> None:
    findings = say("doctor", "--json").document["findings"]
    assert findings
    assert [each["told"] for each in findings] == [each["detail"] for each in findings]


# graph


def test_the_graph_of_a_plan(say: Say, cwd: Path) -> None:
    orders = [
        writing("1.txt", 1),
        writing("2.txt", 2),
        writing("3.txt", 3, context_files=["1.txt"]),
    ]
    folder = write_plan(cwd / "plan", manifest(orders))
    said = say("show", "--graph", folder)
    assert said.code == 0
    assert say("graph", folder) == said
    assert "(after WO-01)" in next(line for line in said.out.splitlines() if "WO-03" in line)
    assert "WO-01 --> WO-03" in say("show", folder, "--graph", "--format", "mermaid").out
    assert '"WO-01" -> "WO-03";' in say("show", folder, "--graph", "--format", "dot").out
    assert json.loads(say("show", folder, "--graph", "--format", "json").out) == (
        say("show", folder, "--graph", "--json").document
    )


def test_the_graph_of_no_plan_is_refused(say: Say, cwd: Path) -> None:
    said = say("show", cwd, "--graph", "--json")
    assert said.code == 2
    assert "holds no work orders" in said.error["message"]


def test_looking_around_needs_no_clean_repo(say: Say, repo: Path) -> None:
    commit_all(repo, {"a": "b"})
    (repo / "a").write_text("c")
    assert say("status", "--repo", repo).code == 0
    assert say("reset", "--repo", repo, "--yes").code == 0
