"""Thirty requirements in ten orders that have landed, and one change: what the next plan costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.plan.manifest import build_manifest
from planner.plan.parse_plan import parse_plan
from planner.replan.predecessor import read_predecessor
from planner.run_plan import PlanResult
from shared.llm.budget import estimate_tokens
from shared.work_order.plan_folder import order_file_name, write_plan
from tests.harness import commit_all, git
from tests.planner.planning import Planner
from tests.planner.plans import Document, exists, order
from tests.planner.replanning import ORIGIN, spec_file

AREAS: Final = (
    *("accounts", "invoices", "ledger", "payments", "refunds", "reports"),
    *("taxes", "currencies", "exports", "reminders"),
)


def shop_order(area: str, number: int, *covers: str) -> Document:
    """Return an order as a model writes it: a module with its interface and a table of cases."""
    path, test = f"shop/{area}.py", f"tests/test_{area}_table.py"
    cases = ", ".join(f"({each * 100}, 'code-{each}', {each * 90})" for each in range(1, 9))
    return order(
        number,
        title=f"Compute and check the {area}",
        intent=f"shop.{area} computes the {area} of a customer in whole cents and refuses others.",
        allowed_files=[path],
        preconditions=[],
        postconditions=exists(path),
        context_files=[f"shop/{AREAS[number - 2]}.py"] if number > 1 else [],
        interfaces=[
            {
                "path": path,
                "stub": f"class {area.title()}Error(ValueError): ...\n\n"
                f"def total(cents: int, code: str) -> int: ...\n"
                f"def lines(name: str, limit: int = 20) -> list[str]: ...\n"
                f"def parse(text: str) -> dict[str, int]: ...\n",
            }
        ],
        acceptance_files=[
            {
                "path": test,
                "content": f"import pytest\n\nfrom shop.{area} import {area.title()}Error, parse, "
                f"total\n\n\n@pytest.mark.parametrize(('cents', 'code', 'expected'), [{cases}])\n"
                f"def test_total(cents, code, expected):\n"
                f"    assert total(cents, code) == expected\n\n\n"
                f"def test_unknown_code():\n    with pytest.raises({area.title()}Error):\n"
                f"        total(100, 'WINTER')\n\n\n"
                f"def test_parse():\n    assert parse('a=1;b=2') == {{'a': 1, 'b': 2}}\n",
            }
        ],
        acceptance_commands=[
            f"python -m pytest -q {test}",
            f"python -c \"from shop.{area} import lines; assert lines('Ada', 0) == []\"",
        ],
        covers=list(covers),
        notes=(
            f"shop/{area}.py: total(cents, code) takes ten percent off for a known code "
            "(code-1 to code-8) and rounds up to whole cents; any other code, also in another "
            f"letter case, raises {area.title()}Error with the code in its message. lines(name, "
            "limit) returns at most limit lines, newest first, each `DATE NAME CENTS`; a negative "
            "limit is a ValueError. parse(text) reads `name=number` pairs separated by `;`; a "
            "name that stands twice is an error, blanks around names are dropped, and an empty "
            "text gives an empty dictionary. Nothing is printed and no file is read."
        ),
    )


def shop_requirements() -> dict[str, str]:
    asks = (
        "computes the total in whole cents, ten percent off for a known code, rounded up",
        "lists at most twenty lines by default, newest first, with date, name and cents",
        "reads pairs of names and numbers and refuses a name that stands twice",
    )
    return {
        f"R{number * 3 + each}": f"The {area} module {ask}."
        for number, area in enumerate(AREAS)
        for each, ask in enumerate(asks, 1)
    }


def shop_orders() -> list[Document]:
    return [
        shop_order(area, number, *(f"R{number * 3 - each}" for each in (2, 1, 0)))
        for number, area in enumerate(AREAS, 1)
    ]


def shop_repo(folder: Path) -> Path:
    """Return a repo on which all orders have landed."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    files = {"scripts/verify.sh": "python -m pytest -q\n", "shop/__init__.py": ""}
    for each in shop_orders():
        files[each["allowed_files"][0]] = _code(each["interfaces"][0]["stub"])
        files[each["acceptance_files"][0]["path"]] = each["acceptance_files"][0]["content"]
    commit_all(folder, files)
    return folder


def _code(stub: str) -> str:
    return stub.replace(": ...", ":\n    raise NotImplementedError")


@dataclass(frozen=True)
class Cost:
    """Hold the tokens of prompt and reply of the whole plan and of the change, and what came of it.

    `landed_changed` counts the landed orders whose file the next plan has with other bytes.
    """

    whole: int
    change: int
    calls: int
    landed_changed: int
    result: PlanResult


def plan_a_change(planner: Planner) -> Cost:
    """Plan thirty requirements, let all orders land, change one, and plan what follows."""
    texts, orders = shop_requirements(), shop_orders()
    whole: Document = {"system_overview": ["A shop."], "work_orders": orders}
    planner.plan(whole, spec=spec_file(planner.scratch, texts), max_attempts=1)
    full = _tokens(planner, whole)
    parsed = parse_plan({**whole, "requirements": [{"id": k, "text": v} for k, v in texts.items()]})
    before = planner.scratch / "before"
    write_plan(before, build_manifest(parsed, (), ORIGIN))
    names = [each["id"] for each in orders]
    reply = {"work_orders": [shop_order("ledger", 11, "R8") | {"changes": ["lines"]}]}
    changed = texts | {"R8": "The ledger module lists at most fifty lines by default."}
    result = planner.plan(
        reply,
        spec=spec_file(planner.scratch, changed),
        follows=read_predecessor(before, names),
        repo=shop_repo(planner.scratch / "repo"),
        max_attempts=1,
    )
    after = result.output_dir
    assert result.ok and after is not None, result.report.render()
    files = map(order_file_name, names)
    other = sum((before / each).read_bytes() != (after / each).read_bytes() for each in files)
    return Cost(full, _tokens(planner, reply), len(planner.prompts), other, result)


def _tokens(planner: Planner, reply: Document) -> int:
    return estimate_tokens(planner.prompts[0]) + estimate_tokens(json.dumps(reply))
