"""A model that makes every mistake against interfaces, and mends each as the prompt tells it."""

from __future__ import annotations

import json
from collections.abc import Callable

from llmch.entry.answers import examples_of
from planner.rules.judge_plan import RULES
from planner.rules.rule_model import Rule
from shared.files.strict_documents import JsonValue
from shared.llm.model_client import Request
from tests.planner.planning import Planner
from tests.planner.rule_examples import example_plan

MISTAKES = [rule for rule in RULES if rule.code.startswith("E2")]
# The first one is Python's, for a rule that languages decide.
EXAMPLES = [next(iter(examples_of(rule).values())) for rule in MISTAKES]
DONE = example_plan(EXAMPLES[0].good)


def answering(rule: Rule, document: JsonValue) -> Callable[[Request], str]:
    """Return the reply of a model that knows only what its prompt says of the last mistake."""

    def reply(request: Request) -> str:
        told = [line for line in request.prompt.splitlines() if f"[{rule.code}] " in line]
        assert told, f"{rule.code} is not in the revision prompt"
        assert all(line.endswith(f"Remedy: {rule.remedy}") for line in told)
        return json.dumps(document)

    return reply


def test_every_mistake_against_interfaces_is_told_and_repaired(planner: Planner) -> None:
    """Each repair makes the next mistake: only the last one is left to no complaint."""
    assert len(MISTAKES) >= 18
    plans = [*(example_plan(each.bad) for each in EXAMPLES), DONE]
    repairs = [answering(*each) for each in zip(MISTAKES, plans[1:], strict=True)]
    result = planner.plan(json.dumps(plans[0]), *repairs, max_attempts=len(plans))
    assert (result.ok, result.attempts) == (True, len(plans))
    for attempt, rule in enumerate(MISTAKES, 1):
        found = planner.record(f"compile/validation_errors_attempt_{attempt}.json")["findings"]
        assert {each["code"] for each in found if each["severity"] == "error"} == {rule.code}
