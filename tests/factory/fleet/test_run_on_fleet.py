"""Plans that the workers of a fleet carry out: the branch is that of a run on one machine."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from factory.fleet.fleet_admin import cancel_plan, read_fleet
from factory.sandbox.detect import find_backends
from factory.sandbox.policy import Backend
from tests.factory.fleet.cluster import PASSWORD, Cluster
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.scale import large
from tests.factory.fleet.small_fleet import (
    SmallFleet,
    order,
    run_all,
    start_run_all,
)
from tests.harness import git
from tests.llmch.command_line import run


@pytest.mark.rest
def test_three_orders_on_two_workers_make_the_commits_of_one_machine(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1), order(2), order(3, context_files=["1.txt"]))
    alone = run_all(fleet, fleet.copy_of_repo(), plan)
    assert alone.code == 0, alone.err
    for name in ("one", "two"):
        fleet.start_worker(name)
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet")
    assert said.code == 0, said.err + said.out
    assert said.document["tip"] == alone.document["tip"]
    assert [each["state"] for each in said.document["orders"]] == ["landed"] * 3
    assert fleet.refs_left() == ""
    assert read_fleet(fleet.url).queue == ()
    _looks_like_a_local_run(said.document, alone.document)
    for worker in fleet.workers.values():
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    leftovers = [each for name in fleet.workers for each in (fleet.folder / name).rglob("*.git")]
    assert leftovers == []


def _looks_like_a_local_run(document: dict[str, object], local: dict[str, object]) -> None:
    def files(run_dir: object) -> set[str]:
        root = Path(str(run_dir))
        found = {str(each.relative_to(root)) for each in root.rglob("*") if each.is_file()}
        return {each for each in found if not each.startswith("base")}

    assert files(document["run_dir"]) == files(local["run_dir"])
    calls = [json.loads(json.dumps(each["usage"])) for each in (document, local)]
    assert calls[0] == calls[1]


@large
def test_failed_attempts_and_a_red_base_are_known_to_whoever_goes_on(fleet: SmallFleet) -> None:
    (fleet.repo / "scripts" / "verify.sh").write_text("echo 1 failed; exit 1\n")
    git(fleet.repo, "commit", "--quiet", "--all", "--message=red")
    git(fleet.repo, "push", "--quiet", "origin", "main")
    fleet.model.clumsy = frozenset("23")
    plan = fleet.plan(order(1), order(2), order(3, context_files=["2.txt"]))
    alone = run_all(fleet, fleet.copy_of_repo(), plan, "--allow-red")
    assert alone.code == 0, alone.err
    for name in ("one", "two"):
        fleet.start_worker(name)
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet", "--allow-red")
    assert said.code == 0, said.err
    assert said.document["tip"] == alone.document["tip"]
    assert [each["attempts"] for each in said.document["orders"]] == [1, 2, 2]
    _looks_like_a_local_run(said.document, alone.document)


@large
def test_an_order_that_fails_ends_the_run_as_on_one_machine(fleet: SmallFleet) -> None:
    bad = order(2, acceptance_commands=["test -f missing.txt"])
    plan = fleet.plan(order(1), bad, order(3))
    fleet.start_worker("one", "--slots", "3")
    flags = ("--max-attempts", "1", "--keep-going")
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet", *flags)
    assert said.code == 1, said.err
    states = [each["state"] for each in said.document["orders"]]
    assert states == ["landed", "failed", "landed"]
    failure = said.document["orders"][1]["failure"]
    assert (failure["stage"], failure["command"]) == ("acceptance_failed", "test -f missing.txt")
    assert fleet.refs_left() == ""


@large
def test_git_holds_what_the_fleet_landed(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1), order(2))
    fleet.start_worker("one", "--slots", "2")
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet", "--push")
    assert said.code == 0, said.err
    tip = git(fleet.repo, "rev-parse", "work")
    assert git(fleet.remote, "rev-parse", "work") == tip == said.document["tip"]


@large
def test_a_worker_that_is_killed_in_the_middle_costs_neither_a_commit_nor_a_call(
    fleet: SmallFleet,
) -> None:
    waits = "while [ ! -e {go} ]; do sleep 0.05; done"
    go, began = fleet.folder / "go", fleet.folder / "began"
    script = f"#!/bin/bash\ntouch {began}\n{waits.format(go=go)}\n"
    git(fleet.repo, "switch", "--quiet", "main")
    (fleet.repo / "scripts" / "verify.sh").write_text(script)
    git(fleet.repo, "commit", "--quiet", "--all", "--message=slow")
    git(fleet.repo, "push", "--quiet", "origin", "main")
    plan = fleet.plan(order(1), order(2), order(3))
    go.touch()
    alone = run_all(fleet, fleet.copy_of_repo(), plan)
    before = len(fleet.model.received)
    go.unlink()
    fleet.start_worker("killed", "--slots", "3")
    with start_run_all(fleet, plan) as running:
        until(lambda: (fleet.repo / ".git" / "llmch").exists(), "the run begins")
        go.touch()  # the base is verified
        until(lambda: "refs/llmch" in fleet.refs_left(), "it uses the remote")
        go.unlink(missing_ok=True)
        began.unlink(missing_ok=True)
        until(began.exists, "a candidate is being judged")
        fleet.workers["killed"].kill()
        fleet.start_worker("other", "--slots", "3")
        go.touch()
        out, err = running.communicate(timeout=200)
    assert running.returncode == 0, err
    document = json.loads(out)
    assert document["tip"] == alone.document["tip"]
    # Three calls, although a worker died after them: the replies were on record.
    assert len(fleet.model.received) - before == 3
    assert fleet.refs_left() == ""


@large
def test_what_a_killed_run_left_is_cleared_and_the_next_run_pays_for_no_reply_again(
    cluster: Cluster, database: str, fleet: SmallFleet
) -> None:
    plan = fleet.plan(order(1), order(2))
    alone = run_all(fleet, fleet.copy_of_repo(), plan)
    before = len(fleet.model.received)
    fleet.start_worker("one", "--slots", "2")
    with start_run_all(fleet, plan) as killed:
        until(lambda: len(fleet.model.received) - before == 2, "the model is asked")
        until(
            lambda: cluster.execute("SELECT count(*) FROM llmch.replies", database) == [(2,)],
            "both replies are on record",
        )
        killed.kill()
        killed.communicate()
    assert fleet.refs_left() != ""
    until(lambda: all(each.dead for each in read_fleet(fleet.url).runs), "it is dead")
    until(lambda: not read_fleet(fleet.url).queue, "its jobs are cancelled")
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet")
    assert said.code == 0, said.err
    assert said.document["tip"] == alone.document["tip"]
    assert len(fleet.model.received) - before == 2
    assert fleet.refs_left() == ""
    for table in ("workflow_status", "workflow_input", "workflow_output"):
        assert cluster.execute(f"SELECT count(*) FROM llmch_engine.{table}", database) == [(0,)]
    for table in ("candidates", "intents", "spending", "takeovers"):
        assert cluster.execute(f"SELECT count(*) FROM llmch.{table}", database) == [(0,)]


@large
def test_the_cap_of_a_run_holds_on_its_workers(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1), order(2))
    fleet.start_worker("one", "--slots", "2")
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet", "--max-tokens", "500")
    assert (said.code, said.error["name"]) == (7, "BUDGET")
    assert "the token cap of 500 is reached" in said.error["message"]
    assert fleet.model.received == []


@large
def test_commands_see_neither_database_nor_key(
    fleet: SmallFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    if all(each.problem for each in find_backends() if each.backend is Backend.BWRAP):
        pytest.skip("bwrap does not work here")
    looks = (
        "import pathlib, sys\n"
        "seen = [p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/environ')]\n"
        "seen += [p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')]\n"
        "assert len(seen) >= 4, seen\n"
        "for secret in ('FLEET', 'p4ss', 'postgresql:', 'OPENAI_API_KEY', 'k3y'):\n"
        "    assert not any(secret.encode() in each for each in seen), secret\n"
    )
    test = {"path": "tests/look.py", "content": looks}
    plan = fleet.plan(
        order(1, acceptance_files=[test], acceptance_commands=["python tests/look.py"])
    )
    secrets = {"LLMCH_FLEET_DB": fleet.url.text, "OPENAI_API_KEY": "k3y-of-the-tests"}
    fleet.start_worker("one", "--sandbox", "bwrap", **secrets)
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet")
    assert said.code == 0, said.err
    run_dir = Path(said.document["run_dir"])
    everything = [*run_dir.rglob("*"), *(fleet.folder / "one").rglob("*")]
    holding = [each for each in everything if each.is_file() and _has_secret(each)]
    assert [each for each in holding if each.name != "llmch.toml"] == []
    assert PASSWORD not in said.out + said.err


def _has_secret(path: Path) -> bool:
    content = path.read_bytes()
    return PASSWORD.encode() in content or b"k3y-of-the-tests" in content


@large
def test_a_run_that_is_not_to_wait_ends_where_no_worker_is_alive(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1))
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet", "--no-wait")
    assert said.code == 9
    assert said.error["message"] == "no worker of the fleet is alive"
    assert read_fleet(fleet.url).queue == ()
    assert fleet.refs_left() == ""
    alone = run_all(fleet, fleet.repo, plan, "--no-wait")
    assert alone.code == 2


@large
def test_a_run_without_workers_says_so_and_goes_on_when_one_comes(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1))
    with start_run_all(fleet, plan) as running:
        assert running.stderr is not None
        said = ""
        while "no worker of the fleet is alive" not in said:
            line = running.stderr.readline()
            assert line, said
            said += line
        fleet.start_worker("late")
        out, err = running.communicate(timeout=200)
    assert running.returncode == 0, said + err
    assert [each["state"] for each in json.loads(out)["orders"]] == ["landed"]


@large
def test_a_cancelled_run_ends_and_says_how_it_goes_on(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1))
    with start_run_all(fleet, plan) as running:
        until(lambda: bool(read_fleet(fleet.url).plans), "the job is queued")
        (queued,) = read_fleet(fleet.url).plans
        cancel_plan(fleet.url, queued.plan)
        out, err = running.communicate(timeout=200)
    assert running.returncode == 1, err
    assert "was cancelled by `llmch fleet cancel`" in json.loads(out)["error"]["message"]
    assert read_fleet(fleet.url).queue == ()
    assert fleet.refs_left() == ""


@large
def test_a_run_that_stood_still_ends_and_goes_on_by_the_same_command(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1))
    with start_run_all(fleet, plan) as running:
        until(lambda: bool(read_fleet(fleet.url).queue), "the job is queued")
        running.send_signal(signal.SIGSTOP)
        fleet.start_worker("one")
        until(lambda: all(each.dead for each in read_fleet(fleet.url).runs), "it is dead")
        running.send_signal(signal.SIGCONT)
        out, err = running.communicate(timeout=200)
    assert running.returncode == 1, err
    assert "stood still for longer than its lease" in json.loads(out)["error"]["message"]
    assert run_all(fleet, fleet.repo, plan, "--on", "fleet").code == 0
    assert fleet.refs_left() == ""


@large
def test_a_remote_that_refuses_pushes_for_a_while_is_asked_again(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1))
    fleet.start_worker("one")
    hook, tries = fleet.remote / "hooks" / "pre-receive", fleet.folder / "tries"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\necho x >> {tries}\ntest $(wc -l < {tries}) -gt 2\n")
    hook.chmod(0o755)
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet")
    assert said.code == 0, said.err
    assert len(tries.read_text().split()) > 3


@large
def test_a_repo_without_the_remote_is_refused(fleet: SmallFleet) -> None:
    git(fleet.repo, "remote", "rename", "origin", "upstream")
    said = run_all(fleet, fleet.repo, fleet.plan(order(1)), "--on", "fleet")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "has no remote 'origin'" in said.error["message"]


def test_a_worker_is_refused_in_words(fleet: SmallFleet) -> None:
    for flags, code, words in (
        (("--slots", "0"), 2, "'0' is not a number from 1 to 100"),
        (("--id", "../up"), 2, "has other characters"),
        ((), 9, "no fleet is set up"),
    ):
        said = run("worker", *flags, "--json", cwd=fleet.folder)
        assert said.code == code
        assert words in said.error["message"]
