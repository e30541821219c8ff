"""Implements `llmch fleet`: sets up a fleet's database, shows what a fleet does, cancels plans."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

from factory.fleet import fleet_admin
from factory.fleet.leases import WorkerSeen, linked
from factory.fleet.wire import JobState
from llmch.ci.run_reports import add_report_arguments, reports_asked
from llmch.console import Console, Format
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark, Rows, Shape
from llmch.console.line import count
from llmch.entry import run_orders, wiring
from llmch.entry.command_line import add_record_arguments, fleet_of
from shared.errors import InvalidInput
from shared.settings import setting_values

_ACTIONS = {
    "init": "set up the fleet's database, as its administrator",
    "status": "show the workers, the queue and the plans",
    "wait": "show what happens to the submitted PLAN until it has ended, and bring its records",
    "cancel": "cancel what is queued and running of PLAN",
}
_OF_A_PLAN = ("wait", "cancel")
_LOOK_EVERY_SECONDS = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in _ACTIONS.items())
    parser.add_argument("action", choices=tuple(_ACTIONS), metavar="ACTION", help=meanings)
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="the plan that is meant")
    parser.add_argument("--watch", action="store_true", help="show the status again as it changes")
    add_record_arguments(parser)
    add_report_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Do what the action says. The exit code is 9 if the database cannot be used."""
    if (args.plan is None) == (args.action in _OF_A_PLAN):
        raise InvalidInput(
            "`llmch fleet wait` and `cancel` need a PLAN, and nothing else takes one",
            "`llmch fleet status` lists the plans",
        )
    if args.watch and args.action != "status":
        raise InvalidInput("--watch belongs to `llmch fleet status`", "leave it out")
    if args.junit is not None and args.action != "wait":
        raise InvalidInput("--junit belongs to `llmch fleet wait`", "leave it out")
    reports = reports_asked(args)
    settings = wiring.settings_for(args, console)
    url = fleet_of(settings)
    match args.action:
        case "init":
            return Outcome(InitialisedDocument(fleet_admin.initialise(url)))
        case "wait":
            with linked(url, "fleet wait") as link:
                return run_orders.await_plan(link, args.plan, settings, reports, console)
        case "cancel":
            cancelled = tuple(fleet_admin.cancel_plan(url, args.plan))
            return Outcome(CancelledDocument(args.plan, cancelled))
        case _:
            return _status(url, args, console)


def _status(url: setting_values.DatabaseUrl, args: argparse.Namespace, console: Console) -> Outcome:
    document = FleetDocument(fleet_admin.read_fleet(url))
    while args.watch and not document.idle:
        if args.output_format != Format.JSON:
            console.say(*document.blocks(), Remark(("",)))
        before = document
        while before.shown == document.shown and not document.idle:
            time.sleep(_LOOK_EVERY_SECONDS)
            document = FleetDocument(fleet_admin.read_fleet(url))
    return Outcome(document)


_INITIALISED = Shape("database", "schema_version", "roles", "done", roles=Shape("member", "reader"))
_WORKER = Shape(
    "id",
    "state",
    "cause=dead?",
    "host",
    "pid",
    "slots",
    "protocol",
    "llmch_version=version",
    "seen_seconds",
    seen_seconds=lambda seconds: round(seconds, 1),
)
_JOB = Shape("id", "kind", "plan", "state", "worker?")
_PLAN = Shape("plan", "state", "about?", "coordinator?", "waiting", "running")


@dataclass(frozen=True, slots=True)
class InitialisedDocument(Document):
    """Represent the answer of `fleet init`: what was done, and what the administrator does next."""

    initialised: fleet_admin.Initialised

    def to_json(self) -> object:
        return _INITIALISED(self.initialised)

    def blocks(self) -> Iterator[Block]:
        made = self.initialised
        yield Paragraph(made.done or ("nothing was missing",))
        member = made.roles.member
        yield Remark(
            (
                f"{made.database} is ready, with schema {made.schema_version}",
                "give a worker a user of its own, in psql:",
                f"  CREATE ROLE worker1 LOGIN PASSWORD '...'; GRANT \"{member}\" TO worker1;",
                f'  GRANT "{made.roles.reader}" TO ... lets a user see `llmch fleet status` alone',
            )
        )


@dataclass(frozen=True, slots=True)
class CancelledDocument(Document):
    """Represent the answer of `fleet cancel`: the jobs that were cancelled."""

    plan: str
    cancelled: tuple[str, ...]

    def blocks(self) -> Iterator[Block]:
        jobs = count(len(self.cancelled), "job")
        yield Paragraph((f"cancelled {jobs} of {self.plan}; what has landed stays",))


@dataclass(frozen=True, slots=True)
class FleetDocument(Document):
    """Represent the answer of `fleet status`."""

    shape = Shape(
        "database=status.database",
        "workers=status.workers",
        "queue=status.queue",
        "plans=status.plans",
        workers=_WORKER,
        queue=_JOB,
        plans=_PLAN,
    )

    status: fleet_admin.FleetStatus

    @property
    def idle(self) -> bool:
        return not self.status.queue

    @property
    def shown(self) -> object:
        """Return what `--watch` shows again where it has changed."""
        states = [(each.id, each.state) for each in self.status.workers]
        return states, self.status.queue, self.status.plans

    def blocks(self) -> Iterator[Block]:
        gone = [each for each in self.status.workers if each.dead]
        here = [each for each in self.status.workers if not each.dead]
        if here:
            headings = ("worker", "state", "slots", "at work", "host", "seen")
            yield Rows(tuple(map(self._row, here)), headings)
        else:
            yield Paragraph(("no worker is alive",))
        if gone:
            yield Remark((f"{len(gone)} more have left or died; --json lists them",))
        plans = self.status.plans
        if plans:
            yield Rows(
                tuple(
                    (
                        each.plan, each.state, str(each.waiting), str(each.running),
                        each.coordinator, each.about,
                    )
                    for each in plans
                ),
                ("plan", "state", "waiting", "running", "coordinator", "for"),
            )  # fmt: skip
        else:
            yield Remark(("nothing is queued",))
        if any(each.state is fleet_admin.PlanState.ENDED for each in plans):
            yield Remark(("`llmch fleet wait PLAN` reads how a plan ended",))

    def _row(self, worker: WorkerSeen) -> tuple[str, ...]:
        at_work = sum(
            each.worker == worker.id and each.state is JobState.RUNNING
            for each in self.status.queue
        )
        place = f"{worker.host}, pid {worker.pid}"
        seen = f"{worker.seen_seconds:.0f} s ago"
        return worker.id, worker.state, str(worker.slots), str(at_work), place, seen
