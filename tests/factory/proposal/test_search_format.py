"""Search texts are read as they were rendered, and what could be read in two ways is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.proposal.edit_blocks import Change, holds_changes, parse_changes, render_changes
from factory.proposal.reply_formats import parse_files_reply
from shared.llm.model_client import ReplyMalformed

texts = st.lists(
    st.sampled_from(["=======", "<<<<<<< SEARCH", ">>>>>>> REPLACE", "========", "a", "", "\r"])
    | st.text(alphabet="<=> aB\r", max_size=9),
    max_size=4,
).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(st.lists(st.builds(Change, texts, texts), min_size=1, max_size=3))
def test_what_is_rendered_parses_to_the_very_same_texts(changes: list[Change]) -> None:
    content = render_changes(changes)
    assert parse_changes(content) == tuple(changes)
    assert holds_changes(content)


@pytest.mark.parametrize(
    "content",
    [
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
        "\n<<<<<<<SEARCH \na\n======\nb\n>>>>> replace\n",
        "<<<<<<< SEARCH\r\na\n=======\r\nb\n>>>>>>> REPLACE\r\n",
        "<<<<<<<< SEARCH\na\n========\nb\n>>>>>>>> REPLACE\n",
    ],
)
def test_signs_may_be_of_another_number(content: str) -> None:
    assert parse_changes(content) == (Change("a\n", "b\n"),)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no line `<<<<<<< SEARCH`"),
        ("a\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "`a` stands outside"),
        ("<<<<<<< SEARCH\na\n=======\nb\n", "never closed"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "not divided"),
        ("<<<<<<< SEARCH\nT\n=======\n=======\nb\n>>>>>>> REPLACE\n", "more signs"),
    ],
)
def test_what_cannot_be_read_in_one_way_is_refused(content: str, reason: str) -> None:
    with pytest.raises(ReplyMalformed, match=reason):
        parse_changes(content)


@given(st.text(alphabet="<=> SEARCHREPLACE\n\r", max_size=80))
def test_no_text_ends_in_anything_but_changes_or_a_reason(text: str) -> None:
    try:
        assert parse_changes(text)
    except ReplyMalformed as refused:
        assert refused.reason


CHANGE = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    ("reply", "paths"),
    [
        (f"m.py\n{CHANGE}", ["m.py"]),
        (f"I change one line.\n\nm.py\n{CHANGE}\n{CHANGE}", ["m.py"]),
        (f"**m.py**\n{CHANGE}\nn.py\n{CHANGE}and that is it", ["m.py", "n.py"]),
        (CHANGE.replace("\n", "\r\n"), ["m.py"]),
    ],
)
def test_search_texts_count_without_fences(reply: str, paths: list[str]) -> None:
    allowed = ["m.py"] if len(paths) == 1 else ["m.py", "n.py"]
    found = parse_files_reply(reply, allowed)
    assert [each.path for each in found.files] == paths
    changes = [change for each in found.files for change in parse_changes(each.content)]
    assert len(changes) == reply.count("SEARCH")
    assert found.repairs[0] == "search texts came without fences"
    assert found.summary == ("I change one line." if "one line" in reply else "")


def test_search_texts_without_fences_and_without_a_path_are_refused_where_two_are_allowed() -> None:
    with pytest.raises(ReplyMalformed, match="names no file"):
        parse_files_reply(CHANGE, ["m.py", "n.py"])


def test_many_openings_without_an_end_are_read_once() -> None:
    with pytest.raises(ReplyMalformed, match="no fenced block"):
        parse_files_reply("<<<<<<< SEARCH\n" * 20_000, ["m.py"])
