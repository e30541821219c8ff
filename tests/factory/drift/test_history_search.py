"""The search for a border in histories of any kind, by looks that are counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.drift.history_search import MOST_RUNS, AtPlace, Border, BorderSearch

REV_RUNS = 2  # the end of a history is looked at twice before anything is sought


def search(
    row: list[AtPlace], likely: list[int] | None = None, chance: frozenset[int] = frozenset()
) -> tuple[Border, int]:
    """Return what is found, and how many runs it took; `chance` are places that fail once."""
    left, looks = {*chance}, [0]

    def look(place: int) -> AtPlace:
        looks[0] += 1
        if place in left:
            left.discard(place)
            return AtPlace.BAD
        return row[place]

    last = len(row) - 1
    touched = likely if likely is not None else list(range(1, last + 1))
    found = BorderSearch(look, look, last, touched, spent=REV_RUNS).find()
    return found, looks[0] + REV_RUNS


@given(st.integers(1, 1_000), st.data())
def test_a_history_that_went_bad_once(last: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, last))
    row = [AtPlace.GOOD] * first + [AtPlace.BAD] * (last + 1 - first)
    found, runs = search(row)
    assert (found.good, found.bad) == (first - 1, first)
    assert runs <= MOST_RUNS + 1  # with the look again, which a run at its limit leaves out


@pytest.mark.rest
@given(st.lists(st.sampled_from(AtPlace), min_size=1, max_size=60), st.data())
def test_any_history(row: list[AtPlace], data: st.DataObject) -> None:
    """A border is between what is good and what is bad, and only what is unknown is between."""
    row = [*row, AtPlace.BAD]
    likely = data.draw(st.lists(st.integers(1, len(row)), max_size=10))
    found, _ = search(row, likely)
    assert row[found.bad] is AtPlace.BAD
    if found.good is None:
        assert (row[0], found.bad) == (AtPlace.BAD, 0)
    else:
        assert row[found.good] is not AtPlace.BAD
        unknown = [row[each] is AtPlace.UNKNOWN for each in found.between]
        assert all(unknown) or sum(unknown) > 20


@given(st.lists(st.booleans(), min_size=2, max_size=7))
def test_the_last_border_of_few_changes_is_found(row: list[bool]) -> None:
    """As long as few commits touch what matters, each is looked at, back to a good one."""
    states = [AtPlace.GOOD, *(AtPlace.GOOD if each else AtPlace.BAD for each in row), AtPlace.BAD]
    found, _ = search(states)
    latest = max(n for n, each in enumerate(states) if each is AtPlace.GOOD) + 1
    assert found == Border(latest - 1, latest)


def test_what_fails_once_is_not_the_border() -> None:
    row = [AtPlace.GOOD] * 40 + [AtPlace.BAD] * 10
    for place in range(1, 40):
        found, _ = search(row, likely=[], chance=frozenset({place}))
        assert (found.good, found.bad) == (39, 40)


def test_a_stretch_that_cannot_be_judged_costs_few_looks() -> None:
    row = [AtPlace.GOOD] * 300 + [AtPlace.UNKNOWN] * 400 + [AtPlace.BAD] * 300
    found, runs = search(row, likely=[])
    assert (found.good or 0) < 300 and found.bad >= 700
    assert runs < 60
