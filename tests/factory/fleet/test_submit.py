"""Plans that are submitted: whichever worker coordinates them, they land on the remote."""

from __future__ import annotations

import json
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from factory.fleet.fleet_admin import cancel_plan, read_fleet
from tests.factory.fleet.cluster import PASSWORD, Cluster
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.scale import large
from tests.factory.fleet.small_fleet import DATE, SmallFleet, order
from tests.harness import git
from tests.llmch.command_line import Said, Words, run, start

pytestmark = pytest.mark.rest


def submit(fleet: SmallFleet, plan: Path, *flags: str | Path) -> Said:
    return run(*_words(fleet, plan, *flags), cwd=fleet.person(), **DATE)


def _words(fleet: SmallFleet, plan: Path, *flags: str | Path) -> Words:
    return [
        *("submit", "--repo", fleet.remote, "--workdir", plan, "--branch", "work", "--json"),
        *("--reply-format", "json", *flags),
    ]


def wait(fleet: SmallFleet, plan: str, *flags: str | Path) -> Said:
    return run("fleet", "wait", plan, "--json", *flags, cwd=fleet.person())


def failures_by_suite(file: Path) -> dict[str, int]:
    """Return how many cases of each suite of a JUnit file failed."""
    suites = ElementTree.parse(file).getroot().iter("testsuite")
    return {str(each.get("name")): int(each.get("failures", "")) for each in suites}


def alone(fleet: SmallFleet, plan: Path) -> str:
    """Return the tip that a run on one machine makes of the plan."""
    said = run(
        *("run-all", "--repo", fleet.copy_of_repo(), "--workdir", plan, "--branch", "work"),
        *("--json", "--sandbox", "off", "--reply-format", "json"),
        cwd=fleet.person(),
        OPENAI_BASE_URL=fleet.model.base_url,
        **DATE,
    )
    assert said.code == 0, said.err
    return str(said.document["tip"])


def tip_on_remote(fleet: SmallFleet, branch: str = "work") -> str:
    return git(fleet.remote, "rev-parse", branch)


def test_a_submitted_plan_lands_on_the_remote_what_one_machine_makes(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1), order(2), order(3, context_files=["1.txt"]))
    expected = alone(fleet, plan)
    for name in ("one", "two"):
        fleet.start_worker(name)
    cases = fleet.person() / "cases.xml"
    said = submit(fleet, plan, "--wait", "--junit", cases)
    assert said.code == 0, said.err + said.out
    assert said.document["tip"] == expected == tip_on_remote(fleet)
    assert list(failures_by_suite(cases).values()) == [0, 0, 0]
    assert [each["state"] for each in said.document["orders"]] == ["landed"] * 3
    noted = git(fleet.remote, "notes", "--ref=llmch", "list").splitlines()
    assert len(noted) == 3
    run_dir = Path(said.document["run_dir"])
    assert run_dir.is_relative_to(fleet.person() / "artifacts")
    assert json.loads((run_dir / "run.json").read_text())["status"] == "completed"
    assert fleet.refs_left() == ""
    assert read_fleet(fleet.url).queue == ()


@large
def test_a_plan_may_be_left_and_its_end_read_later(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1), order(2, acceptance_commands=["test -f missing.txt"]))
    said = submit(fleet, plan, "--max-attempts", "1")
    assert said.code == 0, said.err
    assert said.document["branch"] == "work"
    name = said.document["plan"]
    shown = run("fleet", "status", cwd=fleet.person())
    assert f"{name}" in shown.out
    assert "queued" in shown.out
    assert "remote work" in shown.out
    fleet.start_worker("one")
    until(lambda: [each.state for each in read_fleet(fleet.url).plans] == ["ended"], "it ends")
    cases = fleet.person() / "cases.xml"
    ended = wait(fleet, name, "--junit", cases)
    assert ended.code == 1, ended.err
    assert [each["state"] for each in ended.document["orders"]] == ["landed", "failed"]
    landed, failed = failures_by_suite(cases).values()
    assert landed == 0 < failed
    again = wait(fleet, name)
    assert again.code == 2
    assert "knows no submitted plan" in again.error["message"]
    assert read_fleet(fleet.url).plans == []


