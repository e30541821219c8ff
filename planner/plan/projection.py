"""The repo's files, as they will be before and after each order of a plan.

Orders only ever add files, so one table says it all: the position of the order that first
provides a path. Position 0 is the repo itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from planner.plan.plan import Draft, Plan
from planner.plan.promise import promise_of
from shared.work_order.schemas import Condition, VerifyContract, WorkOrder

# Glob characters are a fault of their own; matching them only keeps its consequences quiet.
_MAX_PATTERNS: Final = 100
_MAX_PATTERN: Final = 4096


@dataclass(frozen=True, slots=True)
class Projection:
    """When each path comes to be.

    `first` has every path that is provided for certain, `possible` and `folders` also what only
    may be. `patterns` are promised paths with glob characters. From `blind_from` on, more may
    exist than could be read.
    """

    first: dict[str, int]
    possible: dict[str, int]
    folders: dict[str, int]
    patterns: tuple[tuple[int, str], ...]
    blind_from: int | None

    def provider(self, path: str) -> int | None:
        """Return the position that first provides `path`: 0 for the repo, None for nobody."""
        return self.first.get(path)

    def exists(self, path: str, after: int) -> bool:
        """Say whether `path` is there once the orders up to position `after` are done."""
        return self.first.get(path, after + 1) <= after

    def may_exist(self, path: str, after: int) -> bool:
        """Say whether `path` is there by then, or an order without promises may have written it."""
        return self.exists(path, after) or self.possible.get(path, after + 1) <= after

    def is_unread(self, path: str, after: int) -> bool:
        """Say whether something that could not be read may have meant to provide `path`."""
        blind = self.blind_from is not None and self.blind_from <= after
        return blind or matches_any(path, [each for at, each in self.patterns if at <= after])

    def may_be_folder(self, path: str, after: int) -> bool:
        """Say whether some file in the folder `path` is there or may be."""
        return self.folders.get(path, after + 1) <= after

    def holds(self, condition: Condition, after: int) -> bool:
        """Say whether `condition` is met once the orders up to position `after` are done."""
        return self.exists(condition.path, after) is (condition.kind == "file_exists")


def project(drafts: Iterable[Draft], repo_files: Collection[str]) -> Projection:
    """Fold the file state along the chain, from the repo's listing on."""
    first = dict.fromkeys(repo_files, 0)
    possible: dict[str, int] = {}
    patterns: list[tuple[int, str]] = []
    blind_from: int | None = None
    for draft in drafts:
        promise = promise_of(draft)
        for path in promise.files:
            first.setdefault(path, draft.position)
        for path in promise.possible:
            possible.setdefault(path, draft.position)
        patterns.extend((draft.position, pattern) for pattern in promise.patterns)
        if not promise.readable and blind_from is None:
            blind_from = draft.position
    return Projection(first, possible, _folders(first, possible), tuple(patterns), blind_from)


def _folders(*tables: dict[str, int]) -> dict[str, int]:
    """Return when each folder first holds something; the tables list paths in order of position."""
    folders: dict[str, int] = {}
    for table in tables:
        for path, position in table.items():
            folder = path.rpartition("/")[0]
            while folder and folders.get(folder, position + 1) > position:
                folders[folder] = position
                folder = folder.rpartition("/")[0]
    return folders


def matches_any(path: str, patterns: Sequence[str]) -> bool:
    """Say whether a path with glob characters may have been meant to cover `path`.

    Where there are too many of them, or monstrous ones, to try in reasonable time, it may.
    """
    if len(patterns) > _MAX_PATTERNS or any(len(each) > _MAX_PATTERN for each in patterns):
        return True
    return any(fnmatchcase(path, each) for each in patterns)


def satisfied(contract: VerifyContract, projection: Projection, after: int) -> bool:
    """Say whether all that verification requires is there after the order at `after`."""
    return all(projection.holds(each, after) for each in contract.requires)


def exempted_orders(plan: Plan, repo_files: Collection[str]) -> tuple[WorkOrder, ...]:
    """Return the plan's orders with `verify_exempt` computed, whatever the model wrote there.

    An order is exempt where the verify contract is not yet satisfied after it; without a contract
    none is. Orders that do not parse are left out.
    """
    projection = project(plan.drafts, repo_files)
    return tuple(
        draft.order.model_copy(
            update={
                "verify_exempt": plan.contract is not None
                and not satisfied(plan.contract, projection, draft.position)
            }
        )
        for draft in plan.drafts
        if draft.order is not None
    )
