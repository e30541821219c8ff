"""The train in a real run: commands that meet each other, candidates that are dropped, kills."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from factory.batch.batch import run_all
from factory.record.run_status import read_status, status_document
from factory.record.runs_on_record import AttemptOnRecord, find_attempt
from shared.errors import ModelUnavailable
from shared.events.events import (
    AttemptFailed,
    CandidateCoupled,
    CandidateDropped,
    CommandEnded,
    CommandStarted,
    Event,
    OrderEnded,
)
from shared.llm.model_client import Request
from shared.llm.stack import Mode, ModelSource
from tests.factory.batch.batching import (
    answer,
    asked,
    copy_of,
    counted,
    each_writes,
    landed_on,
    states,
    step,
    wrong,
    wrote,
)
from tests.fakes import Reply
from tests.harness import Factory, Json, commit_all, git, manifest

WRONG = wrote(1, "wrong\n")


@pytest.fixture(autouse=True)
def fixed_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def meeting(factory: Factory, *, behind: str = "true") -> Path:
    """Have the verification of 1, where it is wrong, wait for that of 2 and then fail.

    Where 2 stands on a wrong 1, its own verification then does what `behind` says.
    """
    seen = factory.scratch / "seen"
    script = f"""\
if test -e 2.txt; then
    touch {seen}
    if grep -q wrong 1.txt; then {behind}; fi
elif grep -q wrong 1.txt; then
    until test -e {seen}; do sleep 0.02; done
    exit 1
