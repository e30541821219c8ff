"""Reads which files an order of a plan leaves behind, and which it takes away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.plan.plan import Draft, condition_paths, strings
from shared.files.paths import PathProblem, check_path, glob_characters

_PROMISING_FIELDS = ("postconditions", "allowed_files", "acceptance_files")


@dataclass(frozen=True, slots=True)
class Promise:
    """Hold the files that an order leaves behind, as far as they can be read.

    `files` will exist and `possible` may exist. `patterns` are paths with glob characters, which
    may stand for any file that they match. `readable` is false where some paths could not be read.
    `removed` will not exist, unless the order provides them too.
    """

    files: Sequence[str]
    possible: Sequence[str] = ()
    patterns: Sequence[str] = ()
    readable: bool = True
    removed: Sequence[str] = ()


def promise_of(draft: Draft) -> Promise:
    """Return what the order promises.

    A valid order promises its postconditions and its acceptance files; where it has no
    postconditions, it may create any of its allowed files. An order with a fault promises every
    path that can be read: the fault has its own finding, and its consequences must not have more.
    An order that landed promises nothing: the repo has its files.
    """
    if draft.landed:
        return Promise(())
    if draft.order is None:
        return _promise_of_raw(draft)
    promised = tuple(each.path for each in draft.order.postconditions)
    placed = tuple(each.path for each in draft.order.acceptance_files)
    possible = () if promised else draft.order.allowed_files
    patterns = [path for field, path in draft.globs if field.parts[0] in _PROMISING_FIELDS]
    removed = [path for path in draft.order.removed_files if not glob_characters(path)]
    return Promise((*promised, *placed), possible, patterns, removed=removed)


def _promise_of_raw(draft: Draft) -> Promise:
    conditions = draft.raw.get("postconditions", [])
    allowed = draft.raw.get("allowed_files", [])
    placed = draft.raw.get("acceptance_files", [])
    written = [
        *(path for _, path in condition_paths(conditions)),
        *(path for _, path in condition_paths(placed)),
        *(path for _, path in strings(allowed)),
    ]
    fields = (conditions, allowed, placed)
    meant = sum(len(each) if isinstance(each, list) else 1 for each in fields)
    files, patterns = _read(written)
    removed, _ = _read([path for _, path in strings(draft.raw.get("removed_files"))])
    readable = draft.is_object and len(files) + len(patterns) == meant
    return Promise(files, (), patterns, readable, removed)


def _read(written: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return those of the paths that can be read, and those with glob characters."""
    files: list[str] = []
    patterns: list[str] = []
    for path in written:
        if glob_characters(path):
            patterns.append(path)
            continue
        try:
            files.append(check_path(path))
        except PathProblem:
            continue
    return files, patterns
