"""What is shown of a file that is too large to be shown whole, and how a model asks for more."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import FailureBrief
from factory.orders.model_choice import PastAttempt
from factory.orders.stages import Stage
from factory.proposal.prompt import (
    doubt_about_parts,
    render_parts,
    show_in_parts,
    show_large_in_parts,
    show_more_of,
)
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import (
    Pointers,
    ShownFile,
    WantedPart,
    choose_windows,
    headings_said,
    lines_of,
    merge_lines,
    parse_show_request,
    pointers_of,
    words_of,
)
from shared.languages.capabilities import OutlineEntry
from shared.work_order.parse_order import parse_document, sha256_bytes
from shared.work_order.work_order import WorkOrder
from tests.harness import order

FUNCTIONS = 3000
TEXT = '"""A long module."""\n\nimport os\n\n' + "".join(
    f"def f{n}(x: int) -> int:\n    # {'what this one is for, ' * 3}\n    return x + {n}\n\n\n"
    for n in range(FUNCTIONS)
)


def file(text: str = TEXT, path: str = "big.py") -> ShownFile:
    return ShownFile(path, FileState(FileKind.FILE, sha256_bytes(text.encode())), text)


def work_order(**changes: Any) -> WorkOrder:
    return parse_document(WorkOrder, order(allowed_files=["big.py"], **changes))


def parts(shown: ShownFile) -> str:
    return render_parts(shown)


@pytest.mark.rest
def test_what_the_order_names_is_shown_with_the_head_and_the_outline() -> None:
    (shown,) = show_large_in_parts([file()], work_order(intent="Make `f1234` add 1."), (), 200_000)
    text = parts(shown)
    assert "import os" in text
    assert "return x + 1234\n" in text
    assert "return x + 1300\n" not in text
    assert "5-8" not in text.split("Its outline:")[0]
    assert f"This file has {len(TEXT.splitlines())} lines" in text
    assert len(text.encode()) < 50_000


def test_what_a_failure_names_is_shown_to_the_next_attempt() -> None:
    line = next(n for n, text in enumerate(TEXT.splitlines(), 1) if "x + 2000" in text)
    brief = FailureBrief(
        stage=Stage.VERIFY_FAILED, primary_error_excerpt=f'File "big.py", line {line}, in f'
    )
    past = [PastAttempt(1, 0, None, brief)]
    (shown,) = show_large_in_parts([file()], work_order(), past, 200_000)
    assert "return x + 2000\n" in parts(shown)


def test_small_files_stay_whole_and_the_largest_give_way_first() -> None:
    files = [file("x = 1\n", "small.py"), file(), file("# more\n" * 1000, "middle.py")]
    small, big, middle = show_large_in_parts(files, work_order(), (), 200_000)
    assert (small.parts, middle.parts) == (None, None)
    assert big.parts is not None
    assert big.text == TEXT, "what is edited is the whole file"


def test_a_file_without_a_language_is_shown_around_the_words_that_name_it() -> None:
    text = "".join(f"entry {n} = value\n" for n in range(20_000)) + "special_thing = 3\n"
    data = file(text, "data.csv")
    shown = show_in_parts(data, pointers_of(work_order(changes=["special_thing"]), data, ()))
    assert "special_thing = 3" in parts(shown)


SPIES = "".join(
    f"class Spy{n}:\n    def one(self):\n        return 'one {n}'\n\n    def __iter__(self):\n"
    f"        return iter('{n}')\n\n    def index(self):\n        return 'index {n}'\n\n\n"
    for n in range(200)
)
SPY = "class Spy5:\n    def one(self, index: int): ..."
MODULE = "\n" * 60 + SPIES + "__all__ = ['Spy1']\n\n\ndef one():\n    return 'top'\n"


def windows_for(**changes: Any) -> str:
    shown = show_in_parts(file(MODULE), pointers_of(work_order(**changes), file(MODULE), ()))
    return parts(shown).split("```\nLines ", 1)[1]


@pytest.mark.parametrize(
    ("order_says", "there", "absent"),
    [
        ({"notes": "The one of `Spy7.one` is the index."}, "one 7", "one 8"),
        ({"notes": "Iterate by `__iter__` of Spy9."}, "iter('9')", "iter('10')"),
        ({"intent": "Sort `__all__` by name."}, "__all__ = ", "one 1'"),
        ({"changes": ["Spy3.index"]}, "index 3'", "index 4'"),
        ({"intent": "Count each one by its index."}, "Lines", "'top'"),
        ({"intent": "`big.one` gives more."}, "'top'", "one 5'"),
        (
            {"interfaces": [{"path": "big.py", "stub": SPY}]},
            "one 5'",
            "one 6'",
        ),
    ],
)  # fmt: skip
def test_exactly_what_the_order_names_is_shown_and_nothing_that_shares_a_word(
    order_says: dict[str, Any], there: str, absent: str
) -> None:
    text = windows_for(**order_says)
    assert there in f"Lines {text}"
    assert absent not in text


CHANGES = "# Changes\n\n## Unreleased\n\n- New.\n\n" + "".join(
    f"## 1.{n}\n\n" + "- What is new, and what one should know of it.\n" * 30 + "\n"
    for n in range(60, 0, -1)
)


def test_of_a_changelog_the_top_is_shown_and_the_heading_that_is_named() -> None:
    changelog = file(CHANGES, "CHANGELOG.md")
    order = work_order(intent="Correct the entries of 1.17.")
    (shown,) = show_large_in_parts([changelog], order, (), 200_000, long_in_parts=True)
    text = parts(shown)
    assert "## Unreleased" in text
    assert "## 1.17\n\n- What" in text
    assert "## 1.30" not in text
    assert len(text) < len(CHANGES) / 10
    (whole,) = show_large_in_parts([changelog], order, (), 200_000)
    assert whole.parts is None
    short = file(CHANGES[:9_000], "CHANGELOG.md")
    assert show_large_in_parts([short], order, (), 200_000, long_in_parts=True) == (short,)


LONG_CODE = TEXT[: TEXT.index("def f700(")]


@pytest.mark.parametrize(
    ("order_says", "in_parts"),
    [
        ({"intent": "Make `f600` add 1."}, True),
        ({"intent": "Make `big.f600` add 1."}, True),
        ({"changes": ["f600"]}, True),
        ({"interfaces": [{"path": "big.py", "stub": "def f600(x: int) -> int: ..."}]}, True),
        ({"interfaces": [{"path": "big.py", "stub": "def new(x: int) -> int: ..."}]}, False),
        ({"intent": "Tidy the module up."}, False),
    ],
)
def test_of_long_code_the_definition_is_shown_that_the_order_names(
    order_says: dict[str, Any], in_parts: bool
) -> None:
    assert len(LONG_CODE) < 100_000
    order = work_order(**order_says)
    (shown,) = show_large_in_parts([file(LONG_CODE)], order, (), 200_000, long_in_parts=True)
    assert (shown.parts is not None) is in_parts
    if in_parts:
        assert "return x + 600\n" in parts(shown)
        assert "return x + 500\n" not in parts(shown)
        assert len(parts(shown)) < len(LONG_CODE) / 4
    (whole,) = show_large_in_parts([file(LONG_CODE)], order, (), 200_000)
    assert whole.parts is None, "a reply that may not write parts has to see the whole file"


def test_code_that_a_reply_may_write_whole_is_shown_whole() -> None:
    short = file(TEXT[: TEXT.index("def f190(")])
    order = work_order(intent="Make `f100` add 1.")
    assert show_large_in_parts([short], order, (), 200_000, long_in_parts=True) == (short,)


@pytest.mark.parametrize(
    ("text", "said", "found"),
    [
        ("# One\n## Two\n", "below Two", (2,)),
        ("One\n===\n\nTwo\n---\n", "of two", (4,)),
        ("== Two ==\ntext two\n", "two", (1,)),
        ("# \n#\n# x\n", "x", ()),
        ("", "x", ()),
    ],
)
def test_headings_are_found_by_their_words(text: str, said: str, found: tuple[int, ...]) -> None:
    assert headings_said(text, said) == found


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("show big.py 120-180", [WantedPart("big.py", first=120, last=180)]),
        ("`show big.py 7`\n- show big.py::A.b", [
            WantedPart("big.py", first=7, last=7), WantedPart("big.py", name="A.b")]),
        ("```\nshow a b.py lines 1 to 2\n```", [WantedPart("a b.py", first=1, last=2)]),
        ("<think>hm</think>\nshow big.py:3-4", [WantedPart("big.py", first=3, last=4)]),
        ("show big.py 1-2\nand then\n", []),
        ("show me\n", []),
        ("", []),
        ("show big.py 1-2\n" * 21, []),
        ("<think>never ends", []),
        ("Summary.\n\n```big.py\nshow big.py 1-2\n```", []),
    ],
)  # fmt: skip
def test_a_request_to_see_more_is_read_and_nothing_else_is_taken_for_one(
    reply: str, expected: list[WantedPart]
) -> None:
    assert list(parse_show_request(reply)) == expected


@given(st.text())
def test_any_reply_can_be_looked_at_for_a_request(reply: str) -> None:
    parse_show_request(reply)


def test_more_is_shown_once() -> None:
    shown = show_in_parts(file(), Pointers())
    wanted = (WantedPart("big.py", name="f2500"), WantedPart("big.py", first=5000, last=5005))
    assert doubt_about_parts([shown], wanted).note == "The parts that you asked for are shown now."
    (more,) = show_more_of([shown], wanted)
    text = parts(more)
    assert "return x + 2500\n" in text
    assert "Lines 5000 to 5005:" in text
    assert "To see more" in parts(shown)
    assert "To see more" not in text
    assert "No more of big.py can be shown" in doubt_about_parts([more], wanted).note


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        (WantedPart("other.py", first=1, last=2), "other.py is not a file that is shown in part"),
        (WantedPart("big.py", name="nothing"), "has no definition 'nothing'"),
        (WantedPart("big.py", first=9, last=3), "has no lines 9 to 3"),
        (WantedPart("big.py", first=10**6, last=10**6), "has no lines 1000000"),
        (WantedPart("big.py", first=1, last=5000), "ask for 400 at most"),
    ],
)
def test_what_cannot_be_shown_is_answered_in_words(part: WantedPart, answer: str) -> None:
    shown = show_in_parts(file(), Pointers())
    assert answer in doubt_about_parts([shown], [part]).note
    assert show_more_of([shown], [part])[0].parts == shown.parts


def test_lines_are_read_off_the_forms_in_which_tools_name_them() -> None:
    said = 'a.py:3: error\n  File "a.py", line 7, in f\na.py(9,1): error\nba.pyx:4 b.py:5'
    assert lines_of("a.py", said) == (3, 7, 9)


def test_words_are_whole_names_and_their_parts() -> None:
    assert words_of("call `Game.play_on` of it") >= {"Game.play_on", "Game", "play_on", "call"}


@given(st.sets(st.integers(1, 60)))
def test_windows_hold_exactly_the_lines_that_were_chosen(lines: set[int]) -> None:
    windows = merge_lines(lines)
    assert {n for each in windows for n in range(each.first, each.last + 1)} == lines
    assert all(one.last + 1 < two.first for one, two in pairwise(windows))


@given(
    st.lists(st.sampled_from(["def f():", "x = 1", "", "y" * 50]), max_size=200),
    st.lists(st.tuples(st.integers(1, 250), st.integers(0, 30)), max_size=5),
    st.lists(st.integers(-5, 10**6), max_size=4),
    st.integers(0, 3000),
)
def test_windows_lie_in_the_file_and_within_the_room(
    lines: list[str], entries: list[tuple[int, int]], named: list[int], room: int
) -> None:
    text = "\n".join(lines)
    outline = [
        OutlineEntry(f"f{n}", first, first + more) for n, (first, more) in enumerate(entries)
    ]
    pointers = Pointers(names=frozenset({"f0", "f2"}), lines=tuple(named))
    windows = choose_windows(text, outline, pointers, room)
    shown = text.splitlines(keepends=True)
    assert windows == tuple(sorted(windows))
    assert all(1 <= each.first <= each.last <= len(shown) for each in windows)
    taken = sum(
        len(line.encode()) for each in windows for line in shown[each.first - 1 : each.last]
    )
    assert taken <= room
