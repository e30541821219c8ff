"""The header of a block says which file it is about, and which part of it the block holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import Form
from factory.proposal.reply_formats import Header, read_header, render_header

DEFINITION, SEARCH = Form.DEFINITION, Form.SEARCH


@pytest.mark.parametrize(
    ("info", "header"),
    [
        ("a.py", Header("a.py")),
        ("", Header(None)),
        ("python", Header(None)),
        ("a.py::f", Header("a.py", DEFINITION, "f")),
        ("python a.py::Class.method", Header("a.py", DEFINITION, "Class.method")),
        ("python:a.py::f", Header("a.py", DEFINITION, "f")),
        ("file=a.py::f()", Header("a.py", DEFINITION, "f()")),
        ('"a b.py"::f', Header("a b.py", DEFINITION, "f")),
        ("::f", Header(None, DEFINITION, "f")),
        ("edit a.py", Header("a.py", SEARCH)),
        ("Edit: a.py", Header("a.py", SEARCH)),
        ("python edit a.py", Header("a.py", SEARCH)),
        ('edit "a b.py"', Header("a b.py", SEARCH)),
        ("edit a.py::f", Header("a.py", DEFINITION, "f")),
        ("edit", Header(None, SEARCH)),
        ("editor.py", Header("editor.py")),
        ('"edit a.py"', Header("edit a.py")),
    ],
)
def test_a_header_is_read_whichever_was_asked_for(info: str, header: Header) -> None:
    assert read_header(info) == header
    assert read_header(info, ["a.py", "b.py"]) == header


def test_an_allowed_path_decides() -> None:
    assert read_header("edit a.py", ["edit a.py"]) == Header("edit a.py")
    assert read_header("a::b.py", ["a::b.py"]) == Header("a::b.py")


paths = st.sampled_from(["a.py", "edit", "edit a", "a::b", "::", '"', "md", "`"]) | st.text(
    min_size=1, max_size=9
)
names = st.sampled_from(["f", "A.f", "A.B.f"])


@given(
    st.builds(Header, paths)
    | st.builds(Header, paths, st.just(DEFINITION), names)
    | st.builds(Header, paths, st.just(SEARCH))
)
def test_what_is_rendered_reads_as_the_very_same_header(header: Header) -> None:
    text = render_header(header)
    assert "`" not in text and "\n" not in text
    assert read_header(text.strip()) == header
