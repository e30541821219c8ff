"""Compares two versions of a specification requirement by requirement. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.spec.requirements import Requirement


@dataclass(frozen=True, slots=True)
class ChangedRequirement:
    """Hold a requirement before and after its words changed; the id is the same."""

    before: Requirement
    after: Requirement


@dataclass(frozen=True, slots=True)
class SpecDifference:
    """Say what became of each requirement.

    `requirements` are those of the new version with the ids that they keep, in its order. Each of
    them is `untouched`, `changed` or `added`; those of the old version alone are `removed`.
    `doubts` are sentences on ids that could not be decided.
    """

    requirements: tuple[Requirement, ...]
    untouched: tuple[Requirement, ...] = ()
    changed: tuple[ChangedRequirement, ...] = ()
    added: tuple[Requirement, ...] = ()
    removed: tuple[Requirement, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Say whether both versions require the same."""
        return not (self.changed or self.added or self.removed)


def compare_requirements(
    before: Sequence[Requirement], after: Sequence[Requirement], *, ids_given: bool
) -> SpecDifference:
    """Return the difference between two versions of the requirements.

    With `ids_given` the ids are the author's, so that equal ids are the same requirement.
    """
    old = {each.id: each for each in before}
    new = {each.id: each for each in after}
    return SpecDifference(
        requirements=tuple(after),
        untouched=tuple(e for e in after if e.id in old and old[e.id].text == e.text),
        changed=tuple(
            ChangedRequirement(old[e.id], e)
            for e in after
            if e.id in old and old[e.id].text != e.text
        ),
        added=tuple(e for e in after if e.id not in old),
        removed=tuple(e for e in before if e.id not in new),
    )
