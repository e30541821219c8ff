"""What `status` and `graph` take with a thousand orders, and `drift` with 200 requirements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.measure import interleave, run_child
from benchmarks.rows import Aim, Row, Section, timed
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
from tests.factory.drift.landed_shop import GREETING, land_as_llmch, make_shop, plan_of
from tests.factory.drift.test_bisection import Told, bisected, tell
from tests.harness import order

_LIMIT_MS = 500
_MOST_RUNS = 12
_DRIFT_LIMIT_MS = 1_000
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
    taken = interleave(cases, bench.rounds(9), warm=True)
    return Section(
        "Looking at a plan and at a run, start included",
        (
            *(
                timed(
                    f"llmch {name} of {large} orders",
                    taken[f"{name} {large}"],
                    taken[f"{name} {small}"],
                    f"of {small} orders",
                    Aim(extra=_LIMIT_MS),
                )
                for name in ("status", "graph")
            ),
            _drift_row(bench),
            _bisection_row(bench),
        ),
    )


def _drift_row(bench: Bench) -> Row:
    """Return what `drift` takes on a tree that it has looked at, beside the start of a verb."""
    size = 5 if bench.quick else 200
    repo = make_repo(bench.folder("repo") / "project", 10)
    documents = [
        order(
            number,
            allowed_files=[f"src/{number}.txt"],
            acceptance_commands=[f"grep -q {number} src/{number}.txt"],
            covers=[f"R{number}"],
        )
        for number in range(1, size + 1)
    ]
    demands = {f"R{number}": f"There is a {number}." for number in range(1, size + 1)}
    written = {
        each["id"]: {each["allowed_files"][0]: f"{each['covers'][0]}\n"} for each in documents
    }
    land_as_llmch(repo, plan_of(documents, demands), written, {})
    look = [*llmch_command(bench), "drift", "--repo", str(repo), "--sandbox", "off", "--quiet"]
    start = [*llmch_command(bench), "status", "--repo", str(repo), "--quiet"]
    cases: dict[str, Callable[[], float]] = {
        "drift": lambda: run_child(look, bench.environment).seconds,
        "start": lambda: run_child(start, bench.environment).seconds,
    }
    taken = interleave(cases, bench.rounds(9), warm=True)
    return timed(
        f"llmch drift of {size} requirements, the tree as before",
        taken["drift"],
        taken["start"],
        "status of the same repo, which has no run",
        Aim(factor=1, extra=_DRIFT_LIMIT_MS),
    )


def _bisection_row(bench: Bench) -> Row:
    """Return how often a requirement's tests run until the commit that broke it is found."""
    size = 50 if bench.quick else 1000
    repo = make_repo(bench.folder("repo") / "project", 10)
    make_shop(repo)
    broken = GREETING.replace("{name}!", "{name}?")
    texts = [broken if number >= size * 7 // 10 else GREETING for number in range(size)]
    story = [Told({"greeting.py": f"{text}\n# {n}\n"}) for n, text in enumerate(texts)]
    commits = tell(repo, story)
    found = bisected(repo, name="R2")
    assert found.found.id == commits[size * 7 // 10]
    return Row(
        name=f"runs of the tests of a bisection over {size:,} commits, all of which touch the code",
        value=found.runs,
        unit="runs",
        aim=Aim(extra=_MOST_RUNS),
        counted=True,
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
