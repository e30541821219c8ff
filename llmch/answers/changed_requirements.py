"""Shows what became of the requirements between two versions of a specification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from llmch.console.document import Block, Item, Section, Sign

if TYPE_CHECKING:
    from planner.spec.difference import SpecDifference


def changed_requirements(difference: SpecDifference) -> Iterator[Block]:
    """Yield a section with what changed, was added and was removed; none where nothing was."""
    if items := tuple(_items(difference)):
        yield Section("Requirements", items)


def _items(difference: SpecDifference) -> Iterator[Item]:
    for changed in difference.changed:
        yield Item(f"{changed.after.id}: the text has changed", Sign.CHANGED)
        yield Item(changed.before.text, Sign.REMOVED, literal=True)
        yield Item(changed.after.text, Sign.NEW, literal=True)
    yield from (Item(f"{each.id}: {each.text}", Sign.NEW) for each in difference.added)
    yield from (Item(f"{each.id}: {each.text}", Sign.REMOVED) for each in difference.removed)
    yield from (Item(each, Sign.WARNING) for each in difference.doubts)
