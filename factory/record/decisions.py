"""Keeps and finds the decisions of people about orders.

Only the holder of the repo's lock writes. A file that cannot be understood is an error: a guess
could make, and pay for, an order that somebody left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from factory.orders.stages import NOTHING_DECIDED, Decision, DecisionKey
from shared.errors import Busy
from shared.files.atomic_io import make_folder, write_json
from shared.files.typed_documents import read_as
from shared.work_order import parse_order

if TYPE_CHECKING:
    from factory.orders.read_orders import LoadedOrder
    from shared.work_order.work_order import WorkOrder

_FORMAT: Final = 1
_MOST_BYTES: Final = 10_000_000


def decisions_path(common_dir: Path) -> Path:
    """Return the path of the decisions in a repo's git folder."""
    return common_dir / "llmch" / "decisions.json"


def read_decisions(common_dir: Path) -> Mapping[DecisionKey, Decision]:
    """Return all decisions on file; the result is empty if there is no file.

    Raises `Busy` if the file cannot be understood.
    """
    path = decisions_path(common_dir)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Busy(f"cannot read {path}: {error.strerror}", "make the file readable") from error
    try:
        return _parse(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError) as fault:
        raise Busy(
            f"{path} cannot be understood: {type(fault).__name__}: {fault}",
            "restore the file, or remove it: its hints, accepted commits and left-out orders are "
            "then forgotten",
        ) from fault


def write_decision(common_dir: Path, key: DecisionKey, decision: Decision) -> None:
    """Put a decision in the place of the one before; an empty one is removed.

    The write is durable, and whole or not at all. The caller holds the repo's lock. Raises as
    `read_decisions` does, and `CommandFailed` if the disk refuses.
    """
    before = read_decisions(common_dir)
    if before.get(key, NOTHING_DECIDED) == decision:
        return
    now = {each: made for each, made in before.items() if each != key}
    if not decision.is_empty:
        now[key] = decision
    path = decisions_path(common_dir)
    make_folder(path.parent)
    rows = [{**asdict(each), **_render(made)} for each, made in now.items()]
    write_json(path, {"format": _FORMAT, "decisions": rows})


def _render(decision: Decision) -> dict[str, Any]:
    return {name: value for name, value in asdict(decision).items() if value}


def _parse(document: Any) -> dict[DecisionKey, Decision]:
    if document["format"] != _FORMAT:
        raise ValueError("it was written by another version")
    rows = document["decisions"]
    return {read_as(DecisionKey, row): read_as(Decision, row) for row in rows}


def decision_key(loaded: LoadedOrder, branch: str) -> DecisionKey:
    """Return the key of the decision about an order, which holds while its wording stays."""
    return key_in_plan(loaded.order, loaded.plan.root if loaded.plan else "", branch)


def key_in_plan(order: WorkOrder, root: str, branch: str) -> DecisionKey:
    """Return the key of an order whose oldest plan has the hash `root`, "" if it has no plan."""
    return DecisionKey(branch, root, order.id, parse_order.order_key(order))


def decisions_of(
    common_dir: Path, branch: str, orders: Iterable[LoadedOrder]
) -> Mapping[str, Decision]:
    """Return the decisions about a plan's orders on a branch, by the order's id.

    Orders without a decision are left out. Raises as `read_decisions` does.
    """
    known = read_decisions(common_dir)
    if not known:
        return {}
    keys = {each.order.id: decision_key(each, branch) for each in orders}
    return {name: known[key] for name, key in keys.items() if key in known}


def with_hints(
    orders: Sequence[LoadedOrder], decisions: Mapping[str, Decision]
) -> tuple[LoadedOrder, ...]:
    """Return the orders, each with the hint that holds for it."""
    return tuple(
        replace(each, hint=decisions[each.order.id].hint) if each.order.id in decisions else each
        for each in orders
    )


def accepted_commits(
    decisions: Mapping[str, Decision], on_branch: Collection[str]
) -> Mapping[str, str]:
    """Return the commits on the branch that were accepted for orders, by the order's id."""
    return {
        name: each.accepted.commit
        for name, each in decisions.items()
        if each.accepted is not None and each.accepted.commit in on_branch
    }


def left_out(decisions: Mapping[str, Decision]) -> Mapping[str, str]:
    """Return the reasons of the orders that are left out, by id."""
    return {name: each.left_out for name, each in decisions.items() if each.left_out}


def is_settled(decision: Decision | None) -> bool:
    """Return whether an order need not be made: a commit was accepted for it, or it is left out."""
    return decision is not None and bool(decision.left_out or decision.accepted)
