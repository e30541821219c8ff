"""Checks whether a rewrite of an existing file loses more than anybody asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.declared.meant import is_meant, normal_changes
from shared.languages.declared.model import Declarations
from shared.languages.shrinking import check_shrinking


def check_rewrite(
    path: str, before: Declarations, after: Declarations, changes: Sequence[str], *, is_test: bool
) -> tuple[ContractViolation, ...]:
    """Return a violation for each loss of the file at `path` that `changes` do not name.

    A loss is a public name of a file that is not a test, or more than half of the text of a file of
    at least twenty lines. Where `changes` name the file itself, nothing is lost.
    """
    changed = normal_changes(changes)
    if path in changed:
        return ()
    if before.fault is not None or after.fault is not None:
        return tuple(check_shrinking(path, before.text, after.text))
    lost = () if is_test else tuple(_lost(path, before, after, changed))
    rest = _without_meant(path, before, changed)
    return (*lost, *check_shrinking(path, rest, after.text))


def _lost(
    path: str, before: Declarations, after: Declarations, changed: Collection[str]
) -> Iterator[ContractViolation]:
    has = {each.name for each in after.items} | {each.name for each in after.imports}
    if "*" in has:
        return  # any name may come from there
    for item in dict.fromkeys(each.name for each in before.items if each.is_public):
        is_gone = item not in has and not is_meant(item, path, changed)
        owner = item.rpartition(".")[0]
        # The methods of a type that is gone itself are not reported.
        if is_gone and (not owner or owner in has):
            yield ContractViolation(path, item, f"`{item}` is gone, and no interface says so")


def _without_meant(path: str, before: Declarations, changed: Collection[str]) -> str:
    text = before.text
    for each in sorted(before.items, key=lambda item: item.start, reverse=True):
        if each.kind in ("function", "type") and is_meant(each.name, path, changed):
            text = text[: each.start] + text[each.end :]
    return text
