"""Names the files of a plan: `WO-NN.json` for each order, and the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput

MANIFEST_NAME: Final = "WORK_ORDERS_MANIFEST.json"

_ORDER_FILE = re.compile(r"WO-([0-9]+)\.json")


def order_file_name(order_id: str) -> str:
    """Return the name of the file that holds the order with this id."""
    return f"{order_id}.json"


def list_plan_files(folder: Path) -> tuple[str, ...]:
    """Return the names of a plan's files in `folder`, orders by number and the manifest last.

    Raises `InvalidInput` where the folder cannot be read.
    """
    try:
        return plan_file_names(each.name for each in folder.iterdir())
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be read: {error.strerror}", "check your permission to read it"
        ) from error


def plan_file_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` that name a plan's files, orders by number and the manifest last."""
    found = set(names)
    orders = [match for name in found if (match := _ORDER_FILE.fullmatch(name))]
    by_number = [match[0] for match in sorted(orders, key=lambda match: (int(match[1]), match[0]))]
    return (*by_number, MANIFEST_NAME) if MANIFEST_NAME in found else tuple(by_number)


def holds_plan(folder: Path) -> bool:
    """Return whether `folder` is a directory with at least one of a plan's files.

    Raises `InvalidInput` where the folder cannot be read.
    """
    return folder.is_dir() and bool(list_plan_files(folder))
