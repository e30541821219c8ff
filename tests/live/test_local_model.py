"""The program against a person's own model server: `make test-live`.

Nobody can promise what a model writes, so these tests promise what must hold whatever it writes:
requests are understood, replies parse or fail in the right stage, and nothing half-made lands. They
report at the end how often the hello example passed. `OPENAI_BASE_URL` names the server and
`LLMCH_TEST_MODEL` the model; `LLMCH_TEST_RUNS` says how often to build the hello example (once).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import llmch
from factory.orders.documents import WriteProposal
from factory.orders.stages import Stage
from factory.proposal.request import write_schema
from llmch.verbs.demo import find_example, make_repo
from shared.events.events import Event, ModelTextArrived, Noted
from shared.llm.live_client import LiveClient
from shared.llm.model_client import Api, CallPlace, ReplyCutShort, Request, Role
from shared.work_order.parse_order import EMPTY_SHA256
from tests.harness import git, manifest, write_plan
from tests.live.model_server import ModelServer

RUNS = int(os.environ.get("LLMCH_TEST_RUNS", "1"))
ROOT = Path(llmch.__file__).parents[1]
SECONDS_FOR_ONE_BUILD = 3600
OF_THE_MODEL = {
    Stage.EXCEPTION,
    Stage.LLM_OUTPUT_INVALID,
    Stage.WRITE_SCOPE_VIOLATION,
    Stage.VERIFY_FAILED,
    Stage.CONTRACT_VIOLATED,
    Stage.ACCEPTANCE_FAILED,
}


def ask(server: ModelServer, prompt: str, api: Api = Api.CHAT, limit: int = 1024) -> Request:
    return Request(
        api=api,
        model=server.model,
        prompt=prompt,
        place=CallPlace(Role.FACTORY, 1, "WO-01"),
        temperature=0.0,
        max_output_tokens=limit,
    )


def test_a_reply_arrives_whole(server: ModelServer) -> None:
    with LiveClient(server.access) as client:
        completion = client.complete(ask(server, "Reply with the one word: hello"))
    assert completion.text.strip()
    assert completion.model
    assert completion.usage.input_tokens > 0
    assert completion.usage.output_tokens > 0


def test_a_watched_reply_arrives_in_pieces_that_make_up_the_whole(server: ModelServer) -> None:
    seen: list[Event] = []
    with LiveClient(server.access, seen.append) as client:
        completion = client.complete(ask(server, "Count from one to five in words."))
    pieces = [event.text for event in seen if isinstance(event, ModelTextArrived)]
    assert len(pieces) > 1
    assert "".join(pieces) == completion.text
    assert completion.usage.output_tokens > 0


def test_a_schema_binds_the_reply(server: ModelServer) -> None:
    schema = write_schema(["hello.py"], [EMPTY_SHA256])
    prompt = (
        'Reply with a JSON object: a "summary" of a few words and "writes", a list with one object '
        'that has "path" (hello.py), "base_sha256" and "content", a program that prints hi.'
    )
    with LiveClient(server.access) as client:
        completion = client.complete(replace(ask(server, prompt), reply_schema=schema))
    if completion.adjustments:
        pytest.skip(f"this server binds no reply by a schema: {completion.adjustments}")
    document = json.loads(completion.text)
    jsonschema.validate(document, dict(schema.schema))
    assert WriteProposal.model_validate(document).writes[0].path == "hello.py"


def test_the_planner_is_answered_and_each_change_of_form_is_said_once(server: ModelServer) -> None:
    seen: list[Event] = []
    question = ask(server, "Reply with the one word: hello", Api.RESPONSES)
    with LiveClient(server.access, seen.append) as client:
        first, second = client.complete(question), client.complete(question)
    notes = [event.message for event in seen if isinstance(event, Noted)]
    assert first.text.strip()
    assert second.text.strip()
    assert len(notes) == len(set(notes))


def test_a_reply_that_reaches_its_limit_is_no_reply(server: ModelServer) -> None:
    with LiveClient(server.access) as client, pytest.raises(ReplyCutShort):
        client.complete(ask(server, "Count from one to a hundred.", limit=8))


def test_the_hello_example(
    server: ModelServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passed = 0
    for number in range(RUNS):
        folder = tmp_path / str(number)
        folder.mkdir()
        summary = build_hello(server, folder)
        passed += summary["verdict"] == "PASS"
        check_attempts(summary)
        report(capsys, f"\n{describe(summary)}")
    report(capsys, f"{server.model}: the hello example passed in {passed} of {RUNS} runs")


def report(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Show `text` also where the test passes."""
    with capsys.disabled():
        sys.stdout.write(f"{text}\n")


def build_hello(server: ModelServer, folder: Path) -> Any:
    """Run the authored plan's orders as a user would, the reply format by default."""
    example = find_example("hello")
    plan = json.loads((example.folder / "replies" / "plan-1.json").read_text())
    repo = make_repo(folder / "hello", example.title)
    workdir = write_plan(folder / "plan", manifest(plan["work_orders"]))
    environment = {**os.environ, **server.environment, "PYTHONPATH": str(ROOT)}
    where = ("--repo", repo, "--workdir", workdir, "--artifacts-dir", folder / "artifacts")
    model = ("--factory-model", server.model)
    ended = subprocess.run(
        [sys.executable, "-m", "llmch", "run-all", *map(str, where), *model, "--json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS_FOR_ONE_BUILD,
    )
    assert ended.returncode in (0, 1), ended.stderr
    summary = json.loads(ended.stdout)
    landed = [each for each in summary["orders"] if each["state"] == "landed"]
    # Where nothing landed, there may be no branch at all.
    branches = git(repo, "branch", "--list", summary["branch"], "--format=%(refname)")
    commits = git(repo, "rev-list", "--count", f"main..{branches}") if branches else "0"
    assert int(commits) == len(landed)
    return summary


def check_attempts(summary: Any) -> None:
    """Each attempt has a reply on record, and either a proposal or the model's own fault."""
    for order in summary["orders"]:
        for attempt in attempts_of(order):
            brief = brief_of(attempt)
            if brief is None or brief["stage"] != Stage.EXCEPTION:
                assert (attempt / "raw_llm_response.txt").read_text().strip()
            invalid = brief is not None and brief["stage"] in (
                Stage.EXCEPTION,
                Stage.LLM_OUTPUT_INVALID,
            )
            assert (attempt / "proposed_writes.json").exists() is not invalid
            assert brief is None or brief["stage"] in OF_THE_MODEL


def describe(summary: Any) -> str:
    """Return, order by order, what became of its attempts."""
    lines = []
    for order in summary["orders"]:
        briefs = [brief_of(attempt) for attempt in attempts_of(order)]
        stages = [brief["stage"] if brief else "passed" for brief in briefs]
        lines.append(f"{order['work_order']} {order['state']}: {', '.join(stages)}")
    return "\n".join([*lines, f"usage: {summary['usage']}"])


def attempts_of(order: Any) -> list[Path]:
    return sorted(Path(order["run_dir"]).glob("attempt_*"))


def brief_of(attempt: Path) -> Any:
    path = attempt / "failure_brief.json"
    return json.loads(path.read_text()) if path.exists() else None
