"""A person's hint: checked, free of secrets, and shown as the person's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.task import MAX_HINT_CHARACTERS
from factory.proposal.prompt_parts import parse_hint, parse_reason, render_hint
from shared.errors import InvalidInput


@given(st.text(max_size=80))
def test_a_hint_is_text_or_refused(text: str) -> None:
    try:
        hint = parse_hint(text, ())
    except InvalidInput as refusal:
        assert "is not text" in refusal.message
    else:
        hint.encode()
        assert hint == hint.strip() and "\x1b" not in hint


@given(st.text(alphabet="`~a\n", min_size=1, max_size=60))
def test_no_hint_ends_its_own_section(text: str) -> None:
    lines = render_hint(text).split("\n")
    fence = lines[2]
    assert lines.index(fence, 3) == len(lines) - 1
    assert "\n".join(lines[3:-1]) == text


def test_a_secret_is_masked() -> None:
    assert parse_hint("use hunter2hunter2", ["hunter2hunter2"]) == "use [redacted]"


def test_a_hint_of_the_limit_is_taken() -> None:
    assert len(parse_hint("x" * MAX_HINT_CHARACTERS, ())) == MAX_HINT_CHARACTERS
    with pytest.raises(InvalidInput, match="over the limit of 4,000"):
        parse_hint("x" * (MAX_HINT_CHARACTERS + 1), ())


def test_a_reason_is_one_line() -> None:
    assert parse_reason(" not\n\twanted ", ()) == "not wanted"
    with pytest.raises(InvalidInput, match="is empty"):
        parse_reason("\n", ())
