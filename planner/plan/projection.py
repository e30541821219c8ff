"""Projects which files a repo will have before and after each order of a plan.

One table has the position of the order that first provides a path, and another the position of the
order that removes it. Position 0 is the repo itself. Two numbers a path are enough, because no
order may write a path that an earlier one removed (E112). Where an order does so, or removes a path
that is not there (E111), the removal is left out: the fault has its own finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from planner.plan.folders_in_time import FoldersInTime, read_folders
from planner.plan.plan import Draft, Plan
from planner.plan.promise import promise_of
from planner.plan.succession import is_inherited
from shared.work_order.schemas import Condition, VerifyContract, WorkOrder

# A rule reports glob characters by themselves; matching them only avoids further findings.
_MAX_PATTERNS: Final = 100
_MAX_PATTERN: Final = 4096


@dataclass(frozen=True, slots=True)
class Projection:
    """Hold the position from which each path exists, and the one from which it does not any more.

    `first` has the paths that are certainly provided, and `possible` those that only may be;
    `removed` has those that an order removes, `removing` the positions of such orders, and
    `folders` the folders of all. `patterns` are promised paths with glob characters, each with its
    position. From the order at `blind_from` on, more files may exist than could be read.
    """

    first: dict[str, int]
    possible: dict[str, int]
    folders: FoldersInTime
    patterns: tuple[tuple[int, str], ...]
    blind_from: int | None
    removed: dict[str, int]
    removing: tuple[int, ...]

    def provider(self, path: str) -> int | None:
        """Return the position that first provides `path`: 0 for the repo, `None` for no order."""
        return self.first.get(path)

    def remover(self, path: str, after: int) -> int | None:
        """Return the position up to `after` that removes `path`; `None` if there is none."""
        position = self.removed.get(path)
        return position if position is not None and position <= after else None

    def exists(self, path: str, after: int) -> bool:
        """Say whether `path` exists once the orders up to position `after` are done."""
        return self.first.get(path, after + 1) <= after and self.remover(path, after) is None

    def may_exist(self, path: str, after: int) -> bool:
        """Say whether `path` exists by then, or an order without promises may have written it."""
        may_be_written = self.possible.get(path, after + 1) <= after
        return self.exists(path, after) or (may_be_written and self.remover(path, after) is None)

    def is_unread(self, path: str, after: int) -> bool:
        """Say whether an unreadable order, or a path with globs, may be meant to provide `path`."""
        blind = self.blind_from is not None and self.blind_from <= after
        return blind or matches_any(path, [each for at, each in self.patterns if at <= after])

    def may_be_folder(self, path: str, after: int) -> bool:
        """Say whether a file in the folder `path` exists or may exist."""
        return self.folders.holds_something(path, after)

    def holds(self, condition: Condition, after: int) -> bool:
        """Say whether `condition` is met once the orders up to position `after` are done."""
        return self.exists(condition.path, after) is (condition.kind == "file_exists")


def project(drafts: Iterable[Draft], repo_files: Collection[str]) -> Projection:
    """Return the file state along the chain of orders, which starts from the repo's listing."""
    first = dict.fromkeys(repo_files, 0)
    possible: dict[str, int] = {}
    removed: dict[str, int] = {}
    patterns: list[tuple[int, str]] = []
    blind_from: int | None = None
    for draft in drafts:
        promise, position = promise_of(draft), draft.position
        provided = {*promise.files, *promise.possible}
        for path in provided:
            removed.pop(path, None)
        for path in promise.removed:
            if path not in provided and (path in first or path in possible):
                removed.setdefault(path, position)
        for path in promise.files:
            first.setdefault(path, position)
        for path in promise.possible:
            possible.setdefault(path, position)
        patterns.extend((position, pattern) for pattern in promise.patterns)
        if not promise.readable and blind_from is None:
            blind_from = position
    folders = read_folders(first, possible, removed)
    removing = tuple(sorted(set(removed.values())))
    return Projection(first, possible, folders, tuple(patterns), blind_from, removed, removing)


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
