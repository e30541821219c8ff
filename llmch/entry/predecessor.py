"""Finds the plan that a new one follows, and how far a branch has come with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shared.git import refs

if TYPE_CHECKING:
    from factory.repo.preflight import RepoPlace
    from planner.compile.options import PlanOptions


def following(options: PlanOptions, folder: Path, place: RepoPlace | None) -> PlanOptions:
    """Return the options for a plan that follows the one in `folder`.

    The orders that the branch has are history, and the new plan begins with the branch's files.
    Without a branch in the options it is the one that `run-all` would choose for the plan. Without
    a `place` nothing has landed. Raises `InvalidInput` where there is no plan to follow.
    """
    from factory.batch.plan_on_branch import PlanOnBranch
    from factory.orders.read import read_workdir
    from factory.record.landed import plan_branch
    from factory.record.plan_decisions import left_out
    from planner.replan.read import read_predecessor

    before = read_predecessor(folder, ())  # says what is wrong with a plan in a planner's words
    if place is None:
        return replace(options, follows=before)
    orders = read_workdir(folder)
    own = plan_branch(place.git, orders)
    # Where nothing was executed yet, the plan begins where the first one did.
    branch = options.branch or (own if refs.tip_of_branch(place.git, own) else None)
    plan = PlanOnBranch(folder, orders, branch or own)
    landed = plan.landed(place.git, place.common_dir)
    reasons = left_out(plan.decisions(place.common_dir))
    return replace(options, follows=read_predecessor(folder, landed, reasons), branch=branch)
