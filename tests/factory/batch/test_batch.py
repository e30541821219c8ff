"""`run-all`: a plan's orders on one branch, one after the other, and nothing done twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shared.errors import BudgetReached, CommandFailed, ModelUnavailable
from shared.events.events import BatchEnded, BatchStarted, OrderSkipped, OrderStarted
from shared.llm.model_client import Request
from tests.fakes import Reply, proposal, refused
from tests.harness import (
    Factory,
    Json,
    blob,
    factory_branch,
    git,
    hashed,
    manifest,
    order,
    write_plan,
    writing,
)


def step(number: int, **changes: object) -> Json:
    return writing(f"{number}.txt", number, **changes)


def plan(count: int = 3) -> Json:
    """Each order's file, and each reads what the one before wrote."""
    checks = [["true"], *([f"test -f {number}.txt"] for number in range(1, count))]
    return manifest(
        [step(number, acceptance_commands=checks[number - 1]) for number in range(1, count + 1)]
    )


def reply(number: int) -> Reply:
    return proposal({f"{number}.txt": f"{number}\n"})


def replies(*numbers: int) -> dict[str, list[Reply]]:
    return {f"WO-{number:02d}": [reply(number)] for number in numbers}


def subjects(factory: Factory, branch: str = "work") -> list[str]:
    return git(factory.repo, "log", "--reverse", "--format=%s", f"main..{branch}").splitlines()


def test_orders_land_one_on_the_other(factory: Factory) -> None:
    summary = factory.run_all(plan(), replies(1, 2, 3))
    assert (summary.verdict, summary.tip) == ("PASS", factory.tip())
    assert [each.state for each in summary.orders] == ["landed"] * 3
    commits = [each.commit for each in summary.orders]
    assert [each.parent for each in summary.orders] == [summary.base, *commits[:2]]
    assert subjects(factory) == [f"WO-0{number}: Say hello" for number in (1, 2, 3)]
    assert list(factory.workspaces.iterdir()) == []


def test_a_plans_branch_is_named_after_it(factory: Factory) -> None:
    summary = factory.run_all(plan(1), replies(1), branch=None)
    assert summary.branch == factory_branch(factory.repo)


def test_each_order_is_shown_what_the_one_before_wrote(factory: Factory) -> None:
    document = manifest([step(1), step(2, context_files=["1.txt"])])
    factory.run_all(document, replies(1, 2))
    assert "## 1.txt (read only)" in factory.prompt(1)
    assert "```\n1\n```" in factory.prompt(1)


def test_what_commands_of_one_order_leave_is_gone_for_the_next(factory: Factory) -> None:
    document = manifest(
        [
            step(1, acceptance_commands=["touch left.log left.txt", "mkdir .venv"]),
            step(2, acceptance_commands=["test ! -e left.log", "test ! -e .venv"]),
        ]
    )
    summary = factory.run_all(document, replies(1, 2))
    assert summary.verdict == "PASS"
    assert summary.orders[0].attempt_records[0].drift == ("left.txt",)
    assert summary.orders[1].attempt_records[0].drift == ()


def test_the_first_failure_stops_the_rest(factory: Factory) -> None:
    summary = factory.run_all(plan(), {**replies(1), "WO-02": [refused()]}, max_attempts=1)
    assert summary.verdict == "FAIL"
    assert [each.state for each in summary.orders] == ["landed", "failed", "blocked"]
    assert [each.attempts for each in summary.orders] == [1, 1, 0]
    assert subjects(factory) == ["WO-01: Say hello"]


def test_a_second_call_goes_on_where_the_first_stopped(factory: Factory) -> None:
    factory.run_all(plan(), {**replies(1), "WO-02": [refused()]}, max_attempts=1)
    landed = factory.tip()
    summary = factory.run_all(plan(), replies(2, 3))
    assert summary.verdict == "PASS"
    assert [each.state for each in summary.orders] == ["skipped", "landed", "landed"]
    assert summary.orders[0].commit == landed == summary.base
    assert [each.commit for each in factory.seen(OrderSkipped)] == [landed]
    assert {request.place.order for request in factory.model.requests} == {"WO-02", "WO-03"}
    assert len(subjects(factory)) == 3