fi
"""
    commit_all(factory.repo, {"scripts/verify.sh": script})
    return seen


def verified(factory: Factory, name: str) -> int:
    ran = [each for each in factory.seen(CommandEnded) if each.order == name]
    return sum(each.purpose == "verify" for each in ran)


REPLIES: Mapping[str, Sequence[Reply]] = {"WO-01": [WRONG, wrote(1)], "WO-02": [wrote(2)]}


# `behind` would take longer than any test may: it is killed, or the run does not end.
@pytest.mark.parametrize("behind", ["true", "false", "sleep 3600"])
def test_what_is_behind_a_failure_is_judged_again_and_not_asked_for(
    factory: Factory, behind: str
) -> None:
    alone = copy_of(factory, "alone")
    meeting(alone).touch()
    meeting(factory, behind=behind)
    summary = factory.run_all(manifest([step(1), step(2)]), REPLIES, jobs=2, max_attempts=2)
    assert states(summary) == ["landed", "landed"]
    assert [(each.order, each.because) for each in factory.seen(CandidateDropped)] == [
        ("WO-02", "WO-01")
    ]
    assert counted(factory) == {"WO-01": 2, "WO-02": 1}
    assert summary.orders[1].attempts == 1
    first, second, third, fourth = factory.seen(CandidateCoupled)
    assert [each.order for each in (first, second, third)] == ["WO-01", "WO-02", "WO-01"]
    assert (second.parent, second.ahead) == (first.commit, ("WO-01",))
    assert (fourth.order, fourth.parent) == ("WO-02", third.commit)
    assert fourth.commit == factory.tip()
    # What was killed does not count as a command that failed.
    failed = [each.order for each in factory.seen(CommandEnded) if each.exit_code]
    assert failed == ["WO-01"] or behind == "false"


@pytest.mark.rest
def test_the_branch_is_that_of_one_job(factory: Factory) -> None:
    tips = set()
    commit_all(factory.repo, {"scripts/verify.sh": "! grep -q wrong 1.txt\n", "1.txt": "0\n"})
    for jobs in (1, 2, 8):
        run = copy_of(factory, f"jobs {jobs}")
        document = manifest([step(1), step(2), step(3)])
        replies = {**each_writes(2, 3), "WO-01": [WRONG, wrote(1)]}
        summary = run.run_all(document, replies, jobs=jobs, max_attempts=2)
        tips.add(summary.tip)
        assert landed_on(run.repo) == ["WO-01", "WO-02", "WO-03"]
    assert len(tips) == 1


def test_what_is_behind_an_order_that_fails_for_good_lands_without_it(factory: Factory) -> None:
    meeting(factory)
    replies: dict[str, list[Reply]] = {"WO-01": [WRONG, WRONG], "WO-02": [wrote(2)]}
    summary = factory.run_all(
        manifest([step(1), step(2)]), replies, jobs=2, max_attempts=1, keep_going=True
    )
    assert states(summary) == ["failed", "landed"]
    assert summary.orders[1].parent == summary.base
    assert verified(factory, "WO-01") == 1
    assert verified(factory, "WO-02") in (1, 2)  # 1 where it was killed before it had ended
    started = [each.order for each in factory.seen(CommandStarted) if each.purpose == "verify"]
    assert started == ["base", "WO-01", "WO-02", "WO-02"]


def test_nothing_is_coupled_behind_a_failure_that_ends_the_run(factory: Factory) -> None:
    meeting(factory)
    replies: dict[str, list[Reply]] = {"WO-01": [WRONG], "WO-02": [wrote(2)]}
    summary = factory.run_all(manifest([step(1), step(2)]), replies, jobs=2, max_attempts=1)
    assert states(summary) == ["failed", "pending"]
    assert factory.tip("main") == summary.tip
    assert list(factory.workspaces.iterdir()) == []


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_each_order_is_verified_once_where_nothing_fails(factory: Factory, jobs: int) -> None:
    numbers = range(1, 7)
    document = manifest([step(number) for number in numbers])
    summary = factory.run_all(document, each_writes(*numbers), jobs=jobs)
    assert states(summary) == ["landed"] * 6
    assert [verified(factory, each.work_order) for each in summary.orders] == [1] * 6
    parents = [summary.base, *(each.commit for each in summary.orders)]
    coupled = {each.order: each.parent for each in factory.seen(CandidateCoupled)}
    assert list(coupled) == [each.work_order for each in summary.orders]
    assert list(coupled.values()) == parents[:-1]


@pytest.mark.rest
def test_behind_a_slow_order_no_model_is_asked_for_the_whole_plan(factory: Factory) -> None:
    numbers, last_asked, asked_before = range(1, 13), threading.Event(), list[str]()

    def slow(request: Request) -> str:
        assert last_asked.wait(60)
        return answer(wrote(1), request)

    def the_last_behind_it(request: Request) -> str:
        last_asked.set()
        return answer(wrote(8), request)

    def hear(event: Event) -> None:
        if isinstance(event, CandidateCoupled) and event.order == "WO-01":
            asked_before.extend(asked(factory))

    factory.on_event = hear
    replies = {**each_writes(*numbers), "WO-01": [slow], "WO-08": [the_last_behind_it]}
    summary = factory.run_all(manifest([step(number) for number in numbers]), replies, jobs=2)
    assert states(summary) == ["landed"] * 12
    assert sorted(asked_before) == [f"WO-{number:02d}" for number in range(1, 9)]


def failing_late(factory: Factory, waits_for: str) -> Json:
    """Return a plan in which 2 fails on a wrong 1, and 1 fails when there are files `waits_for`.

    A wrong 2 fails on any 1.
    """
    accept = f"""\
