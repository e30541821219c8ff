"""Records what a person decides about an order: to have it made again, or to leave it out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from factory.batch.coordinator import run_orders
from factory.batch.order_graph import derive_graph
from factory.batch.plan_on_branch import PlanOnBranch
from factory.orders.decision import NOTHING_DECIDED
from factory.orders.documents import RunSummary
from factory.orders.options import RunOptions
from factory.record.decided import write_decision
from factory.record.plan_decisions import left_out
from factory.repo.lock import hold
from factory.repo.preflight import RepoPlace
from factory.run.commission import Commission
from factory.run.going_on import place_option
from shared.errors import InvalidInput, PreflightRefused
from shared.events.event import Emit
from shared.llm.stack import ModelSource


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Say what became of an order that was left out or taken up again.

    `reason` is empty where it is taken up. `blocked` are the orders that cannot be made without it,
    and `others` those that still can.
    """

    order: str
    branch: str
    reason: str
    blocked: tuple[str, ...]
    others: tuple[str, ...] = ()


def retry_order(
    plan: PlanOnBranch,
    name: str,
    hint: str | None,
    place: RepoPlace,
    options: RunOptions,
    source: ModelSource,
    emit: Emit,
) -> RunSummary:
    """Make one order of a plan again, on its branch, and return its summary.

    `hint` holds from now on, also in later runs; `None` leaves the hint that is on record. An order
    that has landed is left alone. Raises `PreflightRefused` if an order that it needs has not
    landed, and as `factory.batch.coordinator.run_all` does.
    """
    with hold(place.common_dir):
        _take_up(plan, name, hint, place)
        rest = _rest(plan, name, place, options)
    options = replace(options, branch=plan.branch)
    commission = Commission("retry", plan.path, plan.orders, options, source, emit)
    (summary,) = run_orders(commission, name, rest).orders
    return summary


def leave_out(plan: PlanOnBranch, name: str, reason: str, place: RepoPlace) -> LeftOut:
    """Record that an order is left out, and why. Raises `InvalidInput` if it has landed."""
    return _decide(plan, name, reason, place)


def take_up(plan: PlanOnBranch, name: str, place: RepoPlace) -> LeftOut:
    """Record that an order is not left out. Raises `InvalidInput` if it has landed."""
    return _decide(plan, name, "", place)


def _decide(plan: PlanOnBranch, name: str, reason: str, place: RepoPlace) -> LeftOut:
    key = plan.key_of(name)
    with hold(place.common_dir):
        landed = plan.landed(place.git, place.common_dir)
        if name in landed:
            raise InvalidInput(
                f"{name} has landed as {landed[name][:12]} on {plan.branch}",
                "an order that has landed cannot be left out; `git revert` takes its change back",
            )
        before = plan.decisions(place.common_dir).get(name, NOTHING_DECIDED)
        write_decision(place.common_dir, key, replace(before, left_out=reason, accepted=None))
        blocked = _dependents(plan, name, landed)
        left = plan.still_to_make(place.git, place.common_dir)
        others = tuple(each for each in left if each not in (name, *blocked))
        return LeftOut(name, plan.branch, reason, blocked, others)


def _take_up(plan: PlanOnBranch, name: str, hint: str | None, place: RepoPlace) -> None:
    key = plan.key_of(name)
    landed = plan.landed(place.git, place.common_dir)
    if name in landed:
        return
    decisions = plan.decisions(place.common_dir)
    graph = derive_graph([each.order for each in plan.orders])
    needed = (graph.ids[each] for each in sorted(graph.needs[graph.ids.index(name)]))
    if missing := [each for each in needed if each not in landed]:
        raise _lacks(name, missing, plan.branch, left_out(decisions))
    before = decisions.get(name, NOTHING_DECIDED)
    kept = before.hint if hint is None else hint
    write_decision(place.common_dir, key, replace(NOTHING_DECIDED, hint=kept))


def _rest(plan: PlanOnBranch, name: str, place: RepoPlace, options: RunOptions) -> str:
    """Return the command that makes the other orders of the plan; "" if none is left."""
    others = set(plan.still_to_make(place.git, place.common_dir)) - {name}
    return plan.run_all(place_option(options.repo)) if others else ""


def _lacks(
    name: str, missing: Sequence[str], branch: str, left_out: Collection[str]
) -> PreflightRefused:
    first = missing[0]
    if first in left_out:
        hint = f"{first} is left out: `llmch skip {first} --undo` takes it up again"
    else:
        hint = f"`llmch retry {first}` makes {first} first"
    return PreflightRefused(f"{name} needs {', '.join(missing)}, not yet on {branch}", hint)


def _dependents(plan: PlanOnBranch, name: str, landed: Collection[str]) -> tuple[str, ...]:
    """Return the orders that cannot be made without an order, in the plan's sequence."""
    graph = derive_graph([each.order for each in plan.orders])
    found = (graph.ids[each] for each in sorted(graph.all_dependents(graph.ids.index(name))))
    return tuple(each for each in found if each not in landed)