def test_an_order_that_failed_is_asked_for_anew_when_its_plan_is_submitted_again(
    fleet: SmallFleet,
) -> None:
    plan = fleet.plan(order(1), order(2, acceptance_commands=["test -f missing.txt"]))
    fleet.start_worker("one")
    for asked in (2, 3, 4):
        said = submit(fleet, plan, "--max-attempts", "1", "--wait")
        assert said.code == 1, said.err
        assert said.document["orders"][1]["state"] == "failed"
        assert len(fleet.model.received) == asked


@large
def test_what_happens_is_shown_while_it_happens(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1))
    words = [each for each in _words(fleet, plan, "--wait") if each != "--json"]
    with start(*words, cwd=fleet.person(), **DATE) as running:
        until(lambda: bool(read_fleet(fleet.url).plans), "the plan is queued")
        fleet.start_worker("one")
        out, err = running.communicate(timeout=200)
    assert running.returncode == 0, err
    assert "submitted plan" in out
    assert out.index("WO-01") < out.index("1 of 1 order on work")
    assert f"git fetch {fleet.remote} work" in out
    assert str(fleet.folder / "one") not in out


@large
def test_whoever_stops_to_wait_does_not_stop_the_plan(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1))
    with start(*_words(fleet, plan, "--wait"), cwd=fleet.person(), **DATE) as waiting:
        until(lambda: bool(read_fleet(fleet.url).plans), "the plan is queued")
        assert waiting.stderr is not None
        while "no worker of the fleet is alive" not in (line := waiting.stderr.readline()):
            assert line
        waiting.send_signal(signal.SIGTERM)
        out, _ = waiting.communicate(timeout=100)
    assert waiting.returncode == 130
    (queued,) = read_fleet(fleet.url).plans
    assert f"`llmch fleet wait {queued.plan}`" in json.loads(out)["error"]["hint"]
    fleet.start_worker("one")
    assert wait(fleet, queued.plan).code == 0


@large
def test_a_coordinator_that_is_killed_is_replaced(
    cluster: Cluster, database: str, fleet: SmallFleet
) -> None:
    plan = fleet.plan(*map(order, range(1, 6)))
    expected = alone(fleet, plan)
    before = len(fleet.model.received)
    fleet.start_worker("killed", "--slots", "2")
    name = submit(fleet, plan).document["plan"]
    until(lambda: bool(git(fleet.remote, "branch", "--list", "work")), "something has landed")
    fleet.workers["killed"].kill()
    fleet.start_worker("other", "--slots", "2")
    ended = wait(fleet, name)
    assert ended.code == 0, ended.err + ended.out
    assert tip_on_remote(fleet) == expected == ended.document["tip"]
    # A call is repeated only where the kill came in the middle of it: two slots.
    assert len(fleet.model.received) - before <= 5 + 2
    until(lambda: fleet.refs_left() == "", "the killed run is cleared up")
    until(lambda: not read_fleet(fleet.url).queue, "no job is left")
    for table in ("events", "candidates", "spending", "takeovers"):
        assert cluster.execute(f"SELECT count(*) FROM llmch.{table}", database) == [(0,)], table
    fleet.start_worker("next", machine="killed")
    until(lambda: "takes jobs" in fleet.said_by("next"), "the next worker has begun")
    left = fleet.folder / "killed" / "cache" / "workspaces"
    assert list(left.iterdir()) == [], "neither steps nor the killed run left a workspace"


@large
def test_plans_for_one_branch_take_turns_and_others_do_not_wait(fleet: SmallFleet) -> None:
    first, second = fleet.plan(order(1), order(2)), fleet.plan_in("other", order(1, 3), order(2, 4))
    fleet.start_worker("one", "--slots", "2")
    names = [submit(fleet, each).document["plan"] for each in (first, second)]
    elsewhere = submit(fleet, second, "--branch", "elsewhere").document["plan"]
    for name in (*names, elsewhere):
        ended = wait(fleet, name)
        assert ended.code == 0, ended.err + ended.out
    messages = git(fleet.remote, "log", "--format=%s", "--reverse", "main..work").splitlines()
    assert len(messages) == 4
    assert git(fleet.remote, "rev-list", "--count", "main..elsewhere") == "2"


