"""Reads a plan, its repo and the records of earlier runs for a preview. No model is asked."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from factory.orders.read import LoadedOrder, read_workdir
from factory.record.landed import plan_branch
from factory.run.plan_forecast import size_plan
from llmch.preview.difference import PlanDifference, compare_plans
from llmch.preview.plan_preview import PlanGround, PlanPreview, preview_of
from llmch.preview.standing import OrderStanding, read_standings
from planner.judging.validation import Report
from planner.plan.folder import read_plan_folder
from planner.plan.plan import Plan
from planner.repo.tracked import open_repo
from shared.errors import InvalidInput
from shared.git import index, patches, refs, repos, trees
from shared.git.client import Git
from shared.plan_folder.read import PlanFacts, StoredManifest
from shared.settings.settings import Settings
from shared.work_order.parsing import DocumentInvalid, parse_document
from shared.work_order.schemas import MAX_LISTED, WithdrawnOrder


def read_preview(
    folder: Path,
    repo: Path | None,
    branch: str | None,
    settings: Settings,
    report: Report | None = None,
) -> PlanPreview:
    """Return what the plan in `folder` will do on a branch of `repo`.

    Without a branch, that is the one that `run-all` would choose. Raises `InvalidInput` where
    there is no plan, its files disagree, or `repo` is not in a git working tree.
    """
    plan = read_plan_folder(folder)
    orders, refusal = _loaded(folder)
    ground = PlanGround(folder, refusal=refusal, report=report, follows=_facts(plan).lineage)
    if repo is not None:
        ground = _on_repo(ground, open_repo(repo), orders, branch)
    if orders:
        sized = size_plan(orders, repo, settings, ground.branch or None)
        ground = replace(ground, sized=sized)
    return preview_of(plan, _withdrawn(plan), ground)


def read_difference(before: Path, after: Path, repo: Path | None) -> PlanDifference:
    """Return how the plan in the folder `after` differs from the one in `before`.

    Where orders stand is said for the branch of `repo` that `run-all` would choose. Raises as
    `read_preview` does, and where a folder holds no order that can be read.
    """
    old, new = _comparable(before), _comparable(after)
    standings: dict[str, OrderStanding] = {}
    if repo is not None:
        git = open_repo(repo)
        for folder in (before, after):
            ground = _on_repo(PlanGround(folder), git, _loaded(folder)[0], None)
            standings |= ground.standings
    return compare_plans(
        old,
        new,
        follows=_facts(old).manifest_sha256 in _facts(new).lineage,
        withdrawn=_withdrawn(new),
        standings=standings,
    )


def _comparable(folder: Path) -> Plan:
    """Return the plan, unless nothing of it can be read: all orders would seem to be withdrawn."""
    plan = read_plan_folder(folder)
    if not plan.drafts:
        why = "; ".join(each.message for each in plan.problems)
        raise InvalidInput(
            f"the plan in {folder} cannot be read: {why}",
            f"`llmch check {shlex.quote(str(folder))}` says what is wrong",
        )
    return plan


def _loaded(folder: Path) -> tuple[tuple[LoadedOrder, ...], str]:
    """Return the orders as the factory takes them; none, and why, where it refuses them."""
    try:
        return read_workdir(folder), ""
    except InvalidInput as refused:
        return (), refused.message


def _on_repo(
    ground: PlanGround, git: Git, orders: Sequence[LoadedOrder], branch: str | None
) -> PlanGround:
    """Return what is known of the plan on a repo: the branch, its files, and what has landed."""
    name = branch or (plan_branch(git, orders) if orders else "")
    tip = refs.tip_of_branch(git, name) if name else ""
    layout = repos.layout(git)
    standings = read_standings(git, layout[2], name, orders) if layout else {}
    commits = {each.commit for each in standings.values() if each.commit}
    return replace(
        ground,
        repo=git.folder,
        branch=name,
        branch_exists=bool(tip),
        present=frozenset(trees.files_of(git, tip) if tip else index.tracked_files(git)),
        standings=standings,
        made=patches.made_by(git, commits) if commits else {},
    )


def _facts(plan: Plan) -> PlanFacts:
    """Return the identity of a plan; an empty one where no hash confirms it."""
    return StoredManifest(plan.document).facts or PlanFacts("", "")


def _withdrawn(plan: Plan) -> tuple[WithdrawnOrder, ...]:
    """Return the withdrawn orders that the manifest names, as far as they can be read."""
    entries = plan.document.get("withdrawn") if isinstance(plan.document, dict) else None
    found: list[WithdrawnOrder] = []
    for each in entries[:MAX_LISTED] if isinstance(entries, list) else ():
        with contextlib.suppress(DocumentInvalid):
            found.append(parse_document(WithdrawnOrder, each))
    return tuple(found)
