"""Says what a person should know before a plan is made that follows another one. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from planner.judging.validation import Report
from planner.replan.follow_up import FollowUp


def remarks_on(task: FollowUp, *, template: bool) -> Iterator[str]:
    """Yield a sentence on each doubt about the change; `template` says that the user names one."""
    difference = task.difference
    yield from difference.doubts
    if difference.removed and not (difference.untouched or difference.changed):
        yield (
            f"the specification has no requirement of the plan in {task.predecessor.folder}: "
            "if it is another product's, plan it without that plan"
        )
    if template:
        yield "--template has no effect on a plan that follows another one"


def remarks_on_kept(before: Report, task: FollowUp) -> Iterator[str]:
    """Yield a sentence on each error of an order that is kept: no new order is blamed for it."""
    replaceable = {*task.replaceable}
    for each in before.errors:
        if each.position and each.order not in replaceable:
            yield f"{each.order} is kept and does not fit the branch: {each.render()}"
