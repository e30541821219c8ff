"""Runs as values, of any size, for tests of what is drawn."""

from __future__ import annotations

from factory.orders.documents import AgentRecord, CommandFlag, FailureBrief, SandboxRecord
from factory.orders.stages import Failure, Stage
from llmch.runs.run_model import (
    AttemptView,
    CallView,
    Change,
    CommandView,
    Excerpt,
    Judged,
    OrderView,
    Output,
    PlanAttemptView,
    PlanningView,
    PlanReviewView,
    RoleUsage,
    RunView,
    SandboxUse,
    SpanKind,
    Standing,
    TimeSpan,
    Track,
)
from shared.llm.usage import UsageRecord
from shared.work_order.work_order import Asserted, CoveredRequirement, CoveringOrder

PATCH = """\
diff --git a/src/one.py b/src/one.py
index 1111111..2222222 100644
--- a/src/one.py
+++ b/src/one.py
@@ -1,3 +1,4 @@ class One:
 import os
-value = 'old'
+value = 'new'
+other = 1
 # the end
"""
COMMIT = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"
SANDBOX = SandboxRecord(
    backend="bwrap",
    version="0.8.0",
    guarantees={"files": True, "network": True, "process_limit": False},
    limits={"memory_bytes": 4 << 30},
)


def command(text: str, exit_code: int = 0) -> CommandView:
    return CommandView(
        "acceptance", f"python -c '{text}'", exit_code, 0.4, Output(text, "logs/a.log", 9_000),
        Output(text), "3 passed", sandbox=SANDBOX,
    )  # fmt: skip


def call(text: str, *, cut: bool = False) -> CallView:
    """Return a call whose prompt and reply hold `text`; with `cut`, as files that are very long."""
    prompt = Excerpt(text, text if cut else "", 5_000 if cut else 0, "WO-01/attempt_1/p.txt")
    return CallView(prompt, Excerpt(text, path="WO-01/attempt_1/r.txt"), Excerpt(text))


def planning(text: str = "words") -> PlanningView:
    """Return how a plan was made: rejected once, then reviewed; all texts hold `text`."""
    return PlanningView(
        run_id="01M83JFEHMMDQ4H7A08FWFA1MW",
        started="2024-01-01T09:00:00.000+00:00",
        attempts=(
            PlanAttemptView(1, Judged.FAILED, 3, 200, 1, (text, f"E101 {text}"), (), (call(text),)),
            PlanAttemptView(2, Judged.PASSED, 2, 0, 1, (text,), (text,), (call(text, cut=True),)),
            PlanAttemptView(3, Judged.OPEN),
        ),
        reviews=(PlanReviewView(1, (text,), 2, "", (call(text),)), PlanReviewView(2, failure=text)),
        spans=(
            TimeSpan(SpanKind.ATTEMPT, 0, 20, "attempt 1 at the plan", Judged.FAILED, 1),
            TimeSpan(SpanKind.MODEL, 0, 18, "model call: large", Judged.PASSED),
            TimeSpan(SpanKind.ATTEMPT, 20, 31, "attempt 2 at the plan", Judged.PASSED, 2),
        ),
        usage=UsageRecord(3, 900, 0, 90, 0, 0.5, 1),
    )


