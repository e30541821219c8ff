"""SIGKILL at random moments, of the process alone or of all that it started; then on again.

A moment's number says all that was random about it: the same number tries the same again, as far
as time repeats itself.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from tests.kill.scale import FIRST_MOMENT, MOMENTS
from tests.kill.scenario import Scenario
from tests.kill.zygote import Zygote

pytestmark = pytest.mark.rest


KILLED = -9
LATENCY = 0.03  # of each model call, in seconds: so that some kills come while one is under way


@pytest.fixture(scope="module")
def duration(
    tmp_path_factory: pytest.TempPathFactory, template_repo: Path, zygote: Zygote
) -> float:
    """How long a run takes here and now, in seconds."""
    seconds = []
    for name in ("warm", "measured"):
        scenario = Scenario.of(tmp_path_factory.mktemp(name), template_repo, zygote, jobs=4)
        started = time.monotonic()
        assert scenario.run(latency=LATENCY) == 0
        seconds.append(time.monotonic() - started)
    return seconds[-1]


@pytest.mark.parametrize("seed", range(FIRST_MOMENT, FIRST_MOMENT + MOMENTS))
def test_killed_at_a_random_moment(
    tmp_path: Path, template_repo: Path, zygote: Zygote, duration: float, seed: int
) -> None:
    random = Random(seed)
    jobs, checked_out = random.choice((1, 4)), random.choice((False, True))
    scenario = Scenario.of(tmp_path, template_repo, zygote, jobs=jobs, checked_out=checked_out)
    for _ in range(random.choice((1, 1, 2, 3))):
        moment, tree = random.uniform(0, duration), random.choice((False, True))
        ended = scenario.run(latency=LATENCY, kill_after=moment, kill_tree=tree)
        assert ended in (KILLED, 0)
        if not checked_out:
            assert scenario.files() == scenario.before
        asked = scenario.account_of_calls()
    assert scenario.run(latency=LATENCY) == 0, scenario.result
    scenario.assert_done()
    scenario.assert_calls_are_accounted_for(asked)
