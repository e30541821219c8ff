"""Makes the clone in which a worker runs a submitted plan."""

from __future__ import annotations

from pathlib import Path

from factory.fleet.plans.documents import PlanDocument
from factory.orders.identity import NOTES_REF
from shared.errors import CommandFailed
from shared.files.atomic_io import make_folder
from shared.git import refs, remote_refs, repos, worktrees
from shared.git.client import Git

_ORIGIN = "origin"


def clone_for(plan: PlanDocument, folder: Path) -> Path:
    """Clone what a plan needs of its remote, as a person's clone would be, and return its tree.

    That is the branch that the plan is for, the one that it began on, and the notes on commits.
    Raises `CommandFailed` where the remote does not answer, or has lost the plan's base.
    """
    tree = make_folder(folder / (Path(plan.repo).name or "repo"))
    git = Git(tree)
    repos.initialise(git)
    git.run("config", f"remote.{_ORIGIN}.url", plan.remote)
    heads = remote_refs.branch_tips(git, plan.remote)
    wanted = [f"refs/heads/{each}" for each in (plan.base_branch, plan.branch) if each in heads]
    notes = remote_refs.list_refs(git, plan.remote, NOTES_REF)
    specs = [f"+{each}:{each}" for each in (*wanted, *notes)]
    remote_refs.fetch_refs(git, plan.remote, specs)
    if not refs.commit_of(git, plan.base):
        raise CommandFailed(
            f"{plan.base[:12]} is not on branch {plan.base_branch!r} of {plan.remote} any more",
            "submit the plan again: it then begins where the branch is now",
        )
    # A plan that goes on, on the very branch that it began on, stands at the branch's tip.
    goes_on = plan.branch == plan.base_branch and plan.branch in heads
    worktrees.begin_on(git, plan.base_branch, heads[plan.branch] if goes_on else plan.base)
    return tree
