"""Each file is asked for in the form that its size and the model make the surest."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import MAX_WRITE_BYTES, Form, Offer, ReplyFormat, WritableFile
from factory.orders.model_choice import choose_form, choose_offer
from shared.llm.model_access import parameters_of

WHOLE, DEFINITION, SEARCH = Form.WHOLE, Form.DEFINITION, Form.SEARCH
JSON, FILES, EDITS = ReplyFormat.JSON, ReplyFormat.FILES, ReplyFormat.EDITS


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", 1.5),
        ("Qwen/Qwen2.5-Coder-32B-Instruct", 32.0),
        ("llama3.1:70b", 70.0),
        ("mixtral-8x7b", 56.0),
        ("smollm2-360m", 0.36),
        ("gpt-5.2", None),
        ("claude-sonnet-4-5", None),
        ("model-v2b", None),
        ("", None),
    ],
)
def test_the_size_of_a_model_is_read_from_its_name(model: str, size: float | None) -> None:
    assert parameters_of(model) == size


@pytest.mark.parametrize(
    ("lines", "outline", "size", "failed", "form"),
    [
        (0, True, 1.5, (), WHOLE),
        (150, True, None, (), WHOLE),
        (151, True, 1.5, (), DEFINITION),
        (151, False, 1.5, (), WHOLE),
        (1001, False, 1.5, (), SEARCH),
        (151, True, 70.0, (), SEARCH),
        (151, True, None, (), SEARCH),
        (400, True, 1.5, (DEFINITION,), WHOLE),
        (4000, True, 1.5, (DEFINITION,), SEARCH),
        (400, True, None, (SEARCH,), DEFINITION),
        (400, False, None, (SEARCH,), WHOLE),
        (400, True, None, (SEARCH, DEFINITION), WHOLE),
        (4000, False, None, (SEARCH,), SEARCH),
    ],
)
def test_the_form_follows_size_model_and_what_failed(
    lines: int, outline: bool, size: float | None, failed: Collection[Form], form: Form
) -> None:
    assert choose_form(WritableFile("a", lines, lines * 30, outline), size, failed) is form


def test_definitions_that_the_order_names_are_asked_for_from_any_model() -> None:
    named = WritableFile("a.py", 400, 9000, has_outline=True, is_named=True)
    assert choose_form(named, None) is DEFINITION


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("lines", [80, 400])
def test_a_small_model_is_asked_for_the_one_definition_that_changes(
    lines: int, in_parts: bool
) -> None:
    focused = WritableFile("a.py", lines, lines * 30, has_outline=True, has_focus=True)
    assert choose_form(focused, 1.5, in_parts=in_parts) is DEFINITION
    assert choose_form(focused, 1.5, [DEFINITION], in_parts=in_parts) is WHOLE


def test_a_larger_model_writes_the_short_file_whole_all_the_same() -> None:
    focused = WritableFile("a.py", 80, 2400, has_outline=True, has_focus=True)
    assert [choose_form(focused, size) for size in (3.0, 70.0, None)] == [WHOLE] * 3


@given(
    st.builds(
        WritableFile, st.just("a"), st.integers(0, 9999), st.integers(0, 2**21), st.booleans()
    ),
    st.none() | st.floats(0.1, 500),
    st.frozensets(st.sampled_from(Form)),
    st.booleans(),
)
def test_a_form_that_cannot_be_is_never_asked_for(
    file: WritableFile, size: float | None, failed: frozenset[Form], in_parts: bool
) -> None:
    form = choose_form(file, size, failed, in_parts=in_parts)
    assert form is not DEFINITION or file.has_outline
    assert form is not WHOLE or file.lines == 0 or file.size <= MAX_WRITE_BYTES
    assert file.lines or form is WHOLE


SHORT = WritableFile("short.py", 20, 500, has_outline=True)
LONG = WritableFile("long.py", 500, 9000, has_outline=True)


@pytest.mark.parametrize(
    ("asked", "forced", "files", "offer"),
    [
        (JSON, None, [SHORT], Offer(JSON)),
        (FILES, None, [SHORT], Offer(FILES)),
        (JSON, None, [SHORT, LONG], Offer(EDITS, {"short.py": WHOLE, "long.py": SEARCH})),
        (JSON, JSON, [LONG], Offer(JSON)),
        (FILES, FILES, [LONG], Offer(FILES)),
        (EDITS, EDITS, [SHORT], Offer(EDITS, {"short.py": SEARCH})),
    ],
)
def test_edits_are_offered_where_a_file_is_better_changed_in_parts(
    asked: ReplyFormat, forced: ReplyFormat | None, files: list[WritableFile], offer: Offer
) -> None:
    assert choose_offer(asked, forced, files, "gpt-5.2", {}) == offer


def test_what_failed_for_a_file_counts_for_this_file_alone() -> None:
    other = WritableFile("other.py", 500, 9000, has_outline=True)
    offer = choose_offer(FILES, None, [LONG, other], "qwen-1.5b", {"long.py": [DEFINITION]})
    assert offer.forms == {"long.py": WHOLE, "other.py": DEFINITION}
