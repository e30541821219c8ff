"""Compares two versions of a specification requirement by requirement. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.spec.derived_ids import derived_id, is_derived, section_of
from planner.spec.doubts import find_doubts
from planner.spec.matching import match_requirements
from planner.spec.own_ids import split_own_id
from planner.spec.requirements import Requirement
from planner.spec.wording import folded, say_the_same
from shared.files.strict_json import JsonObject


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

    def to_json(self) -> JsonObject:
        """Return the difference as plain values; `line` is a line of the new text, or null."""
        return {
            "added": [_entry(each) for each in self.added],
            "changed": [
                {
                    "id": each.after.id,
                    "before": each.before.text,
                    "after": each.after.text,
                    "line": each.after.line,
                }
                for each in self.changed
            ],
            "removed": [{"id": each.id, "text": each.text} for each in self.removed],
            "untouched": [each.id for each in self.untouched],
            "doubts": [*self.doubts],
        }


def compare_requirements(
    before: Sequence[Requirement], after: Sequence[Requirement], *, ids_given: bool = False
) -> SpecDifference:
    """Return the difference between two versions of the requirements.

    An id that the author gave decides. All ids of `after` count as given with `ids_given`; else
    those that say so, and those that do not have the form of derived ids. Otherwise equal words
    are the same requirement wherever they stand, and then the most alike ones, so that a derived
    id is kept when words change. A requirement that gets another id from the author while its
    words stay keeps the id that orders and commits name; its text then begins with the new one.
    """
    marked = [_marked(each, ids_given) for each in after]
    match = match_requirements(before, marked)
    kept = _with_ids(before, marked, match.before_of)
    pairs = [(before[old], kept[new]) for new, old in sorted(match.before_of.items())]
    matched = frozenset(match.before_of.values())
    return SpecDifference(
        requirements=kept,
        untouched=tuple(new for old, new in pairs if _is_untouched(old, new)),
        changed=tuple(
            ChangedRequirement(old, new) for old, new in pairs if not _is_untouched(old, new)
        ),
        added=tuple(each for new, each in enumerate(kept) if new not in match.before_of),
        removed=tuple(each for old, each in enumerate(before) if old not in matched),
        doubts=tuple(find_doubts(before, marked, match)),
    )


def _entry(requirement: Requirement) -> JsonObject:
    return {"id": requirement.id, "text": requirement.text, "line": requirement.line}


def _marked(requirement: Requirement, ids_given: bool) -> Requirement:
    given = ids_given or requirement.given or not is_derived(requirement.id)
    return replace(requirement, given=given)


def _is_untouched(before: Requirement, after: Requirement) -> bool:
    return say_the_same(split_own_id(before.text)[1], split_own_id(after.text)[1])


def _with_ids(
    before: Sequence[Requirement], after: Sequence[Requirement], before_of: Mapping[int, int]
) -> tuple[Requirement, ...]:
    """Return the new version with the ids that stay; no new id is one of the old version's."""
    taken = {each.id for each in before} | {each.id for each in after if each.given}
    found: list[Requirement] = []
    for position, each in enumerate(after):
        if position in before_of:
            found.append(_keeping(before[before_of[position]].id, each))
        else:
            found.append(_fresh(each, taken))
        taken.add(found[-1].id)
    return tuple(found)


def _keeping(name: str, after: Requirement) -> Requirement:
    if name == after.id or is_derived(after.id):
        return replace(after, id=name, given=after.given and name == after.id)
    return replace(after, id=name, text=f"{after.id}: {after.text}", given=not is_derived(name))


def _fresh(added: Requirement, taken: set[str]) -> Requirement:
    if added.given or added.id not in taken:
        return added
    return replace(added, id=derived_id(folded(added.text), taken, section_of(added.id)))
