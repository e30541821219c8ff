"""Defines the options of a planning run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.compile.model import PlannerModel
from planner.plan.target import NOTHING_MORE, Allowed
from planner.replan.predecessor import Predecessor


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Hold what to plan, with which model, and where to write the plan."""

    spec: Path
    artifacts: Path
    model: PlannerModel
    max_attempts: int
    repo: Path | None = None
    branch: str | None = None
    """The branch whose files the plan begins with, if it exists."""
    start: str | None = None
    """The commit whose files the plan begins with otherwise; the checkout's without one."""
    verify: tuple[str, ...] = ()
    """The commands that the user says verify the repo."""
    outdir: Path | None = None
    template: Path | None = None
    overwrite: bool = False
    require_coverage: bool = False
    allowed: Allowed = NOTHING_MORE
    reviewer: PlannerModel | None = None
    """The model that reviews a valid plan; `None` for no review."""
    follows: Predecessor | None = None
    """The plan that the new one follows; `None` for a plan of the whole specification."""


def settings_document(options: PlanOptions) -> dict[str, Any]:
    """Return the settings as `run.json` and `compile_summary.json` record them."""
    return {
        "model": options.model.model,
        "reasoning_effort": options.model.reasoning_effort,
        "max_output_tokens": options.model.max_output_tokens,
        "reviewer": options.reviewer.model if options.reviewer else None,
        "max_attempts": options.max_attempts,
        "require_coverage": options.require_coverage,
    }
