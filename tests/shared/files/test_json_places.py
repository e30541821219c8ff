"""Where the values of a JSON document stand in its text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.files.strict_documents import (
    JsonPath,
    JsonPlace,
    JsonPlaces,
    JsonProblem,
    place_of_problem,
)

TEXT = """{
  "id": "WO-01",
  "lists": [
    1, "two",
    {"deep": [true, null]}
  ]
}
"""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a{}[]",:\\ é\U0001f600\n'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), JsonPlace(1, 1, 7, 2)),
        (("id",), JsonPlace(2, 3, 2, 16)),
        (("lists", 1), JsonPlace(4, 8, 4, 13)),
        (("lists", 2, "deep", 1), JsonPlace(5, 21, 5, 25)),
        (("lists", 2), JsonPlace(5, 5, 5, 27)),
    ],
)
def test_a_value_is_where_it_stands(path: JsonPath, place: JsonPlace) -> None:
    assert JsonPlaces(TEXT).nearest(path) == place


def test_what_is_missing_is_where_it_would_be() -> None:
    places = JsonPlaces(TEXT)
    assert places.nearest(("lists", 2, "title")) == places.nearest(("lists", 2))
    assert places.nearest(("title",)) == places.nearest(())


def test_columns_count_as_editors_do() -> None:
    assert JsonPlaces('{"\U0001f600": 1, "a": 2}').nearest(("a",)).column == 11


def walk(value: Any, path: JsonPath = ()) -> Iterator[tuple[JsonPath, Any]]:
    """Yield each value in a document with its path."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else inner:
        yield from walk(each, (*path, key))


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_each_value_can_be_read_at_its_place(value: Any, indent: int | None, plain: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=plain)
    places, lines = JsonPlaces(text), text.split("\n")
    for path, expected in walk(value):
        place = places.nearest(path)
        assert place.line <= place.end_line
        if place.line == place.end_line:
            units = lines[place.line - 1].encode("utf-16-le")
            piece = units[2 * place.column - 2 : 2 * place.end_column - 2].decode("utf-16-le")
            if path and isinstance(path[-1], str):
                assert json.loads(f"{{{piece}}}") == {path[-1]: expected}
            else:
                assert json.loads(piece) == expected


def test_a_text_that_is_no_document_has_the_place_of_its_fault() -> None:
    with pytest.raises(JsonProblem) as caught:
        JsonPlaces('{\n  "a": tru\n}')
    assert place_of_problem(caught.value) == JsonPlace(2, 8, 2, 9)


def test_a_long_document_takes_time_in_proportion() -> None:
    text = json.dumps([{"a": [number]} for number in range(20_000)])
    assert JsonPlaces(text).nearest((19_999, "a", 0)).line == 1
