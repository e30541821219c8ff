"""How much a change costs against a whole plan, in tokens of prompts and replies."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest

from planner.replan.predecessor import read_predecessor
from planner.spec.answers import SpecAnswer, write_answers
from shared.llm.budget import likely_tokens
from shared.work_order.work_order import question_id
from tests.planner.large_change import plan_a_change, shop_order, shop_orders, shop_requirements
from tests.planner.planning import Planner
from tests.planner.replanning import spec_file
from tests.test_documentation import read

_SHARE: Final = 0.28  # a whole plan repeats neither its ids nor what follows from its files


def test_one_change_among_thirty_costs_about_a_quarter_of_a_whole_plan(planner: Planner) -> None:
    """`make bench` prints the figures."""
    cost = plan_a_change(planner)
    assert (cost.calls, cost.landed_changed) == (1, 0)
    assert cost.result.change is not None
    assert cost.result.change.added == ("WO-11",)
    assert not cost.result.change.changed
    assert cost.change <= _SHARE * cost.whole


@pytest.mark.rest
def test_an_answer_to_a_contradiction_costs_what_the_page_says(planner: Planner) -> None:
    """Thirty requirements in ten orders, one of which rests on the contradiction."""
    text = "R8 says at most twenty lines, the sample shows fifty."
    stated = {
        "kind": "contradiction",
        "text": text,
        "reading": "Twenty lines.",
        "requirements": ["R8"],
        "work_orders": ["WO-03"],
    }
    spec = spec_file(planner.scratch, shop_requirements())
    whole = {"system_overview": ["A shop."], "work_orders": shop_orders(), "assumptions": [stated]}
    first = planner.plan(whole, spec=spec)
    assert first.ok and first.output_dir is not None, first.report.render()
    asked, replied = tokens(planner.prompts[0]), tokens(json.dumps(whole))
    write_answers(spec, [SpecAnswer(text, "Fifty lines.")])
    reply = {"work_orders": [shop_order("ledger", 3, "R7", "R8", "R9", question_id(text))]}
    before = read_predecessor(first.output_dir, ())
    second = planner.plan(reply, spec=spec, follows=before)
    assert second.ok, second.report.render()
    again, answered = tokens(planner.prompts[0]), tokens(json.dumps(reply))
    said = re.search(r"took ([\d,]+) tokens.*? ([\d,]+) more", read("docs/planning.md"))
    assert said is not None
    for measured, number in zip((asked + replied, again + answered), said.groups(), strict=True):
        assert abs(int(number.replace(",", "")) / measured - 1) < 0.1


def tokens(text: str) -> int:
    return likely_tokens(len(text.encode()))
