"""Implements `llmch worker`: takes steps of orders for a fleet, until it is interrupted."""

from __future__ import annotations

import argparse
import os
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factory import run_flags
from factory.fleet import leases, shared_state, wire, worker_clones
from factory.orders import task
from factory.workbench import dependencies
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Remark
from llmch.entry import command_line, wiring
from shared.events import run_record
from shared.files import secret_values
from shared.settings.declaration import FlagGroup
from shared.settings.loading import add_setting_flags

if TYPE_CHECKING:
    from factory.fleet.machine import Machine
    from shared.settings.settings import Settings

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MOST_SLOTS = 100


@dataclass(frozen=True, slots=True)
class WorkerDocument(Document):
    """Represent the answer of `worker`, once it has ended."""

    worker: str

    def blocks(self) -> Iterator[Block]:
        yield Remark((f"worker {self.worker} has ended; what it had begun goes to others",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--slots", type=_slots, default=1, metavar="N", help="take up to N steps at a time (1)"
    )
    parser.add_argument(
        "--plans", type=_plans, default=4, metavar="N",
        help="run up to N submitted plans at a time, which is mostly waiting (4)",
    )  # fmt: skip
    parser.add_argument(
        "--id", type=_id, metavar="ID",
        help="a name that no worker of the fleet ever had (default: the host's name and a ULID)",
    )  # fmt: skip
    add_setting_flags(parser.add_argument_group("commands"), FlagGroup.SANDBOX)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Take jobs until Ctrl-C, SIGTERM or SIGHUP; the exit code is then 0.

    It is 9 if the database cannot be used, and 6 if no sandbox works.
    """
    from factory.fleet.service import Coordinator, Service, Terms
    from factory.sandbox.detect import require_backend
    from factory.sandbox.supervision import end_all

    settings = wiring.settings_for(args, console)
    url = command_line.fleet_of(settings)
    require_backend(settings.sandbox.backend)
    worker = args.id or f"{socket.gethostname()}-{run_record.new_run_id()}"
    machine = _machine(worker, settings, console)
    terms = Terms(worker, args.slots, settings.fleet.lease_seconds, args.plans)
    try:
        with leases.linked(url, f"plans of {worker}") as link:
            coordinator = Coordinator(machine.means, link, machine.folder)
            handlers = dict.fromkeys((wire.Kind.PROPOSE, wire.Kind.JUDGE), machine.take)
            handlers[wire.Kind.COORDINATE] = coordinator.take
            disk = worker_clones.Disk(machine.folder)
            service = Service(url, terms, handlers, console, end_all, disk.complaint)
            service.run(threading.Event())
    except KeyboardInterrupt:
        pass  # the way to end a worker
    finally:
        machine.close()
    return Outcome(WorkerDocument(worker))


def _machine(worker: str, settings: Settings, console: Console) -> Machine:
    from factory.fleet.database import Database
    from factory.fleet.machine import Machine, Means

    chosen = dependencies.choose_python(settings.python, None)
    options = task.RunOptions(
        repo=Path(),
        settings=settings,
        models=run_flags.model_choice(settings),
        python=chosen.python,
        python_why=chosen.why,
    )
    database = Database(command_line.fleet_of(settings), f"worker {worker}")
    means = Means(
        worker,
        database,
        options,
        wiring.live_source(
            settings, settings.factory, pace_at=lambda url: shared_state.FleetPace(database, url)
        ),
        console,
        secret_values.secret_values(os.environ),
    )
    return Machine(means, worker_clones.clones_of(worker))


def _slots(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= _MOST_SLOTS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {_MOST_SLOTS}")


def _plans(text: str) -> int:
    return 0 if text == "0" else _slots(text)


def _id(text: str) -> str:
    if _ID.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} has other characters than letters, digits, . _ -")
