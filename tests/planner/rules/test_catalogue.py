from __future__ import annotations

import shutil

import pytest

from llmch.entry.answers import examples_of
from planner.rules.judge_plan import RULE_BY_CODE, RULES
from planner.rules.rule_model import Rule
from shared.files.strict_documents import parse_json
from shared.languages.python.type_checker import TypeChecker
from tests.planner.rule_examples import judged_example, tried_example
from tests.warm_checker import tools_with

EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
# Those that languages decide have their examples in the folders of the languages.
OWN_EXAMPLES = pytest.mark.parametrize(
    "rule",
    [each for each in RULES if each.bad and each.code[:2] != "E4"],
    ids=lambda rule: rule.code,
)


def codes_in(example: str, checker: TypeChecker) -> list[str]:
    report = judged_example(example, tools=tools_with(checker))
    return [each.code for each in report.findings]


@OWN_EXAMPLES
def test_the_bad_example_of_a_rule_breaks_that_rule_and_no_other(
    rule: Rule, checker: TypeChecker
) -> None:
    assert set(codes_in(rule.bad, checker)) == {rule.code}


@OWN_EXAMPLES
def test_the_good_example_of_a_rule_breaks_none(rule: Rule, checker: TypeChecker) -> None:
    assert codes_in(rule.good, checker) == []


@pytest.mark.parametrize("rule", [each for each in RULES if each.code[:2] == "E4"])
def test_a_dry_run_refuses_the_bad_example_alone(rule: Rule, checker: TypeChecker) -> None:
    if rule.code == "E401" and shutil.which("gradle"):
        pytest.skip("gradle is here")
    assert codes_in(rule.bad, checker) == codes_in(rule.good, checker) == []
    assert tried_example(rule.bad) == [rule.code]
    assert tried_example(rule.good) == []


@EVERY_RULE
def test_a_rule_says_what_why_and_what_to_do(rule: Rule) -> None:
    assert rule.title
    assert not rule.title.endswith(".")
    assert rule.why.endswith(".")
    assert rule.remedy.endswith(".")
    assert all(isinstance(parse_json(each.bad), dict) for each in examples_of(rule).values())
    assert bool(rule.bad) == bool(rule.good)
    assert examples_of(rule)


def test_codes_are_unique_sorted_and_found_by_name() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert [RULE_BY_CODE[code].code for code in codes] == codes


def test_errors_and_warnings_are_told_apart_by_code() -> None:
    assert RULE_BY_CODE["E101"].severity == "error"
    assert RULE_BY_CODE["W101"].severity == "warning"
    assert {rule.severity for rule in RULES} == {"error", "warning"}
