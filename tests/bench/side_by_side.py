"""Orders that do not need each other: how near `--jobs` comes to one order's latency."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from factory.attempt.graph import prepare_graph
from factory.batch.coordinator import run_all
from shared.events.event import ignore
from shared.llm.client import Completion, LlmClient, Request
from shared.llm.stack import Mode, ModelSource
from tests.bench.measure import Samples, interleave, seconds_of
from tests.bench.rows import Aim, Row, Section
from tests.bench.run_all import run_options
from tests.bench.setting import Bench, make_repo, order_document, replies_to, write_orders
from tests.fakes import ScriptedModel

# 20 orders of 1 s, all at once: at most 2 s beside the one that any of them takes.
_OVER_ONE_ORDER = 2.0
# A few orders: near the critical path, which is any one of them.
_OVER_CRITICAL_PATH = 1.3


@dataclass(frozen=True, slots=True)
class _Slow:
    """A model that takes its time; several calls may wait at once."""

    inner: LlmClient
    seconds: float

    def complete(self, request: Request) -> Completion:
        time.sleep(self.seconds)
        return self.inner.complete(request)


def measure_side_by_side(bench: Bench) -> Section:
    """Return the rows of independent orders, with one job and with a job for each."""
    prepare_graph()
    few, many, latency = (2, 3, 0.2) if bench.quick else (8, 20, 1.0)
    return Section(
        "run-all --jobs: commands counted, each order verified again as it lands",
        (*_few(bench, few, latency), *_many(bench, many, latency)),
    )


def _few(bench: Bench, orders: int, latency: float) -> Iterator[Row]:
    """Yield the rows beside the critical path: a run of one such order, start and end included."""
    cases = {
        name: (lambda count=count, jobs=jobs: _seconds(bench, count, jobs, latency))
        for name, count, jobs in (
            ("alone", 1, 1),
            (f"--jobs {orders}", orders, orders),
            ("--jobs 1", orders, 1),
        )
    }
    taken = interleave(cases, bench.rounds(3))
    alone = taken.pop("alone")
    for name, samples in taken.items():
        yield Row(
            name=f"{orders} independent orders, {latency:g} s latency, {name}",
            value=samples.median,
            unit="s",
            floor=alone.median,
            floor_name="one of them alone",
            aim=None if name == "--jobs 1" else Aim(factor=_OVER_CRITICAL_PATH),
            noise=samples.noise,
        )


def _many(bench: Bench, orders: int, latency: float) -> Iterator[Row]:
    """Yield the row beside the latency that nothing can hide."""
    together = Samples.of(_seconds(bench, orders, orders, latency) for _ in range(bench.rounds(3)))
    yield Row(
        name=f"{orders} independent orders, {latency:g} s latency, --jobs {orders}",
        value=together.median,
        unit="s",
        floor=latency,
        floor_name="the latency of one",
        aim=Aim(factor=1, extra=_OVER_ONE_ORDER),
        noise=together.noise,
    )


def _seconds(bench: Bench, count: int, jobs: int, latency: float) -> float:
    repo = make_repo(bench.folder("repo") / "project", 10)
    orders = [order_document(number) for number in range(1, count + 1)]
    model = _Slow(ScriptedModel(replies_to(orders)), latency)
    workdir = write_orders(bench.folder("orders"), orders)
    options = replace(run_options(bench, repo), jobs=jobs)
    source = ModelSource(Mode.LIVE, lambda emit: model)

    def run() -> None:
        summary = run_all(workdir, options, source, ignore)
        assert summary.verdict == "PASS", summary

    return seconds_of(run)
