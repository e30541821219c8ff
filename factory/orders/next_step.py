"""Names the one command that helps after an order has failed. Pure.

`run-all` and `status` both ask here, so that they say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from factory.orders.stages import Stage
from shared.plan_folder.edited import accept_edits


@dataclass(frozen=True, slots=True)
class PlanAtHand:
    """Say where the plan of a run is, and whether a person has edited it since it was sealed."""

    folder: Path
    edited: bool = False


def next_step(
    stage: Stage | Literal["error"],
    order: str,
    *,
    place: str = "",
    remedy: str = "",
    plan: PlanAtHand | None = None,
) -> str:
    """Return what a person does next about an order that failed at `stage`, as a clause.

    `place` is the option with which verbs find the repo, after a space; "" in the repo itself.
    `remedy` is what the failure itself says; it goes first. `plan` is the plan of the order, `None`
    where the order has no manifest with a hash. The result is "" where the error that ended the run
    says what to do.
    """
    if remedy:
        return remedy
    match stage:
        case Stage.ENVIRONMENT:
            return "provide what the command lacks"
        case Stage.WRITE_FAILED:
            return "free space or correct the permissions"
        case Stage.PREFLIGHT:
            return _correct(order, plan)
        case Stage.EXCEPTION | Stage.LLM_OUTPUT_INVALID:
            return f"`llmch retry {order}{place} --llm-model MODEL` asks another model"
        case (
            Stage.REPEATED
            | Stage.WRITE_SCOPE_VIOLATION
            | Stage.STALE_CONTEXT
            | Stage.CONTRACT_VIOLATED
            | Stage.VERIFY_FAILED
            | Stage.ACCEPTANCE_FAILED
        ):
            return f"`llmch retry {order}{place} --hint TEXT` asks again with what you tell it"
        case "error":
            return ""
        case _:
            assert_never(stage)


def _correct(order: str, plan: PlanAtHand | None) -> str:
    """Return how an order is corrected that no proposal can carry out."""
    if plan is None:
        return f"correct {order}, or plan again: `llmch check PLAN` judges the plan without a model"
    command = f"`{accept_edits(plan.folder)}`"
    if plan.edited:
        return f"{command} takes what you edited in the plan"
    return f"correct {order} and take the edit by {command}, or plan again"
