"""Implements `llmch submit`: gives a plan to a fleet, and can wait for its end."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.fleet import leases, submission
from factory.orders import read_orders
from factory.run_flags import add_submission_arguments, submission_options
from llmch.ci.run_reports import add_report_arguments, reports_asked
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark
from llmch.entry import run_orders, wiring
from llmch.entry.command_line import add_record_arguments, fleet_of
from shared.errors import InvalidInput
from shared.settings.declaration import FlagGroup
from shared.settings.loading import add_setting_flags


@dataclass(frozen=True, slots=True)
class SubmittedDocument(Document):
    """Represent the answer of `submit` where it does not wait."""

    plan: str
    branch: str

    def blocks(self) -> Iterator[Block]:
        yield Paragraph((f"submitted plan {self.plan} for {self.branch}",))
        yield Remark((f"`llmch fleet wait {self.plan}` shows how it goes and how it ends",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workdir", type=Path, required=True, metavar="DIR", help="the folder of the plan"
    )
    parser.add_argument(
        "--repo", required=True, metavar="URL",
        help="the git remote to land on, as all workers reach it; or a clone that has it as a "
        "remote",
    )  # fmt: skip
    parser.add_argument(
        "--wait", action="store_true", help="show what happens until the plan has ended"
    )
    add_submission_arguments(parser)
    add_setting_flags(parser.add_argument_group("model"), FlagGroup.BUDGET)
    add_record_arguments(parser)
    add_report_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Queue the plan. With `--wait` the exit code is that of `run-all`, else 0."""
    if args.junit is not None and not args.wait:
        raise InvalidInput("--junit needs --wait: the run is over only then", "add --wait")
    reports = reports_asked(args, args.workdir)
    orders = read_orders.read_workdir(args.workdir)
    where = wiring.target_of(args, console)
    options = submission_options(args, where.settings)
    with leases.linked(fleet_of(where.settings), "submit") as link:
        submitted = submission.submit_plan(link, args.workdir, orders, where.target, options)
        document = SubmittedDocument(submitted.plan, submitted.branch)
        if not args.wait:
            return Outcome(document)
        console.say(*document.blocks())
        return run_orders.await_plan(link, submitted.plan, where.settings, reports, console)
