"""Reads whether the words of a command line name two plans, and not an attempt at an order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shared.plan_folder.names import holds_plan
from shared.work_order.schemas import order_number


def two_plans(words: Sequence[str]) -> tuple[Path, Path] | None:
    """Return the folders of two plans that the words name, or `None` where they name an attempt.

    The words that name an attempt hold the id of an order, such as `WO-01`, so two words without
    one name two folders where either is a path or the folder of a plan. `./WO-01` is a path.
    """
    if len(words) != 2 or any(order_number(each) is not None for each in words):
        return None
    if any("/" in each or holds_plan(Path(each)) for each in words):
        return Path(words[0]), Path(words[1])
    return None
