"""ENOSPC, EIO, EACCES at a run's writes, renames and new folders: words, nothing torn, and on."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shared.errors import ExitCode
from tests.kill.scale import FULL
from tests.kill.scenario import Scenario
from tests.kill.zygote import Zygote

pytestmark = pytest.mark.rest


ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
SAMPLE = 4
SHARES = 24 if FULL else SAMPLE  # of all operations, so that they can be tried side by side
# With several jobs what happens in which sequence differs from run to run, so some are enough.
TRAIN, TRAIN_SHARES = 4, 4 if FULL else 1
WORDS = tuple(os.strerror(each) for each in ERRORS)


@dataclass(frozen=True)
class Fault:
    """Which operation is refused, and whether all that follow are refused as well."""

    at: int
    lasting: bool

    @property
    def errno(self) -> int:
        return ERRORS[(self.at + self.lasting) % len(ERRORS)]

    def account(self, scenario: Scenario) -> dict[str, Any]:
        """Return what the driver is told."""
        account = str(scenario.folder / "account")
        return {"at": self.at, "errno": self.errno, "lasting": self.lasting, "account": account}


NONE = Fault(0, lasting=False)


@pytest.fixture(scope="module")
def operations(
    tmp_path_factory: pytest.TempPathFactory, template_repo: Path, zygote: Zygote
) -> int:
    """How many operations there are to refuse."""
    scenario = Scenario.of(tmp_path_factory.mktemp("probe"), template_repo, zygote)
    assert scenario.run(faults=NONE.account(scenario)) == 0
    scenario.assert_done()
    return len(scenario.account)


def to_try(operations: int) -> list[Fault]:
    """Return every operation refused alone and with all that follow, or some of each."""
    all_there_are = [
        Fault(at, lasting) for at in range(1, operations + 1) for lasting in (False, True)
    ]
    return all_there_are if FULL else all_there_are[:: len(all_there_are) // SAMPLE | 1]


@pytest.mark.parametrize(
    ("jobs", "share"),
    [*((1, n) for n in range(SHARES)), *((TRAIN, 2 + 5 * n) for n in range(TRAIN_SHARES))],
)
def test_an_operation_that_is_refused(
    tmp_path: Path, template_repo: Path, zygote: Zygote, operations: int, jobs: int, share: int
) -> None:
    failed: list[AssertionError] = []
    for number, fault in enumerate(to_try(operations)[share::SHARES]):
        folder = tmp_path / str(number)
        folder.mkdir()
        scenario = Scenario.of(
            folder, template_repo, zygote, jobs=jobs, checked_out=number % 2 == 0
        )
        try:
            refused_and_run_again(scenario, fault)
        except AssertionError as failure:
            failure.add_note(f"{fault}, {scenario.account[-3:]}, {scenario.result}")
            failed.append(failure)
        else:
            shutil.rmtree(folder)
    if failed:
        raise ExceptionGroup(f"{len(failed)} operations", failed)


def refused_and_run_again(scenario: Scenario, fault: Fault) -> None:
    code = scenario.run(faults=fault.account(scenario))
    assert_said_in_words(scenario, code)
    scenario.assert_only_landed_files_differ()
    assert_nothing_is_torn(scenario)
    if not fault.lasting:
        assert list(scenario.workspaces.glob("*")) == []
    asked = scenario.account_of_calls()
    assert scenario.run() == 0
    scenario.assert_done()
    scenario.assert_calls_are_accounted_for(asked)


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
