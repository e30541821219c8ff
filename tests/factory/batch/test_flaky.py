"""`--retry-flaky`: a command that fails and then passes on the same tree is flaky, not wrong."""

from __future__ import annotations

import pytest

from shared.events.events import CommandEnded, Warned
from tests.factory.batch.batching import counted, each_writes, states, step, wrote
from tests.harness import Factory, Json, commit_all, manifest, stages

# Passes from its n-th run on; what it counts by is ignored by git.
COUNTING = 'mkdir -p data; echo >> data/runs; test "$(wc -l < data/runs)" -ge {runs}'


def passing_on_run(runs: int) -> str:
    return f"bash -c '{COUNTING.format(runs=runs)}'"


def plan(*commands: str) -> Json:
    return manifest([step(1, acceptance_commands=list(commands))])


def runs_of(factory: Factory, purpose: str = "accept") -> list[int]:
    return [each.exit_code for each in factory.seen(CommandEnded) if each.purpose == purpose]


def test_a_flaky_command_is_on_record_and_costs_no_attempt(factory: Factory) -> None:
    document = plan(passing_on_run(3))
    summary = factory.run_all(document, each_writes(1), retry_flaky=2, max_attempts=1)
    assert states(summary) == ["landed"]
    assert counted(factory) == {"WO-01": 1}
    assert runs_of(factory) == [1, 1, 0]
    (record,) = summary.orders[0].attempt_records
    (result,) = record.acceptance
    assert (result.flaky, result.exit_code) == (True, 0)
    assert result.note == "flaky: failed with exit code 1, passed on run 3"
    assert [each.message for each in factory.seen(Warned)] == [
        f"WO-01: `{passing_on_run(3)}` is {result.note}"
    ]


def test_each_run_of_it_has_a_log(factory: Factory) -> None:
    factory.run_all(plan(passing_on_run(2)), each_writes(1), retry_flaky=1)
    logs = factory.run_folder / "WO-01" / "attempt_1" / "logs"
    names = {each.name.partition(".")[0] for each in logs.iterdir()}
    assert {"accept_1", "accept_1_again_1"} <= names


def test_a_wrong_command_still_fails(factory: Factory) -> None:
    document = plan("grep right 1.txt")
    replies = {"WO-01": [wrote(1, "wrong\n"), wrote(1, "right\n")]}
    summary = factory.run_all(document, replies, retry_flaky=2)
    assert stages(summary.orders[0]) == ["acceptance_failed", ""]
    assert runs_of(factory) == [1, 1, 1, 0]
    failed = summary.orders[0].attempt_records[0].acceptance[0]
    assert not failed.flaky


def test_a_command_flakier_than_allowed_fails(factory: Factory) -> None:
    summary = factory.run_all(
        plan(passing_on_run(4)), each_writes(1), retry_flaky=2, max_attempts=1
    )
    assert stages(summary.orders[0]) == ["acceptance_failed"]


def test_by_default_nothing_is_run_again(factory: Factory) -> None:
    summary = factory.run_all(plan(passing_on_run(2)), each_writes(1), max_attempts=1)
    assert stages(summary.orders[0]) == ["acceptance_failed"]
    assert runs_of(factory) == [1]


def test_a_flaky_verification_counts_the_same(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": COUNTING.format(runs=2) + "\n"})
    summary = factory.run_all(plan("true"), each_writes(1), retry_flaky=1, max_attempts=1)
    (record,) = summary.orders[0].attempt_records
    assert [each.flaky for each in record.verify] == [True]


@pytest.mark.parametrize("retries", [0, 1])
def test_the_same_holds_where_an_order_is_verified_again_on_the_tip(
    factory: Factory, retries: int
) -> None:
    """Once where it is made, and once where it lands: there it fails on its first run."""
    flaky = "bash -c 'test ! -e 1.txt || { mkdir -p data; test -e data/x || ! : > data/x; }'"
    document = manifest([step(1), step(2, acceptance_commands=[flaky])])
    summary = factory.run_all(
        document, {"WO-01": [wrote(1)], "WO-02": [wrote(2)]},
        retry_flaky=retries, max_attempts=1,
    )  # fmt: skip
    assert states(summary) == ["landed", "landed" if retries else "failed"]
