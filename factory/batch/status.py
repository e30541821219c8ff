"""What `status` tells of a repo's latest run: read from its journal, also while it goes on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from factory.batch.state import IllegalTransition, OrderStatus, RunStatus, advance, project
from factory.journal import Entry, Step, journal_path, read_journal
from factory.lock import holder
from shared.errors import Busy

# Often enough for anyone who looks, and orders whose stages take milliseconds don't wait for it.
_MOMENT_SECONDS = 0.1
_USAGE = ("calls", "input_tokens", "output_tokens")


class StateFile:
    """Keeps `state.json`, the projection of the journal, for whoever watches a run.

    What is there is never torn, and never older than a moment. Nothing waits for it, and it may
    fail: the journal is the truth, and this can be made from it at any time.
    """

    def __init__(self, common_dir: Path) -> None:
        self._path = state_path(common_dir)
        self._lock = threading.Lock()
        self._status: RunStatus | None = None
        self._pending: threading.Timer | None = None

    def __call__(self, entry: Entry) -> None:
        """Take one more record; the new state is written soon, at the run's end at once."""
        with self._lock:
            self._status = advance(self._status, entry)
            if entry.step is Step.RUN_ENDED:
                self._write()
            elif self._pending is None:
                self._pending = threading.Timer(_MOMENT_SECONDS, self._write_pending)
                self._pending.daemon = True
                self._pending.start()

    def _write_pending(self) -> None:
        with self._lock:
            if self._pending is not None:
                self._write()

    def _write(self) -> None:
        self._pending = None
        temporary = self._path.with_suffix(".tmp")
        with contextlib.suppress(OSError):
            temporary.write_bytes(to_json(self._status))
            temporary.replace(self._path)


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
    running = document["state"] == "running"
    return [
        (
            order["id"],
            order["state"],
            str(order["attempts"]),
            str(_tokens(order["usage"])),
            _cost(order["usage"]),
            _remark(order, running=running),
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


def _remark(order: dict[str, Any], *, running: bool) -> str:
    if order["doing"]:
        return f"{'now' if running else 'stopped at'}: {order['doing']}"
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
