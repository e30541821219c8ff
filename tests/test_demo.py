"""Every shipped example, built as `llmch demo` builds it: only the model's replies are replayed.

Each example is built once a session.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from llmch.verbs.demo import Example, find_example, is_there, list_examples
from shared.llm.model_client import Request
from shared.llm.replayed_replies import RecordingClient
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import Intent, describe_origin, parse_record
from tests.authoring import AuthoredPlanner, factory_of, make_transcript
from tests.harness import git
from tests.llmch.command_line import Said, Say, run, say_in
from tests.once import made_once

NAMES = [each.name for each in list_examples()]


def _example(example: Example) -> ParameterSet:
    """Return the parameter for an example; it is skipped by name where it cannot be built."""
    what = example.need.what if example.need else ""
    needed = pytest.mark.skipif(not is_there(example), reason=f"needs {what}")
    marks = [needed] if example.name == "hello" else [needed, pytest.mark.rest]
    return pytest.param(example.name, marks=marks)


each_example = pytest.mark.parametrize("name", [_example(each) for each in list_examples()])


@dataclass(frozen=True)
class Built:
    """What came of one demo."""

    said: Said
    cwd: Path

    @property
    def repo(self) -> Path:
        return Path(self.said.document["repo"])

    @property
    def orders(self) -> list[dict[str, Any]]:
        orders: list[dict[str, Any]] = self.said.document["run"]["orders"]
        return orders

    def stages(self) -> list[tuple[str, str]]:
        """Return order and stage of every attempt that failed."""
        return [
            (order["work_order"], record["failure_brief"]["stage"])
            for order in self.orders
            for record in attempts_of(order)
            if record["failure_brief"]
        ]


def attempts_of(order: dict[str, Any]) -> list[dict[str, Any]]:
    summary = json.loads(Path(order["run_dir"], "run_summary.json").read_text())
    records: list[dict[str, Any]] = summary["attempt_records"]
    return records


Build = Callable[[str], Built]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds an example, the first time it is asked for."""

    def build(name: str) -> Built:
        folder = made_once(tmp_path_factory, f"demo-{name}", lambda folder: _build(name, folder))
        return Built(Said(**json.loads((folder / "said.json").read_text())), folder)

    return build


def _build(name: str, folder: Path) -> None:
    taken = folder / "llmch-demo" / name / "mine.txt"
    taken.parent.mkdir(parents=True)
    taken.write_text("mine\n")
    said = run("demo", name, "--json", cwd=folder)
    (folder / "said.json").write_text(json.dumps(asdict(said)))


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    return say_in(tmp_path, capsys)


def recorded(path: Path) -> Iterator[Request]:
    """Yield the requests of a transcript, in the order in which they were made."""
    for line in path.read_bytes().splitlines(keepends=True):
        record = parse_record(line)
        if isinstance(record, Intent):
            yield record.request


@each_example
def test_all_orders_land(build: Build, name: str) -> None:
    built = build(name)
    assert built.said.code == 0, built.said.err
    assert built.said.document["ok"] is True
    assert [each["state"] for each in built.orders] == ["landed"] * len(built.orders)
    assert len(built.orders) >= 3


@each_example
def test_each_order_is_a_commit_on_the_branch_that_is_shown(build: Build, name: str) -> None:
    built = build(name)
    assert git(built.repo, "branch", "--show-current") == built.said.document["run"]["branch"]
    commits = git(built.repo, "log", "--reverse", "--format=%H", "main..HEAD").splitlines()
    assert commits == [each["commit"] for each in built.orders]
    assert git(built.repo, "status", "--porcelain") == ""
    assert "Llmch-Work-Order: WO-01" in git(built.repo, "log", "-1", "--format=%B", commits[0])


@each_example
def test_nobody_is_asked_and_the_origin_of_the_replies_is_told(build: Build, name: str) -> None:
    built = build(name)
    said = built.said.err
    assert f"replies are replayed from {find_example(name).transcript}" in said
    with Transcript.read(find_example(name).transcript) as transcript:
        assert f"origin of these replies: {describe_origin(transcript.origin)}" in said
    assert built.said.document["plan"]["usage"]["calls"] == 0
    assert built.said.document["run"]["usage"]["calls"] == 0


@each_example
def test_the_program_that_was_built_is_run_and_its_commits_are_shown(
    build: Build, name: str
) -> None:
    said = build(name).said.err
    for order in build(name).orders:
        assert said.count(order["commit"][:7]) >= 2
    for argv in find_example(name).run:
        assert f"$ {' '.join(argv)}" in said


LOOPS = {
    "hello": [("WO-03", "acceptance_failed")],
    "maze": [("WO-02", "write_scope_violation"), ("WO-05", "acceptance_failed")],
    "wordgame": [("WO-02", "acceptance_failed"), ("WO-04", "stale_context")],
    "wordgame-ts": [("WO-03", "contract_violated")],
}


