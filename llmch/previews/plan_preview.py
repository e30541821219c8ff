"""Describes what a plan will do, as a value.

An order may write a file and need not, so the answer is the most that can happen.

`llmch show` prints the value. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from factory.batch.order_graph import derive_graph
from factory.orders.read_orders import LoadedOrder
from factory.record.journal import accepted_commits, decisions_of, left_out
from factory.record.landed import LandedOrders, find_landed
from factory.run.forecast import Forecast, SizedOrders
from planner.plan.parse_plan import Draft, Plan
from planner.replan.removal import Removal
from planner.rules.coverage import coverage_of_plan
from planner.rules.judge_plan import Report
from shared.errors import ShownFinding
from shared.git import refs
from shared.git.client import Git
from shared.work_order.parse_order import SchemaProblem
from shared.work_order.work_order import (
    Asserted,
    Assumption,
    CoveredRequirement,
    WithdrawnOrder,
    WorkOrder,
)


class Effect(StrEnum):
    """Name what becomes of a file."""

    NEW = "new"
    CHANGED = "changed"
    REMOVED = "removed"


_OF_LETTERS = {"A": Effect.NEW, "D": Effect.REMOVED}


@dataclass(frozen=True, slots=True)
class FileEffect:
    """Say what becomes of the file at `path`; `is_test` marks a test that the plan brings along."""

    path: str
    effect: Effect
    is_test: bool = False


def planned_effects(
    orders: Iterable[WorkOrder], present: Collection[str]
) -> tuple[tuple[FileEffect, ...], ...]:
    """Return the effects of each order, made one after the other where `present` are the files."""
    there = set(present)
    return tuple(_effects(order, there) for order in orders)


def _effects(order: WorkOrder, there: set[str]) -> tuple[FileEffect, ...]:
    tests = {each.path for each in order.acceptance_files}
    written = dict.fromkeys((*order.allowed_files, *tests_of(order)))
    found = [
        FileEffect(path, Effect.CHANGED if path in there else Effect.NEW, path in tests)
        for path in written
    ]
    removed = [path for path in dict.fromkeys(order.removed_files) if path not in written]
    there.update(written)
    there.difference_update(removed)
    return (*found, *(FileEffect(path, Effect.REMOVED) for path in removed))


def landed_effects(order: WorkOrder, made: Mapping[str, str]) -> tuple[FileEffect, ...]:
    """Return what a commit that landed an order did to the order's own files.

    `made` has git's letter for each path that the commit changed.
    """
    tests = set(tests_of(order))
    own = dict.fromkeys((*order.allowed_files, *tests_of(order), *order.removed_files))
    return tuple(
        FileEffect(path, _OF_LETTERS.get(made[path], Effect.CHANGED), path in tests)
        for path in own
        if path in made
    )


def tests_of(order: WorkOrder) -> tuple[str, ...]:
    return tuple(each.path for each in order.acceptance_files)


def count_effects(
    effects: Iterable[Sequence[FileEffect]], present: Collection[str]
) -> Mapping[Effect, int]:
    """Return how many files are new, changed and removed once all orders are made.

    A file that one order creates and a later one changes is new; one that is created and removed
    again counts for nothing.
    """
    last = {each.path: each.effect for order in effects for each in order}
    there = frozenset(present)
    counts = dict.fromkeys(Effect, 0)
    for path, effect in last.items():
        if effect is Effect.REMOVED:
            counts[Effect.REMOVED] += path in there
        else:
            counts[Effect.CHANGED if path in there else Effect.NEW] += 1
    return counts


class OrderStand(StrEnum):
    """Name the state of an order on a branch."""

    LANDED = "landed"
    ACCEPTED = "accepted"
    LEFT_OUT = "left_out"
    TO_DO = "to_do"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")

    @property
    def on_branch(self) -> bool:
        """Say whether the branch has what the order was for."""
        return self in (OrderStand.LANDED, OrderStand.ACCEPTED)


@dataclass(frozen=True, slots=True)
class OrderStanding:
    """Hold the state of an order, the commit that carries it out, and a person's reason."""

    stand: OrderStand = OrderStand.TO_DO
    commit: str = ""
    reason: str = ""


