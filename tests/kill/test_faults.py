"""ENOSPC, EIO, EACCES at a run's writes, renames and new folders: words, nothing torn, and on."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from shared.errors import ExitCode
from tests.kill.scenario import Scenario
from tests.kill.zygote import Zygote

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
SHARES = 6  # of all operations, so that they can be tried side by side
STEP = int(os.environ.get("STEPX", "20"))
"""With `make test-kill` every operation is refused, else one in so many."""
WORDS = tuple(os.strerror(each) for each in ERRORS)


@pytest.fixture(scope="module")
def operations(
    tmp_path_factory: pytest.TempPathFactory, template_repo: Path, zygote: Zygote
) -> int:
    """How many operations there are to refuse."""
    scenario = Scenario.of(tmp_path_factory.mktemp("probe"), template_repo, zygote)
    assert scenario.run(faults=faults(scenario, 0)) == 0
    scenario.assert_done()
    return len(scenario.account)


def faults(scenario: Scenario, at: int) -> dict[str, Any]:
    """Return the fault at an operation: which error, and whether it lasts, goes by its number."""
    return {
        "at": at,
        "errno": ERRORS[at % len(ERRORS)],
        "lasting": at // len(ERRORS) % 2 == 1,
        "account": str(scenario.folder / "account"),
    }


@pytest.mark.parametrize("share", range(SHARES))
def test_an_operation_that_is_refused(
    tmp_path: Path, template_repo: Path, zygote: Zygote, operations: int, share: int
) -> None:
    failed: list[AssertionError] = []
    for at in range(1, operations + 1, STEP)[share::SHARES]:
        folder = tmp_path / str(at)
        folder.mkdir()
        scenario = Scenario.of(folder, template_repo, zygote, checked_out=at % 2 == 0)
        try:
            refused_and_run_again(scenario, at)
        except AssertionError as failure:
            failure.add_note(f"{faults(scenario, at)}, {scenario.account[-3:]}, {scenario.result}")
            failed.append(failure)
    if failed:
        raise ExceptionGroup(f"{len(failed)} operations", failed)


def refused_and_run_again(scenario: Scenario, at: int) -> None:
    told = faults(scenario, at)
    code = scenario.run(faults=told)
    assert_said_in_words(scenario, code)
    scenario.assert_only_landed_files_differ()
    assert_nothing_is_torn(scenario)
    if not told["lasting"]:
        assert list(scenario.workspaces.glob("*")) == []
    asked, recorded = scenario.calls(), scenario.on_record()
    assert scenario.run() == 0
    scenario.assert_done()
    scenario.assert_nothing_was_paid_for_twice(asked, recorded)


def assert_said_in_words(scenario: Scenario, code: int) -> None:
    """An order that failed for it, or an error with the system's own word for what it refused."""
    if code in (ExitCode.OK, ExitCode.FAILED) and "error" not in scenario.result:
        return
    assert code in (ExitCode.FAILED, ExitCode.PREFLIGHT)
    assert any(word in scenario.result["error"] for word in WORDS)


def assert_nothing_is_torn(scenario: Scenario) -> None:
    """Every document is whole; of a log only the last line may be cut off."""
    for root in (scenario.folder / "artifacts", scenario.repo / ".git" / "llmch"):
        for path in root.rglob("*"):
            if path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".jsonl":
                for line in path.read_bytes().split(b"\n")[:-1]:
                    json.loads(line)
