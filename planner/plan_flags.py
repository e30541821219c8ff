"""Declares the flags of `plan` and turns them into the planner's options."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.compile.inputs import PlannerModel, PlanOptions
from planner.plan.file_projection import Allowed
from shared.settings.declaration import FlagGroup
from shared.settings.loading import add_setting_flags

if TYPE_CHECKING:
    from shared.settings.settings import RoleSettings, Settings


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say what to plan and how to plan it."""
    parser.add_argument(
        "--from", dest="follows", type=Path, metavar="PLAN",
        help="plan only what the spec changes since this plan, and keep the rest of it",
    )  # fmt: skip
    add_tree_argument(parser)
    parser.add_argument("--outdir", type=Path, metavar="DIR", help="also write the plan here")
    parser.add_argument("--overwrite", action="store_true", help="replace the plan in --outdir")
    parser.add_argument("--template", type=Path, metavar="FILE", help="a prompt of your own")
    parser.add_argument(
        "--anew", action="store_true", help="use no reply of a planning that was interrupted"
    )
    add_planner_flags(parser)
    add_setting_flags(parser, FlagGroup.PLAN_ALONE)
    add_acceptance_arguments(parser)
    parser.add_argument("--print-summary", action="store_true", help="print compile_summary.json")


def add_tree_argument(parser: argparse.ArgumentParser) -> None:
    """Add the flag that says which files of the repo a plan begins with."""
    parser.add_argument(
        "--branch", metavar="B",
        help="begin with the files of this branch, if it exists (default: those of the checkout)",
    )  # fmt: skip


def add_acceptance_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for what a plan must pass besides the rules: coverage, and a review."""
    parser.add_argument(
        "--require-coverage", action="store_true", help="demand an order for each requirement"
    )
    parser.add_argument(
        "--staged", action=argparse.BooleanOptionalAction, default=None,
        help="plan an outline first, then its details (default: where one reply would be too long)",
    )  # fmt: skip
    add_dry_run_argument(parser)
    add_review_arguments(parser)


def add_dry_run_argument(parser: argparse.ArgumentParser) -> None:
    """Add the flag that says whether the commands of a plan are tried before it is accepted."""
    parser.add_argument(
        "--dry-run", action=argparse.BooleanOptionalAction, default=True,
        help="refuse a plan whose commands and tests cannot run here (default: yes)",
    )  # fmt: skip


def add_review_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say whether a valid plan is reviewed, and by which model."""
    parser.add_argument(
        "--review", action=argparse.BooleanOptionalAction, default=None,
        help="have a model review a valid plan, all of it (default: by another model, yes; by the "
        "same model only orders at risk; in a replay, if on record)",
    )  # fmt: skip
    add_setting_flags(parser, FlagGroup.REVIEW)


def add_planner_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that choose and configure the planning model."""
    add_setting_flags(parser, FlagGroup.PLANNER)


def plan_options(
    args: argparse.Namespace,
    settings: Settings,
    repo: Path | None,
    *,
    review: bool,
    installs: bool = False,
) -> PlanOptions:
    """Return the options of `plan`, from its flags and from the settings."""
    options = compile_options(args, settings, repo, review=review, installs=installs)
    return replace(options, outdir=args.outdir, overwrite=args.overwrite)


def compile_options(
    args: argparse.Namespace,
    settings: Settings,
    repo: Path | None,
    *,
    review: bool,
    installs: bool = False,
) -> PlanOptions:
    """Return the options of a compilation for `repo` that is not exported to a folder.

    `installs` says that runs of the plan install what manifests declare.
    """
    asked = [(each.model, each.base_url) for each in (settings.planner, settings.reviewer)]
    return PlanOptions(
        spec=args.spec,
        artifacts=settings.artifacts_dir,
        model=planning_model(settings.planner),
        reviewer=planning_model(settings.reviewer) if review else None,
        review_all=bool(args.review) or asked[0] != asked[1],
        max_attempts=settings.planner_attempts,
        repo=repo,
        branch=args.branch,
        verify=settings.verify,
        template=args.template,
        require_coverage=args.require_coverage,
        allowed=allowed_by(settings, installs=installs),
        hints_tokens=settings.planner.hints_tokens,
        look_rounds=settings.planner.look_rounds,
        look_tokens=settings.planner.look_tokens,
        staged=args.staged,
        dry_run=args.dry_run,
        anew=args.anew,
    )


def allowed_by(settings: Settings, *, installs: bool = False) -> Allowed:
    """Return the programs and packages that commands may use beyond what the repo declares."""
    return Allowed(settings.programs, settings.dependencies, installs)


def planning_model(role: RoleSettings) -> PlannerModel:
    """Return the planner's or the reviewer's model, as the settings of its role configure it."""
    return PlannerModel(role.model, role.reasoning_effort, role.max_output_tokens, role.temperature)
