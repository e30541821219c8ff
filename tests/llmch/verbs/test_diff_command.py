"""`llmch diff`: what an attempt changed, whatever came of it."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.harness import git, manifest, order, write_plan, writing
from tests.llmch.command_line import Said, Say, Words, model_server, own_environment, write_reply
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import Act

OPTIONS: Words = ["--sandbox", "off", "--reply-format", "json"]
GREETING = order(
    allowed_files=["hello.txt", "src/app.py"], acceptance_commands=["grep right hello.txt"]
)
Run: TypeAlias = Callable[..., Said]
"""Runs the one order with the given replies, one for each attempt."""
HELLO = "+++ b/hello.txt\n@@ -0,0 +1 @@\n+wrong\n"


@pytest.fixture
def order_file(tmp_path: Path) -> Path:
    path = tmp_path / "WO-01.json"
    path.write_text(json.dumps(GREETING))
    return path


@pytest.fixture
def run_once(say: Say, repo: Path, order_file: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*replies: Act, attempts: int = 0) -> Said:
        with model_server(monkeypatch, *replies):
            return say(
                *("run", "--repo", repo, "--work-order", order_file),
                *("--max-attempts", str(attempts or len(replies)), *OPTIONS),
            )

    return run


WRONG = write_reply({"hello.txt": "wrong\n"})
RIGHT = write_reply({"hello.txt": "right\n"})
STRAY = write_reply({"stray.txt": "text\n", "hello.txt": "wrong\n"})


def attempt_folder(cwd: Path, number: int = 1) -> Path:
    (folder,) = (cwd / "artifacts" / "factory").glob(f"*/attempt_{number}")
    return folder


def test_a_rejected_attempt_is_shown_and_is_on_record(
    say: Say, cwd: Path, repo: Path, run_once: Run
) -> None:
    assert run_once(WRONG).code == 1
    said = say("diff", "WO-01", "--repo", repo)
    assert (said.code, said.err) == (0, "")
    title, patch = said.out.split("\n", 1)
    assert title.startswith("# attempt 1 of WO-01 in run ")
    assert title.endswith(": rejected, acceptance_failed")
    assert patch.endswith(HELLO)
    assert (attempt_folder(cwd) / "rejected.patch").read_text() == patch


def test_the_patch_applies_to_the_base(say: Say, cwd: Path, repo: Path, run_once: Run) -> None:
    run_once(WRONG)
    patch = say("diff", "WO-01", "--repo", repo).out
    git(repo, "apply", "-", stdin=patch.encode())
    assert (repo / "hello.txt").read_text() == "wrong\n"


@pytest.mark.parametrize("kept", [True, False])
def test_the_record_outlives_the_objects_of_the_attempt(
    say: Say, cwd: Path, repo: Path, run_once: Run, kept: bool
) -> None:
    run_once(WRONG)
    git(repo, "prune", "--expire=now")
    if not kept:
        (attempt_folder(cwd) / "rejected.patch").unlink()
    assert say("diff", "WO-01", "--repo", repo).out.endswith(HELLO)


def test_attempts_are_chosen_by_number_and_the_last_is_the_default(
    say: Say, repo: Path, run_once: Run
) -> None:
    run_once(WRONG, RIGHT)
    assert "+right" in say("diff", "WO-01", "--repo", repo).out
    assert "attempt 2 of WO-01" in say("diff", "WO-01", "--repo", repo).out
    assert "+wrong" in say("diff", "WO-01", "1", "--repo", repo).out
    assert "+wrong" in say("diff", "latest", "WO-01", "1", "--repo", repo).out


def test_an_attempt_that_landed_is_shown(say: Say, repo: Path, run_once: Run) -> None:
    assert run_once(RIGHT).code == 0
    document = say("diff", "WO-01", "--repo", repo, "--json").document
    assert (document["passed"], document["stage"]) == (True, None)
    assert document["base"] == git(repo, "rev-parse", "main")
    assert document["files"] == [{"path": "hello.txt", "added": 1, "removed": 0}]
    assert "+right" in document["patch"]


def test_what_was_never_written_is_shown_too(
    say: Say, cwd: Path, repo: Path, run_once: Run
) -> None:
    run_once(STRAY)
    before = git(repo, "count-objects")
    document = say("diff", "WO-01", "--repo", repo, "--json").document
    assert document["stage"] == "write_scope_violation"
    assert [each["path"] for each in document["files"]] == ["hello.txt", "stray.txt"]
    assert "diff --git a/stray.txt b/stray.txt" in document["patch"]
    assert git(repo, "count-objects") == before


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", ".git/config", "a\nb", "a//b"])
def test_a_path_that_no_repo_can_have_is_named_above_the_patch(
    say: Say, repo: Path, run_once: Run, path: str
) -> None:
    run_once(write_reply({path: "text\n", "hello.txt": "wrong\n", "src/app.py": "A = 1\n"}))
    said = say("diff", "WO-01", "--repo", repo)
    assert said.code == 0
    assert f"# {path!a} is not in this patch: it " in said.out
    assert "+wrong" in said.out
    rows = say("diff", "WO-01", "--repo", repo, "--stat").out
    assert ["hello.txt", "+1", "-0"] in [row.split() for row in rows.splitlines()]


def test_a_file_below_a_proposed_file_leaves_one_of_them_out(
    say: Say, repo: Path, run_once: Run
) -> None:
    run_once(write_reply({"src/app.py/below": "text\n", "src/app.py": "A = 1\n"}))
    document = say("diff", "WO-01", "--repo", repo, "--json").document
    assert [each["path"] for each in document["files"]] == ["src/app.py/below"]
    assert document["patch"].startswith("# 'src/app.py' is not in this patch: it ")


def test_the_figures_of_each_file(say: Say, repo: Path, run_once: Run) -> None:
    run_once(write_reply({"hello.txt": "a\nb\n", "src/app.py": "GREETING = 'wrong'\n"}))
    # The base hash is that of an empty file, so this was refused. It is compared all the same.
    lines = say("diff", "WO-01", "--repo", repo, "--stat").out.splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["hello.txt", "+2", "-0"],
        ["src/app.py", "+1", "-1"],
    ]
    assert lines[3] == "2 files changed, 3 lines added, 1 removed"


def test_an_attempt_without_a_proposal_says_so(say: Say, repo: Path, run_once: Run) -> None:
    run_once(*[chat_stream("I would rather not.")] * 3, attempts=1)
    said = say("diff", "WO-01", "--repo", repo)
    assert said.code == 0
    assert "the attempt proposed nothing: llm_output_invalid" in said.out
    assert say("diff", "WO-01", "--repo", repo, "--json").document["patch"] == ""


def test_a_run_is_chosen_by_the_beginning_of_its_id(
    say: Say, cwd: Path, repo: Path, run_once: Run
) -> None:
    run_once(WRONG)
    run_once(WRONG)
    older, newer = sorted(each.name for each in (cwd / "artifacts" / "factory").glob("0*"))
    assert say("diff", "WO-01", "--repo", repo, "--json").document["run_id"] == newer
    said = say("diff", older.lower(), "WO-01", "--repo", repo, "--json")
    assert said.document["run_id"] == older
    ambiguous = say("diff", "01", "WO-01", "--repo", repo, "--json")
    assert (ambiguous.code, ambiguous.error["name"]) == (2, "INVALID")
    assert older in ambiguous.error["hint"] and newer in ambiguous.error["hint"]


@pytest.mark.rest
def test_the_newest_run_that_made_the_order_is_the_default(
    say: Say, cwd: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write_plan(cwd.parent / "plan", manifest([writing("1.txt", 1), writing("2.txt", 2)]))
    command: Words = ["run-all", "--repo", repo, "--workdir", plan, "--max-attempts", "1", *OPTIONS]
    with model_server(monkeypatch, write_reply({"1.txt": "one\n"}), STRAY, STRAY):
        say(*command)
        say(*command)
    assert "+one" in say("diff", "WO-01", "--repo", repo).out
    skipped = say("diff", "latest", "WO-01", "--repo", repo, "--json")
    assert skipped.code == 2
    assert "made no attempt at WO-01" in skipped.error["message"]


@pytest.mark.rest
def test_records_are_found_from_another_folder(
    say: Say, repo: Path, run_once: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_once(WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "llmch", "diff", "WO-01"],
        cwd=repo, env=own_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.endswith(HELLO), done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["WO-09"], "no attempt at an order 'WO-09'"),
        (["WO-01", "7"], "there is no attempt 7 of WO-01"),
        (["WO-01", "0"], "there is no attempt 0 of WO-01"),
        (["01ZZZ", "WO-01"], "there is no run '01ZZZ'"),
        (["latest", "WO-01", "x"], "'x' is not the number of an attempt"),
        (["a", "b", "c", "d"], "at most three"),
        (["../..", "WO-01"], "there is no run"),
        (["", "WO-01"], "several runs|there is no run"),
    ],
)
def test_what_is_not_there_is_said(
    say: Say, repo: Path, run_once: Run, words: list[str], message: str
) -> None:
    run_once(WRONG)
    said = say("diff", *words, "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert re.search(message, said.error["message"])
    assert said.error["hint"]


def test_a_repo_without_runs_is_told(say: Say, repo: Path) -> None:
    said = say("diff", "WO-01", "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "there is no run of this repo" in said.error["message"]


def test_a_base_that_is_gone_is_told(say: Say, cwd: Path, repo: Path, run_once: Run) -> None:
    run_once(WRONG)
    (attempt_folder(cwd) / "rejected.patch").unlink()
    shutil.rmtree(repo / ".git")
    git(repo, "init", "--quiet")
    said = say("diff", "WO-01", "--repo", repo, "--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert "is not in this repo any more" in said.error["message"]


@pytest.mark.rest
@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b'{"orders": 3, "repo": 4}', b"\xff" * 9])
@pytest.mark.parametrize(
    "name", ["run.json", "run_summary.json", "failure_brief.json", "proposed_writes.json",
             "write_result.json", "rejected.patch"],
)  # fmt: skip
def test_records_that_cannot_be_read_never_end_in_a_traceback(
    say: Say, cwd: Path, repo: Path, run_once: Run, name: str, junk: bytes
) -> None:
    run_once(WRONG)
    folder = attempt_folder(cwd)
    path = folder / name if (folder / name).exists() else folder.parent / name
    path.write_bytes(junk)
    for form in ([], ["--stat"], ["--json"]):
        assert say("diff", "WO-01", "--repo", repo, *form).code in (0, 1, 2, 5)


@pytest.mark.rest
def test_a_reader_that_goes_away_is_no_error(repo: Path, run_once: Run, cwd: Path) -> None:
    run_once(write_reply({"hello.txt": "wrong\n" * 60_000}))
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | head -n 3', "bash",
         sys.executable, "-m", "llmch", "diff", "WO-01", "--repo", str(repo)],
        cwd=cwd, env=own_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.rest
@pytest.mark.parametrize(("option", "coloured"), [([], True), (["--no-color"], False)])
def test_a_terminal_gets_colour_and_nothing_that_it_would_obey(
    repo: Path, run_once: Run, cwd: Path, option: list[str], coloured: bool
) -> None:
    run_once(write_reply({"hello.txt": "wrong \x1b]0;title\x07\x1b[2Jtext\n"}))
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "llmch", "diff", "WO-01", "--repo", str(repo), *option],
        cwd=cwd, env=own_environment(TERM="xterm"), stdout=theirs, check=False,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert done.returncode == 0
    assert b"title" not in shown and b"\x1b[2J" not in shown
    assert b"+wrong text" in shown
    assert (b"\x1b[32m+wrong" in shown) is coloured
