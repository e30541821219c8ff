"""Says in sentences which ids could not be decided between two versions, and what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.spec.derived_ids import is_derived
from planner.spec.likeness_pairs import Tie
from planner.spec.matching import Match, given_id, own_label
from planner.spec.own_ids import split_own_id
from planner.spec.requirements import Requirement
from planner.spec.wording import folded, say_the_same
from shared.rule_text import quoted

_MOST_NAMED = 4


def find_doubts(
    before: Sequence[Requirement], after: Sequence[Requirement], match: Match
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
            "the new id, in brackets, stands at the beginning of its text"
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
    place = f" on line {requirement.line}" if requirement.line else f" with id {requirement.id}"
    return f"{quoted(requirement.text)}{place}"


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
    """Return names as a list in prose; those after the first few are counted."""
    more = len(names) - _MOST_NAMED
    shown = [*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}"
