"""Traces of real commands, as an SDK in the process exports them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from llmch.telemetry import carried
from shared.settings.settings import Settings
from tests import processes
from tests.harness import manifest, write_plan, writing
from tests.llmch.command_line import (
    Say,
    model_server,
    own_environment,
    plan_reply,
    run,
    write_reply,
)
from tests.planner.plans import creating, plan
from tests.shared.llm.scripted_server import Silence

ONE, TWO = (write_reply({f"{number}.txt": "the text\n"}) for number in (1, 2))
STRAY, ASTRAY = (write_reply({f"{name}.txt": "text\n"}) for name in ("stray", "astray"))
PLANNER = Settings().planner.model
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """What an SDK of this process exports; a process has one provider."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def drawn(exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drawn]:
    monkeypatch.setenv("LLMCH_TELEMETRY", "on")
    exporter.clear()
    yield Drawn(exporter)
    exporter.clear()


class Drawn:
    """The spans that were exported."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [each for each in self.spans if each.name == name]

    def way(self, span: ReadableSpan) -> str:
        """Return the names from the root to a span."""
        names, by_id = [span.name], {each.context.span_id: each for each in self.spans}
        while span.parent is not None and span.parent.span_id in by_id:
            span = by_id[span.parent.span_id]
            names.insert(0, span.name)
        return " > ".join(names)

    @property
    def text(self) -> str:
        return "".join(each.to_json() for each in self.spans)


@pytest.fixture
def workdir(cwd: Path) -> Path:
    orders = [writing("1.txt", 1), writing("2.txt", 2)]
    return write_plan(cwd.parent / "plan", manifest(orders))


def run_all(repo: Path, workdir: Path, *more: str) -> list[str | Path]:
    return [
        *("run-all", "--repo", repo, "--workdir", workdir, "--sandbox", "off"),
        *("--reply-format", "json", "--max-attempts", "2", "--branch", "work", *more),
    ]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_is_drawn_with_its_orders_attempts_commands_and_calls(
    drawn: Drawn, say: Say, repo: Path, workdir: Path, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With two jobs, either order may get either reply; what matters is whose span is whose.
    with model_server(monkeypatch, STRAY, ONE, TWO, ASTRAY):
        say(*run_all(repo, workdir, "--jobs", jobs))
    (root,) = drawn.named("llmch run-all")
    assert root.parent is None
    calls = [each for each in drawn.spans if each.name.startswith("chat ")]
    assert len(calls) >= 3
    for each in calls:
        way = drawn.way(each)
        assert way.startswith("llmch run-all > run-all > order WO-0"), way
        assert " > attempt " in way
        assert each.attributes is not None
        assert each.attributes["gen_ai.operation.name"] == "chat"
        assert each.name == "chat " + str(each.attributes["gen_ai.request.model"])
    answered = [each for each in calls if "gen_ai.usage.output_tokens" in (each.attributes or {})]
    assert len(answered) >= 3
    for each in drawn.spans:
        own = str((each.attributes or {}).get("llmch.order", ""))
        if own.startswith("WO-") and each.name.startswith(("attempt", "verify", "propose")):
            assert f"order {own} > " in drawn.way(each)


def test_how_orders_ended_is_drawn(
    drawn: Drawn, say: Say, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, STRAY, ONE, STRAY, ASTRAY):
        assert say(*run_all(repo, workdir)).code == 1
    (passed,), (first, failed) = drawn.named("order WO-01"), drawn.named("order WO-02")
    assert [each.name for each in passed.events] == ["landed"]
    assert passed.status.status_code is StatusCode.UNSET
    # It was proposed beside the first order, and is made again on that order's commit.
    assert (first.attributes or {})["llmch.verdict"] == "AGAIN"
    assert first.status.status_code is StatusCode.UNSET
    assert failed.status.status_code is StatusCode.ERROR
    attempts = [
        each.attributes["error.type"] for each in drawn.named("attempt 1") if each.attributes
    ]
    assert set(attempts) == {"write_scope_violation"}
    commands = drawn.named("accept command")
    assert [(each.attributes or {})["process.exit.code"] for each in commands] == [0]
    assert "the text" not in drawn.text
    assert "as scripted" not in drawn.text
    assert "Say hello" not in drawn.text  # the title of an order


def test_a_plan_is_drawn_with_its_attempts(
    drawn: Drawn, say: Say, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "spec.md").write_text("# A file\n")
    reply = plan_reply(plan(creating(1, "1.txt")))
    with model_server(monkeypatch, plan_reply("no json"), reply):
        assert say("plan", "--spec", "spec.md", "--no-review").code == 0
    ways = [drawn.way(each) for each in drawn.spans if each.name.startswith("chat")]
    assert ways == [
        f"llmch plan > plan > plan attempt {number} > chat {PLANNER}" for number in (1, 2)
    ]


def test_texts_are_drawn_where_they_are_asked_for_and_secrets_never(
    drawn: Drawn, say: Say, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-of-a-person-0123456789"
    monkeypatch.setenv("LLMCH_TELEMETRY", "content")
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    said = write_reply({"1.txt": f"the text {secret}\n"})
    with model_server(monkeypatch, said, TWO):
        assert say(*run_all(repo, workdir)).code == 0
    (call, *_) = (each for each in drawn.spans if each.name.startswith("chat"))
    (message,) = json.loads(str((call.attributes or {})["gen_ai.output.messages"]))
    assert "the text" in message["parts"][0]["content"]
    assert "Say hello" in drawn.text
    assert secret not in drawn.text


def test_a_trace_goes_on_from_the_one_that_the_environment_names(
    drawn: Drawn, say: Say, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPARENT", PARENT)
    with model_server(monkeypatch, ONE, TWO):
        say(*run_all(repo, workdir))
    (root,) = drawn.named("llmch run-all")
    assert root.parent is not None
    assert f"{root.parent.span_id:016x}" in PARENT
    assert {f"{each.context.trace_id:032x}" in PARENT for each in drawn.spans} == {True}


def test_what_is_under_way_is_handed_to_processes_of_its_own(drawn: Drawn) -> None:
    assert carried() == {}
    with trace.get_tracer("test").start_as_current_span("around") as span:
        assert f"{span.get_span_context().span_id:016x}" in carried()["TRACEPARENT"]


@pytest.mark.parametrize("value", ["", "off", "0", "OFF"])
def test_without_being_asked_nothing_is_drawn(
    drawn: Drawn, say: Say, repo: Path, workdir: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMCH_TELEMETRY", value)
    with model_server(monkeypatch, STRAY, STRAY):
        say(*run_all(repo, workdir))
    assert drawn.spans == ()


def test_a_command_without_events_is_not_drawn(drawn: Drawn, say: Say) -> None:
    assert say("explain", "E101").code == 0
    assert drawn.spans == ()


def test_another_value_is_refused(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMCH_TELEMETRY", "yes please")
    said = say("explain", "E101", "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "LLMCH_TELEMETRY" in said.error["message"]


PROGRAM = """\
import sys
{before}
from llmch.cli import main
code = main()
{after}
sys.exit(code)
"""


def program(folder: Path, before: str = "", after: str = "") -> str:
    (folder / "traced.py").write_text(PROGRAM.format(before=before, after=after))
    return "traced"


@pytest.mark.rest
def test_a_missing_package_is_named_with_the_command_that_installs_it(cwd: Path) -> None:
    module = program(cwd, before="sys.modules['opentelemetry'] = None")
    said = run("explain", "E101", cwd=cwd, module=module, LLMCH_TELEMETRY="on")
    assert said.code == 1
    assert "pip install '.[otel]'" in said.err
    assert run("explain", "E101", cwd=cwd, module=module).code == 0


def test_without_being_asked_nothing_of_the_library_is_imported(cwd: Path) -> None:
    after = "assert not [each for each in sys.modules if each.startswith('opentelemetry')]"
    assert run("explain", "E101", cwd=cwd, module=program(cwd, after=after)).code == 0


EXPORTING = """\
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
file = open("spans.txt", "w")
exporter = ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(None) + "\\n")
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
"""


@pytest.mark.rest
def test_an_interrupted_run_ends_its_spans(
    cwd: Path, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = program(cwd, before=EXPORTING)
    words = [sys.executable, "-m", module, *map(str, run_all(repo, workdir, "--json"))]
    with model_server(monkeypatch, ONE, Silence()) as server:
        process = processes.start(
            words,
            cwd=cwd,
            env=own_environment(LLMCH_TELEMETRY="on", OPENAI_BASE_URL=server.base_url),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while len(server.received) < 2:
            assert process.poll() is None
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert json.loads(out)["error"]["name"] == "INTERRUPTED"
    spans = [json.loads(each) for each in (cwd / "spans.txt").read_text().splitlines()]
    ended = {each["name"]: each["status"].get("description", "") for each in spans}
    assert (ended["llmch run-all"], ended["run-all"]) == ("INTERRUPTED", "ERROR")
    assert ended["order WO-01"] == ""
    assert ended["order WO-02"] in ("ERROR", "INTERRUPTED")
    names = {each["context"]["span_id"] for each in spans}
    assert {each["parent_id"] for each in spans} <= names | {None}
