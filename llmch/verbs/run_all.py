"""Implements `llmch run-all`: executes a plan's work orders on one branch."""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from factory.batch import batch, order_driver
from factory.fleet import fleet_worker, job_queue, leases
from factory.orders import read_orders, task
from factory.run_flags import add_batch_arguments
from llmch.ci.run_reports import reports_asked
from llmch.console import Console
from llmch.console.document import Outcome
from llmch.entry.command_line import fleet_of
from llmch.entry.run_orders import add_running_arguments, options_and_source, run_reported
from shared.errors import InvalidInput

if TYPE_CHECKING:
    from factory.run.session import Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workdir", type=Path, required=True, metavar="DIR", help="the folder of the plan"
    )
    parser.add_argument(
        "--on", choices=("here", "fleet"), default="here",
        help="make the orders on this machine, or have the workers of a fleet make them (here)",
    )  # fmt: skip
    parser.add_argument(
        "--no-wait", action="store_true",
        help="with --on fleet: end where no worker is alive, instead of waiting for one",
    )  # fmt: skip
    add_batch_arguments(parser)
    add_running_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Run the orders. The exit code is 0 if all have landed, and 1 if one failed."""
    folder = args.workdir
    reports = reports_asked(args, folder)
    options, source = options_and_source(args, console, lambda: read_orders.read_workdir(folder))
    kind: batch.WorkerKind = batch.THIS_PROCESS
    if args.on == "fleet":
        options, kind = _on_fleet(options, waits=not args.no_wait)
    elif args.no_wait:
        raise InvalidInput("--no-wait belongs to --on fleet", "leave it out")
    return run_reported(
        lambda each: batch.run_all(folder, each, source, console, kind), options, reports, console
    )


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
