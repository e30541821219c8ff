"""When something is first there, along a chain that adds files and removes them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.languages.planned_code import first_with

STATES = st.lists(st.booleans(), max_size=40)


@given(STATES, st.integers(0, 5))
def test_the_first_position_is_the_one_that_a_plain_search_finds(
    states: list[bool], start: int
) -> None:
    """What is there vanishes only where an order removes something."""
    positions = range(start, start + len(states))
    there = dict(zip(positions, states, strict=True))
    removing = [at for at in positions[1:] if there[at - 1] and not there[at]]
    plain = next((at for at in positions if there[at]), None)
    assert first_with(positions, there.__getitem__, removing) == plain


def test_a_plan_that_removes_all_the_time_is_searched_in_part() -> None:
    asked: list[int] = []

    def never(at: int) -> bool:
        asked.append(at)
        return False

    assert first_with(range(1, 2000), never, range(1, 2000)) is None
    assert len(asked) < 25
