"""The branch is the same, commit for commit, whatever finishes first and however many run."""

from __future__ import annotations

import threading
from itertools import islice, permutations

import pytest

from shared.events.events import CommandEnded
from shared.llm.model_client import Request
from tests.factory.batch.batching import (
    after,
    answer,
    copy_of,
    each_writes,
    landed_on,
    states,
    step,
    wrong,
    wrote,
)
from tests.fakes import Reply
from tests.harness import Factory, git, manifest

pytestmark = pytest.mark.rest


JOBS = (1, 2, 8)
LATENCIES = (0.0, 0.02, 0.05, 0.1, 0.15)


@pytest.fixture(autouse=True)
def fixed_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def diamond() -> list[dict[str, object]]:
    """1 and 2 stand alone, 3 reads 1, 4 reads 2 and 3, 5 stands alone."""
    return [
        step(1),
        step(2),
        step(3, context_files=["1.txt"]),
        step(4, context_files=["2.txt", "3.txt"]),
        step(5),
    ]


def some_permutations() -> list[tuple[float, ...]]:
    return list(islice(permutations(LATENCIES), 0, None, 41))


def test_neither_jobs_nor_latencies_change_a_commit(factory: Factory) -> None:
    tips, prompts = set(), set()
    for turn, latencies in enumerate(some_permutations()):
        run = copy_of(factory, f"turn {turn}")
        replies = {
            name: [after(latency, reply) for reply in each]
            for latency, (name, each) in zip(
                latencies, each_writes(1, 2, 3, 4, 5).items(), strict=True
            )
        }
        summary = run.run_all(manifest(diamond()), replies, jobs=JOBS[turn % len(JOBS)])
        assert summary.verdict == "PASS"
        tips.add(summary.tip)
        prompts.add(frozenset(each.prompt for each in run.model.requests))
    assert turn >= 2
    assert len(tips) == len(prompts) == 1
    assert landed_on(run.repo) == ["WO-01", "WO-02", "WO-03", "WO-04", "WO-05"]


@pytest.mark.parametrize("keep_going", [False, True])
def test_a_failure_changes_nothing_of_that(factory: Factory, keep_going: bool) -> None:
    tips = set()
    for jobs in JOBS:
        run = copy_of(factory, f"jobs {jobs}")
        replies = {**each_writes(1, 3, 4, 5), "WO-02": [wrong, wrong], "WO-01": [wrong, wrote(1)]}
        summary = run.run_all(
            manifest(diamond()), replies, jobs=jobs, keep_going=keep_going, max_attempts=2
        )
        tips.add(summary.tip)
        assert landed_on(run.repo) == (["WO-01", "WO-03", "WO-05"] if keep_going else ["WO-01"])
    assert len(tips) == 1


def test_what_is_interrupted_ends_where_an_undisturbed_run_does(factory: Factory) -> None:
    undisturbed = copy_of(factory, "undisturbed").run_all(
        manifest(diamond()), each_writes(1, 2, 3, 4, 5)
    )
    document = manifest(diamond())
    for last in (1, 2, 3, 4):
        with pytest.raises(KeyboardInterrupt):
            factory.run_all(document, {**each_writes(last), f"WO-{last + 1:02d}": [interrupt]})
    summary = factory.run_all(document, each_writes(5))
    assert summary.tip == undisturbed.tip


def interrupt(request: object) -> str:
    raise KeyboardInterrupt


def test_the_history_is_one_line(factory: Factory) -> None:
    factory.run_all(manifest(diamond()), each_writes(1, 2, 3, 4, 5), jobs=8)
    parents = git(factory.repo, "log", "--format=%P", "main..work").split("\n")
    assert all(len(each.split()) == 1 for each in parents)


@pytest.mark.parametrize("jobs", JOBS)
def test_an_order_on_an_older_base_is_verified_once_and_where_it_lands(
    factory: Factory, jobs: int
) -> None:
    document = manifest([step(1), step(2, acceptance_commands=["test -f 1.txt"])])
    summary = factory.run_all(document, each_writes(1, 2), jobs=jobs)
    verified = [each.purpose for each in factory.seen(CommandEnded) if each.order == "WO-02"]
    assert verified == ["verify", "accept"]
    second = summary.orders[1]
    assert second.repo_tree_hash_after == git(factory.repo, "rev-parse", "work^{tree}")
    assert second.parent == summary.orders[0].commit


def test_as_many_orders_as_jobs_are_made_at_once(factory: Factory) -> None:
    numbers = range(1, 9)
    all_asked = threading.Barrier(len(numbers))

    def when_all_are_asked(number: int) -> Reply:
        def reply(request: Request) -> str:
            all_asked.wait(timeout=60)
            return answer(wrote(number), request)

        return reply

    replies = {f"WO-{number:02d}": [when_all_are_asked(number)] for number in numbers}
    summary = factory.run_all(manifest([step(number) for number in numbers]), replies, jobs=8)
    assert states(summary) == ["landed"] * 8
