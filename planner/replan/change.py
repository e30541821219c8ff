"""Says what a plan changes in the one that it follows, order by order. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.plan.plan import Plan
from planner.replan.answer import Answer, Place
from planner.replan.follow_up import FollowUp
from shared.work_order.schemas import NotRemoved, WithdrawnOrder


@dataclass(frozen=True, slots=True)
class PlanChange:
    """Hold the ids of the orders of a plan that follows another one, by what became of them.

    `kept` have not landed and stay as they are. `withdrawn` and `not_removed` are those of this
    plan alone, without those of earlier ones.
    """

    task: FollowUp
    landed: tuple[str, ...]
    kept: tuple[str, ...]
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    withdrawn: tuple[WithdrawnOrder, ...] = ()
    not_removed: tuple[NotRemoved, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the change as `plan --json` prints it."""
        return {
            "supersedes": self.task.predecessor.facts.manifest_sha256,
            "requirements": self.task.difference.to_json(),
            "orders": {
                "landed": list(self.landed),
                "kept": list(self.kept),
                "changed": list(self.changed),
                "added": list(self.added),
                "withdrawn": [each.model_dump(mode="json") for each in self.withdrawn],
            },
            "not_removed": [each.model_dump(mode="json") for each in self.not_removed],
        }


def no_change(task: FollowUp) -> PlanChange:
    """Return what a plan that stays as it is changes: nothing."""
    drafts = task.predecessor.plan.drafts
    kept = tuple(each.label for each in drafts if not each.landed)
    return PlanChange(task, tuple(each.label for each in drafts if each.landed), kept)


def change_of(plan: Plan, answer: Answer) -> PlanChange:
    """Return what a merged plan changes in the one before."""
    task, drafts = answer.task, plan.drafts
    before = task.predecessor.plan.succession
    removed, own = task.removed_ids, answer.own
    return PlanChange(
        task,
        landed=tuple(each.label for each in drafts if each.landed),
        kept=tuple(each.label for each in drafts if not each.landed and each.position not in own),
        changed=tuple(drafts[each - 1].label for each in answer.positions(Place.REPLACES)),
        added=tuple(drafts[each - 1].label for each in answer.positions(Place.NEW)),
        withdrawn=tuple(e for e in plan.succession.withdrawn if e not in before.withdrawn),
        not_removed=tuple(e for e in plan.succession.not_removed if e.requirement in removed),
    )
