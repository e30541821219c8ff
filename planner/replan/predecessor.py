"""Reads the plan that another one follows, and finds what may change in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.plan import parse_plan
from planner.spec import spec_difference
from shared.errors import InvalidInput
from shared.work_order import plan_folder, work_order

if TYPE_CHECKING:
    from planner.spec.read_spec import Spec


@dataclass(frozen=True, slots=True)
class Predecessor:
    """Hold a valid plan that another one follows, and how far it has been carried out.

    `plan` has the orders as the manifest in `folder` holds them; those that landed are marked.
    `left_out` are the ids of orders that a person left out; they count as not begun. `impossible`
    are orders that cannot be done, by id, with what the model that was to do them says of that, and
    `weak` those whose tests are too weak, with the faults that they miss.
    """

    folder: Path
    facts: plan_folder.PlanFacts
    plan: parse_plan.Plan
    left_out: frozenset[str] = frozenset()
    impossible: Mapping[str, str] = field(default_factory=dict)
    weak: Mapping[str, str] = field(default_factory=dict)

    @property
    def due_again(self) -> frozenset[str]:
        """Return the orders that are to be planned again though no requirement changed."""
        return frozenset((*self.impossible, *self.weak))

    @property
    def drafts(self) -> Mapping[str, parse_plan.Draft]:
        return {each.label: each for each in self.plan.drafts}

    @property
    def landed(self) -> frozenset[str]:
        return frozenset(each.label for each in self.plan.drafts if each.landed)

    @property
    def last_number(self) -> int:
        """Return the highest number that an order has or had; withdrawn orders count too."""
        numbers = (work_order.order_number(each.label) or 0 for each in self.plan.drafts)
        return max((*numbers, *self.plan.succession.withdrawn_numbers), default=0)

    @property
    def supersedes(self) -> work_order.Supersedes:
        """Return what the next plan says of this one."""
        return work_order.Supersedes(
            manifest_sha256=self.facts.manifest_sha256,
            earlier=self.facts.lineage,
            title=self.facts.title,
        )


def covers_of(draft: parse_plan.Draft) -> tuple[str, ...]:
    """Return the requirements that an order names; none if the order cannot be read."""
    return draft.order.covers if draft.order is not None else ()


def read_predecessor(
    folder: Path,
    landed: Collection[str],
    left_out: Collection[str] = (),
    impossible: Mapping[str, str] | None = None,
    weak: Mapping[str, str] | None = None,
) -> Predecessor:
    """Return the plan in `folder`, as a plan that follows it sees it.

    `landed` are the ids of the orders that the branch has, and `left_out` those of orders that a
    person left out. `impossible` and `weak` are those of `Predecessor`. Raises `InvalidInput` if
    the plan or its manifest is missing, if the plan was edited or cannot be read, or if it names no
    requirements that its orders carry out.
    """
    stored = plan_folder.read_stored_plan(folder)
    if stored.manifest is None:
        raise InvalidInput(
            f"the plan in {folder} has no manifest, so no other plan can follow it",
            "name the folder that `llmch plan` wrote",
        )
    facts = stored.manifest.facts
    if facts is None:
        raise InvalidInput(
            f"the plan in {folder} was edited: its hash is not the one that it states",
            f"take the edits over first: `{plan_folder.accept_edits(folder)}`",
        )
    plan = parse_plan.parse_plan(stored.document)
    _refuse_unreadable(plan, folder)
    _refuse_untraced(plan, folder)
    before = Predecessor(folder, facts, parse_plan.with_history(plan, landed), frozenset(left_out))
    open_ones = {each.label for each in before.plan.drafts if not each.landed}

    def of_open_ones(reasons: Mapping[str, str] | None) -> Mapping[str, str]:
        return {name: why for name, why in (reasons or {}).items() if name in open_ones}

    return replace(before, impossible=of_open_ones(impossible), weak=of_open_ones(weak))


def carried_out(before: Predecessor, spec: Spec) -> frozenset[str]:
    """Return the requirements of a specification that the orders of a plan have carried out.

    These have the words that they had for the plan, some order covers them, and all orders that do
    have landed.
    """
    found = spec_difference.compare_requirements(
        before.plan.requirements, spec.requirements, ids_given=spec.ids_given
    )
    same = {each.id for each in found.untouched}
    covered = {name for each in before.plan.drafts for name in covers_of(each)}
    left = {n for each in before.plan.drafts if not each.landed for n in covers_of(each)}
    return frozenset(
        own.id
        for own, kept in zip(spec.requirements, found.requirements, strict=True)
        if kept.id in same and kept.id in covered - left
    )


def _refuse_unreadable(plan: parse_plan.Plan, folder: Path) -> None:
    ids = [each.label for each in plan.drafts]
    well_formed = all(each.order and work_order.order_number(each.label) for each in plan.drafts)
    if plan.problems or not well_formed or len(set(ids)) < len(ids):
        raise plan_folder.unreadable_plan_in(folder)


def _refuse_untraced(plan: parse_plan.Plan, folder: Path) -> None:
    """Refuse a plan that does not say which order carries out which requirement."""
    if not plan.requirements or not any(covers_of(each) for each in plan.drafts):
        raise InvalidInput(
            f"the orders of the plan in {folder} name no requirements of a specification",
            "plan the whole specification anew, without --from; with --require-coverage, each "
            "order names what it carries out",
        )


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Hold the plan before, and how the specification has changed since."""

    predecessor: Predecessor
    difference: spec_difference.SpecDifference

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is to be planned."""
        return self.difference.is_empty and not self.predecessor.due_again

    @property
    def contradicted_ids(self) -> frozenset[str]:
        """Return the requirements of the orders that have to be planned again as they are."""
        drafts, due = self.predecessor.drafts, self.predecessor.due_again
        return frozenset(each for name in due for each in covers_of(drafts[name]))

    @property
    def new_ids(self) -> tuple[str, ...]:
        changed = (each.after.id for each in self.difference.changed)
        return (*changed, *(each.id for each in self.difference.added))

    @property
    def removed_ids(self) -> frozenset[str]:
        return frozenset(each.id for each in self.difference.removed)

    @property
    def touched_ids(self) -> frozenset[str]:
        return self.removed_ids.union(self.new_ids)

    @property
    def covered_before(self) -> frozenset[str]:
        drafts = self.predecessor.plan.drafts
        return frozenset(name for each in drafts for name in covers_of(each))

    @property
    def concerned(self) -> tuple[str, ...]:
        """Return the ids of the orders that are to be planned again.

        They cover a requirement which changed or was removed, rest on an assumption which was
        answered otherwise, cannot be done as they are, or have tests that are too weak.
        """
        touched, plan = self.touched_ids, self.predecessor.plan
        rest = {n for each in plan.assumptions if each.id in touched for n in each.work_orders}
        again = rest | self.predecessor.due_again
        return tuple(
            each.label
            for each in plan.drafts
            if each.label in again or not touched.isdisjoint(covers_of(each))
        )

    @property
    def replaceable(self) -> tuple[str, ...]:
        """Return the ids of the orders that may be replaced: concerned, and not landed."""
        landed = self.predecessor.landed
        return tuple(each for each in self.concerned if each not in landed)

    @property
    def withdrawable(self) -> tuple[str, ...]:
        """Return the ids of the orders that may be withdrawn.

        These have not landed, and all that they cover was removed.
        """
        removed, drafts = self.removed_ids, self.predecessor.drafts
        covers = {each: frozenset(covers_of(drafts[each])) for each in self.replaceable}
        return tuple(each for each, names in covers.items() if names and removed >= names)
