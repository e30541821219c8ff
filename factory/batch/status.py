"""What `status` tells of a repo's latest run: read from its journal, also while it goes on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from factory.batch.state import IllegalTransition, OrderStatus, RunStatus, advance, project
from factory.journal import Entry, journal_path, read_journal
from factory.lock import holder
from shared.errors import Busy

_USAGE = ("calls", "input_tokens", "output_tokens")


class StateFile:
    """Keeps `state.json`, the projection of the journal, for whoever watches a run."""

    def __init__(self, common_dir: Path) -> None:
        self._path = state_path(common_dir)
        self._status: RunStatus | None = None

    def __call__(self, entry: Entry) -> None:
        """Take one more record and put the new state in place, atomically."""
        self._status = advance(self._status, entry)
        temporary = self._path.with_suffix(".tmp")
        # Not synced: the journal is the truth, and this can be made from it at any time.
        # Written anew at every step of every order, so by what is quickest.
        temporary.write_bytes(to_json(self._status))
        os.replace(temporary, self._path)  # noqa: PTH105  # one call a step


def state_path(common_dir: Path) -> Path:
    """Return where a repo's `state.json` is."""
    return common_dir / "llmch" / "state.json"


def read_status(common_dir: Path) -> RunStatus | None:
    """Return the status of the latest run, `None` where there was none.

    Raises `Busy` where its journal cannot be understood.
    """
    path = journal_path(common_dir)
    try:
        return project(read_journal(path))
    except (IllegalTransition, KeyError, TypeError) as fault:
        raise Busy(
            f"{path} tells of what cannot be: {fault}",
            "`llmch reset` ends the run it belongs to and keeps all commits",
        ) from fault


def status_document(status: RunStatus, common_dir: Path) -> dict[str, Any]:
    """Return the document of `status --json`."""
    running = holder(common_dir)
    usages = [order.usage for order in status.orders.values() if order.usage]
    costs = [usage["cost_usd"] for usage in usages]
    return {
        "run_id": status.run_id,
        "state": "running" if running else "ended" if status.ended else "cut off",
        "pid": running,
        "branch": status.branch,
        "base": status.base,
        "run_dir": status.folder,
        "elapsed_seconds": _elapsed(status) if running else None,
        "orders": [_order_document(order) for order in status.orders.values()],
        "usage": {
            **{name: sum(usage[name] for usage in usages) for name in _USAGE},
            "cost_usd": None if None in costs else sum(costs),
        },
    }


def render_status(document: dict[str, Any]) -> Sequence[Sequence[str]]:
    """Return the orders as rows: id, state, attempts, tokens, cost, what is known besides."""
    return [
        (
            order["id"],
            order["state"],
            str(order["attempts"]),
            str(_tokens(order["usage"])),
            _cost(order["usage"]),
            _remark(order),
        )
        for order in document["orders"]
    ]


def _order_document(order: OrderStatus) -> dict[str, Any]:
    return {
        "id": order.id,
        "title": order.title,
        "state": order.state,
        "attempts": order.attempts,
        "doing": order.doing or None,
        "last_failure": order.last_failure or None,
        "commit": order.commit or None,
        "landed_before": order.skipped,
        "usage": order.usage,
    }


def _remark(order: dict[str, Any]) -> str:
    if order["doing"]:
        return f"now: {order['doing']}"
    if order["commit"]:
        before = " (landed before)" if order["landed_before"] else ""
        return f"{order['commit'][:10]}{before}"
    return f"failed: {order['last_failure']}" if order["last_failure"] else ""


def _tokens(usage: dict[str, Any] | None) -> int:
    return usage["input_tokens"] + usage["output_tokens"] if usage else 0


def _cost(usage: dict[str, Any] | None) -> str:
    if usage is None:
        return "-"
    return "unknown" if usage["cost_usd"] is None else f"${usage['cost_usd']:.4f}"


def _elapsed(status: RunStatus) -> float:
    return round((datetime.now(UTC) - datetime.fromisoformat(status.started)).total_seconds(), 1)