@large
def test_a_branch_that_a_stranger_moves_is_left_as_it_is(fleet: SmallFleet) -> None:
    git(fleet.repo, "switch", "--quiet", "--create", "work")
    git(fleet.repo, "commit", "--quiet", "--allow-empty", "--message=mine")
    theirs = git(fleet.repo, "rev-parse", "HEAD")
    plan = fleet.plan(order(1), order(2, acceptance_commands=[f"test -e {fleet.folder}/go"]))
    running = fleet.folder / "running"
    script = f"#!/bin/bash\n[ -e 2.txt ] || exit 0\ntouch {running}\n"
    script += f"while [ ! -e {fleet.folder}/go ]; do sleep 0.05; done\n"
    git(fleet.repo, "switch", "--quiet", "main")
    (fleet.repo / "scripts" / "verify.sh").write_text(script)
    git(fleet.repo, "commit", "--quiet", "--all", "--message=slow")
    git(fleet.repo, "push", "--quiet", "origin", "main")
    fleet.start_worker("one", "--slots", "2")
    name = submit(fleet, plan).document["plan"]
    until(running.exists, "the second order is judged")
    until(lambda: bool(git(fleet.remote, "branch", "--list", "work")), "the first has landed")
    git(fleet.repo, "push", "--quiet", "--force", "origin", f"{theirs}:work")
    (fleet.folder / "go").touch()
    ended = wait(fleet, name)
    assert ended.code == 1
    assert "someone else moved it" in ended.error["message"]
    assert tip_on_remote(fleet) == theirs
    assert fleet.refs_left() == ""


@large
def test_a_cancelled_plan_ends_with_what_has_landed(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1), order(2))
    name = submit(fleet, plan).document["plan"]
    assert cancel_plan(fleet.url, name) == [name]
    ended = wait(fleet, name)
    assert ended.code == 1
    assert "was cancelled" in ended.error["message"]
    assert read_fleet(fleet.url).plans == []


def test_what_cannot_be_submitted_is_said_before_anything_is_queued(fleet: SmallFleet) -> None:
    plan = fleet.plan(order(1))

    def refused(*flags: str | Path) -> tuple[int, str]:
        said = submit(fleet, plan, *flags)
        assert PASSWORD not in said.out + said.err
        return said.code, said.error["message"] + said.error["hint"]

    code, text = refused("--base", "nowhere")
    assert code == 2
    assert "no branch 'nowhere'" in text
    assert "main" in text
    code, text = refused("--branch", "main")
    assert code == 5
    assert "is protected" in text
    code, text = refused("--repo", "https://ada:secret@db.invalid/x.git")
    assert code == 2
    assert "secret" not in text
    code, text = refused("--repo", fleet.folder / "nothing.git")
    assert code == 1
    assert "nothing.git" in text
    git(fleet.repo, "commit", "--quiet", "--allow-empty", "--message=not pushed")
    code, text = refused("--repo", fleet.repo)
    assert code == 5
    assert "push it" in text
    assert read_fleet(fleet.url).plans == []
    code, text = refused("--workdir", fleet.folder)
    assert code == 2


@large
def test_the_settings_of_the_repo_and_of_the_person_hold_wherever_the_plan_runs(
    fleet: SmallFleet,
) -> None:
    config = 'verify = ["ls scripts"]\n[fleet]\ndb = "postgresql://evil/x"\n'
    (fleet.repo / "llmch.toml").write_text(config)
    git(fleet.repo, "add", "llmch.toml")
    git(fleet.repo, "commit", "--quiet", "--message=settings")
    git(fleet.repo, "push", "--quiet", "origin", "main")
    fleet.start_worker("one")
    said = submit(fleet, fleet.plan(order(1)), "--wait")
    assert said.code == 0, said.err + said.out
    (landed,) = said.document["orders"]
    assert "ls scripts" in json.dumps(landed["verified_by"])
