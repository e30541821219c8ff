"""What `llmch run` of one order takes from its start to its end, beside what it must import."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import ChildCost, Samples, run_child
from benchmarks.rows import Aim, Section, timed
from benchmarks.setting import Bench, chain, make_repo, module_path, write_orders
from benchmarks.start import llmch_command
from shared.work_order.parse_order import EMPTY_SHA256
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import scripted_server

_OVER_THE_IMPORTS_MS = 150
_COMMANDS = ("command_ended", "command_tried")
IMPORTS = "import openai, langgraph.graph"


def measure_run(bench: Bench) -> Section:
    """Return the time of a whole run: start, preflight, model over HTTP, commit, end."""
    order = write_orders(bench.folder("orders"), chain(1)) / "WO-01.json"
    rounds = bench.rounds(9)
    own: list[float] = []
    imports: list[ChildCost] = []
    with _model(rounds + 1) as environment:
        children = {**bench.environment, **environment}
        if not bench.quick:
            _run(bench, order, children)  # leaves byte code behind
        for _ in range(rounds):
            run = _run(bench, order, children)
            own.append(run.seconds - command_seconds(run))
            imports.append(run_child(bench.python("-c", IMPORTS), children))
    return Section(
        "run of one order, start included: commands not counted",
        (
            timed(
                "llmch run, 10 files",
                Samples.of(own),
                Samples.of(each.seconds for each in imports),
                IMPORTS,
                Aim(factor=1, extra=_OVER_THE_IMPORTS_MS),
            ),
        ),
    )


@contextmanager
def _model(calls: int) -> Iterator[Mapping[str, str]]:
    """A server that answers each of so many calls at once; yields what leads a child to it."""
    write = {"path": module_path(1), "base_sha256": EMPTY_SHA256, "content": "NUMBER = 1\n"}
    reply = chat_stream(json.dumps({"summary": "as asked", "writes": [write]}))
    with scripted_server(*[reply] * calls) as server:
        yield {"OPENAI_BASE_URL": server.base_url}


def _run(bench: Bench, order: Path, environment: Mapping[str, str]) -> ChildCost:
    repo = make_repo(bench.folder("repo") / "project", 10)
    argv = [
        *llmch_command(bench), "run", "--repo", str(repo), "--work-order", str(order),
        "--artifacts-dir", str(bench.scratch / "artifacts"), "--factory-model", "scripted",
        "--sandbox", "off", "--json",
    ]  # fmt: skip
    done = run_child(argv, environment)
    assert done.exit_code == 0, done.stdout.decode()
    return done


def command_seconds(run: ChildCost) -> float:
    """Return what the commands of a run took, those tried before its order included."""
    document: Any = json.loads(run.stdout)
    lines = (Path(document["run_dir"]) / "events.jsonl").read_text().splitlines()
    ended = [each for each in map(json.loads, lines) if each["event"] in _COMMANDS]
    return sum(float(each["seconds"]) for each in ended)