@each_example
def test_attempts_that_fail_on_the_way_are_mended(build: Build, name: str) -> None:
    assert build(name).stages() == LOOPS[name]
    for order, stage in LOOPS[name]:
        assert f"{order}    failed    {stage}" in build(name).said.err


@pytest.mark.rest
def test_a_plan_is_refused_with_codes_and_then_revised(build: Build) -> None:
    plan = build("wordgame").said.document["plan"]
    assert (plan["ok"], plan["attempts"]) == (True, 2)
    refused = Path(plan["run_dir"], "compile", "validation_errors_attempt_1.json")
    findings = json.loads(refused.read_text())["findings"]
    codes = {each["code"] for each in findings if each["severity"] == "error"}
    assert len(codes) >= 2
    assert [code for code in codes if code not in build("wordgame").said.err] == []


@each_example
def test_what_is_there_already_stays_and_a_second_folder_is_made(build: Build, name: str) -> None:
    built = build(name)
    assert built.repo == built.cwd / "llmch-demo" / f"{name}-2"
    taken = built.cwd / "llmch-demo" / name
    assert [(each.name, each.read_text()) for each in taken.iterdir()] == [("mine.txt", "mine\n")]


# Transcripts


@each_example
def test_every_reply_on_file_is_used(build: Build, name: str) -> None:
    """With the next test: a transcript made anew would be the same, byte for byte."""
    document = build(name).said.document
    used = sum(document[part]["usage"]["replayed_calls"] for part in ("plan", "run"))
    assert used == len(list(recorded(find_example(name).transcript)))


@pytest.mark.parametrize("name", NAMES)
def test_a_transcript_is_what_its_sources_make(tmp_path: Path, name: str) -> None:
    example, made = find_example(name), tmp_path / "transcript.jsonl"
    origin, factory = factory_of(example)
    with Transcript.open(made, origin) as transcript:
        client = RecordingClient(AuthoredPlanner(example.folder, factory), transcript)
        for request in recorded(example.transcript):
            client.complete(request)
    assert made.read_bytes() == example.transcript.read_bytes()


@pytest.mark.rest
def test_a_transcript_made_anew_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    example = find_example("hello")
    make_transcript(example, tmp_path / "transcript.jsonl")
    assert (tmp_path / "transcript.jsonl").read_bytes() == example.transcript.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_transcript_names_no_machine_and_no_moment(name: str) -> None:
    header, text = find_example(name).transcript.read_text().split("\n", maxsplit=1)
    # Where a model gave the replies, the header says on which day.
    assert ('"date"' in header) is ('"live"' in header)
    assert '"date"' not in text
    assert "/tmp" not in text
    assert "/home" not in text


# Flags and refusals


def test_the_examples_are_listed_with_what_they_show(say: Say) -> None:
    lines = say("demo", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert [each["name"] for each in say("demo", "--list", "--json").document["examples"]] == NAMES


def test_an_example_that_is_not_there_is_refused(say: Say, tmp_path: Path) -> None:
    said = say("demo", "nope", "--json")
    assert said.code == 2
    assert all(name in said.error["hint"] for name in NAMES)
    assert list(tmp_path.iterdir()) == []


def test_an_example_that_needs_what_is_not_there_is_refused_before_anything_is_made(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    monkeypatch.setenv("PATH", str(nothing))
    said = say("demo", "wordgame-ts", "--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert "needs Node 22.18 or newer" in said.error["message"]
    assert "hello, maze, wordgame" in said.error["hint"]
    assert list(tmp_path.iterdir()) == [nothing]


def test_an_older_node_is_not_enough(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\nexit 1\n")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", f"{node.parent}:{os.environ['PATH']}")
    assert say("demo", "wordgame-ts", "--json").error["name"] == "PREFLIGHT"


def test_a_folder_that_is_not_empty_is_refused(say: Say, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine\n")
    said = say("demo", "hello", "--dir", ".", "--json")
    assert said.code == 2
    assert "not empty" in said.error["message"]
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def test_a_live_demo_needs_a_key_before_it_makes_anything(say: Say, tmp_path: Path) -> None:
    said = say("demo", "hello", "--llm", "live", "--json")
    assert (said.code, said.error["name"]) == (3, "MODEL")
    assert list(tmp_path.iterdir()) == []


def test_a_sandbox_that_nobody_knows_is_refused(say: Say, tmp_path: Path) -> None:
    said = say("demo", "hello", "--sandbox", "vault", "--json")
    assert said.code == 2
    assert "vault" in said.error["message"]
    assert list(tmp_path.iterdir()) == []
