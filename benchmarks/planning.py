"""What planning and judging cost, by the number of orders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import counting, cpu_seconds_of, interleave, run_child, seconds_of
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import Bench, order_document, plan_document
from factory.run.reproduce import DryRunner
from llmch.ci.issue_calls import issue_document, parse_issue, read_document
from planner.compile.inputs import PlannerModel, PlanOptions
from planner.compile.stages import ORDERS_A_CALL
from planner.plan.parse_plan import Plan, read_reply
from planner.rules.judge_plan import judge
from planner.run_plan import run_plan
from planner.spec.issue_text import spec_of_issue
from planner.spec.read_spec import read_spec
from shared.events.events import ignore
from shared.files.atomic_io import write_text
from shared.llm.model_client import Request
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import Settings
from tests.fakes import ScriptedModel
from tests.planner.large_plan import (
    StagedModel,
    asked_for,
    code_of,
    details_of,
    large_plan,
    large_spec,
)

_SLOPE_MS = 0.5
_JUDGING_US = 80
_STAGES = 1.5
_OWN_MS = 1000
_ISSUE_MS = 1000
_ISSUE_LETTERS = 65_536
_DRY_RUN = 4.0
_LINEAR = 1.25  # caches that no longer hold everything, and noise


def measure_planning(bench: Bench) -> Section:
    """Return the rows of `plan` and of judging."""
    rows = (*_plan(bench), *_in_stages(bench), *_dry_run(bench), *_judge(bench), _issue(bench))
    return Section("Planning, with a model that answers at once", rows)


def _issue(bench: Bench) -> Row:
    """Return what it takes to make a specification of an issue as long as GitHub allows."""
    file = bench.folder("issue") / "issue.json"
    lines = "".join(
        f"- R{n}: Part {n} of `shop` says what `it({n})` costs.\n" for n in range(2_000)
    )
    url = "https://github.com/ada/shop/issues/1"
    issue = {"number": 1, "title": "Prices", "body": lines[:_ISSUE_LETTERS], "html_url": url}
    file.write_text(json.dumps(issue))

    def read() -> None:
        found = parse_issue(issue_document(read_document(file, "issue")))
        made = spec_of_issue(found.title, found.body, found.named)
        write_text(file.with_suffix(".md"), made.text)
        read_spec(file.with_suffix(".md"))

    cases: dict[str, Callable[[], float]] = {
        "issue": partial(seconds_of, read),
        "floor": partial(seconds_of, lambda: json.loads(file.read_text())),
    }
    read()
    taken = interleave(cases, bench.rounds(11))
    return timed(
        "an issue of 65,536 letters becomes a specification",
        taken["issue"],
        taken["floor"],
        "its JSON is read",
        Aim(factor=1, extra=_ISSUE_MS),
    )


def _plan(bench: Bench) -> list[Row]:
    sizes = (5, 20) if bench.quick else (5, 50, 200)
    spec = bench.folder("spec") / "spec.md"
    spec.write_text("# Modules\n\nA row of modules.\n")
    texts = {size: json.dumps(plan_document(size)) for size in sizes}
    cases: dict[str, Callable[[], float]] = {}
    for size, text in texts.items():
        cases[f"plan {size}"] = partial(seconds_of, partial(_compile, bench, spec, text))
        cases[f"floor {size}"] = partial(seconds_of, partial(_write_plainly, bench, size))
    taken = interleave(cases, bench.rounds(11), warm=True)
    rows = [
        timed(
            f"plan of {size} orders",
            taken[f"plan {size}"],
            taken[f"floor {size}"],
            "its files written, one sync",
            notes=f"{_syncs(bench, spec, text)} syncs",
        )
        for size, text in texts.items()
    ]
    small, large = sizes[0], sizes[-1]

    def slope(what: str) -> float:
        more = taken[f"{what} {large}"].median - taken[f"{what} {small}"].median
        return more * 1000 / (large - small)

    return [
        *rows,
        Row(
            name="plan, each further order",
            value=slope("plan"),
            unit="ms",
            floor=slope("floor"),
            floor_name="its file written",
            aim=Aim(extra=_SLOPE_MS),
        ),
    ]


def _in_stages(bench: Bench) -> list[Row]:
    """Return what a plan in stages takes besides the model, and a revision of one order."""
    orders = 8 if bench.quick else 60
    spec = bench.folder("large") / "spec.md"
    spec.write_text(large_spec(4 * orders))
    plan, plain = (large_plan(orders, 4, tests=False) for _ in range(2))
    for each in plain["work_orders"]:
        each["acceptance_commands"] = [f"grep -q value {each['allowed_files'][0]}"]
    cases = {
        "own": partial(_timed, bench, spec, StagedModel(plain)),
        "stages": partial(_timed, bench, spec, StagedModel(plan)),
        "revised": partial(_timed, bench, spec, StagedModel(plan, partial(_piped, plan))),
        "whole": partial(_timed, bench, spec, StagedModel(plan), staged=False),
    }
    taken = interleave(cases, bench.rounds(5), warm=True)

    def row(name: str, case: str, floor: str, floor_name: str, aim: Aim) -> Row:
        calls = f"{1 + -(-orders // ORDERS_A_CALL)} calls"
        return timed(name, taken[case], taken[floor], floor_name, aim, notes=calls)

    name = f"plan of {orders} orders in stages"
    in_one, unrevised = "in one reply, types checked", "without a revision"
    return [
        row(f"{name}, no types to check", "own", "whole", in_one, Aim(extra=_OWN_MS)),
        row(f"{name}, types checked", "stages", "whole", in_one, Aim(factor=_STAGES)),
        row(f"{name}, one order revised", "revised", "stages", unrevised, Aim(factor=_STAGES)),
    ]


def _dry_run(bench: Bench) -> list[Row]:
    """Return what a dry run adds to a plan whose tests are files that pytest collects."""
    orders = 2 if bench.quick else 10
    spec = bench.folder("tried") / "spec.md"
    spec.write_text(large_spec(4 * orders))
    plan, tests = large_plan(orders, 4), bench.folder("collected")
    for order in plan["work_orders"]:
        tested = {each["path"]: each["content"] for each in order["acceptance_files"]}
        for path, text in {**code_of(order), **tested}.items():
            (tests / path).parent.mkdir(exist_ok=True)
            (tests / path).write_text(text)
    collect = bench.python("-m", "pytest", "-q", "--collect-only", str(tests))
    cases: dict[str, Callable[[], float]] = {
        "tried": partial(_timed, bench, spec, StagedModel(plan), staged=False, tried=True),
        "plain": partial(_timed, bench, spec, StagedModel(plan), staged=False),
        "collected": lambda: run_child(collect, bench.environment).seconds,
    }
    taken = interleave(cases, bench.rounds(5), warm=True)
    added = taken["tried"].median - taken["plain"].median
    return [
        Row(
            name=f"dry run of {orders} orders with tests",
            value=added * 1000,
            unit="ms",
            floor=taken["collected"].median * 1000,
            floor_name="pytest --collect-only",
            aim=Aim(factor=_DRY_RUN),
            noise=taken["tried"].noise,
        )
    ]


def _piped(plan: dict[str, Any], request: Request) -> str | None:
    """Return details of which one command is faulty, where a prompt asks for details."""
    names = asked_for(request)
    wrong = {"acceptance_commands": ["true | cat"]}
    return json.dumps(details_of(plan, *names, WO_03=wrong)) if names else None


def _timed(
    bench: Bench, spec: Path, model: StagedModel, *, staged: bool = True, tried: bool = False
) -> float:
    options = PlanOptions(
        spec=spec,
        artifacts=bench.scratch / "artifacts",
        model=PlannerModel("scripted", None, None),
        max_attempts=2,
        staged=staged,
    )

    def plan() -> None:
        source = ModelSource(Mode.LIVE, lambda emit: model)
        runner = DryRunner(Settings(), None, None, None) if tried else None
        result = run_plan(options, source, ignore, None, runner)
        assert result.ok, result.report.render()

    return seconds_of(plan)


def _compile(bench: Bench, spec: Path, reply: str) -> None:
    options = PlanOptions(
        spec=spec,
        artifacts=bench.scratch / "artifacts",
        model=PlannerModel("scripted", None, None),
        max_attempts=1,
    )
    model = ScriptedModel({"planner": [reply]})
    result = run_plan(options, ModelSource(Mode.LIVE, lambda emit: model), ignore)
    assert result.ok, result.report.render()


def _write_plainly(bench: Bench, orders: int) -> None:
    """Write the files of a plan of this size, and wait for the disk once."""
    folder = bench.folder("plain")
    for number in range(1, orders + 1):
        document = order_document(number)
        (folder / f"{document['id']}.json").write_text(json.dumps(document, indent=2))
    with (folder / "manifest").open("w") as file:
        file.write(json.dumps(plan_document(orders), indent=2))
        file.flush()
        os.fsync(file.fileno())


def _syncs(bench: Bench, spec: Path, text: str) -> int:
    with counting() as counts:
        _compile(bench, spec, text)
    return counts.syncs


def _read(text: str) -> Plan:
    return read_reply(text).plan


def _judge(bench: Bench) -> list[Row]:
    sizes = (20, 100) if bench.quick else (100, 1000, 2000)
    texts = {size: json.dumps(plan_document(size)) for size in sizes}
    plans = {size: read_reply(text).plan for size, text in texts.items()}
    cases: dict[str, Callable[[], float]] = {}
    for size in sizes:
        text, plan = texts[size], plans[size]
        cases[f"read {size}"] = partial(cpu_seconds_of, partial(_read, text))
        cases[f"judge {size}"] = partial(cpu_seconds_of, partial(judge, plan))
        cases[f"floor {size}"] = partial(cpu_seconds_of, partial(json.loads, text))
    taken = interleave(cases, bench.rounds(15), warm=True)
    each = {name: samples.median * 1e6 / int(name.split()[1]) for name, samples in taken.items()}
    rows = [
        Row(
            name=name,
            value=each[f"{what} {size}"],
            unit="us",
            floor=each[f"floor {size}"],
            floor_name="json.loads of the plan",
            aim=aim,
            noise=taken[f"{what} {size}"].noise,
            notes="processor time",
        )
        for size in sizes
        for what, name, aim in (
            ("read", f"reading a reply of {size:,} orders, each", None),
            ("judge", f"judging {size:,} orders, each", Aim(extra=_JUDGING_US)),
        )
    ]
    small, large = sizes[0], sizes[-1]
    growth = Row(
        name=f"judging, an order among {large:,}",
        value=each[f"judge {large}"],
        unit="us",
        floor=each[f"judge {small}"],
        floor_name=f"one among {small}",
        aim=Aim(factor=_LINEAR),
    )
    return [*rows, growth]
