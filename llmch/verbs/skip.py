"""Implements `llmch skip`: leaves an order of a plan out, or takes it up again."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory import preflight
from factory.batch import decide
from factory.proposal import prompt_parts
from factory.run import run_request
from factory.run_flags import trial_options
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark, Shape
from llmch.entry import command_line, wiring
from shared.files import secret_values


@dataclass(frozen=True, slots=True)
class SkipDocument(Document):
    """Represent the answer of `skip`: the order, and the orders that it blocks."""

    shape = Shape(
        "work_order=decided.order",
        "branch=decided.branch",
        "left_out=decided.reason",
        "reason=decided.reason?",
        "blocked=decided.blocked",
        "next=run_all",
        left_out=bool,
    )

    decided: decide.LeftOut
    run_all: str

    def blocks(self) -> Iterator[Block]:
        decided = self.decided
        if not decided.reason:
            yield Paragraph((f"{decided.order} is to be made again on {decided.branch}",))
            yield Remark((f"`{self.run_all}` makes it",))
        else:
            yield Paragraph((f"{decided.order} is left out on {decided.branch}: {decided.reason}",))
            if decided.blocked:
                names = ", ".join(decided.blocked)
                yield Remark((f"without it, these orders cannot be made: {names}",))
            if decided.others:
                yield Remark((f"`{self.run_all}` goes on with the other orders",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command_line.add_order_argument(parser)
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--reason", metavar="TEXT", help="why the order is left out")
    either.add_argument("--undo", action="store_true", help="take the order up again")
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    command_line.add_branch_argument(parser)
    parser.set_defaults(deps=None)  # the command that is printed has that of the latest run


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Record the decision. The exit code is 0 if it is recorded."""
    settings = wiring.settings_for(args, console, repo=args.repo)
    place = preflight.find_repo(args.repo)
    plan, name = command_line.order_asked_for(args, place)
    options = trial_options(args, args.repo, settings)
    plan, _ = command_line.as_in_the_latest_run(args, plan, options, place, console)
    if args.undo:
        decided = decide.take_up(plan, name, place)
    else:
        decided = decide.leave_out(
            plan,
            name,
            prompt_parts.parse_reason(args.reason, secret_values.secret_values(os.environ)),
            place,
        )
    return Outcome(SkipDocument(decided, plan.run_all(run_request.place_option(args.repo))))
