"""SIGKILL right after each record of the journal; then the same command again, and all is right."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factory.record.journal_entries import JournalStep
from tests.harness import git
from tests.kill.scale import FULL
from tests.kill.scenario import Scenario
from tests.kill.zygote import Zygote

KILLED = -9
# How often each step is on record in an undisturbed run, with one job and with four.
TIMES = {
    1: {
        JournalStep.RUN_BEGUN: 1,
        JournalStep.WORKSPACE_OPENING: 1,
        JournalStep.WORKSPACE_OPENED: 1,
        JournalStep.ORDER_BEGUN: 3,
        JournalStep.STAGE: 18,
        JournalStep.ATTEMPT_FAILED: 1,
        JournalStep.COUPLED: 4,
        JournalStep.LANDING: 3,
        JournalStep.LANDED: 3,
        JournalStep.ORDER_ENDED: 3,
        JournalStep.RUN_ENDED: 1,
    }
}
# With several jobs, 3 is judged behind 2 when 2 fails: it is dropped and judged again.
TIMES[4] = TIMES[1] | {
    JournalStep.WORKSPACE_OPENING: 2,
    JournalStep.WORKSPACE_OPENED: 2,
    JournalStep.STAGE: 20,
    JournalStep.COUPLED: 5,
    JournalStep.DROPPED: 1,
}

New = Callable[..., Scenario]


@pytest.fixture
def new(tmp_path: Path, template_repo: Path, zygote: Zygote) -> New:
    def new(**changes: object) -> Scenario:
        return Scenario.of(tmp_path, template_repo, zygote, **changes)  # type: ignore[arg-type]

    return new


def moments() -> Iterator[tuple[int, str]]:
    """Yield every time of every step with one job and with four; or each step once."""
    if FULL:
        for jobs, steps in TIMES.items():
            for step, times in steps.items():
                yield from ((jobs, f"{step}:{count}") for count in range(1, times + 1))
    else:
        for number, (step, times) in enumerate(TIMES[1].items()):
            yield (1, 4)[number % 2], f"{step}:{1 + times // 2}"
        yield 4, f"{JournalStep.DROPPED}:1"


@pytest.mark.parametrize("jobs", [1, 4])
def test_the_steps_of_an_undisturbed_run_are_these(new: New, jobs: int) -> None:
    scenario = new(jobs=jobs)
    assert scenario.run() == 0
    journal = (scenario.repo / ".git/llmch/journal.jsonl").read_text().splitlines()
    assert Counter(json.loads(line)["step"] for line in journal) == TIMES[jobs]
    missing = {JournalStep.ORDER_STOPPED}  # nothing interrupts it
    assert set(TIMES[jobs]) == set(JournalStep) - missing - (
        {JournalStep.DROPPED} if jobs == 1 else set()
    )
    scenario.assert_done()


@pytest.mark.parametrize(("jobs", "moment"), list(moments()))
def test_killed_at_a_step(new: New, jobs: int, moment: str) -> None:
    killed_and_run_again(new(jobs=jobs, checked_out=True), moment)


@pytest.mark.rest
@pytest.mark.parametrize(
    ("jobs", "step"),
    [
        (1, JournalStep.LANDING),
        (4, JournalStep.LANDED),
        *((1, JournalStep.LANDED), (4, JournalStep.LANDING))[: 2 * FULL],
    ],
)
def test_killed_where_a_branch_lands_that_nobody_has_checked_out(
    new: New, jobs: int, step: JournalStep
) -> None:
    killed_and_run_again(new(jobs=jobs), f"{step}:2")


@pytest.mark.rest
@pytest.mark.parametrize("jobs", [1, 4][: 1 + FULL])
def test_killed_again_and_again_some_stages_later_each_time(new: New, jobs: int) -> None:
    """What the first run was told outlives all that were killed before they asked for it again."""
    scenario = new(jobs=jobs)
    kills = 0
    stages_each_time = 1 if FULL else 5
    while scenario.run({"LLMCH_TEST_KILL_AT": f"stage:{1 + kills * stages_each_time}"}) == KILLED:
        assert scenario.files() == scenario.before
        kills += 1
    assert kills >= 5 // stages_each_time
    scenario.assert_done()
    if jobs == 1:  # with several, a kill may come while another order is being asked for
        assert set(scenario.calls().values()) == {1}


@pytest.mark.rest
@pytest.mark.parametrize("jobs", [4, 1][: 1 + FULL])
def test_what_was_told_outlives_runs_that_are_killed_at_once(new: New, jobs: int) -> None:
    scenario = new(jobs=jobs)
    assert scenario.run({"LLMCH_TEST_KILL_AT": "landing:1"}) == KILLED
    asked = scenario.account_of_calls()
    for moment in ("run_begun", "workspace_opening", "order_begun", "stage"):
        assert scenario.run({"LLMCH_TEST_KILL_AT": moment}) == KILLED
    assert scenario.run() == 0
    scenario.assert_done()
    scenario.assert_calls_are_accounted_for(asked)


def test_what_git_was_holding_of_the_notes_is_freed(new: New) -> None:
    scenario = new()
    assert scenario.run({"LLMCH_TEST_KILL_AT": "landed:1"}) == KILLED
    lock = scenario.repo / ".git/refs/notes/llmch.lock"
    lock.parent.mkdir(exist_ok=True)
    lock.touch()
    os.utime(lock, (0, 0))
    assert scenario.run() == 0
    scenario.assert_done()
    assert len(git(scenario.repo, "notes", "--ref=llmch", "list").splitlines()) >= 2


def killed_and_run_again(scenario: Scenario, moment: str) -> None:
    before = scenario.before
    assert scenario.run({"LLMCH_TEST_KILL_AT": moment}) == KILLED
    if not scenario.checked_out:
        assert scenario.files() == before
    asked = scenario.account_of_calls()
    assert scenario.run() == 0, scenario.result
    scenario.assert_done()
    scenario.assert_calls_are_accounted_for(asked)
