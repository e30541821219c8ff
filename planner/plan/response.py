"""Reads a model's reply as a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.plan.plan import Plan, parse_plan, unreadable_plan
from shared.files.strict_json import JsonProblem, parse_json
from shared.llm.json_in_reply import ReplyIsArray, ReplyMalformed, extract_json_object
from shared.work_order.field_path import at
from shared.work_order.parsing import SchemaProblem


@dataclass(frozen=True, slots=True)
class Reply:
    """Hold the text of the JSON document in a model's reply, and the plan in that text.

    `source` is empty where the reply holds no JSON document. The plan's `is_json` is false then.
    """

    source: str
    plan: Plan


def read_reply(text: str) -> Reply:
    """Return the plan in a model's reply, whatever prose, fence or reasoning surrounds it.

    Never raises: a reply without exactly one JSON document gives a plan with that as its problem.
    A JSON array is a document too, although it is not a plan.
    """
    try:
        source = extract_json_object(text)
        return Reply(source, parse_plan(parse_json(source)))
    except ReplyIsArray as array:
        return _read_array(array)
    except ReplyMalformed as problem:
        return Reply("", unreadable_plan(problem.reason))
    except JsonProblem as problem:
        return Reply("", unreadable_plan(str(problem)))


def _read_array(array: ReplyIsArray) -> Reply:
    try:
        plan = parse_plan(parse_json(array.source))
    except JsonProblem as problem:
        return Reply("", unreadable_plan(str(problem)))
    return Reply(array.source, replace(plan, problems=(SchemaProblem(at(), array.reason),)))