def order_view(number: int, judged: Judged = Judged.PASSED, text: str = "words") -> OrderView:
    """Return an order whose last attempt ended so; `text` is in all that a record quotes."""
    name = f"WO-{number:02d}"
    brief = FailureBrief.model_construct(
        stage=Stage.ACCEPTANCE_FAILED, command=text, exit_code=1, primary_error_excerpt=text,
        facts=(text, "`f()` returned 1"), remedy=text,
    )  # fmt: skip
    attempts = [AttemptView(1, Judged.FAILED, "small", text, 1.0, 2.0, brief, Change(PATCH),
                            (command(text, 1),), (text,), AgentRecord(name=text, dropped=(text,)),
                            calls=(call(text), call(text, cut=True)))]  # fmt: skip
    if judged is Judged.PASSED:
        attempts.append(AttemptView(2, judged, "large", text, 2.0, 4.0, commands=(command(text),),
                                    calls=(CallView(Excerpt(text)),)))  # fmt: skip
    landed = judged is Judged.PASSED
    return OrderView(
        id=name,
        title=f"{text} {number}",
        state="landed" if landed else "failed",
        intent=text,
        notes=text,
        allowed_files=(text, "src/one.py"),
        acceptance_commands=(text,),
        acceptance_files=(text,),
        covers=(f"FR-{number}",),
        needs=tuple(f"WO-{each:02d}" for each in {number // 2, number - 3} if 0 < each < number),
        commit=COMMIT if landed else "",
        parent=COMMIT[::-1] if landed else "",
        proof=text,
        change=Change(PATCH, command="git diff a b") if landed else Change(),
        attempts=tuple(attempts),
        trials=(command(text, 1),),
        failure=None if landed else Failure(Stage.ACCEPTANCE_FAILED, text, 1, text, text),
        warnings=(text,),
        flags=(CommandFlag(code="W252", command=text, message=text),),
        usage=UsageRecord(2, 200, 0, 20, 0, 0.01),
    )


def track(number: int) -> Track:
    start = number * 3.0
    return Track(
        f"WO-{number:02d}",
        f"words {number}",
        (
            TimeSpan(SpanKind.ATTEMPT, start, start + 2, "attempt 1", Judged.FAILED, 1),
            TimeSpan(SpanKind.MODEL, start, start + 1, "model call: small", Judged.PASSED),
            TimeSpan(SpanKind.COMMAND, start + 1, start + 2, "accept: x", Judged.FAILED),
            TimeSpan(SpanKind.ATTEMPT, start + 2, start + 7, "attempt 2", Judged.PASSED, 2),
            TimeSpan(SpanKind.TRIAL, start + 2, start + 3, "tried before the work", Judged.FAILED),
            TimeSpan(SpanKind.WAIT, start + 3, start + 5, "waits for its turn", Judged.OPEN),
        ),
    )


def drawn_run(orders: int) -> RunView:
    """Return a run of so many orders, the last of which failed where there are several."""
    numbers = range(1, orders + 1)
    failed = orders > 1
    views = tuple(
        order_view(each, Judged.FAILED if failed and each == orders else Judged.PASSED)
        for each in numbers
    )
    return RunView(
        run_id="01M83JFEHMMDQ4H7A08FWFA1MX",
        title="A shop with prices",
        standing=Standing.FAILED if failed else Standing.PASSED,
        branch="factory/a-shop",
        base=COMMIT[::-1],
        tip=COMMIT,
        command="run-all",
        started="2024-01-01T10:00:00.000+00:00",
        ended="2024-01-01T10:01:00.000+00:00",
        seconds=60.0,
        version="0.1.0",
        overview=("The shop has `prices`.",),
        orders=views,
        tracks=tuple(map(track, numbers)),
        usage=UsageRecord(2 * orders, 200 * orders, 10, 20 * orders, 5, 0.01 * orders, 1),
        roles=(RoleUsage("factory", "small", UsageRecord(orders, 200, 10, 20, 5, 0.1, 1), 9.0),),
        requirements=tuple(
            CoveredRequirement(
                f"FR-{each.id[3:]}",
                "prices are whole cents",
                None,
                (
                    CoveringOrder(
                        each.id, each.title, (), (each.commit,) if each.commit else (),
                        ("verified",), Asserted.TEST,
                    ),
                ),
            )
            for each in views[:20]
        ),
        sandboxes=(SandboxUse(SANDBOX),),
        settings=(("models", "small, large"), ("repository", "/somewhere")),
        messages=("sandbox bwrap",),
        gaps=("`notes` are missing",),
        planning=planning(),
    )  # fmt: skip
