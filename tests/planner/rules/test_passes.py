"""Every code has one rule and one owner, and no finding is lost for want of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from planner.plan.file_projection import project
from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import OWNERS, PASSES, RULE_BY_CODE, RULES
from planner.rules.rule_model import (
    CodeNotOwned,
    Finding,
    Pass,
    PlanView,
    findings_of,
    passes_of,
    plan_finding,
)
from shared.files.strict_documents import at

PLAN = parse_plan({"work_orders": []})
VIEW = PlanView(PLAN, (), project((), ()))
CHECKED = RULE_BY_CODE["E101"]
DECIDED = RULE_BY_CODE["E210"]


def finding(*codes: str) -> Pass:
    """Return a pass that names the first code and finds something with each."""

    def found(view: PlanView) -> Iterator[Finding]:
        yield from (plan_finding(code, at("work_orders"), "is wrong") for code in codes)

    return Pass(codes[:1], found)


def test_each_code_is_decided_by_one_owner() -> None:
    owned = [code for owner in OWNERS for code in owner.codes]
    assert sorted(owned) == sorted(set(owned)) == [rule.code for rule in RULES]


def test_a_rule_without_a_check_is_decided_by_a_pass() -> None:
    by_passes = {code for each in PASSES for code in each.codes}
    assert {rule.code for rule in RULES if rule.check is None} == by_passes


@pytest.mark.parametrize(
    ("rules", "passes", "words"),
    [
        ((DECIDED,), (), "E210: 1 rules, 0 owners"),
        ((DECIDED,), (finding("E210"), finding("E210")), "E210: 1 rules, 2 owners"),
        ((CHECKED,), (finding("E101"),), "E101: 1 rules, 2 owners"),
        ((CHECKED, CHECKED), (), "E101: 2 rules, 2 owners"),
        ((CHECKED,), (finding("E210"),), "E210: 0 rules, 1 owners"),
        ((CHECKED, replace(CHECKED, check=None)), (), "E101: 2 rules, 1 owners"),
    ],
)
def test_a_code_without_exactly_one_rule_and_owner_is_an_error(
    rules: tuple[object, ...], passes: tuple[Pass, ...], words: str
) -> None:
    with pytest.raises(CodeNotOwned, match=words):
        passes_of(rules, passes)  # type: ignore[arg-type]


def test_a_finding_with_a_code_that_its_pass_does_not_name_is_an_error() -> None:
    with pytest.raises(
        CodeNotOwned, match=r"the pass for E210 has found \[E777\] plan work_orders"
    ):
        list(findings_of(finding("E210", "E777"), VIEW, 1000))


def test_only_the_first_findings_of_a_code_count_and_those_of_another_are_kept() -> None:
    def found(view: PlanView) -> Iterator[Finding]:
        for number in range(5):
            yield plan_finding("E210", at(number), "")
        yield plan_finding("E217", at(), "")

    kept = findings_of(Pass(("E210", "E217"), found), VIEW, 2)
    assert [(each.code, each.field) for each in kept] == [
        ("E210", "[0]"),
        ("E210", "[1]"),
        ("E217", ""),
    ]


def test_a_pass_of_one_code_is_not_asked_for_more_than_counts() -> None:
    def endless(view: PlanView) -> Iterator[Finding]:
        while True:
            yield plan_finding("E210", at(), "")

    assert len(list(findings_of(Pass(("E210",), endless), VIEW, 3))) == 3
