"""Renders a status document for people: rows of a table, and why orders failed. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from factory.record.projection import OrderActivity
from factory.record.status import RunState

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
    if not failure["command"]:
        return str(failure["stage"])
    code = failure["exit_code"]
    ended = "" if code is None else f" ended with exit code {code}"
    return f"{failure['stage']}: `{failure['command']}`{ended}"


def _left(order: dict[str, Any]) -> str:
    left = order["attempts_left"]
    if left is None or order["state"] == OrderActivity.FAILED:
        return ""
    return f"; {left} attempt{'' if left == 1 else 's'} left"


def is_left_out(order: dict[str, Any]) -> bool:
    """Return whether a person left out an order of the document."""
    return bool(order["decision"] and order["decision"]["left_out"])


def _state(order: dict[str, Any]) -> str:
    """Return what the order is called: a person's decision goes before what the run made of it."""
    decision = order["decision"] or {}
    if decision.get("left_out"):
        return "LEFT_OUT"
    return "ACCEPTED" if decision.get("accepted") else str(order["state"])


def _remark(order: dict[str, Any], *, running: bool) -> str:
    if order["doing"]:
        behind = f", behind {_listed(order)}" if _listed(order) else ""
        return f"{'now' if running else 'stopped at'}: {order['doing']}{behind}"
    decision = order["decision"] or {}
    if decision.get("accepted"):
        return f"{order['commit'][:10]} stands for it (accepted)"
    if decision.get("left_out"):
        return f"left out: {decision['left_out']}"
    if order["commit"]:
        before = " (landed before)" if order["landed_before"] else ""
        proof = f", {_short(order['proof'])}" if order["proof"] else ""
        return f"{order['commit'][:10]}{before}{proof}"
    hint = "; a hint is on record" if decision.get("hint") else ""
    return f"failed: {order['last_failure']}{hint}" if order["last_failure"] else ""


def _listed(order: dict[str, Any]) -> str:
    """Return the orders that have to land before the candidate; "" where there are none."""
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
