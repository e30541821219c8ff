"""Leaves a single order alone that is on the branch already."""

from __future__ import annotations

from factory.orders.documents import RunSummary
from factory.orders.order_state import OrderState
from factory.orders.task import OrderTask
from factory.record.journal_entries import OrderLanded
from factory.record.summary import summarise_unexecuted
from factory.run.session import Session
from shared.events.orders import OrderSkipped
from shared.files.atomic_io import write_json


def skip_order(session: Session, task: OrderTask, commit: str) -> RunSummary:
    """Record and announce that an order has landed before, and return its summary."""
    order, parts = task.order, session.parts
    parts.journal.record(OrderLanded(order.id, commit, skipped=True))
    parts.emit(OrderSkipped(order.id, order.title, commit))
    about = session.circumstances(task, session.tip)
    summary = summarise_unexecuted(OrderState.SKIPPED, about, commit)
    write_json(task.folder / "run_summary.json", summary.model_dump(mode="json"))
    return summary
