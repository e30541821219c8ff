from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.parse_plan import read_reply
from planner.rules.judge_plan import judge
from tests.planner.planning import judge_text
from tests.planner.plans import order, plan

PLAN = json.dumps(plan(order()))


@pytest.mark.parametrize(
    "reply",
    [
        PLAN,
        f"\n {PLAN} \n",
        f"```json\n{PLAN}\n```",
        f"Here is the plan:\n\n```\n{PLAN}\n```\nGood luck!",
        f"<think>One order {{will}} do.</think>\n{PLAN}",
        json.dumps(plan(order()), indent=2, ensure_ascii=True),
    ],
)
def test_one_object_is_found_whatever_stands_around_it(reply: str) -> None:
    subject, report = judge_text(reply)
    assert subject.is_json
    assert [draft.label for draft in subject.drafts] == ["WO-01"]
    assert report.ok


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "empty"),
        ("I cannot do that.", "no JSON object"),
        (f"{PLAN}\n{PLAN}", "more than one"),
        (PLAN[:-1], "never closes"),
        ('{"work_orders": [}', "not JSON"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "nested"),
        ('{"a": ' + "9" * 5000 + "}", "too large"),
        ('{"a": "' + "x" * 11_000_000 + '"}', "over 10 MB"),
        ("[NaN]", "NaN"),
    ],
    ids=range(12),
)
def test_a_reply_that_holds_no_document_is_one_finding_of_the_plan(reply: str, words: str) -> None:
    subject, report = judge_text(reply)
    assert not subject.is_json
    assert [(each.code, each.order) for each in report.findings] == [("E000", "")]
    assert words in report.findings[0].message


def test_a_document_that_is_no_plan_is_still_a_document() -> None:
    subject = read_reply('{"orders": []}').plan
    assert subject.is_json
    assert not judge(subject).ok


@pytest.mark.parametrize(
    "reply",
    [
        "[]",
        "[1, 2]",
        json.dumps([order()]),
        f"```json\n{json.dumps([order()], indent=2)}\n```",
        "<think>A list will do.</think>\n[]",
    ],
)
def test_an_array_is_a_document_that_is_no_plan(reply: str) -> None:
    subject, report = judge_text(reply)
    assert subject.is_json
    assert [(each.code, each.order) for each in report.findings] == [("E000", "")]
    assert "JSON array" in report.findings[0].message


@pytest.mark.parametrize("reply", ["7", '"x"', "null", "true", " 1.5\n", "```json\n7\n```"])
def test_a_number_a_text_and_null_are_documents_that_are_no_plan(reply: str) -> None:
    subject, report = judge_text(reply)
    assert subject.is_json
    assert [(each.code, each.order) for each in report.findings] == [("E000", "")]


@pytest.mark.parametrize("reply", ["", "seven", "7 orders", "nul", "```\nx\n```"])
def test_prose_is_not_a_document(reply: str) -> None:
    assert not read_reply(reply).plan.is_json


@given(st.text(alphabet='{}[]"\\:,x1 \n`<think>/', max_size=60))
def test_no_reply_can_break_the_reader(reply: str) -> None:
    judge_text(reply)