NOT_BEGUN: Final = OrderStanding()


def read_standings(
    git: Git, common_dir: Path, branch: str, orders: Sequence[LoadedOrder]
) -> Mapping[str, OrderStanding]:
    """Return, by order id, where orders stand on a branch.

    `common_dir` is the git folder of the repo, which holds what a person decided. Orders that
    nothing is known of are left out: they are to be done.
    """
    tip = refs.tip_of_branch(git, branch)
    landed = find_landed(git, branch, tip, orders) if tip else LandedOrders()
    decisions = decisions_of(common_dir, branch, orders)
    accepted = accepted_commits(decisions, landed.first_parents)
    return {
        **{
            name: OrderStanding(OrderStand.LEFT_OUT, reason=reason)
            for name, reason in left_out(decisions).items()
        },
        **{name: OrderStanding(OrderStand.ACCEPTED, commit) for name, commit in accepted.items()},
        **{
            name: OrderStanding(OrderStand.LANDED, commit) for name, commit in landed.landed.items()
        },
    }


@dataclass(frozen=True, slots=True)
class PlanGround:
    """Hold what is known around a plan; without a repo, as if it were empty.

    `present` are the files that the orders begin with. `made` has, for each commit that landed an
    order, git's letter for each path. `sized` and `standings` are empty, and `refusal` says why,
    where the factory would not take the plan. `report` is `None` if no rule was asked.
    """

    folder: Path
    repo: Path | None = None
    branch: str = ""
    branch_exists: bool = False
    present: frozenset[str] = frozenset()
    standings: Mapping[str, OrderStanding] = field(default_factory=dict)
    made: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sized: SizedOrders | None = None
    follows: tuple[str, ...] = ()
    refusal: str = ""
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class OrderPreview:
    """Say what one order will do, or did; `problems` say why the order cannot be read.

    `covers` has each requirement with what in the order asserts it. `forecast` is `None` for an
    order that is not to be done. `exempt` says that the order expects to be exempt from
    verification.
    """

    id: str
    title: str
    standing: OrderStanding
    files: tuple[FileEffect, ...]
    needs: tuple[str, ...]
    commands: tuple[str, ...]
    covers: tuple[tuple[str, Asserted], ...]
    findings: tuple[ShownFinding, ...]
    problems: tuple[str, ...]
    forecast: Forecast | None
    exempt: bool = False


EXPECTS_EXEMPTION: Final = (
    "expected to be proven by compiling alone, where nothing verifies the files yet that the order "
    "makes: the run decides that by these files"
)


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """Say what a plan will do. `forecast` and `files` are those of the orders that are to be done.

    `findings` are those on the plan as a whole.
    """

    ground: PlanGround
    orders: tuple[OrderPreview, ...]
    withdrawn: tuple[WithdrawnOrder, ...]
    requirements: tuple[CoveredRequirement, ...]
    files: Mapping[Effect, int]
    forecast: Forecast | None
    findings: tuple[ShownFinding, ...]
    problems: tuple[str, ...]
    assumptions: tuple[Assumption, ...] = ()
    removal: Removal | None = None
    """What goes with the requirements that the plan before had, if any went."""

    def count(self, stand: OrderStand) -> int:
        return sum(each.standing.stand is stand for each in self.orders)

    @property
    def uncovered(self) -> tuple[CoveredRequirement, ...]:
        return tuple(each for each in self.requirements if not each.orders)

    @property
    def counts(self) -> dict[str, int]:
        """Return how many orders stand where, and how many files and requirements that concerns."""
        return {
            "orders": len(self.orders),
            **{each.value: self.count(each) for each in OrderStand},
            **{f"files_{each.value}": self.files[each] for each in Effect},
            "uncovered": len(self.uncovered),
        }

    @property
    def executable(self) -> bool:
        """Say whether the factory would take the plan, as far as it was looked at."""
        report = self.ground.report
        return not self.ground.refusal and (report is None or report.ok)


