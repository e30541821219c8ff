"""Leaves a single order alone that is on the branch already."""

from __future__ import annotations

from factory.orders.decision import Decision
from factory.orders.documents import RunSummary
from factory.orders.identity import landed_orders
from factory.orders.order_state import OrderState
from factory.orders.task import OrderTask
from factory.record.journal_entries import OrderLanded
from factory.record.plan_decisions import accepted_commits
from factory.record.summary import summarise_unexecuted
from factory.repo.preflight import TargetBranch
from factory.run.session import Session
from shared.events.orders import OrderSkipped
from shared.files.atomic_io import write_json
from shared.git import commits
from shared.git.client import Git

_SEARCHED = 10_000  # commits of the branch, newest first


def landed_before(
    git: Git, target: TargetBranch, task: OrderTask, decision: Decision | None
) -> str:
    """Return the commit of the target branch that made an order or stands for it; "" if none."""
    if not target.exists:
        return ""
    messages = commits.messages(git, target.tip, limit=_SEARCHED)
    if made := landed_orders(messages).get(task.identity):
        return made
    decisions = {task.name: decision} if decision else {}
    return accepted_commits(decisions, {commit for commit, _ in messages}).get(task.name, "")


def skip_order(session: Session, task: OrderTask, commit: str) -> RunSummary:
    """Record and announce that an order has landed before, and return its summary."""
    order, parts = task.order, session.parts
    parts.journal.record(OrderLanded(order.id, commit, skipped=True))
    parts.emit(OrderSkipped(order.id, order.title, commit))
    about = session.circumstances(task, session.tip)
    summary = summarise_unexecuted(OrderState.SKIPPED, about, commit)
    write_json(task.folder / "run_summary.json", summary.model_dump(mode="json"))
    return summary
