"""Implements `llmch fleet`: sets up a fleet's database, shows what a fleet does, cancels plans."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from llmch.console import Console, Format
from llmch.console.document import Outcome, Remark
from llmch.entry.arguments import add_record_arguments
from llmch.entry.reports import add_report_arguments, reports_asked
from shared.errors import InvalidInput

if TYPE_CHECKING:
    from shared.settings.values.database import DatabaseUrl

_ACTIONS = {
    "init": "set up the fleet's database, as its administrator",
    "status": "show the workers, the queue and the plans",
    "wait": "show what happens to the submitted PLAN until it has ended, and bring its records",
    "cancel": "cancel what is queued and running of PLAN",
}
_OF_A_PLAN = ("wait", "cancel")
_LOOK_EVERY_SECONDS = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fleet`."""
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in _ACTIONS.items())
    parser.add_argument("action", choices=tuple(_ACTIONS), metavar="ACTION", help=meanings)
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="the plan that is meant")
    parser.add_argument("--watch", action="store_true", help="show the status again as it changes")
    add_record_arguments(parser)
    add_report_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Do what the action says. The exit code is 9 where the database cannot be used."""
    from factory.fleet.link import linked
    from llmch.entry.awaiting import await_plan
    from llmch.entry.fleet_argument import fleet_of
    from llmch.entry.wiring import settings_for

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
    settings = settings_for(args, console)
    url = fleet_of(settings)
    match args.action:
        case "init":
            return _init(url)
        case "wait":
            with linked(url, "fleet wait") as link:
                return await_plan(link, args.plan, settings, reports, console)
        case "cancel":
            return _cancel(url, args.plan)
        case _:
            return _status(url, args, console)


def _init(url: DatabaseUrl) -> Outcome:
    from factory.fleet.initialise import initialise
    from llmch.verbs.fleet.documents import InitialisedDocument

    return Outcome(InitialisedDocument(initialise(url)))


def _cancel(url: DatabaseUrl, plan: str) -> Outcome:
    from factory.fleet.status import cancel_plan
    from llmch.verbs.fleet.documents import CancelledDocument

    return Outcome(CancelledDocument(plan, tuple(cancel_plan(url, plan))))


def _status(url: DatabaseUrl, args: argparse.Namespace, console: Console) -> Outcome:
    from factory.fleet.status import read_fleet
    from llmch.verbs.fleet.documents import FleetDocument

    document = FleetDocument(read_fleet(url))
    while args.watch and not document.idle:
        if args.output_format != Format.JSON:
            console.say(*document.blocks(), Remark(("",)))
        before = document
        while before.shown == document.shown and not document.idle:
            time.sleep(_LOOK_EVERY_SECONDS)
            document = FleetDocument(read_fleet(url))
    return Outcome(document)
