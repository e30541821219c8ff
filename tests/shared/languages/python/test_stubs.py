from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.languages.planned_code import TextFault
from shared.languages.python.stubs import parse_stub


def problem(text: str) -> TextFault:
    found = parse_stub(text)
    assert isinstance(found, TextFault)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "def f() -> int: ...",
        "```\ndef f() -> int: ...\n```",
        "```python\ndef f() -> int: ...\n```\n",
        "\n\n  ```pyi\ndef f() -> int: ...\n  ```  \n",
        "~~~\ndef f() -> int: ...\n~~~",
        "````python\ndef f() -> int: ...\n````",
    ],
)
def test_a_stub_may_stand_in_a_fence(text: str) -> None:
    found = parse_stub(text)
    assert isinstance(found, ast.Module)
    assert ast.unparse(found) == "def f() -> int:\n    ..."


def test_a_stub_of_nothing_is_one() -> None:
    assert isinstance(parse_stub(""), ast.Module)


@pytest.mark.parametrize("text", ["x: int\ndef f(:\n", "```\ndef f(:\n```", "\n```\ndef f(:\n```"])
def test_a_problem_names_the_line_of_the_text_as_it_was_given(text: str) -> None:
    found = problem(text)
    assert text.splitlines()[found.line - 1] == found.excerpt == "def f(:"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x: int\0", "NUL"),
        ("x: " + "list[" * 80 + "int" + "]" * 80, "nested too deep"),
        ("x = " + "-" * 5000 + "1", "nested too deep"),
        ("# " + "x" * 200_000, "over 102400 bytes"),
    ],
)
def test_what_no_checker_could_read_is_a_problem_too(text: str, why: str) -> None:
    assert why in problem(text).message


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("`~ \npy(:def x=\"'\\\t"), max_size=40) | st.text(max_size=20)
)
def test_any_text_is_a_stub_or_has_a_problem(text: str) -> None:
    found = parse_stub(text)
    if isinstance(found, TextFault):
        assert found.message
        assert 0 <= found.line <= text.count("\n") + 2
