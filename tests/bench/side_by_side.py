"""Orders that do not need each other: how near `--jobs` comes to one order's latency."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from factory.batch.coordinator import run_all
from factory.graph import prepare
from shared.events import ignore
from shared.llm.client import Completion, LlmClient, Request
from shared.llm.stack import Mode, ModelSource
from tests.bench.measure import Samples, seconds_of
from tests.bench.rows import Aim, Row, Section
from tests.bench.run_all import run_options
from tests.bench.setting import Bench, make_repo, order_document, replies_to, write_orders
from tests.fakes import ScriptedModel

# 20 orders of 1 s, all at once: at most 2 s beside the one that any of them takes.
_OVER_ONE_ORDER = 2.0


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
    prepare()
    orders, latency = (3, 0.2) if bench.quick else (20, 1.0)
    rounds = bench.rounds(3)
    together = Samples.of(_seconds(bench, orders, orders, latency) for _ in range(rounds))
    one_by_one = Samples.of(_seconds(bench, orders, 1, latency) for _ in range(1))
    names = f"{orders} independent orders, {latency:g} s latency"
    return Section(
        "run-all --jobs: commands counted, each order verified again as it lands",
        (
            Row(
                name=f"{names}, --jobs {orders}",
                value=together.median,
                unit="s",
                floor=latency,
                floor_name="the latency of one",
                aim=Aim(factor=1, extra=_OVER_ONE_ORDER),
                noise=together.noise,
            ),
            Row(
                name=f"{names}, --jobs 1",
                value=one_by_one.median,
                unit="s",
                floor=latency * orders,
                floor_name="their latencies",
                noise=one_by_one.noise,
            ),
        ),
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
