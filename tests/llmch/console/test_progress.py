"""How far a batch has come, and what counts as evidence for its end."""

from __future__ import annotations

from llmch.console.activity import Activity, BatchProgress
from llmch.console.line import PLAN
from shared.events.events import (
    AgentActed,
    AgentStarted,
    AttemptStarted,
    BatchEnded,
    BatchStarted,
    Event,
    ModelCallEnded,
    ModelCallStarted,
    OrderEnded,
    OrderSkipped,
    OrderStarted,
    PlanStarted,
    UsageCounted,
)
from shared.llm.model_client import CallPlace, Role

COMMIT = "0" * 40


def begun(order: str) -> Event:
    return OrderStarted(order, "Title", "b", COMMIT, 5)


def ended(order: str, verdict: str = "PASS") -> Event:
    return OrderEnded(order, verdict, 1, COMMIT, "b", 1.0, ())


def called(order: str, *, replayed: bool = False) -> Event:
    return ModelCallEnded("x", "m", 1.0, 100, 10, replayed, order)


def spent(order: str, usd: float | None) -> Event:
    return UsageCounted(1, 100, 0, 10, usd, 0, order)


def after(*steps: tuple[float, Event], orders: int = 6) -> BatchProgress:
    progress = BatchProgress(orders)
    for at, event in steps:
        progress.take(event, at)
    return progress


def landing(order: str, began: float, end: float) -> list[tuple[float, Event]]:
    return [(began, begun(order)), (end, called(order)), (end, ended(order))]


def test_it_says_what_is_over_and_what_it_cost() -> None:
    progress = after(
        (0, OrderSkipped("WO-01", "Title", COMMIT)),
        (0, begun("WO-02")),
        (0, AttemptStarted("WO-02", 1)),
        (9, spent("WO-02", 0.25)),
        (9, ended("WO-02")),
        (9, begun("WO-03")),
        (9, AttemptStarted("WO-03", 1)),
        (12, AttemptStarted("WO-03", 2)),
    )
    assert progress.describe(12) == "2 of 6 orders done ($0.2500)"
    assert progress.describe(12, hidden=1) == "2 of 6 orders done ($0.2500), 1 under way"
    assert progress.attempts == 3


def test_a_cost_that_is_not_known_is_not_told() -> None:
    steps = [(1.0, spent("WO-01", 0.5)), (2.0, spent("WO-02", None)), (3.0, spent("WO-03", 0.5))]
    assert after(*steps).describe(3) == "0 of 6 orders done"


def test_the_usage_of_the_whole_run_is_not_counted_again() -> None:
    assert after((1, spent("WO-01", 0.5)), (2, spent("", 0.5))).spent == 0.5


def test_the_end_is_expected_once_two_orders_have_landed() -> None:
    one = landing("WO-01", 0, 120)
    assert after(*one).left(120) == ""
    both = after(*one, *landing("WO-02", 120, 240))
    assert both.left(240) == "about 3 to 15 min left"
    assert both.describe(240) == "2 of 6 orders done; about 3 to 15 min left"


def test_replies_on_record_are_no_evidence() -> None:
    steps = [*landing("WO-01", 0, 1), *landing("WO-02", 1, 2)]
    replayed = [(0.5, called("WO-01", replayed=True)), (1.5, called("WO-02", replayed=True))]
    assert after(*sorted([*steps, *replayed], key=lambda step: step[0])).left(2) == ""


def test_orders_that_landed_before_or_failed_are_no_evidence() -> None:
    skipped = [(0.0, OrderSkipped(f"WO-0{n}", "Title", COMMIT)) for n in (1, 2)]
    failed = [(0.0, begun("WO-03")), (9.0, ended("WO-03", "FAIL"))]
    progress = after(*skipped, *failed, *landing("WO-04", 9, 20))
    assert progress.describe(20) == "4 of 6 orders done, 1 failed"


def test_nothing_is_left_at_the_end() -> None:
    both = after(*landing("WO-01", 0, 60), *landing("WO-02", 60, 120), orders=2)
    assert both.describe(120) == "2 of 2 orders done"


def test_only_live_replies_are_counted_as_tokens() -> None:
    activity = Activity(clock=lambda: 0.0)
    for event in (
        BatchStarted(2, "b", COMMIT),
        begun("WO-01"),
        ModelCallStarted("x", "m", "WO-01"),
        called("WO-01", replayed=True),
        ModelCallStarted("x", "m", "WO-01"),
        called("WO-01"),
    ):
        activity.take(event)
    assert (activity.input_tokens, activity.output_tokens) == (100, 10)


def test_a_batch_that_is_over_has_no_progress() -> None:
    activity = Activity(clock=lambda: 0.0)
    activity.take(BatchStarted(2, "b", COMMIT))
    assert activity.progress is not None
    over = Activity(clock=lambda: 0.0)
    for event in (BatchStarted(2, "b", COMMIT), BatchEnded("PASS", "b", COMMIT, 1, 2, 1.0)):
        over.take(event)
    assert over.idle
    assert over.progress is None


def test_it_is_seen_whether_a_plan_is_written_or_reviewed() -> None:
    activity = Activity(clock=lambda: 0.0)
    activity.take(PlanStarted("spec.md", "01K", 5))
    stages = []
    for role in (Role.PLANNER, Role.REVIEWER, Role.PLANNER):
        activity.take(ModelCallStarted(str(CallPlace(role, 1)), "m"))
        stages.append(activity.tasks[PLAN].stage)
    assert stages == ["", "review", ""]


def test_it_is_seen_which_agent_works_and_what_it_took() -> None:
    activity = Activity(clock=lambda: 0.0)
    for event in (begun("WO-01"), AttemptStarted("WO-01", 1), AgentStarted("WO-01", 1, "codex 1")):
        activity.take(event)
    task = activity.tasks["WO-01"]
    assert (task.stage, task.detail) == ("agent", "codex 1")
    activity.take(AgentActed("WO-01", 1, 2, 900, 100))
    assert (task.stage, task.detail) == ("agent", "2 calls, 1,000 tokens")
