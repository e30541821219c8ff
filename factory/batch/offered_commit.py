"""Checks whether a person's commit can stand for an order at all, before anything is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.batch.plan_on_branch import PlanOnBranch
from factory.landing.order_change import lacking, paths_of
from factory.record.attempts_on_record import bases_on_record
from factory.repo.path_names import name_paths
from factory.repo.preflight import RepoPlace
from shared.errors import InvalidInput
from shared.git import patches, refs
from shared.git.client import Git
from shared.work_order.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class OfferedCommit:
    """Hold a commit that may stand for an order, and the files that differ from its parent.

    `beyond` are those of the files that the order does not allow.
    """

    commit: str
    parent: str
    changed: frozenset[str]
    beyond: tuple[str, ...]


def find_offered_commit(
    plan: PlanOnBranch,
    name: str,
    given: str,
    place: RepoPlace,
    artifacts: Path,
    *,
    allow_more: bool,
) -> OfferedCommit:
    """Return the commit that `given` names, for the order `name`.

    Raises `InvalidInput` if it is no commit of the branch, is older than the plan's runs or made by
    an order, changes more than the order allows (unless `allow_more`), or lacks a test of the plan.
    """
    git, order = place.git, plan.named(name).order
    commit = refs.commit_of(git, given)
    if not commit:
        raise InvalidInput(
            f"--commit {given!r} does not name a commit of this repo",
            "give a full hash, or a unique abbreviation",
        )
    bases = bases_on_record(artifacts, place.common_dir, place.tree, plan.branch)
    _refuse_elsewhere(plan, name, commit, git, bases)
    parent = refs.commit_of(git, f"{commit}^")
    if not parent:
        raise InvalidInput(
            f"{commit[:12]} is the first commit of the repo", "name a commit that has a parent"
        )
    changed = patches.files_between(git, parent, commit)
    beyond = tuple(sorted(changed.difference(paths_of(order))))
    if beyond and not allow_more:
        raise InvalidInput(
            f"{commit[:12]} changes what {name} does not allow: {name_paths(beyond)}",
            "split the commit, or pass --allow-more if these files belong to the order's work",
        )
    if problem := next(lacking(git, order, commit), ""):
        raise InvalidInput(
            f"{commit[:12]} cannot stand for {name}: {problem}",
            f"amend the commit by what {plan.path} says{_where(order)}, and name the new one",
        )
    return OfferedCommit(commit, parent, changed, beyond)


def _where(order: WorkOrder) -> str:
    return f" (the tests are in `acceptance_files` of {order.id})" if order.acceptance_files else ""


def _refuse_elsewhere(
    plan: PlanOnBranch, name: str, commit: str, git: Git, bases: frozenset[str]
) -> None:
    """Raise `InvalidInput` where the commit is not the branch's own work on the plan."""
    history = plan.history(git)
    commits = history.first_parents
    if commit not in commits:
        raise InvalidInput(
            f"{commit[:12]} is not on branch {plan.branch!r}",
            "bring it there by `git cherry-pick` or `git merge --no-ff`, and name the commit that "
            "the branch has then; --branch names another branch",
        )
    for each in plan.orders:
        made = history.landed.get(each.order.id)
        if made and name == each.order.id:
            raise InvalidInput(
                f"{name} has landed as {made[:12]} on {plan.branch}", "nothing is left to accept"
            )
        if made == commit:
            raise InvalidInput(
                f"{commit[:12]} is the commit of {each.order.id}", f"name the commit of {name}"
            )
    known = [commits.index(each) for each in bases if each in commits]
    if known and commits.index(commit) > max(known):
        raise InvalidInput(
            f"{commit[:12]} was on {plan.branch} before the first run of the plan began",
            "name a commit that was made since",
        )
