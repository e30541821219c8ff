"""The examples in the rules, filled in to whole plans.

An example may have a `repo`, texts by path: what the plan is for.
"""

from __future__ import annotations

from shared.files.strict_json import JsonValue, parse_json
from shared.work_order.schemas import order_id


def example_plan(example: str) -> JsonValue:
    """Return the plan document for a rule's `bad` or `good` example.

    An example without `work_orders` is one order of a plan; what an order leaves out is filled in
    with values that no rule objects to.
    """
    fragment = parse_json(example)
    if not isinstance(fragment, dict):
        return fragment
    fragment = {key: each for key, each in fragment.items() if key != "repo"}
    orders = fragment.get("work_orders", [fragment])
    if not isinstance(orders, list):
        return fragment
    plan: dict[str, JsonValue] = fragment if "work_orders" in fragment else {}
    filled: list[JsonValue] = [
        _harmless_order(number) | each if isinstance(each, dict) else each
        for number, each in enumerate(orders, 1)
    ]
    return {**plan, "work_orders": filled}


def example_repo(example: str) -> dict[str, str]:
    """Return the files of the repo that an example is for, by path."""
    fragment = parse_json(example)
    repo = fragment.get("repo") if isinstance(fragment, dict) else None
    files = repo if isinstance(repo, dict) else {}
    return {path: text for path, text in files.items() if isinstance(text, str)}


def _harmless_order(number: int) -> dict[str, JsonValue]:
    return {
        "id": order_id(number),
        "title": "Check the sources",
        "intent": "Make sure that all sources compile.",
        "allowed_files": ["notes.txt"],
        "forbidden": [],
        "context_files": [],
        "acceptance_commands": ["python -m compileall -q ."],
    }
