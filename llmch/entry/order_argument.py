"""Declares which order of which plan a command line means, and finds it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from shared.events.event import Emit
from shared.settings.declaration import FlagGroup

if TYPE_CHECKING:
    from factory.batch.plan_on_branch import PlanOnBranch
    from factory.orders.options import RunOptions
    from factory.repo.preflight import RepoPlace

_OF_COMMANDS = frozenset({FlagGroup.COMMANDS, FlagGroup.SANDBOX})


def add_order_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the order, and the plan that it belongs to."""
    parser.add_argument("order", metavar="ORDER", help="the order, as in WO-02, or 2")
    parser.add_argument(
        "--workdir", type=Path, metavar="DIR",
        help="the folder of the plan (default: the plan of the latest run)",
    )  # fmt: skip


def add_branch_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the branch, for verbs that do not declare all flags of a run."""
    parser.add_argument(
        "--branch", metavar="B",
        help="the branch of the plan (default: the branch of its latest run)",
    )  # fmt: skip


def order_asked_for(args: argparse.Namespace, place: RepoPlace) -> tuple[PlanOnBranch, str]:
    """Return the plan that the command line means, and the id of the order.

    Raises `InvalidInput` where there is no such plan, or no such order in it.
    """
    from factory.batch.plan_on_branch import plan_on_branch
    from factory.orders.order_word import parse_order_word

    name = parse_order_word(args.order)
    plan = plan_on_branch(place, args.workdir, args.branch)
    plan.named(name)
    return plan, name


def as_in_the_latest_run(
    args: argparse.Namespace, plan: PlanOnBranch, options: RunOptions, place: RepoPlace, emit: Emit
) -> RunOptions:
    """Return `options` with the sandbox and interpreter of the plan's latest run.

    What the command line says of them counts instead, if it says anything.
    """
    from factory.run.repro import options_of_run
    from shared.settings.flags import flags_given
    from shared.settings.settings import KEYS

    given = (name for name, value in flags_given(args).items() if value is not None)
    groups = {flag.group for name in given if (flag := KEYS[name].flag)}
    if plan.latest is None or not groups.isdisjoint(_OF_COMMANDS) or args.deps == "auto":
        return options
    return options_of_run(plan.latest.head, plan.latest.folder, options, place, emit)
