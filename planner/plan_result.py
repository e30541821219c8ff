"""Defines the outcome of a planning run, and what `plan --json` prints of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.judging.validation import Report
from planner.replan.change import PlanChange
from shared.errors import LlmchError
from shared.llm.cost.usage import Tally, usage_document


@dataclass(frozen=True, slots=True)
class PlanResult:
    """Hold the outcome of a planning run: where the valid plan is, or why there is none."""

    ok: bool
    attempts: int
    work_orders: int
    run_id: str
    run_dir: Path
    output_dir: Path | None
    report: Report
    tally: Tally
    error: LlmchError | None
    """The error that ends the command where the model's last reply could not even be judged."""
    unchanged: bool = False
    """Whether the plan before carries out the spec already: no model was asked then."""
    change: PlanChange | None = None
    """What the plan changes in the one that it follows, where it follows one and is valid."""


def plan_document(result: PlanResult) -> dict[str, Any]:
    """Return what `plan --json` prints; the last two keys where the plan follows another one."""
    return {
        "ok": result.ok,
        "attempts": result.attempts,
        "work_orders": result.work_orders,
        "run_id": result.run_id,
        "run_dir": str(result.run_dir),
        "output_dir": str(result.output_dir) if result.output_dir else None,
        "findings": result.report.to_json()["findings"],
        "usage": usage_document(result.tally),
        **_change_document(result),
    }


def _change_document(result: PlanResult) -> dict[str, Any]:
    if result.change is None:
        return {}
    return {"unchanged": result.unchanged, "change": result.change.to_json()}
