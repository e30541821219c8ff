"""Compares two versions of a specification requirement by requirement."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from planner.spec.blocks import derived_id, is_derived, section_of, split_own_id
from planner.spec.likeness import Pairing, Tie, exact_words, folded, pair_alike, say_the_same
from planner.spec.requirements import Requirement
from shared.errors import quoted
from shared.work_order.work_order import place_of

if TYPE_CHECKING:
    from shared.files.strict_documents import JsonObject

_ANSWER: Final = re.compile(r"A-[0-9a-f]{6}")

_Key = Callable[[Requirement], str]


def match_requirements(before: Sequence[Requirement], after: Sequence[Requirement]) -> Pairing:
    """Return which requirements are the same ones; each is matched once at most.

    In this order: ids that the author gave, the same words, numbers that the author gave, alike
    words, derived ids.
    """
    found = _Found(before, after)
    found.match(given_id, lambda old: old.id)
    found.match(given_id, own_label)
    found.match(_exact, _exact)
    found.match(_folded, _folded)
    found.match(lambda new: new.id if new.counted else "", lambda old: old.id)
    ties = found.match_alike()
    found.match(lambda new: new.id, lambda old: old.id, leaving=ties)
    return Pairing(found.before_of, ties)


def given_id(requirement: Requirement) -> str:
    """Return the id that the author gave, "" if it is derived or only counts."""
    return requirement.id if requirement.given and not requirement.counted else ""


def own_label(requirement: Requirement) -> str:
    """Return the author's id that the text of a requirement of an earlier plan begins with."""
    return split_own_id(requirement.text)[0]


def _words(requirement: Requirement) -> str:
    return split_own_id(requirement.text)[1]


def _exact(requirement: Requirement) -> str:
    return f"={exact_words(_words(requirement))}"  # blank words are equal to blank words


def _folded(requirement: Requirement) -> str:
    return f"={folded(_words(requirement))}"


class _Found:
    def __init__(self, before: Sequence[Requirement], after: Sequence[Requirement]) -> None:
        self.before: Final = before
        self.after: Final = after
        self.before_of: Final[dict[int, int]] = {}
        self._taken: Final[set[int]] = set()

    def match(self, key_of_new: _Key, key_of_old: _Key, leaving: Sequence[Tie] = ()) -> None:
        """Match what is free and has an equal key, in order. An empty key is equal to none."""
        tied_new = {each for tie in leaving for each in tie.after}
        tied_old = {each for tie in leaving for each in tie.before}
        free: dict[str, deque[int]] = defaultdict(deque)
        for old, each in enumerate(self.before):
            if old not in self._taken and old not in tied_old:
                free[key_of_old(each)].append(old)
        for new, each in enumerate(self.after):
            key = key_of_new(each)
            if key and new not in self.before_of and new not in tied_new and free.get(key):
                self._take(free[key].popleft(), new)

    def match_alike(self) -> tuple[Tie, ...]:
        """Match what is free by likeness. Return what was ambiguous."""
        pairing = pair_alike(
            [_words(each) for each in self.before],
            [_words(each) for each in self.after],
            self._pairs(),
        )
        for new, old in pairing.before_of.items():
            self._take(old, new)
        return pairing.ties

    def _pairs(self) -> list[tuple[int, int]]:
        """Return the free pairs, without those to which the author gave two different ids.

        An answer only resembles what its question is about.
        """
        olds = [old for old in range(len(self.before)) if old not in self._taken]
        named = {old for old in olds if _is_named(self.before[old])}
        return [
            (old, new)
            for new, each in enumerate(self.after)
            if new not in self.before_of
            for old in olds
            if not (each.given and (old in named or _ANSWER.fullmatch(each.id)))
        ]

    def _take(self, old: int, new: int) -> None:
        self.before_of[new] = old
        self._taken.add(old)


def _is_named(old: Requirement) -> bool:
    """Say whether a requirement of an earlier plan has an id of the author's."""
    return not is_derived(old.id) or bool(own_label(old))


_MOST_NAMED = 4


