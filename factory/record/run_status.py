"""Renders the status of the latest run, as a document and as text."""

from __future__ import annotations

import contextlib
import textwrap
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from factory.orders.stages import Decision, DecisionKey, Failure
from factory.preflight import holder
from factory.record.journal import journal_path, read_decisions, read_journal
from factory.record.journal_entries import CandidateCoupled, Entry, RunConcluded
from factory.record.projection import (
    IllegalTransition,
    OrderActivity,
    OrderStatus,
    RunProjection,
    RunStatus,
    project,
)
from shared.errors import Busy
from shared.events.events import Ending
from shared.llm.transcript import uncertain_calls
from shared.llm.transcript_lines import place_to_json

# Often enough for anyone who watches, and rarely enough that quick stages do not pay for it.
_MOMENT_SECONDS = 0.1
_USAGE = ("calls", "input_tokens", "output_tokens")


class RunState(StrEnum):
    """Say whether a run continues, and if not, how it stopped."""

    RUNNING = "running"
    ENDED = "ended"
    INTERRUPTED = "interrupted"
    CUT_OFF = "cut off"

    @property
    def can_go_on(self) -> bool:
        """Return whether the run was stopped before it was done."""
        return self in (RunState.INTERRUPTED, RunState.CUT_OFF)


class StateFile:
    """Write `state.json`, the projection of the journal, for programs that watch a run.

    The file is never torn, and at most a moment old. Nothing waits for the file, and writing it
    may fail: the journal holds the truth, and the file can be made from the journal at any time.
    """

    def __init__(self, common_dir: Path) -> None:
        self._path = state_path(common_dir)
        self._lock = threading.Lock()
        self._projection = RunProjection()
        self._pending: threading.Timer | None = None

    def __call__(self, entry: Entry) -> None:
        """Follow one more record. The new state is written soon, at the run's end immediately.

        This never raises. `status` reads the journal itself, and reports an impossible step.
        """
        with self._lock:
            with contextlib.suppress(IllegalTransition):
                self._projection.take(entry)
            if isinstance(entry, RunConcluded):
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
        with contextlib.suppress(OSError, ValueError):  # JSON cannot hold every path
            from pydantic_core import to_json  # a reader of the status does not wait for it

            data = to_json(self._projection.status)
            temporary.unlink(missing_ok=True)  # a run that was killed left it, or it is a link
            with temporary.open("xb") as file:
                file.write(data)
            temporary.replace(self._path)


def state_path(common_dir: Path) -> Path:
    """Return the path of a repo's `state.json`."""
    return common_dir / "llmch" / "state.json"


def read_status(common_dir: Path) -> RunStatus | None:
    """Return the status of the latest run, `None` if there was no run.

    Raises `Busy` if the journal of the run cannot be understood.
    """
    path = journal_path(common_dir)
    try:
        return project(read_journal(path))
    except IllegalTransition as fault:
        raise Busy(
            f"{path} records an impossible step: {fault}",
            "`llmch reset` ends the run of this journal and keeps all commits",
        ) from fault


def read_status_document(common_dir: Path) -> dict[str, Any] | None:
    """Return the document of `status --json` for the latest run, `None` if there was no run.

    Raises `Busy` if its journal or decisions cannot be understood.
    """
    pid = holder(common_dir)  # before the journal, or a run that ends meanwhile looks cut off
    status = read_status(common_dir)
    return None if status is None else status_document(status, common_dir, pid)


def status_document(status: RunStatus, common_dir: Path, pid: int | None = None) -> dict[str, Any]:
    """Return the document of a status that was read while process `pid` held the repo.

    Raises `Busy` if decisions cannot be understood.
    """
    running = pid or holder(common_dir)
    state = _state_of(status, running=bool(running))
    decisions = read_decisions(common_dir)
    usages = [order.usage for order in status.orders.values() if order.usage]
    costs = [usage.cost_usd for usage in usages]
    return {
        "run_id": status.run_id,
        "state": state,
        "pid": running,
        "branch": status.branch,
        "base": status.base,
        "run_dir": status.folder,
        "elapsed_seconds": _elapsed(status) if running else None,
        "replayed": status.replayed,
        "uncertain_calls": _uncertain(status) if state.can_go_on else [],
        "orders": [
            _order_document(order, decisions.get(_key_of(order, status)))
            for order in status.orders.values()
        ],
        "usage": {
            **{name: sum(getattr(usage, name) for usage in usages) for name in _USAGE},
            "cost_usd": None if None in costs else sum(cost for cost in costs if cost),
        },
    }


def _state_of(status: RunStatus, *, running: bool) -> RunState:
    if running:
        return RunState.RUNNING
    if not status.ended:
        return RunState.CUT_OFF
    return RunState.INTERRUPTED if status.ending is Ending.INTERRUPTED else RunState.ENDED


def _key_of(order: OrderStatus, status: RunStatus) -> DecisionKey:
    return DecisionKey(status.branch, status.plan, order.id, order.key)


def _order_document(order: OrderStatus, decision: Decision | None) -> dict[str, Any]:
    accepted = decision.accepted.commit if decision and decision.accepted else ""
    return {
        "id": order.id,
        "title": order.title,
        "state": order.state,
        "attempts": order.attempts,
        "attempts_left": _attempts_left(order),
        "doing": order.doing,
        "last_failure": order.failure.stage if order.failure else None,
        "failure": _failure_document(order.failed_attempt, order.failure),
        "commit": order.commit or accepted or None,
        "candidate": _candidate_document(order.candidate) if order.candidate else None,
        "decision": _decision_document(decision) if decision else None,
        "landed_before": order.skipped,
        "proof": order.proof or None,
        "usage": asdict(order.usage) if order.usage else None,
    }


