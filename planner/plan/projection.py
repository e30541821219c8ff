"""Projects which files a repo will have before and after each order of a plan.

Orders only add files, so one table is enough: it has the position of the order that first
provides a path. Position 0 is the repo itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from planner.plan.plan import Draft, Plan
from planner.plan.promise import promise_of
from planner.plan.succession import is_inherited
from shared.work_order.schemas import Condition, VerifyContract, WorkOrder

# A rule reports glob characters by themselves; matching them only avoids further findings.
_MAX_PATTERNS: Final = 100
_MAX_PATTERN: Final = 4096


@dataclass(frozen=True, slots=True)
class Projection:
    """Hold the position from which each path exists.

    `first` has the paths that are certainly provided, and `possible` those that only may be;
    `folders` has the folders of both. `patterns` are promised paths with glob characters, each
    with its position. From the order at `blind_from` on, more files may exist than could be read.
    """

    first: dict[str, int]
    possible: dict[str, int]
    folders: dict[str, int]
    patterns: tuple[tuple[int, str], ...]
    blind_from: int | None

    def provider(self, path: str) -> int | None:
        """Return the position that first provides `path`: 0 for the repo, `None` for no order."""
        return self.first.get(path)

    def exists(self, path: str, after: int) -> bool:
        """Say whether `path` exists once the orders up to position `after` are done."""
        return self.first.get(path, after + 1) <= after

    def may_exist(self, path: str, after: int) -> bool:
        """Say whether `path` exists by then, or an order without promises may have written it."""
        return self.exists(path, after) or self.possible.get(path, after + 1) <= after

    def is_unread(self, path: str, after: int) -> bool:
        """Say whether an unreadable order, or a path with globs, may be meant to provide `path`."""
        blind = self.blind_from is not None and self.blind_from <= after
        return blind or matches_any(path, [each for at, each in self.patterns if at <= after])

    def may_be_folder(self, path: str, after: int) -> bool:
        """Say whether a file in the folder `path` exists or may exist."""
        return self.folders.get(path, after + 1) <= after

    def holds(self, condition: Condition, after: int) -> bool:
        """Say whether `condition` is met once the orders up to position `after` are done."""
        return self.exists(condition.path, after) is (condition.kind == "file_exists")


def project(drafts: Iterable[Draft], repo_files: Collection[str]) -> Projection:
    """Return the file state along the chain of orders, which starts from the repo's listing."""
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
    """Say whether one of `patterns`, paths with glob characters, may be meant to cover `path`.

    The answer is yes where the patterns are too many, or too long, to try in reasonable time.
    """
    if len(patterns) > _MAX_PATTERNS or any(len(each) > _MAX_PATTERN for each in patterns):
        return True
    return any(fnmatchcase(path, each) for each in patterns)


def satisfied(contract: VerifyContract, projection: Projection, after: int) -> bool:
    """Say whether the verify contract's requirements are met after the order at `after`."""
    return all(projection.holds(each, after) for each in contract.requires)


def exempted_orders(
    plan: Plan,
    repo_files: Collection[str],
    *,
    verified: bool = False,
    own: Collection[int] | None = None,
) -> tuple[WorkOrder, ...]:
    """Return the plan's orders with `verify_exempt` computed, whatever the model wrote there.

    An order is exempt where the verify contract is not yet satisfied after it. No order is exempt
    without a contract, or where the repo is `verified` by known commands, whatever files the
    contract waits for. Orders that do not parse are left out. Orders that the plan took over from
    an earlier one stay as they are; `own` has the positions of the others, where provenance does
    not tell them apart yet.
    """
    projection = project(plan.drafts, repo_files)

    def is_own(position: int, order: WorkOrder) -> bool:
        return not is_inherited(order, plan.succession) if own is None else position in own

    def is_exempt(position: int) -> bool:
        contract = plan.contract
        waits = contract is not None and not satisfied(contract, projection, position)
        return waits and not verified

    return tuple(
        draft.order.model_copy(update={"verify_exempt": is_exempt(draft.position)})
        if is_own(draft.position, draft.order)
        else draft.order
        for draft in plan.drafts
        if draft.order is not None
    )