def find_doubts(
    before: Sequence[Requirement], after: Sequence[Requirement], match: Pairing
) -> Iterator[str]:
    """Yield a sentence on each tie, on ids that were renumbered, and on new ids beside old ones."""
    for tie in match.ties:
        yield _on_tie(before, after, tie)
    pairs = [(before[old], after[new]) for new, old in sorted(match.before_of.items())]
    renumbered = _renumbered(before, pairs)
    if renumbered:
        yield (
            f"{_listed(renumbered)}: the words were those of another id before; ids decide, so "
            "each counts as changed. If requirements were only renumbered, give each its former "
            "id again, and new requirements ids after the last"
        )
    renamed = [
        f"{old.id} ({new.id})"
        for old, new in pairs
        if not is_derived(new.id) and new.id not in (old.id, own_label(old))
    ]
    if renamed:
        yield (
            f"{_listed(renamed)}: a requirement keeps the id by which orders and commits name it; "
            "the new id, in brackets, is at the beginning of its text"
        )


def _on_tie(before: Sequence[Requirement], after: Sequence[Requirement], tie: Tie) -> str:
    olds = [f"{before[old].id} ({quoted(before[old].text)})" for old in tie.before]
    news = [_placed(after[new]) for new in tie.after]
    return (
        f"{_listed(olds)} may have become {_listed(news, 'or')}: they are equally alike, so none "
        "keeps its id, and they count as removed and added. To decide, write an id in front "
        f"of the requirement that it belongs to, such as `{before[tie.before[0]].id}: ...`"
    )


def _placed(requirement: Requirement) -> str:
    place = place_of(requirement.file, requirement.line)
    return f"{quoted(requirement.text)} {f'on {place}' if place else f'with id {requirement.id}'}"


def _renumbered(
    before: Sequence[Requirement], pairs: Sequence[tuple[Requirement, Requirement]]
) -> list[str]:
    """Return the given ids whose new words are those that another given id had before."""
    former = {folded(split_own_id(each.text)[1]): each.id for each in before}
    return [
        new.id
        for old, new in pairs
        if given_id(new) == old.id
        and not say_the_same(split_own_id(old.text)[1], new.text)
        and former.get(folded(new.text), old.id) != old.id
    ]


def _listed(names: Sequence[str], last: str = "and") -> str:
    more = len(names) - _MOST_NAMED
    shown = [*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}"


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
        return not (self.changed or self.added or self.removed)

    def to_json(self) -> JsonObject:
        """Return the difference as plain values; `line` is a line of the new text, or null."""
        return {
            "added": [_entry(each) for each in self.added],
            "changed": [
                {"before": each.before.text, "after": each.after.text, **_place(each.after)}
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
    are the same requirement in any place, and then the most alike ones, so that a derived
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
    return {"text": requirement.text, **_place(requirement)}


def _place(requirement: Requirement) -> JsonObject:
    """Return the id and the place; `file` is there where a specification has several."""
    file: JsonObject = {"file": requirement.file} if requirement.file else {}
    return {"id": requirement.id, "line": requirement.line, **file}


def _marked(requirement: Requirement, ids_given: bool) -> Requirement:
    given = ids_given or requirement.given or not is_derived(requirement.id)
    return replace(requirement, given=given)


def _is_untouched(before: Requirement, after: Requirement) -> bool:
    return say_the_same(split_own_id(before.text)[1], split_own_id(after.text)[1])


def _with_ids(
    before: Sequence[Requirement], after: Sequence[Requirement], before_of: Mapping[int, int]
) -> tuple[Requirement, ...]:
    """Return the new version with the ids that stay; no new id is one of the old version's."""
    taken = {each.id for each in before}
    taken |= {each.id for each in after if each.given and not each.counted}
    found: list[Requirement] = []
    for position, each in enumerate(after):
        if position in before_of:
            found.append(_keeping(before[before_of[position]].id, each))
        else:
            found.append(_fresh(each, taken))
        taken.add(found[-1].id)
    return tuple(found)


def _keeping(name: str, after: Requirement) -> Requirement:
    if name == after.id or after.counted or is_derived(after.id):
        return replace(after, id=name, given=after.given and name == after.id)
    return replace(after, id=name, text=f"{after.id}: {after.text}", given=not is_derived(name))


def _fresh(added: Requirement, taken: set[str]) -> Requirement:
    if (added.given and not added.counted) or added.id not in taken:
        return added
    section = added.id if added.counted else section_of(added.id)
    return replace(added, id=derived_id(folded(added.text), taken, section))
