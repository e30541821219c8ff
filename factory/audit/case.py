"""Gathers what there is to say about one commit, before any claim of it is looked into.

A commit has a case for each statement on it: runs that made the same commit each left one, and a
person's commit has one for each order that it stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

from factory.audit.evidence import Evidence, Plan, identity_of
from factory.orders.identity import OrderIdentity, identify, landed_orders
from factory.statement.bundle import Attached
from factory.statement.document import Acceptance, Judged, Statement
from factory.statement.envelope import Envelope
from shared.git.client import Git
from shared.git.commit_object import CommitObject
from shared.work_order.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class Case:
    """Hold a commit, what its message says, and what is at hand about it.

    `named` are the orders that the message names. `statement` says how llmch made the commit, or
    `acceptance` that it is a person's and stands for an order; `malformed` says why its note is
    neither. `order` is the order whose content has the key that the message names, or that the
    acceptance does. `has_parent` says whether this repo has the parent's files.
    """

    evidence: Evidence
    commit: CommitObject
    named: tuple[OrderIdentity, ...]
    envelope: Envelope | None
    statement: Statement | None
    acceptance: Acceptance | None
    malformed: str
    order: WorkOrder | None
    plan: Plan | None
    has_parent: bool

    @property
    def git(self) -> Git:
        return self.evidence.git

    @property
    def about(self) -> Statement | Acceptance | None:
        """Return the statement of either kind."""
        return self.statement or self.acceptance

    @property
    def stated(self) -> Judged | None:
        """Return what is claimed of the commit, of whichever kind it is."""
        return self.about.predicate if self.about else None

    @property
    def identity(self) -> OrderIdentity | None:
        """Return the one order that the message names, or that the commit was accepted for."""
        if self.acceptance is not None:
            return identity_of(self.acceptance)
        return self.named[0] if len(self.named) == 1 else None

    @property
    def parent(self) -> str:
        return self.commit.parents[0] if self.commit.parents else ""

    @property
    def concerns_llmch(self) -> bool:
        """Return whether the commit says that it is an order's, or a note on it does."""
        return bool(self.named or self.envelope or self.malformed or self.acceptance)


def open_cases(evidence: Evidence, commit: CommitObject, *, has_parent: bool) -> tuple[Case, ...]:
    """Return what is at hand about a commit, at least one case.

    One that people's acceptances alone speak of has no case of a commit that llmch made, unless its
    message names an order.
    """
    named = tuple(landed_orders([(commit.id, commit.message)]))
    attached = evidence.attached.get(commit.id, ())
    of_people = [each for each in attached if isinstance(each.statement, Acceptance)]
    made = [each for each in attached if each not in of_people]
    if not made and (named or not of_people):
        made = [Attached()]
    return tuple(
        _case(evidence, commit, named, each, has_parent=has_parent) for each in (*made, *of_people)
    )


def _case(
    evidence: Evidence,
    commit: CommitObject,
    named: tuple[OrderIdentity, ...],
    attached: Attached,
    *,
    has_parent: bool,
) -> Case:
    found = attached.statement
    statement = found if isinstance(found, Statement) else None
    acceptance = found if isinstance(found, Acceptance) else None
    plan = evidence.plan_of_run(found.predicate.tool.run if found else "")
    wanted = (identity_of(acceptance),) if acceptance else named
    return Case(
        evidence=evidence,
        commit=commit,
        named=named,
        envelope=attached.envelope,
        statement=statement,
        acceptance=acceptance,
        malformed=attached.malformed,
        order=_order_of(wanted, found, plan),
        plan=plan,
        has_parent=has_parent,
    )


def _order_of(
    wanted: tuple[OrderIdentity, ...],
    statement: Statement | Acceptance | None,
    plan: Plan | None,
) -> WorkOrder | None:
    """Return the order that is named: its key can be computed from its content alone."""
    if len(wanted) != 1:
        return None
    (identity,) = wanted
    orders = [statement.predicate.order.document] if statement else []
    orders += [each.order for each in plan.orders] if plan else []
    return next((each for each in orders if identify(each, identity.plan) == identity), None)
