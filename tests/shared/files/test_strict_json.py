from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.files.strict_documents import MAX_DEPTH, MAX_DOCUMENT_BYTES, JsonProblem, parse_json

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON_VALUES, st.booleans())
def test_ordinary_json_reads_as_json_does(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == parse_json(text.encode()) == value


@given(st.text(alphabet='{}[]":,\\ud8019eE.-+NaInfity \n', max_size=40))
@example("NaN0,-")
@example('{"a": NaN, "\\x": 1, "\\ud8')
@example("[1e999, 1e, --, 1.2.3")
def test_any_text_is_a_value_or_a_problem(text: str) -> None:
    try:
        parse_json(text)
    except JsonProblem as problem:
        assert str(problem)


@pytest.mark.parametrize(
    ("text", "words", "line", "column"),
    [
        ('{"a": 1,\n "a": 2}', 'the key "a" stands twice', 2, 2),
        ('{"b": {"a": 1}, "a": 2, "\\u0061": 3}', "stands twice", 1, 25),
        ("[1, NaN]", "NaN", 1, 5),
        ("[-Infinity]", "Infinity", 1, 2),
        ("[1e999]", "too large", 1, 2),
        ("[\n" + "9" * 5000 + "]", "too large", 2, 1),
        ('["\\ud83d"]', "surrogate", 1, 3),
        ('["\\ude00\\ud83d"]', "surrogate", 1, 3),
        ('"\ud800"', "surrogate", 1, 2),
        ("[" * 100_000, "nested", 1, MAX_DEPTH + 1),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested", 1, MAX_DEPTH + 1),
        ("", "not JSON", 1, 1),
        ("{'a': 1}", "not JSON", 1, 2),
        ("1 2", "not JSON", 1, 3),
    ],
)
def test_what_readers_do_not_agree_on_is_refused_with_its_place(
    text: str, words: str, line: int, column: int
) -> None:
    with pytest.raises(JsonProblem, match=words) as caught:
        parse_json(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(JsonProblem, match="UTF-8: byte 1 is 0xff"):
        parse_json(b'"\xff"')


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse_json(b"\xef\xbb\xbf{}") == {}


def test_a_document_over_the_limit_is_refused_unread() -> None:
    with pytest.raises(JsonProblem, match="over 10 MB"):
        parse_json(" " * MAX_DOCUMENT_BYTES + "1")


def test_the_deepest_permitted_nesting_passes() -> None:
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)


def test_escapes_that_only_resemble_a_fault_pass() -> None:
    assert parse_json('["\\ud83d\\ude00", "\\\\ud83d", {"a": "a", "b": ["a"]}]')


def test_a_long_number_passes_beside_a_surrogate_pair() -> None:
    assert parse_json('["\\ud83d\\ude00", ' + "9" * 400 + "]")
