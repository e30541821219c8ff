"""A model's reply, read as a plan."""

from __future__ import annotations

from planner.plan import Plan, parse_plan, unreadable_plan
from shared.llm.reply import ReplyMalformed, extract_json_object
from shared.strict_json import JsonProblem, parse_json


def parse_response(text: str) -> Plan:
    """Return the plan in a model's reply, whatever prose, fence or reasoning stands around it.

    Never raises: a reply without exactly one JSON object gives a plan with that as its problem,
    and `is_json` false.
    """
    try:
        return parse_plan(parse_json(extract_json_object(text)))
    except ReplyMalformed as problem:
        return unreadable_plan(problem.reason)
    except JsonProblem as problem:
        return unreadable_plan(str(problem))
