"""Finds how far a branch has come with a plan, and the plan that a new one follows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shared.errors import InvalidInput
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


def history_on(folder: Path, repo: Path | None, branch: str | None) -> frozenset[str]:
    """Return the ids of the orders of the plan in `folder` that a branch of `repo` has.

    They are history to the rules, which read the branch's files then. Without a repo or a branch
    there are none, and none of a plan that cannot be executed.
    """
    from factory.batch.plan_on_branch import PlanOnBranch
    from factory.orders.read import read_workdir
    from factory.repo.preflight import find_repo

    if repo is None or branch is None:
        return frozenset()
    try:
        orders = read_workdir(folder)
    except InvalidInput:
        return frozenset()  # the rules say what is wrong with the plan
    place = find_repo(repo)
    return frozenset(PlanOnBranch(folder, orders, branch).landed(place.git, place.common_dir))
