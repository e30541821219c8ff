"""Finds the commits of a repo that carry out orders and requirements, by their trailers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from factory.orders.commit_note import parse_proof
from factory.orders.decision import AcceptedCommit, DecisionKey
from factory.orders.identity import (
    NOTES_REF,
    OrderIdentity,
    covered_requirements,
    identities,
    landed_orders,
)
from factory.record.decided import read_decisions
from shared.git import commits, repos
from shared.git.client import Git
from shared.plan_folder.read import PlanFacts
from shared.work_order.coverage import CoveredRequirement, CoveringOrder, with_proofs
from shared.work_order.schemas import WorkOrder

_MAX_COMMITS = 10_000  # per branch, newest first: far more than any plan has orders


@dataclass(frozen=True, slots=True)
class LandedCommits:
    """Hold the commits of all branches by the order that each landed; `plan` is whose orders."""

    by_order: Mapping[OrderIdentity, tuple[str, ...]]
    plan: PlanFacts | None

    def of(self, order: WorkOrder) -> tuple[str, ...]:
        """Return the commits of an order of the plan, or of the plans that it follows."""
        names = identities(order, self.plan)
        found = (commit for name in names for commit in self.by_order.get(name, ()))
        return tuple(dict.fromkeys(found))


def landed_commits(git: Git, plan: PlanFacts | None) -> LandedCommits:
    """Return the commits of all branches that landed an order or stand for one.

    `plan` is the plan whose orders are looked for; `None` is for orders without a manifest.
    """
    found: dict[OrderIdentity, tuple[str, ...]] = {}
    messages = _messages(git)
    for commit, message in messages.items():
        for identity in landed_orders([(commit, message)]):
            found[identity] = (*found.get(identity, ()), commit)
    for key, accepted in _accepted(git, messages):
        identity = OrderIdentity(key.order, key.key, key.plan)
        if accepted.commit not in found.get(identity, ()):
            found[identity] = (*found.get(identity, ()), accepted.commit)
    return LandedCommits(found, plan)


def coverage_of_repo(git: Git) -> tuple[CoveredRequirement, ...]:
    """Return the requirements that the commits of any branch cover by their messages, by id."""
    orders: dict[str, list[CoveringOrder]] = {}
    for (name, order, title), ids in sorted(_claimed(git).items()):
        orders.setdefault(name, []).append(CoveringOrder(order, title, (), ids))
    return tuple(CoveredRequirement(name, orders=tuple(each)) for name, each in orders.items())


def with_proofs_of(
    git: Git, rows: tuple[CoveredRequirement, ...]
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements with what verified each commit, as far as the notes on it say."""
    landed = {commit for row in rows for order in row.orders for commit in order.commits}
    notes = commits.notes(git, NOTES_REF, landed)
    return with_proofs(rows, {commit: parse_proof(note) for commit, note in notes.items()})


def _claimed(git: Git) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the commits of all branches by requirement, order and title."""
    found: dict[tuple[str, str, str], tuple[str, ...]] = {}
    messages = _messages(git)
    for key, accepted in _accepted(git, messages):
        for name in accepted.covers:
            claim = name, key.order, accepted.title
            found[claim] = (*found.get(claim, ()), accepted.commit)
    for commit, message in messages.items():
        for order, name in dict.fromkeys(covered_requirements(message)):
            title = message.partition("\n")[0].removeprefix(f"{order}: ")
            claim = name, order, title
            found[claim] = (*found.get(claim, ()), commit)
    return found


def _accepted(
    git: Git, on_branches: Collection[str]
) -> Iterator[tuple[DecisionKey, AcceptedCommit]]:
    """Yield the commits that stand for orders because a person accepted them."""
    layout = repos.layout(git)
    for key, decision in read_decisions(layout[2]).items() if layout else ():
        if decision.accepted is not None and decision.accepted.commit in on_branches:
            yield key, decision.accepted


def _messages(git: Git) -> dict[str, str]:
    """Return the message of each commit of any branch."""
    tips = git.run("for-each-ref", "--format=%(objectname)", "refs/heads").split()
    return {
        each.id: each.message
        for tip in dict.fromkeys(tips)
        for each in commits.log(git, tip, limit=_MAX_COMMITS)
    }
