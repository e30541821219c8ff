"""The flags of `plan`, and what they mean to the planner."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from planner.compile.model import PlannerModel
from planner.compile.options import PlanOptions
from planner.plan.target import Allowed
from shared.settings.declaration import FlagGroup
from shared.settings.flags import add_setting_flags
from shared.settings.settings import RoleSettings, Settings


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Add everything that says what to plan and how."""
    parser.add_argument("--spec", type=Path, required=True, metavar="FILE", help="what to build")
    parser.add_argument("--repo", type=Path, metavar="DIR", help="the repo it is built in")
    parser.add_argument("--outdir", type=Path, metavar="DIR", help="also write the plan here")
    parser.add_argument("--overwrite", action="store_true", help="replace the plan in --outdir")
    parser.add_argument("--template", type=Path, metavar="FILE", help="a prompt of your own")
    add_planner_flags(parser)
    add_setting_flags(parser, FlagGroup.PLAN_ALONE)
    add_acceptance_arguments(parser)
    parser.add_argument("--print-summary", action="store_true", help="print compile_summary.json")


def add_acceptance_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what a plan has to pass beside the rules: coverage, and the review of a valid one."""
    parser.add_argument(
        "--require-coverage", action="store_true", help="each requirement needs an order"
    )
    parser.add_argument(
        "--review", action=argparse.BooleanOptionalAction, default=None,
        help="have a valid plan reviewed by a model (yes; in a replay, where it is on record)",
    )  # fmt: skip
    add_setting_flags(parser, FlagGroup.REVIEW)


def add_planner_flags(parser: argparse.ArgumentParser) -> None:
    """Add what says which model plans."""
    add_setting_flags(parser, FlagGroup.PLANNER)


def plan_options(args: argparse.Namespace, settings: Settings, *, review: bool) -> PlanOptions:
    """Return what `plan` is asked for, by the flags that are no settings and by the settings."""
    options = compile_options(args, settings, review=review)
    return replace(options, outdir=args.outdir, overwrite=args.overwrite)


def compile_options(args: argparse.Namespace, settings: Settings, *, review: bool) -> PlanOptions:
    """Return what is to be compiled and how, wherever the plan goes."""
    return PlanOptions(
        spec=args.spec,
        artifacts=settings.artifacts_dir,
        model=planning_model(settings.planner),
        reviewer=planning_model(settings.reviewer) if review else None,
        max_attempts=settings.planner_attempts,
        repo=args.repo,
        template=args.template,
        require_coverage=args.require_coverage,
        allowed=allowed_by(settings),
    )


def allowed_by(settings: Settings) -> Allowed:
    """Return the programs and packages that commands may use beyond what the repo declares."""
    return Allowed(settings.programs, settings.dependencies)


def planning_model(role: RoleSettings) -> PlannerModel:
    """Return the model that plans or reviews, as it is configured."""
    return PlannerModel(role.model, role.reasoning_effort, role.max_output_tokens, role.temperature)
