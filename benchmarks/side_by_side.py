"""Orders that do not need each other: how near `--jobs` comes to one order's latency."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.measure import Samples, interleave, seconds_of
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.run_all import run_options
from benchmarks.setting import (
    Bench,
    make_repo,
    module_path,
    order_document,
    replies_to,
    write_orders,
)
from factory.batch.batch import run_all
from factory.run.execution import prepare_graph
from shared.events.events import CommandEnded, Event, ignore
from shared.llm.model_client import Completion, LlmClient, Request
from shared.llm.stack import Mode, ModelSource
from tests.factory.batch.test_train import independent
from tests.factory.batch.test_train_growth import seconds_of as scheduling_seconds
from tests.fakes import ScriptedModel

# 20 orders of 1 s, all at once: at most 2 s beside the one that any of them takes.
_OVER_ONE_ORDER = 2.0
# Nothing is done twice with one job: a few hundredths are left for what llmch does itself.
_ONE_JOB = 1.05
# A few orders: near the critical path, which is any one of them.
_OVER_CRITICAL_PATH = 1.3
# Four times the orders: each takes as long, and four times as long if the whole plan is looked at.
_LONG_PLAN = 1.5


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
        "run-all --jobs: commands counted, each order verified once",
        (
            *_few(bench, few, latency),
            *_many(bench, many, latency),
            *_slow_tests(bench),
            *_behind_a_failure(bench),
            _long_plan(bench),
        ),
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
        yield timed(
            f"{orders} independent orders, {latency:g} s latency, {name}",
            samples,
            alone,
            "one of them alone",
            None if name == "--jobs 1" else Aim(factor=_OVER_CRITICAL_PATH),
            unit="s",
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


def _slow_tests(bench: Bench) -> Iterator[Row]:
    """Yield the rows of orders whose verification takes longer than their model.

    The commands sleep, so that the machine's cores do not decide.
    """
    orders, latency, verify = (3, 0.1, 0.2) if bench.quick else (20, 1.0, 2.0)
    one, jobs = latency + verify, 8
    cases = (
        (1, one * orders, "each of them alone", _ONE_JOB),
        (jobs, one * -(-orders // jobs), "the critical path", _OVER_CRITICAL_PATH),
    )
    verified = 0
    for width, floor, floor_name, factor in cases:
        done = _Slowly(bench, orders, latency, f"sleep {verify:g}").run(width)
        verified = max(verified, done.verified)
        yield Row(
            name=f"{orders} orders, {latency:g} s model, {verify:g} s tests, --jobs {width}",
            value=done.seconds,
            unit="s",
            floor=floor,
            floor_name=floor_name,
            aim=Aim(factor=factor),
        )
    yield Row(
        name="the same: verifications, at most",
        value=verified,
        unit="",
        floor=orders,
        floor_name="orders",
        aim=Aim(factor=1),
        counted=True,
    )


def _behind_a_failure(bench: Bench) -> Iterator[Row]:
    """Yield the row of orders of which one fails: how many verifications that costs."""
    orders, failing = 8, 3
    latency, verify = (0.05, 0.1) if bench.quick else (0.2, 1.0)
    script = f"sleep {verify:g}; test ! -e {module_path(failing)}"
    done = _Slowly(bench, orders, latency, script).run(8, landed=orders - 1)
    yield Row(
        name=f"{orders} orders of which number {failing} fails, --jobs 8: verifications",
        value=done.verified,
        unit="",
        floor=orders,
        floor_name="orders",
        aim=Aim(factor=1, extra=orders - failing),
        counted=True,
    )


def _long_plan(bench: Bench) -> Row:
    """Return the row of what is decided for each order of a long plan, without making any."""
    short, long = (50, 200) if bench.quick else (500, 2000)
    few, many = (
        Samples.of(scheduling_seconds(independent(count)) for _ in range(bench.rounds(3)))
        for count in (short, long)
    )
    return Row(
        name=f"{long:,} orders: schedule and train, each",
        value=many.median / long * 1000,
        unit="ms",
        floor=few.median / short * 1000,
        floor_name=f"each of {short}",
        aim=Aim(factor=_LONG_PLAN),
    )


@dataclass(slots=True)
class _Slowly:
    """Run independent orders on a slow model and a slow verification, and count."""

    bench: Bench
    count: int
    latency: float
    verify: str
    seconds: float = 0.0
    verified: int = 0

    def run(self, jobs: int, landed: int | None = None) -> _Slowly:
        """Run all orders; `landed` of them have to land, by default all.

        That the base passes its verification is known from a run before, which is not measured.
        """
        repo = make_repo(self.bench.folder("repo") / "project", 10, self.verify)
        orders = [order_document(number) for number in range(1, self.count + 1)]
        workdir = write_orders(self.bench.folder("orders"), orders)
        model = _Slow(ScriptedModel(replies_to(orders)), self.latency)
        options = run_options(self.bench, repo)
        settings = replace(options.settings, factory_attempts=1)
        options = replace(options, jobs=jobs, keep_going=True, settings=settings)

        once = ModelSource(Mode.LIVE, lambda emit: ScriptedModel(replies_to(orders)))
        before = write_orders(self.bench.folder("before"), orders[:1])
        run_all(before, replace(options, branch="before"), once, ignore)

        def hear(event: Event) -> None:
            if isinstance(event, CommandEnded) and event.order != "base":
                self.verified += event.purpose == "verify"

        def run() -> None:
            source = ModelSource(Mode.LIVE, lambda emit: model)
            summary = run_all(workdir, options, source, hear)
            done = sum(each.state.is_on_branch for each in summary.orders)
            assert done == (self.count if landed is None else landed), summary

        self.seconds = seconds_of(run)
        return self


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