grep -q wrong 1.txt || exit 0
until ls {waits_for} >{factory.scratch}/listed 2>&1; do sleep 0.02; done
exit 1
"""
    verify = "if test -e 2.txt && grep -q wrong 1.txt 2.txt; then exit 1; fi\n"
    commit_all(factory.repo, {"scripts/verify.sh": verify, "accept.sh": accept})
    return manifest([step(1, acceptance_commands=["bash accept.sh"]), step(2)])


def second_failure(factory: Factory) -> str:
    """Return the files that are there once the second attempt at 2 has failed."""
    return f"{factory.artifacts}/factory/*/WO-02/attempt_2/failure_brief.json"


def test_an_error_behind_a_candidate_that_fails_is_forgotten(factory: Factory) -> None:
    plan = failing_late(factory, second_failure(factory))
    replies: dict[str, Sequence[Reply]] = {**REPLIES, "WO-02": [wrote(2), ModelUnavailable("gone")]}
    summary = factory.run_all(plan, replies, jobs=2)
    assert states(summary) == ["landed", "landed"]
    assert counted(factory) == {"WO-01": 2, "WO-02": 2}


def test_the_records_of_a_dropped_judgement_are_kept_apart(factory: Factory) -> None:
    was_asked, dropped = factory.scratch / "asked", threading.Event()
    plan = failing_late(factory, str(was_asked))

    def hear(event: Event) -> None:
        if isinstance(event, CandidateDropped):
            dropped.set()

    def too_late(request: Request) -> str:
        was_asked.touch()
        assert dropped.wait(60)
        return "I need to think again."  # whoever is still there asks again

    factory.on_event = hear
    replies: dict[str, Sequence[Reply]] = {**REPLIES, "WO-02": [wrote(2), too_late]}
    summary = factory.run_all(plan, replies, jobs=2)
    assert states(summary) == ["landed", "landed"]
    assert counted(factory) == {"WO-01": 2, "WO-02": 2}
    found = second_order(factory)
    assert (found.number, found.passed, found.brief, found.patch) == (1, True, None, None)
    assert found.baseline == summary.orders[0].commit
    aside = factory.run_folder / "WO-02" / "dropped_1"
    assert (aside / "attempt_1" / "rejected.patch").is_file()
    assert (aside / "attempt_2" / "se_prompt.txt").is_file()
    status = read_status(factory.repo / ".git")
    assert status is not None
    second = status.orders["WO-02"]
    assert (second.attempts, second.failed_attempt, second.failure) == (1, 0, None)


def test_a_dropped_order_does_not_wait_for_a_reply_that_nobody_wants(factory: Factory) -> None:
    was_asked, landed = factory.scratch / "asked", threading.Event()
    plan, answered = failing_late(factory, str(was_asked)), threading.Event()

    def hear(event: Event) -> None:
        if isinstance(event, OrderEnded) and event.order == "WO-03":
            landed.set()

    def after_all_have_landed(request: Request) -> str:
        was_asked.touch()
        assert landed.wait(60)
        answered.set()
        return answer(wrote(2, "never used\n"), request)

    factory.on_event = hear
    replies = {**REPLIES, "WO-02": [wrote(2), after_all_have_landed], "WO-03": [wrote(3)]}
    third = step(3, context_files=["2.txt"])  # needs a slot of its own, and 2
    summary = factory.run_all(manifest([*plan["work_orders"], third]), replies, jobs=2)
    assert states(summary) == ["landed"] * 3
    assert answered.wait(60)
    assert counted(factory) == {"WO-01": 2, "WO-02": 2, "WO-03": 1}
    attempts = [each.name for each in (factory.run_folder / "WO-02").glob("attempt_*")]
    assert attempts == ["attempt_1"]


def test_a_reply_to_a_dropped_order_is_paid_for_once(factory: Factory) -> None:
    """On the new commit the order fails in the same way, so the same is asked again."""
    was_asked, again = factory.scratch / "asked", threading.Event()
    plan = failing_late(factory, str(was_asked))
    failures = 0

    def hear(event: Event) -> None:
        nonlocal failures
        failures += isinstance(event, AttemptFailed) and event.order == "WO-02"
        if failures == 2:
            again.set()

    def slow(request: Request) -> str:
        was_asked.touch()
        assert again.wait(60)
        return answer(wrote(2), request)

    factory.on_event = hear
    replies = {**REPLIES, "WO-02": [wrote(2, "wrong\n"), slow]}
    summary = factory.run_all(plan, replies, jobs=2)
    assert states(summary) == ["landed"] * 2
    assert len(factory.seen(CandidateDropped)) == 1
    assert counted(factory) == {"WO-01": 2, "WO-02": 2}
    assert summary.orders[1].attempts == 2


def test_a_dropped_order_has_the_attempts_left_that_it_had_before_it_was_judged(
    factory: Factory,
) -> None:
    common, left, dropped = factory.repo / ".git", list[Json](), threading.Event()
    was_asked = factory.scratch / "asked"
    plan = failing_late(factory, str(was_asked))

    def hear(event: Event) -> None:
        if isinstance(event, CandidateDropped):
            status = read_status(common)
            assert status is not None
            left.extend(status_document(status, common)["orders"][1:])
            dropped.set()

    def third(request: Request) -> str:
        was_asked.touch()
        assert dropped.wait(60)
        return "never read"

    factory.on_event = hear
    refused_first = [wrong, wrote(2), third]
    summary = factory.run_all(plan, {**REPLIES, "WO-02": refused_first}, jobs=2, max_attempts=4)
    assert states(summary) == ["landed", "landed"]
    assert summary.orders[1].attempts == 2
    (second,) = left
    assert (second["state"], second["attempts"], second["attempts_left"]) == ("PATCHING", 2, 3)
    assert second["failure"]["attempt"] == 1
    assert second["failure"]["stage"] == "write_scope_violation"


def test_a_command_that_was_killed_is_not_taken_for_flaky(factory: Factory) -> None:
    meeting(factory, behind="sleep 3600")
    summary = factory.run_all(manifest([step(1), step(2)]), REPLIES, jobs=2, retry_flaky=2)
    assert states(summary) == ["landed", "landed"]
    started = [each.order for each in factory.seen(CommandStarted) if each.purpose == "verify"]
    assert started.count("WO-02") == 2


def second_order(factory: Factory) -> AttemptOnRecord:
    """Return the last attempt at the second order that is on record."""
    folder = factory.repo / ".git"
    return find_attempt(factory.artifacts, folder, factory.repo, None, "WO-02", None)


def test_what_a_killed_run_judged_an_order_on_is_known(factory: Factory) -> None:
    summary = factory.run_all(manifest([step(1), step(2)]), each_writes(1, 2))
    (factory.run_folder / "WO-02" / "run_summary.json").unlink()  # a kill leaves none
    assert second_order(factory).baseline == summary.orders[0].commit


@pytest.mark.rest
def test_a_recorded_run_replays_with_more_jobs(factory: Factory) -> None:
    plan = failing_late(factory, second_failure(factory))
    alone = copy_of(factory, "alone")
    got_so_far = factory.artifacts / "factory" / "a run" / "WO-02" / "attempt_2"
    got_so_far.mkdir(parents=True)
    (got_so_far / "failure_brief.json").touch()
    recorded = alone.run_all(plan, REPLIES)
    shutil.rmtree(factory.artifacts)
    # A second attempt at 2 is not on record: it is asked for only because 1 is wrong.
    source = ModelSource(Mode.REPLAY, transcript=alone.run_folder / "transcript.jsonl")
    workdir, options = alone.scratch / "plan", factory.options(jobs=2)
    replayed = run_all(workdir, options, source, factory.events.append)
    assert [each.order for each in factory.seen(CandidateDropped)] == ["WO-02"]
    assert replayed.tip == recorded.tip


@pytest.mark.parametrize("jobs", [1, 4])
def test_orders_that_only_remove_files_ride_along(factory: Factory, jobs: int) -> None:
    verify = "if grep -q wrong 1.txt; then exit 1; fi\n"
    commit_all(factory.repo, {"scripts/verify.sh": verify, "1.txt": "", "old.txt": "", "b.txt": ""})
    orders = [
        step(1),
        step(2, allowed_files=[], removed_files=["old.txt"]),
        step(3, removed_files=["b.txt"]),
        step(4, allowed_files=[], removed_files=["1.txt"]),
    ]
    replies = {"WO-01": [WRONG, wrote(1)], "WO-03": [wrote(3)]}
    summary = factory.run_all(manifest(orders), replies, jobs=jobs)
    assert states(summary) == ["landed"] * 4
    assert counted(factory) == {"WO-01": 2, "WO-03": 1}
    files = git(factory.repo, "ls-tree", "--name-only", "work").split()
    assert [each for each in files if each.endswith(".txt")] == ["3.txt"]


def test_with_one_job_a_reply_is_judged_before_the_next_order_is_asked_for(
    factory: Factory,
) -> None:
    def judged_before(number: int) -> Reply:
        def reply(request: Request) -> str:
            there = landed_on(factory.repo) if factory.tip() else []
            assert there == [f"WO-{each:02d}" for each in range(1, number)]
            return answer(wrote(number), request)

        return reply

    replies: dict[str, Sequence[Reply]] = {f"WO-0{n}": [judged_before(n)] for n in (1, 2, 3)}
    replies["WO-02"] = [wrote(2, "wrong\n"), judged_before(2)]
    plan = manifest([step(n, acceptance_commands=[f"grep -q {n} {n}.txt"]) for n in (1, 2, 3)])
    assert factory.run_all(plan, replies, jobs=1).verdict == "PASS"
    assert asked(factory) == ["WO-01", "WO-02", "WO-02", "WO-03"]
