"""Shows a plan and asks the person at the terminal whether to execute it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.asking import agrees, someone_is_there
from llmch.console.figures import count
from shared.errors import LlmchError

if TYPE_CHECKING:
    from llmch.preview.plan_preview import PlanPreview


def agreed_to_execute(
    read: Callable[[], PlanPreview],
    common_dir: Path,
    console: Console,
    *,
    is_new: bool,
    may_ask: bool,
) -> bool:
    """Show a plan that `is_new` or asked about, and return whether its orders may be executed.

    The question is asked where the orders are still to be paid for: there is no question where
    none is left, or where the plan has begun, because then a person agreed already. Without
    `may_ask`, or where nobody is at the terminal, nobody is asked and the answer is yes. `read`
    is called only where the plan is looked at. `common_dir` is the git folder of the repo.
    """
    from llmch.answers.preview import short_form
    from llmch.preview.standing import OrderStand

    may_ask = may_ask and someone_is_there()
    if not (is_new or may_ask):
        return True
    preview = read()
    left = preview.count(OrderStand.TO_DO)
    asks = may_ask and left > 0 and (is_new or not _has_begun(preview, common_dir))
    if is_new or asks:
        console.say(*short_form(preview))
    if not asks:
        return True
    what = f"these {count(left, 'order')}" if left > 1 else "this order"
    return agrees(f"Execute {what}?")


def _has_begun(preview: PlanPreview, common_dir: Path) -> bool:
    """Say whether an order is on the branch, or the latest run of the repo executed this plan."""
    from factory.record.status import read_status

    # The orders that a plan has from the one before may have landed without anybody's consent to
    # the new ones.
    if not preview.ground.follows and any(e.standing.stand.on_branch for e in preview.orders):
        return True
    with contextlib.suppress(LlmchError):  # a run that follows reports it
        status = read_status(common_dir)
        orders = {each.id: each.title for each in preview.orders}
        return (
            status is not None
            and status.branch == preview.ground.branch
            and {name: each.title for name, each in status.orders.items()} == orders
        )
    return False
