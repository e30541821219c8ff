"""Implements `llmch accept`: accepts a person's commit for an order, if it passes as any does.

`--undo` takes that back.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from factory import preflight
from factory.batch import accept_commit
from factory.orders import stages
from factory.run import run_request
from factory.run_flags import add_judging_arguments, judging_options
from llmch.console import Console
from llmch.console.document import Block, Conclusion, Document, Outcome, Paragraph, Remark, Shape
from llmch.console.line import short
from llmch.entry import command_line, run_orders, wiring
from shared.errors import ExitCode


@dataclass(frozen=True, slots=True)
class AcceptDocument(Document):
    """Represent the answer of `accept`: the commit, and what verified it or what failed."""

    accepted: accept_commit.JudgedCommit
    run_all: str
    undo: str
    others: bool
    """Whether other orders of the plan are still to be made."""

    def to_json(self) -> object:
        return accept_commit.acceptance_document(self.accepted)

    def blocks(self) -> Iterator[Block]:
        accepted, order = self.accepted, self.accepted.order.id
        commit = short(accepted.offered.commit)
        failure = accepted.failure
        if failure is not None:
            command = f": `{failure.command}`" if failure.command else ""
            excerpt = (f"  | {each}" for each in failure.primary_error_excerpt.splitlines())
            yield Conclusion(order, f"{commit} is not accepted for it: {failure.stage}", ok=False)
            yield Paragraph((f"{failure.stage}{command}", *excerpt, *failure.facts))
            if failure.remedy:
                yield Remark((failure.remedy,))
            yield Remark((f"nothing was recorded; records: {accepted.run_dir}",))
            return
        yield Conclusion(order, f"{commit} is accepted for it on {accepted.branch}", ok=True)
        goes_on = f"`{self.run_all}` goes on with the other orders"
        yield Remark((*((goes_on,) if self.others else ()), f"`{self.undo}` takes this back"))


@dataclass(frozen=True, slots=True)
class TakenBackDocument(Document):
    """Represent the answer of `accept --undo`: the order, and the commit of it."""

    shape = Shape("work_order", "branch", "commit", "accepted")

    work_order: str
    branch: str
    commit: str
    run_all: str
    accepted: bool = False

    def blocks(self) -> Iterator[Block]:
        commit = short(self.commit)
        yield Paragraph(
            (f"{commit} stays on {self.branch} and does not count for {self.work_order} any more",)
        )
        yield Remark((f"`{self.run_all}` makes {self.work_order} and goes on",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command_line.add_order_argument(parser)
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--commit", metavar="SHA", help="the commit, on the branch")
    either.add_argument(
        "--undo", action="store_true", help="have no commit count for the order any more"
    )
    parser.add_argument(
        "--allow-more", action="store_true",
        help="accept the commit although it changes files that the order does not allow",
    )  # fmt: skip
    command_line.add_branch_argument(parser)
    add_judging_arguments(parser)
    command_line.add_record_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Judge the commit. The exit code is 0 if it is accepted, and 1 if it fails.

    It is 5 if the environment lacks what a command needs. With `--undo`, nothing is judged.
    """
    settings = wiring.settings_for(args, console, repo=args.repo)
    place = preflight.find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    plan, name = command_line.order_asked_for(args, place)
    run_all = plan.run_all(run_request.place_option(args.repo))
    options = judging_options(args, settings)
    if args.undo:
        commit = accept_commit.take_back(plan, name, place, options)
        return Outcome(TakenBackDocument(name, plan.branch, commit, run_all))
    options = command_line.as_in_the_latest_run(args, plan, options, place, console)
    accepted = run_orders.with_consent(
        lambda each: accept_commit.accept_commit(
            plan, name, args.commit, place, each, console, allow_more=args.allow_more
        ),
        options,
        console,
    )
    code = ExitCode.OK
    if accepted.failure is not None:
        environment = accepted.failure.stage is stages.Stage.ENVIRONMENT
        code = ExitCode.PREFLIGHT if environment else ExitCode.FAILED
    undo = plan.command(f"accept {name} --undo", run_request.place_option(args.repo))
    others = bool(plan.still_to_make(place.git, place.common_dir))
    return Outcome(AcceptDocument(accepted, run_all, undo, others), code)