def _candidate_document(candidate: CandidateCoupled) -> dict[str, Any]:
    return {"commit": candidate.commit, "parent": candidate.parent, "ahead": list(candidate.ahead)}


def _decision_document(decision: Decision) -> dict[str, Any]:
    return {
        "hint": decision.hint or None,
        "left_out": decision.left_out or None,
        "accepted": decision.accepted.commit if decision.accepted else None,
    }


def _attempts_left(order: OrderStatus) -> int | None:
    """Return how many attempts can still pass, including the current one, or were not used.

    The result is `None` if the journal does not record the maximum.
    """
    if order.max_attempts is None:
        return None
    if order.state is OrderActivity.SUCCESS:
        return 0
    return max(0, order.max_attempts - order.failed_attempt)


def _failure_document(attempt: int, failure: Failure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    return {
        "attempt": attempt or None,
        "stage": failure.stage,
        "command": failure.command,
        "exit_code": failure.exit_code,
        "excerpt": failure.excerpt,
        "remedy": failure.remedy,
        "repeats": asdict(failure.repeats) if failure.repeats else None,
    }


def _uncertain(status: RunStatus) -> list[dict[str, Any]]:
    """Return the calls that were under way when the run stopped, which may have been paid for."""
    if status.replayed or not status.transcript:
        return []
    return [place_to_json(each) for each in uncertain_calls(Path(status.transcript))]


def _elapsed(status: RunStatus) -> float:
    return round((datetime.now(UTC) - datetime.fromisoformat(status.started)).total_seconds(), 1)


_LONGEST_PROOF = 100  # characters, in a row of the table
_MOST_AHEAD = 3  # orders, in a row of the table


def render_status(document: dict[str, Any]) -> Sequence[Sequence[str]]:
    """Return the orders as rows: id, state, attempts, tokens, cost, and a remark."""
    running = document["state"] == RunState.RUNNING
    return [
        (
            order["id"],
            _state(order),
            str(order["attempts"]),
            str(_tokens(order["usage"])),
            _cost(order["usage"]),
            _remark(order, running=running),
        )
        for order in document["orders"]
    ]


def render_failures(document: dict[str, Any]) -> Iterator[str]:
    """Yield, for each order that is not on the branch, why its last failed attempt failed."""
    for order in document["orders"]:
        failure = order["failure"]
        if failure is None or order["commit"] or is_left_out(order):
            continue
        attempt = f" (attempt {failure['attempt']})" if failure["attempt"] else ""
        yield f"last failure of {order['id']}{attempt}: {_why(failure)}{_left(order)}"
        yield from (f"  | {line}" for line in failure["excerpt"].splitlines())


def _why(failure: dict[str, Any]) -> str:
    stage, repeats = str(failure["stage"]), failure["repeats"]
    if repeats:
        stage = f"{stage}, the files of attempt {repeats['attempt']} again: {repeats['stage']}"
    if not failure["command"]:
        return stage
    code = failure["exit_code"]
    ended = "" if code is None else f" ended with exit code {code}"
    return f"{stage}: `{failure['command']}`{ended}"


def _left(order: dict[str, Any]) -> str:
    left = order["attempts_left"]
    if left is None or order["state"] == OrderActivity.FAILED:
        return ""
    return f"; {left} attempt{'' if left == 1 else 's'} left"


def is_left_out(order: dict[str, Any]) -> bool:
    """Return whether a person left out an order of the document."""
    return bool(order["decision"] and order["decision"]["left_out"])


def _state(order: dict[str, Any]) -> str:
    decision = order["decision"] or {}
    if decision.get("left_out") and not order["commit"]:
        return "LEFT_OUT"
    return "ACCEPTED" if decision.get("accepted") else str(order["state"])


def _remark(order: dict[str, Any], *, running: bool) -> str:
    if order["doing"]:
        behind = f", behind {_listed(order)}" if _listed(order) else ""
        return f"{'now' if running else 'stopped at'}: {order['doing']}{behind}"
    decision = order["decision"] or {}
    if decision.get("accepted"):
        return f"{order['commit'][:10]} stands for it (accepted)"
    if decision.get("left_out") and not order["commit"]:
        return f"left out: {decision['left_out']}"
    if order["commit"]:
        before = " (landed before)" if order["landed_before"] else ""
        proof = f", {_short(order['proof'])}" if order["proof"] else ""
        return f"{order['commit'][:10]}{before}{proof}"
    hint = "; a hint is on record" if decision.get("hint") else ""
    return f"failed: {order['last_failure']}{hint}" if order["last_failure"] else ""


def _listed(order: dict[str, Any]) -> str:
    ahead = (order["candidate"] or {}).get("ahead", [])
    return ", ".join(ahead[-_MOST_AHEAD:]) if len(ahead) <= _MOST_AHEAD else f"{len(ahead)} orders"


def _short(proof: str) -> str:
    return textwrap.shorten(proof, _LONGEST_PROOF, placeholder=" ...")


def _tokens(usage: dict[str, Any] | None) -> int:
    return usage["input_tokens"] + usage["output_tokens"] if usage else 0


def _cost(usage: dict[str, Any] | None) -> str:
    if usage is None:
        return "-"
    return "unknown" if usage["cost_usd"] is None else f"${usage['cost_usd']:.4f}"
