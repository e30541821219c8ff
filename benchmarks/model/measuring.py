"""Measures tasks by variants, one after the other, until time or tasks are over."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from benchmarks.model.asked import ask
from benchmarks.model.figures import RUNS
from benchmarks.model.first_prompts import FIRST_PROMPTS
from benchmarks.model.ran import Server, run
from benchmarks.model.results import Result, append_result, read_results
from benchmarks.model.tasks import Task
from shared.llm.model_client import LlmClient
from shared.work_order.parse_order import sha256_bytes

VARIANTS = (*RUNS, *FIRST_PROMPTS)


@dataclass(frozen=True, slots=True)
class Bench:
    """Hold what is asked and where the results go; `client` asks the same server as `server`."""

    server: Server
    client: LlmClient
    results: Path
    deadline: float | None = None
    """When no further measurement is begun, by the monotonic clock."""
    side_by_side: int = 1


def measure(bench: Bench, tasks: Sequence[Task], variants: Sequence[str]) -> Iterator[Result]:
    """Yield each new result, which is on disk by then.

    What the results file has already is not measured again, unless the prompt is another by now.
    Where this is interrupted, or the server fails, all that was yielded is kept.
    """
    known = {(*each.key, each.prompt) for each in read_results(bench.results)}
    wanted = [
        (variant, task)
        for task in tasks
        for variant in variants
        if fits(variant, task) and _key(bench, variant, task) not in known
    ]
    for result in _outcomes(bench, wanted):
        if result is not None:
            append_result(bench.results, result)
            yield result


def _outcomes(bench: Bench, wanted: Sequence[tuple[str, Task]]) -> Iterator[Result | None]:
    """Yield what came of each measurement, as soon as it is there."""
    if bench.side_by_side == 1:
        yield from (_measure(bench, *each) for each in wanted)
        return
    pool = ThreadPoolExecutor(bench.side_by_side)
    try:
        for future in as_completed([pool.submit(_measure, bench, *each) for each in wanted]):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def fits(variant: str, task: Task) -> bool:
    """Return whether the variant can ask for such a task: some need a function's stub."""
    return variant in RUNS or bool(task.stub) or not FIRST_PROMPTS[variant].completes


def _key(bench: Bench, variant: str, task: Task) -> tuple[str, str, str, str]:
    return bench.server.model, variant, task.name, prompt_hash(variant, task)


def prompt_hash(variant: str, task: Task) -> str:
    """Return the hash of the prompt where the variant is one; a run renders its own prompts."""
    if variant in RUNS:
        return ""
    return sha256_bytes(FIRST_PROMPTS[variant].render(task).encode())[:12]


def _measure(bench: Bench, variant: str, task: Task) -> Result | None:
    """Return the result, or `None` where the time is over."""
    if bench.deadline is not None and time.monotonic() >= bench.deadline:
        return None
    if variant not in RUNS:
        return ask(bench.client, bench.server.model, variant, task)
    _, _, reply_format = variant.partition("-")
    options = ("--reply-format", reply_format) if reply_format else ()
    return run(bench.server, variant, task, *options)
