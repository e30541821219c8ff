"""Projects a plan onto the repository's files, order by order.

One table has the position of the order that first provides a path, and another the position of the
order that removes it. Position 0 is the repo itself. Two numbers a path are enough, because no
order may write a path that an earlier one removed (E112). Where an order does so, or removes a path
that is not there (E111), the removal is left out: the fault has its own finding.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from planner.plan import parse_plan
from shared.files.paths import PathProblem, check_path, glob_characters
from shared.projects import manifests
from shared.work_order import work_order


@dataclass(frozen=True, slots=True)
class FoldersInTime:
    """Hold when each folder begins to hold something.

    `first` has that position for each folder. `turns` has, for each folder that removed files were
    in, all positions at which it begins or ceases to hold something, beginning first.
    """

    first: Mapping[str, int]
    turns: Mapping[str, tuple[int, ...]]

    def holds_something(self, folder: str, after: int) -> bool:
        """Say whether a file in `folder` may exist once the orders up to `after` are done."""
        turns = self.turns.get(folder)
        if turns is None:
            return self.first.get(folder, after + 1) <= after
        return bisect_right(turns, after) % 2 == 1


def read_folders(
    first: Mapping[str, int], possible: Mapping[str, int], removed: Mapping[str, int]
) -> FoldersInTime:
    """Return when folders hold something.

    `first` and `possible` say since when a path exists or may exist, in order of position, and
    `removed` since when it does not any more.
    """
    found: dict[str, int] = {}
    for table in (first, possible):
        for path, position in table.items():
            for folder in folders_of(path):
                if found.get(folder, position + 1) <= position:
                    break  # then all folders above are known as well
                found[folder] = position
    return FoldersInTime(found, _turns(first, possible, removed) if removed else {})


def folders_of(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, the innermost first."""
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _turns(
    first: Mapping[str, int], possible: Mapping[str, int], removed: Mapping[str, int]
) -> dict[str, tuple[int, ...]]:
    """Return the turns of each folder that a removed file was in."""
    changes: dict[str, dict[int, int]] = {
        folder: {} for path in removed for folder in folders_of(path)
    }
    for path in {**possible, **first}:
        since = min(table[path] for table in (first, possible) if path in table)
        for folder in folders_of(path):
            if (change := changes.get(folder)) is not None:
                change[since] = change.get(since, 0) + 1
                if path in removed:
                    change[removed[path]] = change.get(removed[path], 0) - 1
    return {folder: _crossings(change) for folder, change in changes.items()}


def _crossings(change: Mapping[int, int]) -> tuple[int, ...]:
    """Return the positions at which a count that changes so becomes positive, or zero again."""
    count, found = 0, []
    for position in sorted(change):
        before, count = count, count + change[position]
        if (before > 0) != (count > 0):
            found.append(position)
    return tuple(found)


_PROMISING_FIELDS = ("postconditions", "allowed_files", "acceptance_files")


@dataclass(frozen=True, slots=True)
class Promise:
    """Hold the files that an order leaves behind, as far as they can be read.

    `files` will exist and `possible` may exist. `patterns` are paths with glob characters, which
    may mean any file that they match. `readable` is false where some paths could not be read.
    `removed` will not exist, unless the order provides them too.
    """

    files: Sequence[str]
    possible: Sequence[str] = ()
    patterns: Sequence[str] = ()
    readable: bool = True
    removed: Sequence[str] = ()


def promise_of(draft: parse_plan.Draft) -> Promise:
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


def _promise_of_raw(draft: parse_plan.Draft) -> Promise:
    conditions = draft.raw.get("postconditions", [])
    allowed = draft.raw.get("allowed_files", [])
    placed = draft.raw.get("acceptance_files", [])
    written = [
        *(path for _, path in parse_plan.condition_paths(conditions)),
        *(path for _, path in parse_plan.condition_paths(placed)),
        *(path for _, path in parse_plan.strings(allowed)),
    ]
    fields = (conditions, allowed, placed)
    meant = sum(len(each) if isinstance(each, list) else 1 for each in fields)
    files, patterns = _read(written)
    removed, _ = _read([path for _, path in parse_plan.strings(draft.raw.get("removed_files"))])
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

    def holds(self, condition: work_order.Condition, after: int) -> bool:
        """Say whether `condition` is met once the orders up to position `after` are done."""
        return self.exists(condition.path, after) is (condition.kind == "file_exists")


def project(drafts: Iterable[parse_plan.Draft], repo_files: Collection[str]) -> Projection:
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


def satisfied(contract: work_order.VerifyContract, projection: Projection, after: int) -> bool:
    """Say whether the verify contract's requirements are met after the order at `after`."""
    return all(projection.holds(each, after) for each in contract.requires)


def exempted_orders(
    plan: parse_plan.Plan,
    repo_files: Collection[str],
    *,
    verified: bool = False,
    own: Collection[int] | None = None,
) -> tuple[work_order.WorkOrder, ...]:
    """Return the plan's orders with `verify_exempt` computed, whatever the model wrote there.

    An order is exempt where the verify contract is not yet satisfied after it. No order is exempt
    without a contract, or where the repo is `verified` by known commands, whatever files the
    contract waits for. Orders that do not parse are left out. Orders that the plan took over from
    an earlier one stay as they are; `own` has the positions of the others, where provenance does
    not tell them apart yet.
    """
    projection = project(plan.drafts, repo_files)

    def is_own(position: int, order: work_order.WorkOrder) -> bool:
        return (
            not parse_plan.is_inherited(order, plan.succession) if own is None else position in own
        )

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


@dataclass(frozen=True, slots=True)
class Allowed:
    """Hold the programs and packages that `[tool.llmch]` allows besides the repo's own.

    `installs` says that a run installs what manifests declare.
    """

    programs: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    installs: bool = False


NOTHING_MORE: Final = Allowed()


@dataclass(frozen=True, slots=True)
class TargetRepo:
    """Hold the repo's files as git lists them, and what the user allows.

    `sources` has the texts of the files that rules read, as far as they could be read: Python
    modules and stubs, `pyproject.toml`, and requirements files. Rules ask for few of them.
    `verification` are the commands that verify the repo, where they are known and the repo has no
    script of its own for that.
    """

    files: frozenset[str] = frozenset()
    sources: Mapping[str, str] = field(default_factory=dict)
    allowed: Allowed = NOTHING_MORE
    verification: tuple[manifests.VerifyCommand, ...] = ()
