"""What `status` and `graph` take with a thousand orders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.measure import interleave, run_child
from benchmarks.rows import Aim, Row, Section
from benchmarks.setting import Bench, chain, make_repo, write_orders
from benchmarks.start import llmch_command
from factory.orders.stages import AttemptStage
from factory.preflight import find_repo
from factory.record.journal import journal_path, open_journal
from factory.record.journal_entries import (
    LandingBegun,
    ListedOrder,
    OrderBegun,
    OrderConcluded,
    OrderLanded,
    RunBegun,
    StageBegun,
)
from shared.llm.usage import UsageRecord

_LIMIT_MS = 500
_STAGES = (
    AttemptStage.PROPOSE,
    AttemptStage.APPLY,
    AttemptStage.VERIFY,
    AttemptStage.ACCEPT,
)
_USAGE = UsageRecord(
    calls=1,
    input_tokens=9,
    cached_tokens=0,
    output_tokens=9,
    reasoning_tokens=0,
    cost_usd=0.1,
)


def measure_looking(bench: Bench) -> Section:
    """Return how long each takes from start to end, beside the same for ten orders."""
    small, large = 10, 100 if bench.quick else 1000
    llmch = llmch_command(bench)
    commands = {
        f"{name} {size}": [*llmch, *arguments]
        for size in (small, large)
        for name, arguments in _looks(bench, size).items()
    }

    def seconds(argv: Sequence[str]) -> float:
        return run_child(argv, bench.environment).seconds

    cases = {name: partial(seconds, argv) for name, argv in commands.items()}
    for case in cases.values():
        case()
    taken = interleave(cases, bench.rounds(9))
    return Section(
        "Looking at a plan and at a run, start included",
        tuple(
            Row(
                name=f"llmch {name} of {large} orders",
                value=taken[f"{name} {large}"].median * 1000,
                unit="ms",
                floor=taken[f"{name} {small}"].median * 1000,
                floor_name=f"of {small} orders",
                aim=Aim(extra=_LIMIT_MS),
                noise=taken[f"{name} {large}"].noise,
            )
            for name in ("status", "graph")
        ),
    )


def _looks(bench: Bench, size: int) -> dict[str, list[str]]:
    repo = make_repo(bench.folder("repo") / "project", 10)
    write_journal(repo, size)
    plan = write_orders(bench.folder("plan"), chain(size))
    return {"status": ["status", "--repo", str(repo)], "graph": ["graph", str(plan)]}


def write_journal(repo: Path, size: int) -> None:
    """Leave the journal of a run in which each of so many orders landed at its first attempt."""
    common_dir = find_repo(repo).common_dir
    journal_path(common_dir).parent.mkdir()
    names = [each["id"] for each in chain(size)]
    with open_journal(common_dir) as journal:
        journal.record(
            RunBegun(
                run_id="01K0000000000000000000000A",
                pid=1,
                started="2026-01-01T00:00:00.000+00:00",
                folder=repo,
                orders=tuple(ListedOrder(name, f"Order {name}") for name in names),
                branch="work",
                base="0" * 40,
                transcript=repo / "transcript.jsonl",
            )
        )
        for name in names:
            journal.record(OrderBegun(name, "0" * 40, 5))
            for stage in _STAGES:
                journal.record(StageBegun(name, 1, stage))
            journal.record(LandingBegun(name, "work", "0" * 40, "1" * 40))
            journal.record(OrderLanded(name, "1" * 40))
            journal.record(OrderConcluded(name, "PASS", None, _USAGE))
