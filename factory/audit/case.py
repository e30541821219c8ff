"""Gathers what there is to say about one commit, before any claim of it is looked into."""

from __future__ import annotations

from dataclasses import dataclass

from factory.audit.evidence import Evidence, Plan
from factory.orders.identity import OrderIdentity, identify, landed_orders
from factory.statement.document import Statement
from factory.statement.envelope import (
    Envelope,
    EnvelopeMalformed,
    parse_envelope,
    parse_statement,
)
from shared.git.client import Git
from shared.git.commit_object import CommitObject
from shared.work_order.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class Case:
    """Hold a commit, what its message says, and what is at hand about it.

    `named` are the orders that the message names. `malformed` says why the note on the commit is
    not a statement. `order` is the order whose content has the key that the message names, from
    the statement or from the plan. `has_parent` says whether this repo has the parent's files.
    """

    evidence: Evidence
    commit: CommitObject
    named: tuple[OrderIdentity, ...]
    envelope: Envelope | None
    statement: Statement | None
    malformed: str
    order: WorkOrder | None
    plan: Plan | None
    has_parent: bool

    @property
    def git(self) -> Git:
        return self.evidence.git

    @property
    def identity(self) -> OrderIdentity | None:
        """Return the one order that the message names."""
        return self.named[0] if len(self.named) == 1 else None

    @property
    def parent(self) -> str:
        return self.commit.parents[0] if self.commit.parents else ""

    @property
    def concerns_llmch(self) -> bool:
        """Return whether the commit says that it is an order's, or a note on it does."""
        return bool(self.named or self.envelope or self.malformed)


def open_case(evidence: Evidence, commit: CommitObject, *, has_parent: bool) -> Case:
    """Return what is at hand about a commit."""
    named = tuple(landed_orders([(commit.id, commit.message)]))
    envelope, statement, malformed = _statement_on(evidence, commit.id)
    run = statement.predicate.tool.run if statement else ""
    plan = evidence.plan_of_run(run)
    order = _order_of(named, statement, plan)
    return Case(evidence, commit, named, envelope, statement, malformed, order, plan, has_parent)


def _statement_on(evidence: Evidence, commit: str) -> tuple[Envelope | None, Statement | None, str]:
    text = evidence.envelopes.get(commit)
    if text is None:
        return None, None, ""
    envelope = None
    try:
        envelope = parse_envelope(text)
        return envelope, parse_statement(envelope), ""
    except EnvelopeMalformed as malformed:
        return envelope, None, str(malformed)


def _order_of(
    named: tuple[OrderIdentity, ...], statement: Statement | None, plan: Plan | None
) -> WorkOrder | None:
    """Return the order that the message names: its key can be computed from its content alone."""
    if len(named) != 1:
        return None
    (identity,) = named
    orders = [statement.predicate.order.document] if statement else []
    orders += [each.order for each in plan.orders] if plan else []
    return next((each for each in orders if identify(each, identity.plan) == identity), None)
