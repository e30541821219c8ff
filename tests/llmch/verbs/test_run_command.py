"""`llmch run` through its real entry: a real repo, a real server for the model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Json, blob, commit_all, git, manifest, order, write_plan
from tests.llmch.command_line import Said, Say, model_server, snapshot, write_reply
from tests.shared.llm.edge import chat_stream, error_answer
from tests.shared.llm.scripted_server import ScriptedServer

GOOD = write_reply({"hello.txt": "hello\n"})
BAD = write_reply({"other.txt": "hello\n"})
KEYS = {
    "verdict",
    "work_order",
    "run_id",
    "run_dir",
    "branch",
    "commit",
    "parent",
    "attempts",
    "failure",
    "warnings",
    "usage",
}

Run = Callable[..., Said]


@pytest.fixture
def run(say: Say, repo: Path, order_file: Path) -> Run:
    """Runs the order on the repo, commands without a sandbox."""

    def run(*flags: str | Path) -> Said:
        return say(
            "run", "--repo", repo, "--work-order", order_file, "--sandbox", "off",
            "--reply-format", "json", *flags,
        )  # fmt: skip

    return run


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A model that answers well, once."""
    with model_server(monkeypatch, GOOD) as server:
        yield server


def test_an_order_becomes_a_commit(run: Run, repo: Path, server: ScriptedServer) -> None:
    before = git(repo, "rev-parse", "HEAD")
    said = run("--branch", "work")
    assert (said.code, said.err) == (0, "")
    assert [each.path for each in server.received] == ["/v1/chat/completions"]
    assert blob(repo, "work", "hello.txt") == b"hello\n"
    assert git(repo, "rev-parse", "work~1") == before
    assert "PASS" in said.out
    assert "switch work" in said.out


def test_uncommitted_changes_are_refused_unless_they_are_allowed(
    run: Run, repo: Path, server: ScriptedServer
) -> None:
    (repo / "README.md").write_text("changed\n")
    assert run("--branch", "work").code == 5
    assert run("--branch", "work", "--allow-dirty").code == 0
    assert blob(repo, "work", "README.md") != b"changed\n"


def test_the_users_checkout_stays_where_it_is(run: Run, repo: Path, server: ScriptedServer) -> None:
    assert run("--branch", "work").code == 0
    assert git(repo, "branch", "--show-current") == "main"
    assert git(repo, "status", "--porcelain", "--ignored") == ""
    assert git(repo, "worktree", "list").count("\n") == 0


def test_json_is_one_document_with_the_promised_keys(
    run: Run, repo: Path, server: ScriptedServer
) -> None:
    said = run("--branch", "work", "--json")
    document = said.document
    assert said.code == 0
    assert document.keys() >= KEYS
    assert (document["verdict"], document["work_order"]) == ("PASS", "WO-01")
    assert (document["commit"], document["branch"]) == (git(repo, "rev-parse", "work"), "work")
    assert (document["attempts"], document["failure"]) == (1, None)
    assert document["usage"]["calls"] == 1
    assert Path(document["run_dir"], "run_summary.json").is_file()


