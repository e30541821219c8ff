from __future__ import annotations

import shlex

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.processes.shell_words import UnsplittableError, split_words

LINES = st.text(alphabet="ab \t\r\n'\"\\;|&<>#$\x0b\xa0é", max_size=25) | st.text(max_size=25)


@settings(max_examples=200)
@given(LINES)
@example("a'b'\"c\"\\d e")
@example('"a\\b\\"c\\\\"')
@example("''")
@example('a\\\nb "c\\\nd"')
@example("'a\\'")
def test_the_words_are_those_of_shlex(line: str) -> None:
    try:
        expected = shlex.split(line)
    except ValueError:
        with pytest.raises(UnsplittableError):
            split_words(line)
    else:
        assert list(split_words(line).texts) == expected


@given(st.text(alphabet="ab |&;<>=-/\t", max_size=15))
def test_outside_quotes_every_operator_is_one(line: str) -> None:
    assert bool(split_words(line).operator) is any(each in line for each in "|&;<>")


@given(st.text(alphabet="ab |&;<>", max_size=15))
def test_within_quotes_no_operator_is_one(line: str) -> None:
    escaped = "".join(f"\\{each}" for each in line)
    for quoted in (f"'{line}'", f'"{line}"', f"a'{line}'", escaped):
        assert split_words(quoted).operator is None


@pytest.mark.parametrize(
    ("line", "operator"),
    [
        ("a && b", "&&"),
        ("a||b", "||"),
        ("a;", ";"),
        ("a 2>&1", "2>&1"),
        ("a >> b", ">>"),
        ("a &", "&"),
        ("a|b", "|"),
        ("'a'&'b'", "&"),
        ("a 'b;c' d", None),
        ('a "b|c"', None),
        (r"a \; \| \>", None),
        ('a "b\\"|c"', None),
        ("a", None),
    ],
)
def test_the_first_operator_outside_quotes_is_told(line: str, operator: str | None) -> None:
    assert split_words(line).operator == operator


def test_it_is_told_which_words_were_quoted() -> None:
    assert split_words("a 'b' c\"d\" e\\ f").quoted == (False, True, True, True)


@pytest.mark.parametrize("line", ["a 'b", 'a "b', "a\\", 'a "b\\"'])
def test_an_open_quote_or_escape_is_no_line(line: str) -> None:
    with pytest.raises(UnsplittableError, match=r"unbalanced|backslash"):
        split_words(line)


def test_a_long_line_of_anything_is_split_without_delay() -> None:
    for piece in ("a", '"', "'", "\\", "' ", '"\\', "a ", ";"):
        line = piece * (300_000 // len(piece))
        try:
            split_words(line)
        except UnsplittableError:
            continue
