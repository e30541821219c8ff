"""Bytes into documents: server-sent events however they are cut, and bodies that are none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.llm.model_client import ReplyBroken
from shared.llm.reply_bodies import (
    HttpReply,
    NotJson,
    iter_documents,
    iter_event_data,
    read_document,
)

documents = st.lists(
    st.dictionaries(st.text(max_size=4), st.text() | st.integers(), max_size=3), max_size=4
)


def reply(body: bytes, media_type: str = "application/json") -> HttpReply:
    return HttpReply(media_type, iter([body]))


@given(documents, st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_events_survive_any_cut_and_any_line_end(
    sent: list[dict[str, object]], end: str, data: st.DataObject
) -> None:
    text = "".join(f"event: x{end}data: {json.dumps(each)}{end}{end}" for each in sent)
    body = f": a comment{end}{text}data: [DONE]{end}{end}data: late{end}{end}".encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert list(iter_documents(HttpReply("text/event-stream", iter(chunks)))) == sent


def test_data_over_several_lines_is_one_document() -> None:
    assert list(iter_event_data([b"data: {\ndata:  1}\n\n"])) == ["{\n 1}"]


def test_an_event_without_its_end_does_not_count() -> None:
    assert list(iter_event_data([b"data: 1\n\ndata: 2\n"])) == ["1"]


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_no_bytes_break_the_reading_of_events(chunks: list[bytes]) -> None:
    for data in iter_event_data(chunks):
        assert isinstance(data, str)


@pytest.mark.parametrize(
    ("body", "media_type", "what"),
    [
        (b"<!DOCTYPE html>", "application/json", "an HTML page"),
        (b"  <html>", "text/plain", "an HTML page"),
        (b"Welcome", "text/html", "an HTML page"),
        (b"Welcome", "text/plain", "something other than JSON"),
        (b"3", "application/json", "JSON that is not an object"),
    ],
)
def test_another_kind_of_server_is_recognised(body: bytes, media_type: str, what: str) -> None:
    with pytest.raises(NotJson) as caught:
        read_document(reply(body, media_type))
    assert caught.value.what == what


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"", "empty"), (b" ", "empty"), (b'{"a', "damaged"), (b"[" * 10**5, "damaged")],
)
def test_a_damaged_body_is_a_broken_reply(body: bytes, words: str) -> None:
    with pytest.raises(ReplyBroken, match=words):
        read_document(reply(body))


@pytest.mark.parametrize("event", [b"data: {\n\n", b"data: 3\n\n", b"data: \xff\n\n"])
def test_a_damaged_event_is_a_broken_reply(event: bytes) -> None:
    with pytest.raises(ReplyBroken, match="chunk"):
        list(iter_documents(reply(event, "text/event-stream")))