def test_a_command_that_proves_little_is_flagged_in_the_document(
    run: Run, order_file: Path, server: ScriptedServer
) -> None:
    commands = ["test -f README.md", "test -f hello.txt"]
    order_file.write_text(json.dumps(order(acceptance_commands=commands)))
    said = run("--branch", "work", "--json")
    (flag,) = said.document["flags"]
    assert (flag["code"], flag["command"]) == ("W252", "test -f README.md")
    assert said.document["warnings"] == [f"W252 `{flag['command']}` {flag['message']}"]
    events = Path(said.document["run_dir"], "events.jsonl").read_text().splitlines()
    assert [each["event"] for each in map(json.loads, events)].count("command_flagged") == 1


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_strict_acceptance_refuses_an_order_whose_commands_prove_nothing(
    run: Run, order_file: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    interfaces = [{"path": "hello.py", "stub": "def hello() -> str: ...\n"}]
    weak: Json = {"acceptance_commands": ["test -f hello.py"], "interfaces": interfaces}
    order_file.write_text(json.dumps(order(allowed_files=["hello.py"], **weak)))
    if how == "variable":
        monkeypatch.setenv("LLMCH_STRICT_ACCEPTANCE", "true")
    said = run("--branch", "work", "--json", *(["--strict-acceptance"] if how == "flag" else []))
    assert (said.code, said.document["failure"]["stage"]) == (1, "preflight")
    assert "W234 `test -f hello.py` passes on code that does nothing" in said.err
    assert server.received == []


def test_quiet_is_the_verdict_alone(run: Run, server: ScriptedServer) -> None:
    said = run("--branch", "work", "--quiet")
    assert (said.code, said.err) == (0, "")
    assert "PASS" in said.out.splitlines()[0]
    assert len(said.out.splitlines()) <= 4


def test_without_a_branch_the_order_gets_one_of_its_own(
    run: Run, repo: Path, server: ScriptedServer
) -> None:
    document = run("--json").document
    assert re.fullmatch("factory/say-hello-[0-9a-f]{8}", document["branch"])
    assert git(repo, "rev-parse", document["branch"]) == document["commit"]


def test_an_order_of_a_plan_goes_to_the_plans_branch(
    run: Run, order_file: Path, server: ScriptedServer
) -> None:
    write_plan(order_file.parent, manifest([order()]))
    digest = manifest([order()])["provenance"]["manifest_sha256"]
    assert run("--json").document["branch"] == f"factory/say-hello-{digest[:8]}"


def test_an_order_that_fails_leaves_the_repo_as_it_was(
    run: Run, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(repo)
    with model_server(monkeypatch, BAD, write_reply({"other.txt": "y\n"})):
        said = run("--branch", "work", "--max-attempts", "2", "--json")
    assert said.code == 1
    assert (said.document["verdict"], said.document["commit"]) == ("FAIL", None)
    assert said.document["attempts"] == 2
    failure = said.document["failure"]
    assert failure.keys() >= {"stage", "command", "exit_code", "excerpt"}
    assert failure["stage"] == "write_scope_violation"
    assert "other.txt" in failure["excerpt"]
    assert snapshot(repo) == before


def test_a_failure_is_shown_with_what_happens_next(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, BAD, GOOD):
        said = run("--branch", "work")
    assert said.code == 0
    assert "write_scope_violation" in said.out
    assert "attempt 2 of 5" in said.out


def test_a_failed_order_ends_with_the_command_that_helps_and_the_one_that_shows_it(
    run: Run, say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, BAD, GOOD):
        failed = run("--branch", "work", "--max-attempts", "1", "--model", "my model")
        step, records, report = failed.out.splitlines()[-3:]
        assert f"→ `llmch retry WO-01 --repo {repo} --model 'my model' --hint TEXT`" in step
        assert "records: " in records
        assert f"$ llmch report --html report.html --repo {repo}" in report
        again = say("retry", "WO-01", "--repo", repo, "--sandbox", "off", "--hint", "write hello")
    assert again.code == 0
    assert blob(repo, "work", "hello.txt") == b"hello\n"


def test_replies_without_a_schema_are_asked_for_as_files(
    say: Say, repo: Path, order_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike OpenAI's, a local server binds no schema: content then goes unescaped."""
    with model_server(monkeypatch, GOOD) as server:
        said = say("run", "--repo", repo, "--work-order", order_file, "--sandbox", "off")
    assert said.code == 0
    assert "response_format" not in server.bodies[0]


def test_a_replay_makes_the_same_commit_without_a_key(
    run: Run, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    transcript = tmp_path / "transcript.jsonl"
    with model_server(monkeypatch, GOOD):
        assert run("--branch", "live", "--transcript", transcript).code == 0
    monkeypatch.delenv("OPENAI_BASE_URL")
    said = run("--branch", "again", "--llm", "replay", "--transcript", transcript, "--json")
    assert said.document["usage"]["calls"] == 0
    assert git(repo, "rev-parse", "live") == git(repo, "rev-parse", "again")


def test_the_summary_is_also_written_where_it_is_asked_for(
    run: Run, cwd: Path, server: ScriptedServer
) -> None:
    document = run("--branch", "work", "--out", "new/folder", "--json").document
    written = json.loads((cwd / "new" / "folder" / f"{document['run_id']}.json").read_text())
    assert written == document


def test_what_commands_print_cannot_act_on_the_terminal(
    run: Run, order_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "python -c \"print('\\x1b]0;owned\\x07'); raise SystemExit(1)\""
    order_file.write_text(json.dumps(order(acceptance_commands=[command])))
    with model_server(monkeypatch, GOOD):
        said = run("--branch", "work", "--max-attempts", "1")
    assert said.code == 1
    assert "\x1b" not in said.out
    assert "\x07" not in said.out


# Bad input: the model is not asked, the repo is untouched


def refused(said: Said, code: int) -> str:
    assert said.code == code
    assert said.error["hint"]
    return str(said.error["message"])


BAD_ORDERS: dict[str, tuple[Any, str]] = {
    "missing": (None, "does not exist"),
    "empty": ("", "not JSON"),
    "no JSON": ("{", "not JSON"),
    "duplicate keys": ('{"id": "WO-01", "id": "WO-02"}', "stands twice"),
    "no object": ([], "not a JSON object"),
    "a field missing": ({"id": "WO-01"}, "title"),
    "a command that is a number": (order(acceptance_commands=[7]), "acceptance_commands[0]"),
    "a condition without a path": (
        order(preconditions=[{"kind": "file_exists"}]),
        "preconditions[0].path",
    ),
    "a path that escapes": (order(allowed_files=["../x"]), "allowed_files[0]"),
    "nothing to write": (order(allowed_files=[]), "allowed_files: must not be empty"),
    "a glob": (order(allowed_files=["*.py"]), "glob"),
    "an id of another form": (order(id="1"), "'1' is not of the form WO-01"),
    "eleven megabytes": ("x" * 11_000_000, "is over 10 MB"),
    "deep nesting": ("[" * 100_000, "nested"),
    "a lone surrogate": ('{"id": "\\ud800"}', "surrogate"),
}


@pytest.mark.parametrize(("document", "words"), BAD_ORDERS.values(), ids=BAD_ORDERS)
def test_a_bad_order_is_refused(
    run: Run, repo: Path, cwd: Path, order_file: Path, document: Any, words: str,
    server: ScriptedServer,
) -> None:  # fmt: skip
    if document is None:
        order_file.unlink()
    else:
        order_file.write_text(document if isinstance(document, str) else json.dumps(document))
    before = snapshot(repo)
    assert words in refused(run("--json"), 2)
    assert snapshot(repo) == before
    assert list(cwd.iterdir()) == []
    assert server.received == []


# A state of the repo, how it comes about, and what is said of it with which exit code.
def _merging(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    commit_all(repo, {"README.md": "theirs\n"})
    git(repo, "switch", "--quiet", "main")
    commit_all(repo, {"README.md": "ours\n"})
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "other") + "\n")


def _bare(repo: Path) -> None:
    git(repo, "config", "core.bare", "true")


def _dirty(repo: Path) -> None:
    (repo / "README.md").write_text("changed\n")


def _untracked(repo: Path) -> None:
    (repo / "hello.txt").write_text("mine\n")


def _detached(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--detach")


def _unborn(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "unborn")


REPOS: dict[str, tuple[Callable[[Path], None], str]] = {
    "merging": (_merging, "a merge is under way"),
    "bare": (_bare, "is a bare repo"),
    "dirty": (_dirty, "uncommitted changes: README.md"),
    "untracked": (_untracked, "untracked files where orders would write: hello.txt"),
    "detached": (_detached, "is detached"),
    "unborn": (_unborn, "no commits yet"),
}


@pytest.mark.parametrize(("spoil", "words"), REPOS.values(), ids=REPOS)
def test_a_repo_that_is_not_ready_is_refused(
    run: Run,
    repo: Path,
    cwd: Path,
    spoil: Callable[[Path], None],
    words: str,
    server: ScriptedServer,
) -> None:
    spoil(repo)
    before = (repo / ".git" / "HEAD").read_text(), sorted(map(str, repo.glob("*")))
    assert words in refused(run("--json"), 5)
    after = (repo / ".git" / "HEAD").read_text(), sorted(map(str, repo.glob("*")))
    assert after == before
    assert list(cwd.iterdir()) == []
    assert server.received == []


def test_a_folder_without_a_repo_is_refused(run: Run, cwd: Path, server: ScriptedServer) -> None:
    assert "is not a git repo" in refused(run("--repo", cwd, "--json"), 5)
    assert "no such folder" in refused(run("--repo", cwd / "none", "--json"), 2)


# `{here}` is the folder above the repo.
BAD_FLAGS = {
    "a protected branch": (["--branch", "main"], 5, "'main' is protected"),
    "another protected one": (["--branch", "master"], 5, "'master' is protected"),
    "a name that git refuses": (["--branch", "a..b"], 5, "git refuses 'a..b'"),
    "a name that is a flag": (["--branch=-f"], 5, "git refuses '-f'"),
    "a new branch that exists": (["--branch", "taken", "--create-branch"], 5, "exists already"),
    "an old branch that does not": (["--branch", "b", "--reuse-branch"], 5, "does not exist"),
    "both": (["--create-branch", "--reuse-branch"], 2, "not allowed with"),
    "no such commit": (["--commit-hash", "f" * 40], 5, "does not name a commit"),
    "an export into the repo": (["--out", "{here}/repo/out"], 2, "inside the target repo"),
    "no time at all": (["--timeout-seconds", "0"], 2, "timeout"),
    "time without end": (["--timeout-seconds", "1e9"], 2, "timeout"),
    "time that is none": (["--timeout-seconds", "nan"], 2, "timeout"),
    "no interpreter": (["--python", "{here}/none"], 2, "the program does not exist"),
    "heat": (["--factory-temperature", "3"], 2, "temperature"),
    "nobody who proposes": (["--proposer", "codx"], 2, "none of model, tools, codex"),
    "a cap below zero": (["--max-cost", "-1"], 2, "max-cost"),
    "a replay of nothing": (["--llm", "replay"], 2, "needs a transcript"),
    "a replay of no file": (["--llm", "replay", "--transcript", "{here}/none"], 2, "is not a file"),
    "a record in no folder": (["--transcript", "{here}/none/t.jsonl"], 2, "is not a directory"),
    "a record that is a folder": (["--transcript", "{here}"], 2, "it is a directory"),
    "a record of another kind": (["--transcript", "{here}/WO-01.json"], 2, "not a line of a"),
    "a sandbox that nobody knows": (["--sandbox", "vault"], 2, "vault"),
    "a flag that nobody knows": (["--frobnicate"], 2, "--frobnicate"),
}


@pytest.mark.parametrize(("flags", "code", "words"), BAD_FLAGS.values(), ids=BAD_FLAGS)
def test_bad_flags(
    run: Run,
    repo: Path,
    cwd: Path,
    flags: list[str],
    code: int,
    words: str,
    server: ScriptedServer,
) -> None:
    git(repo, "branch", "taken")
    before = snapshot(repo)
    assert words in refused(run(*[flag.format(here=repo.parent) for flag in flags], "--json"), code)
    assert snapshot(repo) == before
    assert list(cwd.iterdir()) == []
    assert server.received == []


def test_without_a_key_nothing_begins(run: Run, repo: Path, cwd: Path) -> None:
    before = snapshot(repo)
    assert "OPENAI_API_KEY is not set" in refused(run("--json"), 3)
    assert (snapshot(repo), list(cwd.iterdir())) == (before, [])


def test_an_order_that_only_removes_files_needs_no_key(
    run: Run, repo: Path, order_file: Path
) -> None:
    fields: Json = {"allowed_files": [], "removed_files": ["src/app.py"]}
    removing = order(acceptance_commands=["test ! -e src/app.py"]) | fields
    order_file.write_text(json.dumps(removing))
    said = run("--branch", "work")
    assert (said.code, said.err) == (0, "")
    assert "src/app.py" not in git(repo, "ls-tree", "-r", "--name-only", "work").split()


@pytest.mark.parametrize(
    ("flags", "words", "code"),
    [
        (["--work-order", "nowhere.json"], "nowhere.json", 2),
        (["--repo", "."], "is not a git repo", 5),
    ],
)
def test_what_is_wrong_with_the_inputs_is_told_before_a_missing_key(
    run: Run, flags: list[str], words: str, code: int
) -> None:
    assert words in refused(run(*flags, "--json"), code)


def test_a_key_that_is_refused_leaves_the_repo_as_it_was(
    run: Run, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(repo)
    with model_server(monkeypatch, error_answer(401, "wrong key")):
        assert "refused the key" in refused(run("--branch", "work", "--json"), 3)
    assert snapshot(repo) == before


def test_records_that_cannot_be_written_end_the_run_before_it_begins(
    run: Run, repo: Path, cwd: Path, server: ScriptedServer
) -> None:
    before = snapshot(repo)
    (cwd.parent / "file").write_text("")
    message = refused(run("--artifacts-dir", cwd.parent / "file", "--json"), 1)
    assert "file" in message
    assert snapshot(repo) == before
    assert server.received == []


def test_attempts_out_of_range_are_clamped_with_a_warning(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, *[chat_stream("no")] * 3):
        said = run("--branch", "work", "--max-attempts", "0")
    assert said.code == 1
    assert "max-attempts is 0" in said.out


def test_starting_from_main_and_from_a_linked_worktree_is_normal(
    run: Run, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "--quiet", "-b", "mine", str(linked))
    with model_server(monkeypatch, GOOD):
        said = run("--repo", linked, "--branch", "work", "--json")
    assert said.code == 0
    assert git(repo, "rev-parse", "work") == said.document["commit"]


def test_a_red_base_is_exit_5_with_a_remedy(run: Run, repo: Path, server: ScriptedServer) -> None:
    commit_all(repo, {"scripts/verify.sh": "no-such-linter\n"})
    said = run("--json")
    assert said.error["name"] == "PREFLIGHT"
    assert "no-such-linter: command not found" in said.error["message"]
    assert "install no-such-linter" in said.error["hint"]
    assert "--allow-red" in said.error["hint"]
    assert server.received == []


def test_a_red_base_that_is_allowed_is_no_obstacle(
    run: Run, repo: Path, server: ScriptedServer
) -> None:
    commit_all(repo, {"scripts/verify.sh": "exit 1\n"})
    said = run("--allow-red")
    assert said.code == 0, said.err
    assert "red before any order: failed" in said.out


def test_a_fault_of_the_environment_is_exit_5(
    run: Run, order_file: Path, server: ScriptedServer
) -> None:
    order_file.write_text(json.dumps(order(acceptance_commands=["no-such-program"])))
    said = run("--json")
    assert said.code == 5
    assert said.document["failure"]["stage"] == "environment"
    assert "install no-such-program" in said.document["failure"]["remedy"]