def test_a_plan_that_has_landed_is_not_run_again(factory: Factory) -> None:
    factory.run_all(plan(), replies(1, 2, 3))
    tip = factory.tip()
    summary = factory.run_all(plan(), {})
    assert summary.verdict == "PASS"
    assert [each.state for each in summary.orders] == ["skipped"] * 3
    assert (summary.base, summary.tip, factory.tip()) == (tip, tip, tip)


def test_an_order_that_landed_alone_is_not_run_again(factory: Factory) -> None:
    folder = write_plan(factory.scratch / "plan", plan(2))
    factory.run(folder / "WO-01.json", [reply(1)])
    summary = factory.run_all(folder, replies(2))
    assert [each.state for each in summary.orders] == ["skipped", "landed"]


def test_another_branch_has_nothing_landed(factory: Factory) -> None:
    factory.run_all(plan(1), replies(1))
    summary = factory.run_all(plan(1), replies(1), branch="another")
    assert [each.state for each in summary.orders] == ["landed"]


def test_an_order_that_was_changed_is_run_again(factory: Factory) -> None:
    factory.run_all(plan(1), replies(1))
    changed = manifest([step(1, intent="Write it better.")])
    again = proposal({"1.txt": "better\n"})
    summary = factory.run_all(changed, {"WO-01": [again]})
    assert [each.state for each in summary.orders] == ["landed"]
    assert blob(factory.repo, "work", "1.txt") == b"better\n"


def test_commits_of_others_in_between_do_not_hide_what_has_landed(factory: Factory) -> None:
    factory.run_all(plan(2), {**replies(1), "WO-02": [refused()]}, max_attempts=1)
    git(factory.repo, "switch", "--quiet", "work")
    git(factory.repo, "commit", "--quiet", "--allow-empty", "--message=by hand")
    summary = factory.run_all(plan(2), replies(2))
    assert [each.state for each in summary.orders] == ["skipped", "landed"]
    assert subjects(factory)[1] == "by hand"


def test_an_error_ends_the_run_and_the_summary_says_where(factory: Factory) -> None:
    error = ModelUnavailable("quota used up")
    with pytest.raises(ModelUnavailable):
        factory.run_all(plan(), {**replies(1), "WO-02": [error]})
    summary = factory.record("run_summary.json")
    assert summary["verdict"] == "ERROR"
    assert [each["state"] for each in summary["orders"]] == ["landed", "failed", "blocked"]
    assert summary["tip"] == factory.tip()
    assert factory.record("run.json")["status"] == "error"


def test_a_branch_that_is_moved_in_between_stops_the_run(factory: Factory) -> None:
    def move(request: Request) -> str:
        git(factory.repo, "branch", "--force", "work", "main")
        return proposal({"2.txt": "2\n"})(request)

    with pytest.raises(CommandFailed, match="someone else moved it"):
        factory.run_all(plan(), {**replies(1), "WO-02": [move]})
    assert factory.tip() == git(factory.repo, "rev-parse", "main")
    run_id = factory.record("run.json")["run_id"]
    kept = f"refs/llmch/{run_id}"
    assert git(factory.repo, "log", "--format=%s", f"main..{kept}").count("WO-0") == 2


def test_the_users_tree_follows_each_order(factory: Factory) -> None:
    git(factory.repo, "switch", "--quiet", "--create", "work")
    seen: list[bool] = []

    def look(request: Request) -> str:
        seen.append((factory.repo / "1.txt").exists())
        return proposal({"2.txt": "2\n"})(request)

    factory.run_all(plan(2), {**replies(1), "WO-02": [look]})
    assert seen == [True]
    assert git(factory.repo, "status", "--porcelain") == ""


