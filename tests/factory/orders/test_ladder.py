"""Model ladders, and the choice of a reply format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import ReplyFormat
from factory.orders.model_choice import Rung, choose_reply_format, parse_ladder, rung_for_attempt
from shared.errors import InvalidInput


@pytest.mark.parametrize(
    ("ladder", "attempts", "models"),
    [
        ("one", 3, "one one one"),
        ("small,large", 5, "small small small large large"),
        ("small, large", 2, "small large"),
        ("small,large", 1, "small"),
        ("a,b,c", 5, "a a b b c"),
        ("small,large@2", 4, "small large large large"),
        ("small,large@5", 3, "small small small"),
        ("small@1,large@3", 3, "small small large"),
    ],
)
def test_later_attempts_climb(ladder: str, attempts: int, models: str) -> None:
    rungs = parse_ladder(ladder)
    climbed = [rungs[rung_for_attempt(rungs, n, attempts)].model for n in range(1, attempts + 1)]
    assert climbed == models.split()


@pytest.mark.parametrize("ladder", ["", ",", "a,", "a,,b", "a@2,b", "a,b@3,c@3", "a,b@3,c@2"])
def test_a_ladder_that_does_not_rise_is_refused(ladder: str) -> None:
    with pytest.raises(InvalidInput, match="model ladder"):
        parse_ladder(ladder)


def test_an_at_sign_may_belong_to_the_name() -> None:
    assert parse_ladder("gemma@latest,b@0") == (Rung("gemma@latest"), Rung("b@0"))


@given(st.integers(1, 6), st.integers(1, 50))
def test_a_ladder_is_climbed_in_order_and_begun_at_its_foot(rungs: int, attempts: int) -> None:
    ladder = [Rung(str(n)) for n in range(rungs)]
    climbed = [rung_for_attempt(ladder, n, attempts) for n in range(1, attempts + 1)]
    assert climbed == sorted(climbed)
    assert climbed[0] == 0
    assert attempts < rungs or set(climbed) == set(range(rungs))


@pytest.mark.parametrize(
    ("forced", "trusted", "invalid", "chosen"),
    [
        (None, True, 0, ReplyFormat.JSON),
        (None, True, 1, ReplyFormat.FILES),
        (None, False, 0, ReplyFormat.FILES),
        (ReplyFormat.JSON, False, 3, ReplyFormat.JSON),
        (ReplyFormat.FILES, True, 0, ReplyFormat.FILES),
    ],
)
def test_json_is_asked_of_those_who_can(
    forced: ReplyFormat | None, trusted: bool, invalid: int, chosen: ReplyFormat
) -> None:
    found = choose_reply_format(forced, trusted_schemas=trusted, invalid_replies=invalid)
    assert found is chosen
