"""Reads what the statements on a branch's commits say: their orders, and what judged them.

A statement can be written by anybody. So an order counts as a commit's own where the commit names
the hash of its content, and whoever wants to know more asks `llmch verify`.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from factory.orders.documents import SandboxRecord
from factory.orders.identity import OrderIdentity, identify
from factory.statement.bundle import parse_bundle
from factory.statement.document import Acceptance, CommandPart, Judged, Statement
from factory.statement.notes import read_envelopes
from llmch.run_view.commands import Written, as_written
from llmch.run_view.model.commands import CommandView, Output, SandboxView
from llmch.run_view.model.orders import OrderView
from llmch.run_view.orders import as_asked
from shared.git.client import Git, GitFailed
from shared.work_order.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class Stated:
    """Hold the statements about one commit: how llmch made it, and what it was accepted for."""

    made: tuple[Statement, ...] = ()
    accepted: tuple[Acceptance, ...] = ()


NOTHING_STATED: Final = Stated()


def statements_on(git: Git, ids: Collection[str]) -> Mapping[str, Stated]:
    """Return the statements that are about the very commits they are attached to."""
    try:
        notes = read_envelopes(git, frozenset(ids))
    except GitFailed:  # a partial clone lacks them
        return {}
    return {commit: _stated(commit, note) for commit, note in notes.items()}


def _stated(commit: str, note: bytes) -> Stated:
    found = (each.statement for each in parse_bundle(note))
    about = [each for each in found if each is not None and each.commit == commit]
    return Stated(
        tuple(each for each in about if isinstance(each, Statement)),
        tuple(each for each in about if isinstance(each, Acceptance)),
    )


def with_stated(view: OrderView, identity: OrderIdentity, stated: Stated) -> OrderView | None:
    """Return an order with what a statement says of it; `None` where none is about this order."""
    for each in stated.made:
        predicate = each.predicate
        if identify(predicate.order.document, identity.plan) == identity:
            models = ", ".join(predicate.models)
            attempts = f"{predicate.attempts} attempt{'' if predicate.attempts == 1 else 's'}"
            maker = f"{models or 'no model'}, {attempts}"
            return replace(
                as_asked(view, predicate.order.document),
                maker=maker,
                stated=_commands(predicate),
            )
    return None


def order_in(identity: OrderIdentity, stated: Stated) -> WorkOrder | None:
    """Return the order of which a commit names the hash; `None` where no statement holds it."""
    documents = (each.predicate.order.document for each in stated.made)
    return next((each for each in documents if identify(each, identity.plan) == identity), None)


def accepted_order(acceptance: Acceptance, commit: str, parent: str) -> OrderView:
    """Return the order for which a person's commit stands, by the word of its statement."""
    predicate = acceptance.predicate
    order, person = predicate.order.document, predicate.accepted_by
    view = OrderView(order.id, order.title, "accepted", commit=commit, parent=parent)
    return replace(
        as_asked(view, order),
        maker=f"a person; accepted by {person.name} <{person.email}>",
        stated=_commands(predicate),
    )


def _commands(predicate: Judged) -> tuple[CommandView, ...]:
    sandboxes = tuple(map(_sandbox, predicate.sandboxes))
    written = as_written(predicate.order.document.acceptance_commands)
    return tuple(_command(each, written, sandboxes) for each in predicate.commands)


def _command(
    command: CommandPart, written: Written, sandboxes: Sequence[SandboxView]
) -> CommandView:
    known = 0 <= command.sandbox < len(sandboxes)
    return CommandView(
        purpose=command.stage,
        text=written.get(command.command) or shlex.join(command.command),
        exit_code=command.exit_code,
        seconds=command.duration_seconds,
        stdout=Output(""),
        stderr=Output(""),
        tests=command.tests.describe() if command.tests else "",
        note=command.note,
        sandbox=sandboxes[command.sandbox] if known else None,
    )


def _sandbox(record: SandboxRecord) -> SandboxView:
    guarantees = record.guarantees
    return SandboxView(
        backend=record.backend,
        version=record.version,
        held=tuple(name for name, holds in guarantees.items() if holds),
        missing=tuple(name for name, holds in guarantees.items() if not holds),
        limits=tuple(record.limits.items()),
    )
