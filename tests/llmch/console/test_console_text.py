"""What models and commands write reaches no terminal as anything but text."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmch.console import Color, Format, Verbosity, open_console
from llmch.console.document import Conclusion, Paragraph, Rows
from llmch.console.line import cell_width, clean, cost, count, duration, listed, shorten, ticking
from llmch.console.render import render_table
from shared.events.events import (
    AttemptFailed,
    Channel,
    CommandEnded,
    ModelTextArrived,
    Warned,
    WritesApplied,
)
from tests.llmch.answers import Answer

HOSTILE = [
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b]0;title\x07text", "text"),
    ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
    ("\x1bPq#0;2;0\x1b\\sixel", "sixel"),
    ("\x9b31mC1\x9d0;x\x9c", "C1"),
    ("\x1b]unfinished", "unfinished"),
    ("\x1b\x1b[0m[31mtwice", "[31mtwice"),
    ("\x1bcreset", "reset"),
    ("a\x08\x08b\x07", "ab"),
    ("one\rtwo\r\nthree", "one\ntwo\nthree"),
    ("a\x0bb\x0cc\x85d\u2028e", "a\nb\nc\nd\ne"),
    ("abc\u202edef\u2066ghi\u200b\ufeff", "abcdefghi"),
    ("tag\U000e0041", "tag"),
    ("a\tb", "a   b"),
    ("plain [bold]markup[/] :smile:", "plain [bold]markup[/] :smile:"),
    ("naïve 漢字 🎉", "naïve 漢字 🎉"),
]

ANY_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(list("\x1b\x9b\x9d\x90[]();\\mHJ\x07\r\n\t\u202e\u2028\u200d")),
    )
)


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_only_what_can_be_read_is_left(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(ANY_TEXT)
def test_no_control_character_survives(text: str) -> None:
    shown = clean(text)
    assert not [c for c in shown if c != "\n" and unicodedata.category(c) == "Cc"]
    assert not set(shown) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
    )
    assert clean(shown) == shown


def test_cleaning_takes_time_in_proportion_to_the_text() -> None:
    # Each of these made some pattern look ahead to the end of the text from every character.
    for unit in ("\x1b]", "\x9d", "\x1b[1", "\x9b;", "\x1bP\x1b"):
        clean(unit * 200_000)


@settings(max_examples=100)
@given(ANY_TEXT, ANY_TEXT)
def test_whatever_an_event_holds_lines_stay_lines(one: str, two: str) -> None:
    out = io.StringIO()
    with open_console(
        verbosity=Verbosity.VERBOSE, color=Color.AUTO, output=Format.TEXT, stdout=out, stderr=None,
        environ={},
    ) as console:  # fmt: skip
        console(Warned(one))
        console(WritesApplied(one, 1, (one, two), two))
        console(CommandEnded(two, one, two, 1, 0.1, one))
    lines = out.getvalue().split("\n")
    assert len(lines) == 4
    assert [line[0] for line in lines[:3]] in (["!", "✓", "✓"], ["!", "✓", "✗"])
    assert [clean(line) for line in lines] == lines


def test_an_escape_sequence_in_two_pieces_is_still_taken_out() -> None:
    out = io.StringIO()
    with open_console(
        verbosity=Verbosity.VERBOSE, color=Color.AUTO, output=Format.TEXT, stdout=out, stderr=None,
        environ={},
    ) as console:  # fmt: skip
        console(ModelTextArrived(Channel.REASONING, "a\x1b[3"))
        console(ModelTextArrived(Channel.REASONING, "1mb\n"))
    assert out.getvalue() == "    │ ab\n"


@pytest.mark.parametrize("secret", ["hunter2hunter2", "with\ttab", "s3cr\x1b[0met", "of\n2 lines"])
@pytest.mark.parametrize("output", Format)
def test_a_secret_is_masked_wherever_it_turns_up(secret: str, output: Format) -> None:
    out, err = io.StringIO(), io.StringIO()
    with open_console(
        verbosity=Verbosity.VERBOSE, color=Color.AUTO, output=output, stdout=out, stderr=err,
        environ={}, mask=lambda text: text.replace(secret, "***"),
    ) as console:  # fmt: skip
        console(Warned(f"key {secret}"))
        console(AttemptFailed("WO-01", 1, "s", f"c {secret}", 1, f"x\n{secret}\n", secret))
        if "\n" not in secret:  # reasoning is told line by line while it comes
            console(ModelTextArrived(Channel.REASONING, secret[:5]))
            console(ModelTextArrived(Channel.REASONING, f"{secret[5:]}\n"))
        console.say(Paragraph((f"said {secret}",)), Rows(((secret, "b"),)))
        shown = Conclusion("plan", secret, ok=True)
        console.show(Answer({"a": [secret, {secret: (secret,)}]}, shown))
        console.error(secret, secret, 1, "FAILED")
    everything = (out.getvalue() + err.getvalue()).replace("\\*", "*")
    assert everything.count("***") >= 9
    for form in (secret, clean(secret), json.dumps(secret)[1:-1]):
        assert form not in everything


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0s"), (-1, "0.0s"), (3.21, "3.2s"), (59.94, "59.9s"), (59.96, "1m00s"),
     (65, "1m05s"), (3599.7, "1h00m"), (7380, "2h03m")],
)  # fmt: skip
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.9, "0s"), (12.9, "12s"), (65.9, "1m05s")])
def test_running_times_tick_by_the_second(seconds: float, text: str) -> None:
    assert ticking(seconds) == text


def test_figures_read_as_words() -> None:
    assert [count(1, "file"), count(2000, "file")] == ["1 file", "2,000 files"]
    assert [cost(None), cost(0.0123), cost(1234.5)] == ["cost unknown", "$0.0123", "$1,234.50"]
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert [shorten("abcdef", 6), shorten("abcdefg", 6)] == ["abcdef", "abc..."]


def test_columns_are_aligned_by_what_is_seen() -> None:
    assert cell_width("漢字e\u0301") == 5
    assert render_table([("check", "result"), ("git", "漢字"), ("bubblewrap", "ok\n")]) == [
        "check       result",
        "git         漢字",
        "bubblewrap  ok",
    ]
    assert render_table([]) == []
