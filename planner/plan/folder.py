"""Reads a plan's folder as `check` judges it: a malformed document becomes a finding."""

from __future__ import annotations

from pathlib import Path

from planner.plan.plan import Plan, parse_plan, unreadable_plan
from shared.plan_folder.read import FileMalformed, read_stored_plan


def read_plan_folder(folder: Path) -> Plan:
    """Return the plan in `folder`: its manifest's orders, else those of its `WO-NN.json` files.

    Raises `InvalidInput` where there is nothing to judge, a file cannot be read, an order is in
    the file of another order, or the manifest and the order files disagree.
    """
    try:
        return parse_plan(read_stored_plan(folder).document)
    except FileMalformed as malformed:
        return unreadable_plan(f"{malformed.name}: {malformed.problem}")
