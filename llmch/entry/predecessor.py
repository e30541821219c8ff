"""Finds the plan that a new one follows, and how far a branch has come with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shared.errors import InvalidInput
from shared.git import refs
from shared.git.client import Git

if TYPE_CHECKING:
    from planner.compile.options import PlanOptions


def following(options: PlanOptions, folder: Path, git: Git | None) -> PlanOptions:
    """Return the options for a plan that follows the one in `folder`.

    The orders that the branch has are history, and the new plan begins with the branch's files.
    Without a branch in the options it is the one that `run-all` would choose for the plan. Without
    `git` nothing has landed. Raises `InvalidInput` where there is no plan to follow.
    """
    from factory.orders.read import read_workdir
    from factory.record.landed import landed_on, plan_branch
    from planner.replan.read import read_predecessor

    if options.template is not None:
        raise InvalidInput(
            "a plan that follows another one has a prompt of its own, so --template has no use",
            "leave out --template, or plan the whole specification anew",
        )
    if git is None:
        return replace(options, follows=read_predecessor(folder, ()))
    before = read_predecessor(folder, ())  # says what is wrong with a plan in a planner's words
    orders = read_workdir(folder)
    landed = landed_on(git, orders, options.branch)
    own = plan_branch(git, orders)
    # Where nothing was executed yet, the plan begins where the first one did.
    branch = options.branch or (own if refs.tip_of_branch(git, own) else None)
    follows = read_predecessor(folder, landed) if landed else before
    return replace(options, follows=follows, branch=branch)
