from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.files.strict_documents import FieldPath, at

PARTS = st.lists(st.integers(0, 10**6) | st.text("abc_", min_size=1, max_size=3), max_size=4)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (at(), ""),
        (at("id"), "id"),
        (at("preconditions", 0, "path"), "preconditions[0].path"),
        (at("verify_contract").below("requires", 12), "verify_contract.requires[12]"),
    ],
)
def test_a_path_is_spelled_with_dots_and_brackets(path: FieldPath, text: str) -> None:
    assert str(path) == text
    assert bool(path) is bool(text)


@given(PARTS, PARTS)
def test_equal_paths_are_spelled_alike_and_no_others(
    one: list[int | str], other: list[int | str]
) -> None:
    first, second = at("x", *one), at("x", *other)
    assert (first == second) is (str(first) == str(second))


@given(st.lists(PARTS, max_size=8))
def test_paths_of_any_kind_can_be_sorted(paths: list[list[int | str]]) -> None:
    ordered = sorted((at(*each) for each in paths), key=FieldPath.sort_key)
    backwards = ordered[::-1]
    backwards.sort(key=FieldPath.sort_key)
    assert backwards == ordered


def test_indexes_are_sorted_by_number_and_a_list_before_what_it_holds() -> None:
    paths = [at("b"), at("a", 10), at("a", 9, "x"), at("a", 9), at("a"), at()]
    assert [str(each) for each in sorted(paths, key=FieldPath.sort_key)] == [
        *("", "a", "a[9]", "a[9].x", "a[10]", "b"),
    ]
