"""Patches, the order graph and the time line as values: what is drawn, and where."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmch.console.line import printed, visible
from llmch.page.drawings import draw_graph, lay_out
from llmch.page.drawn_patch import Side, draw_patch, parse_patch
from llmch.runs.run_model import OrderView
from tests.llmch.page.runs import PATCH, track

TAG = re.compile("</?b[^>]*>")


def orders(needs: list[set[int]]) -> list[OrderView]:
    return [
        OrderView(f"WO-{n:02d}", f"order {n}", "landed", needs=tuple(f"WO-{m:02d}" for m in each))
        for n, each in enumerate(needs, 1)
    ]


def test_a_patch_is_read_line_by_line() -> None:
    (file,) = parse_patch(PATCH)
    assert (file.path, file.added, file.removed) == ("src/one.py", 2, 1)
    (hunk,) = file.hunks
    assert hunk.heading == "class One:"
    assert [(each.side, each.number, each.text) for each in hunk.lines] == [
        (Side.BOTH, 1, "import os"),
        (Side.OLD, 2, "value = 'old'"),
        (Side.NEW, 2, "value = 'new'"),
        (Side.NEW, 3, "other = 1"),
        (Side.BOTH, 4, "# the end"),
    ]


@pytest.mark.parametrize(
    ("lines", "path", "notes"),
    [
        ('diff --git "a/\\303\\244 b.txt" "b/\\303\\244 b.txt"\nnew file mode 100755',
         "ä b.txt", ["new file, executable"]),
        ("diff --git a/x.bin b/x.bin\nBinary files a/x.bin and b/x.bin differ",
         "x.bin", ["binary: its content is not shown"]),
        ("diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
         "\\ No newline at end of file", "x", ["removed", "no newline at the end"]),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755", "x",
         ["old mode 100644", "new mode 100755"]),
        ("# '../x' is not in this patch: it leads out of the repo", "",
         ["'../x' is not in this patch: it leads out of the repo"]),
    ],
)  # fmt: skip
def test_what_a_patch_says_of_a_file_is_kept(lines: str, path: str, notes: list[str]) -> None:
    (file,) = parse_patch(lines)
    assert (file.path, file.notes) == (path, notes)


def test_lines_that_look_like_heads_of_files_stay_lines() -> None:
    patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n"
    (file,) = parse_patch(patch)
    assert [each.text for each in file.hunks[0].lines] == ["-- old", "++ new", "same"]


@given(st.text(max_size=200))
def test_anything_can_be_read_as_a_patch(text: str) -> None:
    for file in draw_patch(text, 100):
        assert file.left_out >= 0


@given(st.lists(st.text(max_size=30).map(lambda text: "".join(text.splitlines()))))
def test_every_line_of_a_patch_is_drawn_as_it_is(lines: list[str]) -> None:
    body = "".join(f"+{each}\n" for each in lines)
    patch = f"diff --git a/x.py b/x.py\n+++ b/x.py\n@@ -0,0 +1,{len(lines)} @@\n{body}"
    (file,) = draw_patch(patch, 10_000)
    drawn = [str(each.code) for hunk in file.hunks for each in hunk.lines]
    assert [unescape(TAG.sub("", each)) for each in drawn] == list(map(visible, lines))


def test_a_patch_is_cut_at_a_line_and_says_so() -> None:
    (file,) = draw_patch(PATCH, 30)
    assert [len(each.lines) for each in file.hunks] == [2]
    assert (file.left_out, file.added, file.removed) == (3, 2, 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[", "␛["),
        ("a\x00b", "a␀b"),
        ("x\u202ey", "x⟨U+202E⟩y"),
    ],
)
def test_output_is_shown_without_its_colours(text: str, shown: str) -> None:
    assert printed(text) == shown


def test_a_change_is_shown_with_all_its_characters() -> None:
    assert visible("\x1b[31m\u2066\ud800\t") == "␛[31m⟨U+2066⟩⟨U+D800⟩\t"


NEEDS = st.integers(0, 60).flatmap(
    lambda count: st.tuples(*(st.sets(st.integers(1, max(1, n)), max_size=3) for n in range(count)))
)


@pytest.mark.rest
@given(NEEDS)
def test_each_order_has_a_place_of_its_own_below_what_it_needs(needs: tuple[set[int], ...]) -> None:
    listed = orders([{each for each in needed if each < n} for n, needed in enumerate(needs, 1)])
    drawing = draw_graph(listed)
    places = {each.order.id: (each.x, each.y) for each in drawing.nodes}
    assert len(set(places.values())) == len(listed) == len(places)
    for each in drawing.nodes:
        assert 0 <= each.x <= drawing.width - drawing.box_width
        assert 0 <= each.y <= drawing.height - drawing.box_height
    assert len(drawing.edges) == sum(len(each.needs) for each in listed)
    if drawing.layered:
        for edge in drawing.edges:
            assert places[edge.before][1] < places[edge.after][1]


def test_a_long_chain_fills_rows() -> None:
    drawing = draw_graph(orders([set(), *({n} for n in range(1, 200))]))
    assert not drawing.layered
    assert drawing.height < 1500


@pytest.mark.parametrize("count", [1, 40, 41, 200])
def test_bars_stay_within_their_lanes(count: int) -> None:
    line = lay_out([track(number) for number in range(count)])
    assert line.shared == (count > 40)
    assert len(line.ticks) <= 9
    for lane in line.lanes:
        assert all(0 <= bar.left <= bar.left + bar.width <= 100.01 for bar in lane.bars)


def test_orders_that_share_a_lane_do_not_overlap() -> None:
    tracks = [track(number) for number in range(60)]
    ends = {each.order: (each.start, each.end) for each in tracks}
    line = lay_out(tracks)
    assert sorted(name for lane in line.lanes for name in lane.orders) == sorted(ends)
    for lane in line.lanes:
        for before, after in pairwise(lane.orders):
            assert ends[before][1] <= ends[after][0]


def test_no_time_means_no_time_line() -> None:
    assert lay_out([]).lanes == ()
    assert lay_out([replace(track(0), spans=())]).lanes == ()
