"""Says when folders hold files along a chain of orders that add and remove files. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


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
