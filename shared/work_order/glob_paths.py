"""Finds the paths of an order that hold glob characters."""

from __future__ import annotations

from collections.abc import Iterator

from shared.files.paths import glob_characters
from shared.work_order.field_path import FieldPath, at
from shared.work_order.schemas import WorkOrder


def glob_paths(order: WorkOrder) -> tuple[tuple[FieldPath, str], ...]:
    """Return each path of the order that holds glob characters, after the path of its field."""
    return tuple(_glob_paths(order))


def _glob_paths(order: WorkOrder) -> Iterator[tuple[FieldPath, str]]:
    for index, condition in enumerate(order.preconditions):
        if glob_characters(condition.path):
            yield at("preconditions", index, "path"), condition.path
    for index, condition in enumerate(order.postconditions):
        if glob_characters(condition.path):
            yield at("postconditions", index, "path"), condition.path
    for index, path in enumerate(order.allowed_files):
        if glob_characters(path):
            yield at("allowed_files", index), path
    for index, path in enumerate(order.context_files):
        if glob_characters(path):
            yield at("context_files", index), path
    for index, path in enumerate(order.removed_files):
        if glob_characters(path):
            yield at("removed_files", index), path
    for index, file in enumerate(order.acceptance_files):
        if glob_characters(file.path):
            yield at("acceptance_files", index, "path"), file.path
