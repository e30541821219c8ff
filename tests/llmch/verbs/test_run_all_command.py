"""`llmch run-all` through its real entry: a plan's orders on one branch, and on again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import (
    commit_all,
    factory_branch,
    git,
    hashed,
    manifest,
    write_plan,
    writing,
)
from tests.llmch.command_line import Said, Say, model_server, snapshot, write_reply
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import Act

KEYS = {"verdict", "branch", "base", "tip", "orders", "usage"}
ONE, TWO, THREE = (write_reply({f"{number}.txt": "text\n"}) for number in (1, 2, 3))
STRAY = write_reply({"stray.txt": "text\n"})

RunAll = Callable[..., Said]


def three_orders() -> list[dict[str, Any]]:
    return [writing(f"{number}.txt", number) for number in (1, 2, 3)]


@pytest.fixture
def workdir(cwd: Path) -> Path:
    return write_plan(cwd.parent / "plan", manifest(three_orders()))


@pytest.fixture
def run_all(say: Say, repo: Path, workdir: Path) -> RunAll:
    """Runs the plan on the repo, commands without a sandbox, one attempt an order."""

    def run_all(*flags: str | Path) -> Said:
        return say(
            "run-all", "--repo", repo, "--workdir", workdir, "--sandbox", "off",
            "--reply-format", "json", "--max-attempts", "1", *flags,
        )  # fmt: skip

    return run_all


def states(said: Said) -> list[str]:
    return [each["state"] for each in said.document["orders"]]


def subjects(repo: Path, branch: str) -> list[str]:
    return git(repo, "log", "--reverse", "--format=%s", f"main..{branch}").splitlines()


def test_all_orders_land_on_the_plans_branch(
    run_all: RunAll, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, TWO, THREE):
        said = run_all()
    assert (said.code, said.err) == (0, "")
    trailers = git(
        *(repo, "log", "--reverse", "--format=%(trailers:key=Llmch-Work-Order,valueonly)"),
        f"main..{factory_branch(repo)}",
    )
    assert trailers.split() == ["WO-01", "WO-02", "WO-03"]
    assert f"3 of 3 orders on {factory_branch(repo)}" in said.out
    assert git(repo, "branch", "--show-current") == "main"


def test_without_a_folder_the_latest_plan_is_meant_and_named(
    say: Say, repo: Path, cwd: Path, run_all: RunAll, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(name: str, of: Path, number: int) -> Path:
        records = cwd / "artifacts/planner" / name
        folder = write_plan(records / "output", manifest([writing(f"{number}.txt")]))
        head = {"command": "plan", "repo": str(of.resolve())}
        (records / "run.json").write_text(json.dumps(head))
        return folder

    planned("01000000000000000000000000", repo, 7)
    with model_server(monkeypatch, ONE, TWO, THREE):
        assert run_all().code == 0
    shown = say("show", "--repo", repo)
    assert "Plan: 3 orders, 3 landed" in shown.out and str(cwd.parent / "plan") in shown.out
    planned("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", cwd, 8)
    newest = planned("7ZZZZZZZZZZZZZZZZZZZZZZZZY", repo, 9)
    with model_server(monkeypatch, write_reply({"9.txt": "text\n"})):
        said = say("run-all", "--repo", repo, "--sandbox", "off", "--reply-format", "json")
    assert (said.code, said.out.count(f"the plan is the one in {newest}")) == (0, 1)


def test_a_plan_that_has_landed_needs_no_key(
    run_all: RunAll, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, TWO, THREE):
        assert run_all().code == 0
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    said = run_all("--json")
    assert (said.code, said.document["tip"]) == (0, git(repo, "rev-parse", factory_branch(repo)))
    elsewhere = run_all("--branch", "elsewhere", "--json")
    assert (elsewhere.code, elsewhere.error["name"]) == (3, "MODEL")
    git(repo, "clone", "--quiet", ".", str(cwd / "clone"))
    assert run_all("--repo", cwd / "clone", "--json").code == 0  # it goes on from origin's branch
    git(repo, "branch", "--force", factory_branch(repo), f"{factory_branch(repo)}~1")
    assert run_all("--json").code == 3


def test_files_that_have_changed_since_the_plan_are_refused_unless_allowed(
    say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "README.md"
    seen = {"path": path, "sha256": hashlib.sha256((repo / path).read_bytes()).hexdigest()}
    plan = hashed({**manifest([writing(path)]), "base_files": [seen]})
    commit_all(repo, {path: "# Another text\n"})
    command = (
        *("run-all", "--repo", repo, "--workdir", write_plan(cwd.parent / "plan", plan)),
        *("--sandbox", "off", "--reply-format", "files"),
    )
    with model_server(monkeypatch) as server:
        said = say(*command)
    assert said.code == 5 and f"{path}, which WO-01 touches or reads" in said.err
    assert not server.received
    with model_server(monkeypatch, chat_stream("Done.\n\n```README.md\n# As asked\n```\n")):
        said = say(*command, "--allow-changed", "--json")
    assert said.document["verdict"] == "PASS"


def test_a_commit_that_the_branch_has_lost_is_made_again_only_where_allowed(
    say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write_plan(cwd.parent / "plan", manifest([writing("1.txt")]))
    command = (
        *("run-all", "--repo", repo, "--workdir", plan, "--branch", "work"),
        *("--sandbox", "off", "--reply-format", "files"),
    )
    with model_server(monkeypatch, chat_stream("Done.\n\n```1.txt\ntext\n```\n")):
        assert say(*command).code == 0
    git(repo, "switch", "--quiet", "work")
    (repo / "1.txt").write_text("by hand\n")
    git(repo, "commit", "--quiet", "--all", "--amend", "--message=By hand")
    with model_server(monkeypatch) as server:
        said = say(*command)
    assert said.code == 5 and "--allow-lost makes such orders again" in said.err
    assert not server.received
    with model_server(monkeypatch, chat_stream("Done.\n\n```1.txt\nanew\n```\n")):
        said = say(*command, "--allow-lost", "--json")
    assert states(said) == ["landed"]


def test_json_is_one_document_with_the_promised_keys(
    run_all: RunAll, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, TWO, THREE):
        said = run_all("--branch", "work", "--json")
    document = said.document
    assert said.code == 0
    assert document.keys() >= KEYS
    assert states(said) == ["landed"] * 3
    assert (document["verdict"], document["branch"]) == ("PASS", "work")
    assert document["base"] == git(repo, "rev-parse", "main")
    assert document["tip"] == git(repo, "rev-parse", "work") == document["orders"][2]["commit"]
    assert document["usage"]["calls"] == 3
    assert {each["work_order"] for each in document["orders"]} == {"WO-01", "WO-02", "WO-03"}


def test_quiet_is_the_verdict_alone(run_all: RunAll, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(monkeypatch, ONE, TWO, THREE):
        said = run_all("--quiet")
    assert (said.code, said.err) == (0, "")
    assert "ask" not in said.out
    assert "run-all  PASS" in said.out


def test_a_transcript_that_cannot_be_written_leaves_what_is_known_of_the_last_run(
    run_all: RunAll, say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, STRAY) as server:
        run_all()
        known = say("status", "--repo", repo, "--json").document
        said = run_all("--branch", "other", "--transcript", cwd / "no" / "t.jsonl", "--json")
        assert (said.code, len(server.received)) == (2, 1)
    assert f"{cwd / 'no'} is not a directory" in said.error["message"]
    assert "--transcript" in said.error["hint"]
    assert say("status", "--repo", repo, "--json").document == known
    assert known["orders"][0]["state"] == "FAILED"


@pytest.mark.rest
def test_a_failure_stops_the_run_and_the_next_call_goes_on_from_there(
    run_all: RunAll, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, STRAY) as server:
        said = run_all("--json")
        assert len(server.received) == 2
    assert said.code == 1
    assert (said.document["verdict"], states(said)) == ("FAIL", ["landed", "failed", "pending"])
    landed = said.document["tip"]
    with model_server(monkeypatch, TWO, THREE) as server:
        again = run_all("--json")
        assert len(server.received) == 2
    assert again.code == 0
    assert states(again) == ["skipped", "landed", "landed"]
    assert again.document["base"] == landed
    assert len(subjects(repo, factory_branch(repo))) == 3


def test_a_plan_that_has_landed_asks_for_nothing_more(
    run_all: RunAll, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, TWO, THREE):
        first = run_all("--json")
    with model_server(monkeypatch) as server:
        again = run_all("--json")
    assert (again.code, states(again)) == (0, ["skipped"] * 3)
    assert again.document["tip"] == first.document["tip"]
    assert server.received == []


def test_a_first_order_that_fails_leaves_no_branch(
    run_all: RunAll, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(repo)
    with model_server(monkeypatch, STRAY):
        assert run_all().code == 1
    assert snapshot(repo) == before


# Bad input: the model is not asked, the repo is untouched


def no_orders(workdir: Path) -> None:
    for file in workdir.iterdir():
        file.unlink()


def a_gap(workdir: Path) -> None:
    (workdir / "WORK_ORDERS_MANIFEST.json").unlink()
    (workdir / "WO-02.json").unlink()


def a_missing_file(workdir: Path) -> None:
    (workdir / "WO-02.json").unlink()


def a_changed_order(workdir: Path) -> None:
    document = json.loads((workdir / "WO-02.json").read_text())
    (workdir / "WO-02.json").write_text(json.dumps(document | {"title": "Another"}))


def a_broken_order(workdir: Path) -> None:
    (workdir / "WO-02.json").write_text("{")


def a_broken_manifest(workdir: Path) -> None:
    (workdir / "WORK_ORDERS_MANIFEST.json").write_text('{"work_orders": 7}')


def a_huge_manifest(workdir: Path) -> None:
    (workdir / "WORK_ORDERS_MANIFEST.json").write_text("x" * 11_000_000)


WORKDIRS: dict[str, tuple[Callable[[Path], None], str]] = {
    "no orders": (no_orders, "holds no work orders"),
    "a gap": (a_gap, "expected WO-02, found WO-03"),
    "a missing file": (a_missing_file, "WO-02.json is missing: WORK_ORDERS_MANIFEST.json"),
    "a changed order": (a_changed_order, "WO-02.json and WORK_ORDERS_MANIFEST.json disagree"),
    "a broken order": (a_broken_order, "WO-02.json: not JSON"),
    "a broken manifest": (a_broken_manifest, "work_orders: must be a list"),
    "a huge manifest": (a_huge_manifest, "is over 10 MB"),
}


@pytest.mark.parametrize(("spoil", "words"), WORKDIRS.values(), ids=WORKDIRS)
def test_a_bad_workdir_is_refused(
    run_all: RunAll,
    repo: Path,
    cwd: Path,
    workdir: Path,
    spoil: Callable[[Path], None],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoil(workdir)
    before = snapshot(repo)
    with model_server(monkeypatch) as server:
        said = run_all("--json")
    assert said.code == 2
    assert words in said.error["message"]
    assert said.error["hint"]
    assert snapshot(repo) == before
    assert (server.received, list(cwd.iterdir())) == ([], [])


def test_a_workdir_that_is_not_there_is_refused(
    run_all: RunAll, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    said = run_all("--workdir", workdir / "none", "--json")
    assert said.code == 2
    assert "is not a directory" in said.error["message"]


def test_a_plan_that_was_edited_to_exempt_itself_is_refused(
    run_all: RunAll, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = manifest(three_orders())
    for each in document["work_orders"]:
        each["verify_exempt"] = True  # after the hash was taken
    write_plan(workdir, document)
    before = snapshot(repo)
    with model_server(monkeypatch) as server:
        edited = run_all("--json")
    assert (edited.code, edited.error["name"]) == (2, "INVALID")
    assert f"`llmch check {workdir} --accept-edits`" in edited.error["hint"]
    assert (server.received, snapshot(repo)) == ([], before)


@pytest.mark.rest
def test_landed_orders_are_carried_onto_another_branch_without_a_key(
    run_all: RunAll, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, ONE, TWO, THREE):
        assert run_all().code == 0
    own = factory_branch(repo)
    git(repo, "switch", "--quiet", "--create", "other")
    commit_all(repo, {"other.txt": "x\n", "2.txt": "theirs\n"})
    git(repo, "switch", "--quiet", "main")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    said = run_all("--onto", "other", "--keep-going", "--json")
    assert (said.code, states(said)) == (1, ["landed", "failed", "landed"])
    assert said.document["branch"] == f"{own}-onto-other"
    assert said.document["orders"][1]["failure"]["stage"] == "conflict"
    assert "no model is asked" in said.err
    again = run_all("--onto", "other", "--llm", "replay")
    assert again.code == 1
    assert "`llmch retry WO-02" in again.out
    assert subjects(repo, "other") == ["more"]


@pytest.mark.parametrize("more", [("--on", "fleet"), ("--commit-hash", "HEAD")])
def test_what_does_not_go_with_onto_is_refused(
    run_all: RunAll, repo: Path, more: tuple[str, str]
) -> None:
    said = run_all("--onto", "main", *more)
    assert said.code == 2
    assert "--onto begins on this machine" in said.err


def impossible(number: int) -> Act:
    claim = {"reason": f"part {number} contradicts itself", "command": f"grep -qv x {number}.txt"}
    return chat_stream(json.dumps({"impossible": claim}))


@pytest.mark.parametrize("flags", [(), ("--keep-going",)])
def test_a_plan_of_which_every_order_is_impossible_is_paid_for_once_an_order(
    say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    orders = [
        writing(f"{n}.txt", n, acceptance_commands=[f"grep -q x {n}.txt", f"grep -qv x {n}.txt"])
        for n in range(1, 5)
    ]
    folder = write_plan(cwd.parent / "plan", manifest(orders))
    before = snapshot(repo)
    command = ["run-all", "--sandbox", "off", "--reply-format", "json", "--max-attempts", "5"]
    with model_server(monkeypatch, *map(impossible, range(1, 5))) as server:
        said = say(*command, *flags, "--repo", repo, "--workdir", folder)
    names = [f"WO-0{n}" for n in range(1, 5 if flags else 2)]
    assert (said.code, len(server.received)) == (1, len(names))
    assert snapshot(repo) == before
    assert all(f"{name}    FAIL      impossible: grep" in said.out for name in names)
    verdict = next(each for each in said.out.splitlines() if "run-all  FAIL" in each)
    assert "0 of 4 orders" in verdict
    assert "WO-01 impossible: grep -qv x 1.txt" in verdict
    assert (", and 3 more failed" in verdict) is bool(flags)
    step = next(each for each in said.out.splitlines() if "llmch plan --spec" in each)
    assert f"correct {', '.join(names)}, or plan {'them' if flags else 'it'} alone again" in step
    assert f"--from {folder}" in step
    status = say("status", "--repo", repo)
    assert f"next: correct {', '.join(names)}, or plan" in status.out
