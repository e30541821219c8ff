"""Says which declarations the `changes` of an order name."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def normal_changes(changes: Sequence[str]) -> frozenset[str]:
    """Return an order's `changes` with dots for `::`, without blanks and a final `()`."""
    return frozenset(each.strip().removesuffix("()").replace("::", ".") for each in changes)


def exactly_meant(name: str, path: str, changed: Collection[str]) -> bool:
    """Return whether `changed` has this qualified name, alone or with its module or file."""
    stem = path.rpartition("/")[2].partition(".")[0]
    module = path.rpartition("/")[0].rpartition("/")[2]
    spelled = {name, f"{path}:{name}", f"{stem}.{name}", f"{module}.{name}", path}
    return not spelled.isdisjoint(changed)


def is_meant(name: str, path: str, changed: Collection[str]) -> bool:
    """Return whether `changed` has a qualified name, its type, or its last part alone."""
    owner, last = name.split(".", 1)[0], name.rpartition(".")[2]
    return (
        exactly_meant(name, path, changed) or exactly_meant(owner, path, changed) or last in changed
    )
