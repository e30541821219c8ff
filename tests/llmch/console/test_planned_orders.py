"""The orders of a plan, found in a reply however it arrives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmch.console.model_reply import PlannedOrders

texts = st.text(max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
titles = st.text(min_size=1, max_size=150)
others = st.dictionaries(texts.filter(lambda key: key not in ("id", "title")), values, max_size=3)


@st.composite
def orders(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return orders whose keys stand in any sequence."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        named: dict[str, Any] = {"id": f"WO-{number + 1:02d}", "title": draw(titles)}
        keys = draw(st.permutations([*(named | draw(others)).items()]))
        found.append(dict(keys) | named)
    return found


def found_in(*pieces: str) -> PlannedOrders:
    planned = PlannedOrders()
    for piece in pieces:
        planned.add(piece)
    return planned


def latest(planned: PlannedOrders) -> list[tuple[str, str]]:
    return [(each.id, each.title) for each in planned.latest]


@pytest.mark.rest
@given(
    orders(), st.sampled_from(["", "Here is it:\n```json\n", "It's \"one\n"]), st.integers(1, 50),
    st.booleans(),
)  # fmt: skip
def test_every_order_is_found_in_pieces_of_any_length(
    planned: list[dict[str, Any]], before: str, length: int, ascii_only: bool
) -> None:
    document = {"system_overview": 'a "b" {', "work_orders": planned}
    text = before + json.dumps(document, ensure_ascii=ascii_only, indent=1)
    pieces = [text[at : at + length] for at in range(0, len(text), length)]
    found = found_in(*pieces)
    assert found.count == len(planned)
    assert latest(found) == [(each["id"], each["title"]) for each in planned[-3:]]


@pytest.mark.parametrize(
    "long", ["a" * 500, "\u20ac" * 500, "\U00010000" * 500, "\U00010000a" * 300]
)
def test_a_long_title_is_cut_and_not_in_an_escape(long: str) -> None:
    found = found_in(json.dumps([{"id": "WO-01", "title": long}]))
    assert latest(found) == [("WO-01", long[:200])]


@given(st.text(alphabet='{}[]":,\\\n ab', max_size=300))
def test_what_is_no_json_is_no_error(text: str) -> None:
    assert found_in(text).count == found_in(*text).count == 0


def test_the_field_that_is_arriving_is_known() -> None:
    found = found_in(
        '[{"id": "WO-07", "title": "T", "postconditions": [{"kind": "file_exists", "pa'
    )
    assert [(each.id, each.field) for each in found.latest] == [("WO-07", "postconditions")]


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "R1", "title": "A requirement"}',
        '{"id": "WO-01", "title": ""}',
        '{"id": "WO-01", "deeper": {"title": "another one\'s"}}',
        '["id", "WO-01", "title", "T"]',
    ],
)
def test_what_is_no_order_is_none(text: str) -> None:
    assert found_in(text).count == 0


def test_a_hostile_reply_is_kept_in_little_room() -> None:
    found = found_in('{"id": "WO-01", "title": "', "x" * 1_000_000, '", "a": ', "[" * 100_000)
    assert [len(title) for _, title in latest(found)] == [200]
    assert len(found._objects) == 50
