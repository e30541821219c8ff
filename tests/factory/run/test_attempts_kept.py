"""The attempts that were paid for stay on record, however their order ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest

import llmch
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.record.run_status import read_status, status_document
from shared.errors import BudgetReached, Interrupted, LlmchError, ModelUnavailable
from shared.events.events import CommandStarted, Event, StageStarted
from shared.llm.model_client import Request
from shared.work_order.parse_order import order_key
from shared.work_order.work_order import WorkOrder
from tests.factory.batch.batching import each_writes, step
from tests.fakes import Reply, proposal, refused
from tests.harness import Factory, Json, git, manifest, order

BAD = proposal({"hello.txt": "wrong\n"})
GOOD = proposal({"hello.txt": "right\n"})
PICKY = order(acceptance_commands=["grep right hello.txt"])
TOKENS = 110  # of one scripted call


def raising(error: BaseException) -> Callable[[Request], str]:
    def fail(request: Request) -> str:
        raise error

    return fail


def status_of(factory: Factory) -> Json:
    status = read_status(factory.repo / ".git")
    assert status is not None
    read: Json = json.loads(json.dumps(status_document(status, factory.repo / ".git")))
    return read


@pytest.mark.parametrize(
    ("error", "cause", "state"),
    [
        (KeyboardInterrupt(), "interrupted", "pending"),
        (Interrupted("ended by SIGTERM"), "ended by SIGTERM", "pending"),
        (ModelUnavailable("no such model"), "no such model", "failed"),
        (BudgetReached("too much"), "too much", "failed"),
        (RuntimeError("a bug"), "RuntimeError('a bug')", "failed"),
    ],
)
def test_an_order_that_cannot_go_on_keeps_its_attempts(
    factory: Factory, error: BaseException, cause: str, state: str
) -> None:
    with pytest.raises(type(error)):
        factory.run(PICKY, [BAD, raising(error)])
    summary = factory.record("run_summary.json")
    assert (summary["verdict"], summary["state"], summary["attempts"]) == ("ERROR", state, 2)
    first, second = summary["attempt_records"]
    assert first["failure_brief"]["stage"] == "acceptance_failed"
    assert [each["exit_code"] for each in first["acceptance"]] == [1]
    assert second["failure_brief"]["stage"] == "exception"
    assert second["failure_brief"]["primary_error_excerpt"] == cause
    assert factory.record("attempt_2/failure_brief.json") == second["failure_brief"]
    assert summary["failure"]["excerpt"] == cause
    assert summary["usage"]["calls"] == 1


def test_an_attempt_that_was_judged_when_it_was_interrupted_keeps_what_it_wrote(
    factory: Factory,
) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, CommandStarted) and event.order != "base":
            raise KeyboardInterrupt

    factory.on_event = interrupt
    with pytest.raises(KeyboardInterrupt):
        factory.run(PICKY, [GOOD])
    (record,) = factory.record("run_summary.json")["attempt_records"]
    assert (record["touched_files"], record["write_ok"]) == (["hello.txt"], True)
    assert record["failure_brief"]["stage"] == "exception"


def test_an_order_that_never_began_has_no_attempts(factory: Factory) -> None:
    orders = manifest([step(1), step(2, depends_on=["WO-01"])])
    with pytest.raises(ModelUnavailable):
        factory.run_all(orders, {"WO-01": [ModelUnavailable("gone")]})
    one, two = factory.record("run_summary.json")["orders"]
    assert (one["state"], one["attempts"]) == ("failed", 1)
    assert (two["state"], two["attempts"], two["failure"]) == ("blocked", 0, None)


@pytest.mark.rest
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_plan_that_is_interrupted_keeps_the_attempts_of_each_order(
    factory: Factory, jobs: int
) -> None:
    """With two at once, the other order waits for a model that never answers."""
    waits, released = threading.Event(), threading.Event()

    def never(request: Request) -> str:
        waits.set()
        released.wait(60)
        return refused(2)(request)

    def second(request: Request) -> str:
        if jobs == 2:
            waits.wait(60)
        raise KeyboardInterrupt

    replies: dict[str, list[Reply]] = {"WO-01": [refused(), second], "WO-02": [refused(), never]}
    try:
        with pytest.raises(KeyboardInterrupt):
            factory.run_all(manifest([step(1), step(2)]), replies, jobs=jobs)
    finally:
        released.set()
    orders = factory.record("run_summary.json")["orders"]
    attempts = {each["work_order"]: each["attempts"] for each in orders}
    assert attempts == ({"WO-01": 2, "WO-02": 0} if jobs == 1 else {"WO-01": 2, "WO-02": 2})
    assert {each["state"] for each in orders} == {"pending"}
    for each in orders[:jobs]:
        assert each["usage"]["calls"] == 1
        assert each["attempt_records"][-1]["failure_brief"]["stage"] == "exception"
        assert factory.record(f"{each['work_order']}/run_summary.json") == each
        assert factory.record(f"{each['work_order']}/attempt_2/failure_brief.json")
    status = status_of(factory)
    assert status["state"] == "interrupted"
    assert [each["usage"]["calls"] for each in status["orders"][:jobs]] == [1] * jobs


@pytest.mark.rest
def test_orders_that_another_ones_failure_stopped_keep_their_attempts(factory: Factory) -> None:
    asked_again, released = threading.Event(), threading.Event()

    def fails_late(request: Request) -> str:
        asked_again.wait(60)
        return refused(2)(request)

    def never(request: Request) -> str:
        asked_again.set()
        released.wait(60)
        return refused(2)(request)

    replies: dict[str, list[Reply]] = {
        "WO-01": [refused(1), fails_late],
        "WO-02": [refused(), never],
    }
    try:
        summary = factory.run_all(manifest([step(1), step(2)]), replies, jobs=2, max_attempts=2)
    finally:
        released.set()
    assert summary.verdict == "FAIL"
    one, two = summary.orders
    assert (one.state, one.attempts) == ("failed", 2)
    assert (two.state, two.verdict, two.attempts) == ("pending", "FAIL", 2)
    assert two.usage.calls == 1


def test_a_stage_is_on_record_by_the_time_anybody_hears_of_it(factory: Factory) -> None:
    heard: list[tuple[str, int, str]] = []
    recorded: list[tuple[str, int, str]] = []

    def look(event: Event) -> None:
        if isinstance(event, StageStarted):
            last = (factory.repo / ".git/llmch/journal.jsonl").read_text().splitlines()[-1]
            entry = json.loads(last)
            assert entry["step"] == "stage"
            recorded.append((entry["order"], entry["attempt"], entry["stage"]))
            heard.append((event.order, event.attempt, event.stage))

    factory.on_event = look
    factory.run(PICKY, [BAD, GOOD])
    assert heard == recorded
    assert [stage for _, attempt, stage in heard if attempt == 2] == [
        "propose",
        "apply",
        "verify",
        "accept",
        "commit",
    ]


# What `status` says while an order is tried again


def test_during_a_retry_the_status_says_why(factory: Factory) -> None:
    seen: list[Json] = []

    def look(request: Request) -> str:
        seen.append(status_of(factory))
        return GOOD(request)

    command = "python -c \"assert 0, 'no hello'\""
    summary = factory.run(order(acceptance_commands=[command]), [BAD, look], max_attempts=2)
    (document,) = seen
    (entry,) = document["orders"]
    assert document["state"] == "running"
    assert (entry["state"], entry["doing"], entry["attempts"]) == ("PATCHING", "propose", 2)
    assert entry["attempts_left"] == 1
    assert entry["last_failure"] == "acceptance_failed"
    failure = entry["failure"]
    assert (failure["attempt"], failure["stage"]) == (1, "acceptance_failed")
    assert (failure["command"], failure["exit_code"]) == (command, 1)
    assert failure["excerpt"].endswith("AssertionError: no hello")
    assert entry["usage"]["input_tokens"] + entry["usage"]["output_tokens"] == TOKENS
    assert document["usage"]["calls"] == 1
    assert summary.verdict == "FAIL"


def test_the_excerpt_is_a_few_lines_without_secrets(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-hunter2")
    command = (
        "python -c \"print('x' * 900); [print(n) for n in range(50)]; assert 0, 'hunter2-hunter2'\""
    )
    with pytest.raises(LlmchError):
        factory.run(
            order(acceptance_commands=[command]), [GOOD, ModelUnavailable("gone hunter2-hunter2")]
        )
    lines = (factory.repo / ".git/llmch/journal.jsonl").read_text().splitlines()
    records = {each["step"]: each for each in map(json.loads, lines)}
    failed, ended = records["attempt_failed"], records["order_ended"]
    assert len(failed["excerpt"]) <= 500
    assert len(failed["excerpt"].splitlines()) <= 5
    assert failed["excerpt"].endswith("AssertionError: [redacted]")
    assert (ended["failure"], ended["excerpt"]) == ("error", "gone [redacted]")


# What `run.json` says a run was made with


def test_run_json_names_the_version_the_work_and_the_model(factory: Factory) -> None:
    rungs = parse_ladder("small,large")
    models = ModelChoice(
        rungs,
        attempts=3,
        temperature=0.5,
        max_output_tokens=900,
        reasoning_effort="low",
    )
    plan = manifest([step(1), step(2)])
    replies = each_writes(1, 2)
    factory.run_all(plan, replies, models=models, max_attempts=3)
    head = factory.record("run.json")
    assert head["llmch_version"] == llmch.__version__
    assert head["manifest_sha256"] == plan["provenance"]["manifest_sha256"]
    keys = git(
        factory.repo,
        "log",
        "--reverse",
        "main..work",
        "--format=%(trailers:key=Llmch-Key,valueonly,separator=%x20)",
    ).splitlines()
    assert [each["order_key"] for each in head["orders"]] == keys
    assert [each["id"] for each in head["orders"]] == ["WO-01", "WO-02"]
    assert head["model_settings"] == {
        "models": [models.model(1), models.model(2), models.model(3)],
        "temperature": 0.5,
        "max_output_tokens": 900,
        "reasoning_effort": "low",
        "replies": "live",
        "base_url": None,
    }


def test_an_order_of_no_plan_has_no_manifest(factory: Factory) -> None:
    factory.run(PICKY, [GOOD])
    head = factory.record("run.json")
    assert head["manifest_sha256"] is None
    (named,) = head["orders"]
    assert named == {"id": "WO-01", "order_key": order_key(WorkOrder.model_validate(PICKY))}
