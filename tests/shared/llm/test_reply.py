"""One JSON object out of whatever a model writes around it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.llm.model_client import (
    ReplyMalformed,
    extract_json_array,
    extract_json_object,
    strip_reasoning,
)

MEGABYTE = 1_000_000
OBJECT = '{"a": {"b": ["}", "\\"{", "```", "</think>"]}}'

json_objects = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=10,
    ),
    max_size=4,
)


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "\n\n  {}  \n",
        "```json\n{}\n```",
        "```\n{}\n```\n",
        "Here you are:\n```json\n{}\n```\nAnything else?",
        "Sure! {} That's it.",
        "Fill in {{name}} and {{}}: {}".replace("{{}}", "{x}"),
        '<think>Maybe {"a": 1}? No.</think>\n{}',
        "<think>one</think> <THINKING>two</THINKING>\n{}",
        'Well. <think>{"a": 1}</think> {}',
        'Hm, {"a": 1}, or {"a":\n</think>\n\n{}',
        "\ufeff{}",
    ],
)
def test_an_object_is_found_in_what_surrounds_it(around: str) -> None:
    assert extract_json_object(around.replace("{}", OBJECT)) == OBJECT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the reply is empty"),
        (" \n", "the reply is empty"),
        ("<think>hm</think>", "the reply is empty"),
        ("I can't do that.", "no JSON object"),
        ("{name}", "no JSON object"),
        ("null", "no JSON object"),
        ('{"a": 1} {"b": 2}', "more than one"),
        ('```json\n{"a": 1}\n```\n```json\n{"a": 1}\n```', "more than one"),
        ('[{"a": 1}]', "is a JSON array"),
        ('```json\n[{"a": 1}]\n```', "is a JSON array"),
        ('{"a": 1', "never closes"),
        ('{"a": "1}', "never closes: Unterminated string"),
        ('{"a": "print("{")"}', r"never closes: Expecting ',' delimiter \(its line 1, column 15\)"),
        ('<think>{"a": 1}', "ends inside its reasoning"),
    ],
)
def test_anything_else_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ReplyMalformed, match=reason) as caught:
        extract_json_object(text)
    assert caught.value.reason == str(caught.value)


@given(json_objects, st.sampled_from(["", "Sure:\n```json\n", "<think>x {</think>\n"]))
def test_every_object_comes_back_as_it_was(document: dict[str, object], before: str) -> None:
    source = json.dumps(document)
    assert extract_json_object(f"{before}{source}\n```\n") == source


@given(st.text(alphabet='{}[]"\\:,<>/think `\n\ud800', max_size=60))
def test_no_text_ends_in_anything_but_an_object_or_a_reason(text: str) -> None:
    try:
        found = extract_json_object(text)
    except ReplyMalformed:
        return
    assert found in text
    assert found[0] + found[-1] == "{}"


@given(st.lists(json_objects, max_size=3), st.sampled_from(["", "Sure:\n", "<think>[]</think>\n"]))
def test_every_array_of_objects_comes_back_as_it_was(
    document: list[dict[str, object]], before: str
) -> None:
    source = json.dumps(document)
    assert extract_json_array(f"{before}```json\n{source}\n```\n") == source


@given(st.text(alphabet='{}[]"\\:,<>/think `\n\ud800', max_size=60))
def test_no_text_ends_in_anything_but_an_array_or_a_reason(text: str) -> None:
    try:
        found = extract_json_array(text)
    except ReplyMalformed:
        return
    assert found in text
    assert found[0] + found[-1] == "[]"


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        '{"',
        '{"a":',
        '{"a":[',
        '"',
        "\\",
        "[",
        "<think>",
        "</think>\n",
        "<think></think>",
        " ",
        "\n",
        "{ ",
        "```\n",
        '{"a":1} ',
        '{"\\"',
    ],
)
def test_a_hostile_megabyte_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    for text in (unit * (MEGABYTE // len(unit)), '{"' + unit * (MEGABYTE // len(unit))):
        try:
            extract_json_object(text)
        except ReplyMalformed as refused:
            assert len(refused.reason) < 300
        try:
            extract_json_array(text)
        except ReplyMalformed as refused:
            assert len(refused.reason) < 300
    # A tenth of a second each; anything quadratic would take hours.
    assert time.process_time() - started < 5


def test_ten_megabytes_of_reply_are_read_in_seconds() -> None:
    source = json.dumps({"code": '"\\{}\n' * 1_500_000})
    started = time.process_time()
    assert extract_json_object(f"```json\n{source}\n```") == source
    assert time.process_time() - started < 5


def test_reasoning_is_stripped_in_front_only() -> None:
    assert strip_reasoning("<think>a</think>b <think>c</think>") == "b <think>c</think>"