def preview_of(
    plan: Plan, withdrawn: tuple[WithdrawnOrder, ...], ground: PlanGround
) -> PlanPreview:
    """Return what a plan will do, as far as the plan can be read."""
    requirements = coverage_of_plan(plan)
    covers = _covers(requirements)
    files, counts = _files(plan, ground)
    needs = _needs(plan)
    findings = _findings(ground.report)
    to_do = dict.fromkeys(each.label for each in plan.drafts if _is_to_do(each, ground))
    sized = ground.sized
    return PlanPreview(
        ground=ground,
        orders=tuple(
            OrderPreview(
                id=draft.label,
                title=_title(draft),
                standing=_standing(draft, ground),
                files=files.get(draft.position, ()),
                needs=needs.get(draft.position, ()),
                commands=tuple(text for _, text in draft.commands()),
                covers=tuple(covers.get(draft.label, ())),
                findings=tuple(findings.get(draft.label, ())),
                problems=_problems(draft),
                forecast=sized.forecast((draft.label,)) if sized and draft.label in to_do else None,
                exempt=draft.order is not None
                and draft.order.verify_exempt
                and draft.label in to_do,
            )
            for draft in plan.drafts
        ),
        withdrawn=withdrawn,
        requirements=requirements,
        files=counts,
        forecast=sized.forecast(to_do) if sized else None,
        findings=tuple(findings.get(None, ())),
        problems=tuple(map(_words, plan.problems)),
        assumptions=plan.assumptions,
    )


def _is_to_do(draft: Draft, ground: PlanGround) -> bool:
    return _standing(draft, ground).stand is OrderStand.TO_DO


def _standing(draft: Draft, ground: PlanGround) -> OrderStanding:
    return ground.standings.get(draft.label, NOT_BEGUN)


def _title(draft: Draft) -> str:
    title = draft.raw.get("title")
    return title if isinstance(title, str) else ""


def _problems(draft: Draft) -> tuple[str, ...]:
    if not draft.is_object:
        return ("the order is not an object",)
    return tuple(map(_words, draft.problems))


def _words(problem: SchemaProblem) -> str:
    return f"{problem.field}: {problem.message}" if problem.field else problem.message


def _covers(
    requirements: Sequence[CoveredRequirement],
) -> Mapping[str, Sequence[tuple[str, Asserted]]]:
    """Return, by order, the requirements that it covers, each with what asserts it there."""
    found: dict[str, dict[str, Asserted]] = {}
    for row in requirements:
        for each in row.orders:
            if each.asserted_by is not None:
                found.setdefault(each.id, {})[row.id] = each.asserted_by
    return {name: tuple(covered.items()) for name, covered in found.items()}


def _findings(report: Report | None) -> Mapping[str | None, Sequence[ShownFinding]]:
    """Return the findings by order; those on the plan as a whole are under `None`."""
    found: dict[str | None, list[ShownFinding]] = {}
    for each in report.shown() if report else ():
        found.setdefault(each.work_order, []).append(each)
    return found


def _needs(plan: Plan) -> Mapping[int, tuple[str, ...]]:
    """Return the ids of the orders that each order needs directly, by its position in the plan."""
    drafts = [(each.position, each.order) for each in plan.drafts if each.order is not None]
    graph = derive_graph([order for _, order in drafts])
    return {
        position: tuple(graph.ids[each] for each in sorted(needed))
        for (position, _), needed in zip(drafts, graph.needs, strict=True)
    }


def _files(
    plan: Plan, ground: PlanGround
) -> tuple[Mapping[int, tuple[FileEffect, ...]], Mapping[Effect, int]]:
    """Return the files of each order by its position, and how many the orders to do concern."""
    found: dict[int, tuple[FileEffect, ...]] = {}
    to_do: list[tuple[int, WorkOrder]] = []
    for draft in plan.drafts:
        standing = _standing(draft, ground)
        if draft.order is None:
            continue
        if standing.stand.on_branch:
            made = ground.made.get(standing.commit, {})
            found[draft.position] = landed_effects(draft.order, made)
        elif _is_to_do(draft, ground):
            to_do.append((draft.position, draft.order))
    effects = planned_effects([order for _, order in to_do], ground.present)
    found |= dict(zip((position for position, _ in to_do), effects, strict=True))
    return found, count_effects(effects, ground.present)
