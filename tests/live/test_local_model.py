"""The program against a real model on a real server: `make test-live-local`.

What a model writes cannot be promised, so these tests promise what must hold whatever it writes:
requests are understood, replies parse or fail in the right stage, and nothing half-made lands. How
often the hello example passed is reported at the end. `LLMCH_TEST_LIVE_MODEL` is 0.5b or 1.5b
(1.5b), `LLMCH_TEST_LIVE_RUNS` how often to build the example (1).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import llmch
from factory.schemas import Stage, WriteProposal
from llmch.verbs.demo.build import make_repo
from llmch.verbs.demo.examples import find_example
from shared.events import Event, ModelTextArrived, Noted
from shared.hashing import EMPTY_SHA256
from shared.llm.access import ModelAccess, check_access
from shared.llm.client import Api, Place, ReplyCutShort, Request, Role
from shared.llm.live import LiveClient
from shared.llm.reply_schema import reply_schema
from tests.harness import git, manifest, write_plan
from tests.live.local_server import serving
from tests.live.weights import MODELS, Weights

RUNS = int(os.environ.get("LLMCH_TEST_LIVE_RUNS", "1"))
ROOT = Path(llmch.__file__).parents[1]
SECONDS_FOR_ONE_BUILD = 3600
OF_THE_MODEL = {
    Stage.EXCEPTION,
    Stage.LLM_OUTPUT_INVALID,
    Stage.WRITE_SCOPE_VIOLATION,
    Stage.VERIFY_FAILED,
    Stage.ACCEPTANCE_FAILED,
}


@pytest.fixture(scope="session")
def weights() -> Weights:
    return MODELS[os.environ.get("LLMCH_TEST_LIVE_MODEL", "1.5b")]


@pytest.fixture(scope="session")
def url(weights: Weights, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(weights, tmp_path_factory.mktemp("server") / "server.log") as url:
        yield url


@pytest.fixture
def access(url: str) -> ModelAccess:
    return check_access({"OPENAI_BASE_URL": url})


def ask(weights: Weights, prompt: str, api: Api = Api.CHAT, limit: int = 40) -> Request:
    return Request(
        api=api,
        model=weights.served_name,
        prompt=prompt,
        place=Place(Role.FACTORY, 1, "WO-01"),
        temperature=0.0,
        max_output_tokens=limit,
    )


def test_a_reply_arrives_whole(access: ModelAccess, weights: Weights) -> None:
    with LiveClient(access) as client:
        completion = client.complete(ask(weights, "Reply with the one word: hello"))
    assert completion.text.strip()
    assert completion.model == weights.served_name
    assert completion.usage.input_tokens > 0
    assert completion.usage.output_tokens > 0


def test_a_watched_reply_arrives_in_pieces_that_make_up_the_whole(
    access: ModelAccess, weights: Weights
) -> None:
    seen: list[Event] = []
    with LiveClient(access, seen.append) as client:
        completion = client.complete(ask(weights, "Count from one to five in words."))
    pieces = [event.text for event in seen if isinstance(event, ModelTextArrived)]
    assert len(pieces) > 1
    assert "".join(pieces) == completion.text
    assert completion.usage.output_tokens > 0


def test_a_schema_binds_the_reply(access: ModelAccess, weights: Weights) -> None:
    choices = {"path": ("hello.py",), "base_sha256": (EMPTY_SHA256,)}
    schema = reply_schema("write_proposal", WriteProposal, choices=choices)
    prompt = (
        'Reply with a JSON object: a "summary" of a few words and "writes", a list with one object '
        'that has "path" (hello.py), "base_sha256" and "content", a program that prints hi.'
    )
    with LiveClient(access) as client:
        completion = client.complete(replace(ask(weights, prompt, limit=300), reply_schema=schema))
    document = json.loads(completion.text)
    jsonschema.validate(document, dict(schema.schema))
    assert WriteProposal.model_validate(document).writes[0].path == "hello.py"
    assert completion.adjustments == ()


def test_without_a_responses_api_the_planner_is_answered_by_chat_and_told_so_once(
    access: ModelAccess, weights: Weights
) -> None:
    seen: list[Event] = []
    question = ask(weights, "Reply with the one word: hello", Api.RESPONSES)
    with LiveClient(access, seen.append) as client:
        first, second = client.complete(question), client.complete(question)
    notes = [event.message for event in seen if isinstance(event, Noted)]
    assert first.text.strip()
    assert second.text.strip()
    assert len(notes) == 1
    assert "Chat Completions is used" in notes[0]


def test_a_reply_that_reaches_its_limit_is_no_reply(access: ModelAccess, weights: Weights) -> None:
    with LiveClient(access) as client, pytest.raises(ReplyCutShort):
        client.complete(ask(weights, "Count from one to a hundred.", limit=8))


def test_the_hello_example(
    url: str, weights: Weights, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passed = 0
    for number in range(RUNS):
        folder = tmp_path / str(number)
        folder.mkdir()
        summary = build_hello(url, weights, folder)
        passed += summary["verdict"] == "PASS"
        check_attempts(summary)
        report(capsys, f"\n{describe(summary)}")
    report(capsys, f"{weights.name}: the hello example passed in {passed} of {RUNS} runs")


def report(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Show `text` also where the test passes."""
    with capsys.disabled():
        sys.stdout.write(f"{text}\n")


def build_hello(url: str, weights: Weights, folder: Path) -> Any:
    """Run the authored plan's orders as a user would: no key, the reply format by default."""
    example = find_example("hello")
    plan = json.loads((example.folder / "replies" / "plan-1.json").read_text())
    repo = make_repo(folder / "hello", example.title)
    workdir = write_plan(folder / "plan", manifest(plan["work_orders"]))
    environment = {name: text for name, text in os.environ.items() if name != "OPENAI_API_KEY"}
    where = ("--repo", repo, "--workdir", workdir, "--artifacts-dir", folder / "artifacts")
    model = ("--llm-model", weights.served_name)
    ended = subprocess.run(
        [sys.executable, "-m", "llmch", "run-all", *map(str, where), *model, "--json"],
        cwd=folder,
        env={**environment, "OPENAI_BASE_URL": url, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS_FOR_ONE_BUILD,
    )
    assert ended.returncode in (0, 1), ended.stderr
    summary = json.loads(ended.stdout)
    landed = [each for each in summary["orders"] if each["state"] == "landed"]
    assert int(git(repo, "rev-list", "--count", f"main..{summary['branch']}")) == len(landed)
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
