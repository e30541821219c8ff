"""What it takes to compare a plan with the open plans of a repo before it is run."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Samples, counting, cpu_seconds_of, seconds_of
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import Bench, git, make_repo, order_document
from factory.preflight import find_repo
from llmch.previews.plan_overlaps import compare_plans, plans_of
from shared.work_order.parse_order import manifest_sha256, order_key, parse_document
from shared.work_order.work_order import WorkOrder

_OWN_MS = 100
_PROCESSES = 8


def measure_open_plans(bench: Bench) -> Section:
    """Return the rows of twenty open plans of ten orders each, of which records have the rest."""
    plans = 3 if bench.quick else 20
    repo, artifacts = make_repo(bench.folder("repo"), 20), bench.folder("artifacts")
    orders = [_open(repo, artifacts, number) for number in range(plans)].pop()
    place = find_repo(repo)
    compare = partial(_compare, repo, artifacts, orders)
    assert compare() == plans - 1, "each plan is found, and has files in common"
    own = Samples.of(cpu_seconds_of(compare) for _ in range(bench.rounds(9)))
    whole = Samples.of(seconds_of(compare) for _ in range(bench.rounds(9)))
    with counting() as counts:
        plans_of(place, artifacts)
    name = f"compare a plan with {plans} open ones"
    return Section(
        "Open plans, ten orders each",
        (
            timed(f"{name}, without git", own, aim=Aim(extra=_OWN_MS)),
            Row(name=f"{name}, in all", value=whole.median * 1000, unit="ms"),
            Row(
                name="processes for all of them",
                value=counts.processes,
                unit="",
                aim=Aim(extra=_PROCESSES),
                counted=True,
            ),
        ),
    )


def _compare(repo: Path, artifacts: Path, orders: list[WorkOrder]) -> int:
    found = plans_of(find_repo(repo), artifacts)
    return sum(compare_plans(orders, {"R1": "One."}, each).is_any for each in found) - 1


def _open(repo: Path, artifacts: Path, number: int) -> list[WorkOrder]:
    """Land the first order of a plan on a branch of its own, and leave the record of its run."""
    origin = {"planner_run_id": f"RUN{number}", "compile_hash": f"{number:064x}"}
    orders = [order_document(each) for each in range(1, 11)]
    document: dict[str, Any] = {
        "schema_version": "1.0",
        "work_orders": [{**each, "provenance": {**origin}} for each in orders],
        "requirements": [{"id": f"R{each}", "text": f"Demand {each}."} for each in range(30)],
        "provenance": {**origin},
    }
    digest = manifest_sha256(document)
    for holder in (document, *document["work_orders"]):
        holder["provenance"]["manifest_sha256"] = digest
    record = artifacts / "factory" / f"01M8D{number:021d}"
    plan = record / "plan"
    plan.mkdir(parents=True)
    (plan / "WORK_ORDERS_MANIFEST.json").write_text(json.dumps(document))
    branch = f"factory/p{number}"
    head = {"command": "run-all", "workdir": str(plan), "repo": str(repo), "branch": branch}
    (record / "run.json").write_text(json.dumps({**head, "manifest_sha256": digest}))
    parsed = [parse_document(WorkOrder, each) for each in orders]
    key = order_key(parsed[0])
    trailers = f"Llmch-Work-Order: WO-01\nLlmch-Plan: {digest}\nLlmch-Key: {key}"
    tree = git(repo, "rev-parse", "main^{tree}")
    commit = git(repo, "commit-tree", tree, "-p", "main", "-m", f"One\n\n{trailers}")
    git(repo, "branch", branch, commit)
    return parsed