def test_equal_replies_make_equal_tips(factory: Factory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first = factory.run_all(plan(), replies(1, 2, 3), branch="one")
    second = factory.run_all(plan(), replies(1, 2, 3), branch="two")
    assert first.tip == second.tip


def test_each_order_has_a_folder_of_records(factory: Factory) -> None:
    summary = factory.run_all(plan(2), replies(1, 2))
    for each in summary.orders:
        folder = Path(each.run_dir)
        assert json.loads((folder / "run_summary.json").read_text())["commit"] == each.commit
        assert (folder / "attempt_1/se_prompt.txt").is_file()
    assert factory.record("run_summary.json")["tip"] == summary.tip


def test_an_export_holds_the_whole(factory: Factory) -> None:
    summary = factory.run_all(plan(2), replies(1, 2), out=factory.scratch / "out")
    document = json.loads((factory.scratch / f"out/{summary.run_id}.json").read_text())
    assert document["verdict"] == "PASS"
    assert [each["state"] for each in document["orders"]] == ["landed", "landed"]
    assert "attempt_records" not in document["orders"][0]


def test_usage_is_added_up(factory: Factory) -> None:
    summary = factory.run_all(plan(2), {"WO-01": [refused(), reply(1)], **replies(2)})
    assert [each.usage.calls for each in summary.orders] == [2, 1]
    assert (summary.usage.calls, summary.usage.input_tokens) == (3, 300)


def test_events_frame_the_orders(factory: Factory) -> None:
    factory.run_all(plan(2), {**replies(1), "WO-02": [refused()]}, max_attempts=1)
    (started,), (ended,) = factory.seen(BatchStarted), factory.seen(BatchEnded)
    assert (started.orders, started.branch) == (2, "work")
    assert (ended.verdict, ended.landed, ended.orders) == ("FAIL", 1, 2)
    assert [each.order for each in factory.seen(OrderStarted)] == ["WO-01", "WO-02"]


def test_what_landed_is_pushed_although_a_later_order_failed(
    factory: Factory, remote: Path
) -> None:
    factory.run_all(plan(2), {**replies(1), "WO-02": [refused()]}, max_attempts=1, push=True)
    assert git(remote, "rev-parse", "work") == factory.tip()


def test_what_landed_is_pushed_although_the_run_ended_in_an_error(
    factory: Factory, remote: Path
) -> None:
    with pytest.raises(BudgetReached):
        factory.run_all(plan(2), {**replies(1), "WO-02": [BudgetReached("cap")]}, push=True)
    assert git(remote, "rev-parse", "work") == factory.tip()


def test_what_had_landed_before_can_be_pushed_later(factory: Factory, remote: Path) -> None:
    factory.run_all(plan(2), replies(1, 2))
    factory.run_all(plan(2), {}, push=True)
    assert git(remote, "rev-parse", "work") == factory.tip()


def test_nothing_is_pushed_where_nothing_has_landed(factory: Factory, remote: Path) -> None:
    git(factory.repo, "branch", "work")
    factory.run_all(plan(2), {"WO-01": [refused()]}, max_attempts=1, push=True)
    assert git(remote, "for-each-ref") == ""


def test_an_exempt_order_bootstraps_what_the_next_is_verified_by(factory: Factory) -> None:
    (factory.repo / "scripts/verify.sh").unlink()
    git(factory.repo, "commit", "--quiet", "--all", "--message=bare")
    document = manifest([writing("scripts/verify.sh", 1, verify_exempt=True), order(2)])
    wanted = [{"kind": "file_exists", "path": "hello.txt"}]
    document = hashed(document | {"verify_contract": {"requires": wanted}})
    summary = factory.run_all(
        document,
        {
            "WO-01": [proposal({"scripts/verify.sh": "test -f hello.txt\n"})],
            "WO-02": [proposal({"hello.txt": "hello\n"})],
        },
    )
    assert summary.verdict == "PASS"
    first, second = (each.attempt_records[0].verify for each in summary.orders)
    assert [each.command[2] for each in first] == ["compileall"]
    assert [each.command for each in second] == [("bash", "scripts/verify.sh")]
