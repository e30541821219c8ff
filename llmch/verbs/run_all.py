"""Implements `llmch run-all`: executes a plan's work orders on one branch."""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from factory import run_flags
from factory.batch import accept_proposals, batch, order_driver
from factory.fleet import fleet_worker, job_queue, leases, submission
from factory.orders import read_orders, task
from factory.run_flags import add_batch_arguments, submission_options
from llmch.ci import pull_requests
from llmch.ci.run_reports import reports_asked
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark
from llmch.console.line import count
from llmch.entry import wiring
from llmch.entry.command_line import VerbParser, fleet_of
from llmch.entry.run_orders import (
    add_running_arguments,
    await_plan,
    latest_plan,
    options_and_source,
    run_reported,
)
from llmch.previews.plan_overlaps import warn_before_run
from shared.errors import InvalidInput, ModelUnavailable
from shared.events.events import Noted
from shared.llm.stack import Mode, ModelSource

if TYPE_CHECKING:
    from factory.run.session import Session


@dataclass(frozen=True, slots=True)
class SubmittedDocument(Document):
    """Represent the answer of `run-all --detach`."""

    plan: str
    branch: str

    def blocks(self) -> Iterator[Block]:
        yield Paragraph((f"submitted plan {self.plan} for {self.branch}",))
        yield Remark((f"`llmch fleet wait {self.plan}` shows how it goes and how it ends",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workdir", type=Path, metavar="DIR",
        help="the folder of the plan (default: the latest plan of the repo)",
    )  # fmt: skip
    parser.add_argument(
        "--on", choices=("here", "fleet"), default="here",
        help="make the orders on this machine, or have the workers of a fleet make them (here)",
    )  # fmt: skip
    parser.add_argument(
        "--no-wait", action="store_true",
        help="with --on fleet: end where no worker is alive, instead of waiting for one",
    )  # fmt: skip
    parser.add_argument(
        "--detach", action="store_true",
        help="with --on fleet: leave the plan to the fleet and end; --repo names a git remote, as "
        "all workers reach it, or a clone that has it as a remote",
    )  # fmt: skip
    parser.add_argument(
        "--base", metavar="B",
        help="with --detach: the remote's branch from which a new branch starts (default: the one "
        "that the clone has checked out, or the remote's default branch)",
    )  # fmt: skip
    parser.add_argument(
        "--onto", metavar="BRANCH",
        help="carry the orders that have landed onto the tip of another branch, on a new branch: "
        "each is judged there, and a model is asked only where the two conflict",
    )  # fmt: skip
    parser.add_argument("--wait", action="store_true", help=argparse.SUPPRESS)
    add_batch_arguments(parser)
    add_running_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Run the orders. The exit code is 0 if all have landed, and 1 if one failed."""
    if args.workdir is None:
        early = wiring.settings_for(args, lambda _: None, repo=args.repo)  # warnings come later
        args.workdir = latest_plan(args.repo, early.artifacts_dir)
        console(Noted(f"the plan is the one in {args.workdir}"))
    folder = args.workdir
    if args.detach:
        return _submit(args, console)
    if args.base or args.wait:
        raise InvalidInput("--base belongs to --on fleet --detach", "leave it out")
    reports = reports_asked(args, folder)
    if args.onto is not None:
        options, source = _carrying(args, folder, console)
    else:
        read = partial(read_orders.read_workdir, folder)
        options, source = options_and_source(args, console, read)
        warn_before_run(folder, options, console)
    kind: batch.WorkerKind = batch.THIS_PROCESS
    if args.on == "fleet":
        options, kind = _on_fleet(options, waits=not args.no_wait)
    elif args.no_wait:
        raise InvalidInput("--no-wait belongs to --on fleet", "leave it out")
    return run_reported(
        lambda each: batch.run_all(folder, each, source, console, kind), options, reports, console
    )


def _carrying(
    args: argparse.Namespace, folder: Path, console: Console
) -> tuple[task.RunOptions, ModelSource]:
    """Return the options and the source of a run that carries orders onto `--onto`.

    Without a key, and with `--llm replay` alone, no model is asked.
    """
    if args.on == "fleet" or args.commit_hash:
        raise InvalidInput("--onto begins on this machine, at the tip of BRANCH", "leave that out")
    settings = wiring.settings_for(args, console, repo=args.repo)
    options = run_flags.run_options(args, settings)
    nobody = why = None
    if args.llm == Mode.REPLAY and args.transcript is None:
        nobody, why = accept_proposals.NOBODY, "a replay without --transcript"
    else:
        try:
            source = wiring.model_source(args, settings, settings.factory)
        except ModelUnavailable as unavailable:
            nobody, why = accept_proposals.NOBODY, unavailable.message
    if why:
        console(Noted(f"no model is asked: {why}; an order that conflicts fails"))
    options = accept_proposals.options_onto(folder, options, args.onto, asks_model=nobody is None)
    assert options.onto is not None, "it says what is carried"
    landed = count(len(options.onto.origins), "landed order")
    console(Noted(f"carried onto {args.onto}, to {options.branch}: {landed}"))
    return pull_requests.pushing(options, args), nobody or source


def _on_fleet(options: task.RunOptions, *, waits: bool) -> tuple[task.RunOptions, batch.WorkerKind]:
    """Return the options with the width of the fleet's train, and what opens the fleet."""
    fleet = options.settings.fleet
    url = fleet_of(options.settings)
    # Earlier than a run does it by itself: what this imports takes longest of a run's start.
    threading.Thread(target=job_queue.import_engine, name="import the engine").start()

    @contextlib.contextmanager
    def opened(session: Session) -> Iterator[order_driver.Worker]:
        run = session.run.folder.run_id
        with (
            leases.linked(url, f"run {run}") as link,
            fleet_worker.fleet_worker(
                session, fleet, link, fleet_worker.RunTerms(waits=waits)
            ) as worker,
        ):
            yield worker

    return replace(options, jobs=fleet.train), batch.WorkerKind(opened, job_queue.import_engine)


# These say how this machine runs a plan, and a plan that is left to the fleet takes none of them.
_OF_HERE = frozenset({
    "--no-wait", "--jobs", "--create-branch", "--reuse-branch", "--commit-hash", "--allow-dirty",
    "--onto", "--push", "--out", "--allow-repo-filters", "--llm", "--transcript", "--pr",
    "--sandbox",
    "--sandbox-net", "--sandbox-read", "--sandbox-write", "--sandbox-path",
})  # fmt: skip


def _submit(args: argparse.Namespace, console: Console) -> Outcome:
    """Queue the plan. The exit code is 0; with `--wait`, an old option, it is that of the run."""
    parser = VerbParser()
    add_arguments(parser)
    given = (each.partition("=")[0] for each in parser.words_for(parser, args))
    if others := [each for each in given if each in _OF_HERE]:
        raise InvalidInput(f"--detach does not go with {', '.join(others)}", "leave that out")
    if args.on != "fleet":
        raise InvalidInput("--detach leaves a plan to a fleet", "add --on fleet")
    if args.junit is not None and not args.wait:
        hint = "`llmch fleet wait PLAN --junit FILE` writes it at the end"
        raise InvalidInput("--junit with --detach: the run is not over then", hint)
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
        return await_plan(link, submitted.plan, where.settings, reports, console)
