"""A large specification, and a model that plans it in stages as a strong one would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.llm.model_client import Completion, Request, Role, Usage
from shared.work_order.work_order import order_id
from tests.planner.plans import exists

Document = dict[str, Any]
_PART = re.compile(r"Write the details of (WO-[^.]*), and of no other order")
_SHOWN = re.compile(r'^\{"id": "(WO-\d+)"', re.MULTILINE)


def large_spec(requirements: int) -> str:
    lines = (f"- R{n}: value_{n}() returns {n * 7}." for n in range(1, requirements + 1))
    return "# Values\n\n" + "\n".join(lines) + "\n"


def large_plan(orders: int, each: int, total: int | None = None, *, tests: bool = True) -> Document:
    """Return a plan whose orders carry out `each` requirements and read the one before.

    With a `total` of requirements, the last order has those that are left. Without `tests`, orders
    are accepted by a command that takes little time.
    """
    most = total or orders * each
    found = [_order(number, each, most, tests=tests) for number in range(1, orders + 1)]
    return {"system_overview": ["Values."], "work_orders": found}


def code_of(order: Document) -> dict[str, str]:
    """Return the files that carry out an order, by path."""
    (path,) = order["allowed_files"]
    numbers = [int(name[1:]) for name in order["covers"]]
    bodies = (f"def value_{n}() -> int:\n    return {n * 7}\n" for n in numbers)
    return {path: "\n\n".join(bodies)}


def _order(number: int, each: int, most: int, *, tests: bool) -> Document:
    numbers = range((number - 1) * each + 1, min(number * each, most) + 1)
    path, test = f"values_{number}.py", f"tests/test_values_{number}.py"
    names = ", ".join(f"value_{n}" for n in numbers)
    stub = "\n".join(f"def value_{n}() -> int: ..." for n in numbers)
    asserts = "".join(
        f"\n\ndef test_value_{n}():  # R{n}\n    assert value_{n}() == {n * 7}\n" for n in numbers
    )
    content = f"from values_{number} import {names}\n{asserts}"
    quick = "; ".join(f"assert value_{n}() == {n * 7}" for n in numbers)
    command = f'python -c "from values_{number} import {names}; {quick}"'
    before = [f"values_{number - 1}.py"] if number > 1 else []
    return {
        "id": order_id(number),
        "title": f"Values, part {number}",
        "intent": f"{path} has the values from {numbers[0]} to {numbers[-1]}.",
        "covers": [f"R{n}" for n in numbers],
        "allowed_files": [path],
        "context_files": before,
        "interfaces": [{"path": path, "stub": stub}],
        "notes": "\n".join(f"value_{n} returns {n * 7}." for n in numbers),
        "preconditions": exists(*before),
        "postconditions": exists(path),
        "acceptance_files": [{"path": test, "content": content}] if tests else [],
        "acceptance_commands": [f"python -m pytest -q {test}"] if tests else [command],
        "regression": [],
        "forbidden": [],
    }


OUTLINED = ("id", "title", "intent", "covers", "allowed_files", "context_files", "interfaces")
DETAILS = ("id", "notes", "preconditions", "acceptance_files", "acceptance_commands")


def outline_of(plan: Document) -> Document:
    orders = [{key: each[key] for key in OUTLINED} for each in plan["work_orders"]]
    return {"system_overview": plan["system_overview"], "work_orders": orders}


def details_of(plan: Document, *names: str, **changes: Mapping[str, object]) -> Document:
    """Return the details of some orders; `changes` are fields by an order's id as `WO_01`."""
    orders = {each["id"]: each for each in plan["work_orders"]}
    return {
        "revised": [
            {key: orders[name][key] for key in DETAILS}
            | dict(changes.get(name.replace("-", "_"), {}))
            for name in names
        ]
    }


Answer = Callable[[Request], str | None]


@dataclass
class StagedModel:
    """Answers each question of the stages from a plan, unless `first` has another reply to it."""

    plan: Document
    first: Answer = lambda request: None
    requests: list[Request] = field(default_factory=list)
    longest: int = 0
    """The longest reply, in characters."""

    def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        text = self.first(request)
        if text is None:
            text = json.dumps(self._answer(request))
        self.longest = max(self.longest, len(text))
        return Completion(
            text, request.model, Usage(1, len(request.prompt) // 4, 0, len(text) // 4)
        )

    def _answer(self, request: Request) -> Document:
        if request.place.role is Role.REVIEWER:
            return {"findings": []}
        if names := asked_for(request):
            return details_of(self.plan, *names)
        if "# Revision" in request.prompt:
            shown = request.prompt.partition("# Revision")[2]
            return details_of(self.plan, *dict.fromkeys(_SHOWN.findall(shown)))
        return outline_of(self.plan) if "# Stages" in request.prompt else self.plan


def asked_for(request: Request) -> list[str]:
    """Return the ids of the orders whose details a prompt asks for."""
    found = _PART.search(request.prompt)
    return found[1].split(", ") if found else []
