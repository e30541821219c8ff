"""A search text is found exactly, else up to white space, and nothing is found beyond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.proposal.match_text import FileText, Found, NotFound, Placed, apply_splices, find_lines
from shared.languages.capabilities import Splice


def replaced(text: str, search: str, new: str) -> tuple[str, str] | tuple[int, ...]:
    """Return the new text and the repair, or the lines of the places found."""
    found = find_lines(FileText(text), search, new)
    if isinstance(found, NotFound):
        return found.lines
    return apply_splices(text, [Placed(0, found.splice)]), found.repair


INDENTED = "the indentation was shifted to the file's"
BLANKS = "blanks at the ends of lines were passed over"
ENDS = "the line ends are the file's"


@pytest.mark.parametrize(
    ("text", "search", "new", "result"),
    [
        ("a\nb\nc\n", "b\n", "x\ny\n", ("a\nx\ny\nc\n", "")),
        ("a\nb\nc\n", "b\n", "", ("a\nc\n", "")),
        ("a\nb", "b\n", "x\n", ("a\nx", "")),
        ("a\r\nb\r\n", "b\n", "x\ny\n", ("a\r\nx\r\ny\r\n", ENDS)),
        ("a\nb\n", "b\r\n", "x\r\n", ("a\nx\n", ENDS)),
        ("a\r\nb", "a\nb\n", "x\ny\n", ("x\r\ny", ENDS)),
        ("a  \nb\n", "a\nb\t\n", "x\n", ("x\n", BLANKS)),
        ("if a:\n    b\n    c\n", "b\nc\n", "x\n\n  y\n", ("if a:\n    x\n\n      y\n", INDENTED)),
        ("if a:\n\tb\n", "b\n", "x\n", ("if a:\n\tx\n", INDENTED)),
        ("a\nb\n", "  a\n  b\n", "  x\n", ("x\nb\n".replace("b\n", ""), INDENTED)),
        # An exact match decides, whatever else matches up to white space.
        ("a\n  a\n", "a\n", "x\n", ("x\n  a\n", "")),
        # Several matches, at whichever degree, are several.
        ("a\nb\na\n", "a\n", "x\n", (1, 3)),
        ("a\na\na\n", "a\na\n", "x\n", (1, 2)),
        ("  a\n    a\n", "a\n", "x\n", (1, 2)),
        # A part of a line, another indentation within, and too little to shift back match nothing.
        ("abc\n", "b\n", "x\n", ()),
        ("if a:\n    b\n", "if a:\n  b\n", "x\n", ()),
        ("a\nb\n", "  a\n", "x\n", ()),
        ("a\n", "a\nb\n", "x\n", ()),
    ],
)
def test_lines_are_found_up_to_white_space_and_only_once(
    text: str, search: str, new: str, result: tuple[str, str] | tuple[int, ...]
) -> None:
    assert replaced(text, search, new) == result


lines = st.lists(st.sampled_from(["a", "b", "  a", "\ta", "", "a b", "}"]), min_size=1, max_size=8)


@given(lines, st.data(), lines, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_an_edit_is_what_replacing_the_lines_of_a_list_gives(
    file: list[str], data: st.DataObject, new: list[str], newline: str, final: bool
) -> None:
    start = data.draw(st.integers(0, len(file) - 1))
    end = data.draw(st.integers(start + 1, len(file)))
    sought = file[start:end]
    places = [n for n in range(len(file)) if file[n : n + len(sought)] == sought]
    final = final or not file[-1]
    newline = newline if final or len(file) > 1 else "\n"  # a file of one open line has none
    text = ended(file, newline, final)
    if not "".join(sought).strip():
        return
    found = replaced(text, ended(sought), ended(new))
    if len(places) > 1:
        assert found == tuple(place + 1 for place in places)
    else:
        result = [*file[:start], *new, *file[end:]]
        repair = ENDS if "\r" in newline else ""
        assert found == (ended(result, newline, text.endswith(newline)), repair)


def ended(lines: list[str], newline: str = "\n", final: bool = True) -> str:
    """Return a text of these lines."""
    text = "".join(f"{line}{newline}" for line in lines)
    return text if final else text.removesuffix(newline)


@given(st.text(alphabet="ab \t\r\n", max_size=30), st.text(alphabet="ab \t\r\n", max_size=12))
def test_what_is_found_is_the_search_text_up_to_white_space(text: str, search: str) -> None:
    if not search.strip():
        return
    found = find_lines(FileText(text), search, "x\n")
    if isinstance(found, Found):
        there = text[found.splice.start : found.splice.end]
        assert stripped(there) == stripped(search)


def stripped(text: str) -> list[str]:
    lines = text.split("\n")
    return [line.strip() for line in (lines if lines[-1] else lines[:-1])]


def test_the_nearest_lines_are_those_most_alike() -> None:
    text = "".join(f"def f{n}(x):\n    return x + {n}\n\n" for n in range(500))
    near = FileText(text).nearest("def f321(y):\n    return x + 321\n")
    assert near.line == 963
    assert "return x + 321" in near.text
    assert "def f42(x)" in FileText(text).nearest("def f42(x, y) -> int:\n").text
    assert FileText("a\n").nearest("???\n").text == ""


def test_an_import_that_two_blocks_bring_is_inserted_once() -> None:
    imported = Splice(0, 0, "import os\n", depth=1)
    ends = [Splice(4, 4, "a\n"), Splice(4, 4, "a\n")]
    placed = [Placed(0, imported), Placed(0, ends[0]), Placed(1, imported), Placed(1, ends[1])]
    assert apply_splices("old\n", placed) == "import os\nold\na\na\n"
