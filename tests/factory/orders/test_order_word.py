"""An order is named as a person types it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.read_orders import parse_order_word
from shared.errors import InvalidInput
from shared.work_order.work_order import order_id, order_number


@given(st.integers(0, 999_999_999))
def test_every_spelling_of_an_id_is_read(number: int) -> None:
    for text in (order_id(number), order_id(number).lower(), f"wo-{number}", f" {number} "):
        assert parse_order_word(text) == order_id(number)


@given(st.text(max_size=12))
def test_a_text_is_an_id_or_refused(text: str) -> None:
    try:
        assert order_number(parse_order_word(text)) is not None
    except InvalidInput as refusal:
        assert "is not the id of an order" in refusal.message


@pytest.mark.parametrize("text", ["", "WO", "WO-", "-1", "1.5", "1 2", "1234567890", "three", "٣"])
def test_what_names_no_order_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_order_word(text)
