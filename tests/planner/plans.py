"""Small plans for the rules to read, and what they say of them, one line for each finding."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from planner.rules.rule_model import Finding

Document = dict[str, Any]

# What only says that a plan could be better: nearly every small plan of a test could.
QUALITY = frozenset({"W223", "W230", "W231", "W232", "W233", "W245", "W304"})


def order(number: int = 1, **fields: object) -> Document:
    """Return an order that no rule objects to, with these fields changed."""
    return {
        "id": f"WO-{number:02d}",
        "title": "Check the sources",
        "intent": "All sources compile.",
        "allowed_files": ["notes.txt"],
        "forbidden": [],
        "context_files": [],
        "acceptance_commands": ["python -m compileall -q ."],
        **fields,
    }


def creating(number: int, *paths: str, **fields: object) -> Document:
    """Return an order that creates these files."""
    return order(number, allowed_files=[*paths], postconditions=exists(*paths), **fields)


def exists(*paths: str) -> list[Document]:
    return [{"kind": "file_exists", "path": path} for path in paths]


def absent(*paths: str) -> list[Document]:
    return [{"kind": "file_absent", "path": path} for path in paths]


def plan(*orders: object, **top: object) -> Document:
    return {"work_orders": [*orders], **top}


def requiring(*paths: str) -> Document:
    return {"command": "bash scripts/verify.sh", "requires": exists(*paths)}


def judged(document: Any, repo: Collection[str] = (), **more: Any) -> list[Finding]:
    """Return the findings but for those on quality."""
    report = judge(parse_plan(document), repo, **more)
    return [each for each in report.findings if each.code not in QUALITY]


def findings(document: Any, repo: Collection[str] = (), **more: Any) -> list[str]:
    """Return `CODE WO-01 field` for each finding; the order of the plan itself is `plan`."""
    return [
        " ".join(filter(None, (each.code, each.order or "plan", each.field)))
        for each in judged(document, repo, **more)
    ]


def messages(document: Any, repo: Collection[str] = (), **more: Any) -> list[str]:
    return [each.message for each in judged(document, repo, **more)]


def of_command(command: object) -> list[str]:
    """Return the codes found in an order whose only acceptance command is this."""
    return [each.code for each in judged(plan(order(acceptance_commands=[command])))]
