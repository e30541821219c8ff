"""The recorder asks a server on this machine, which gives the replies that are on record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llmch.verbs.demo import Example
from shared.llm.transcript import Transcript
from tests.live.model_server import KEY, MODEL, URL, named_server
from tests.live.record import record
from tests.llmch.command_line import ROOT, own_environment
from tests.planner.plans import creating, plan, requiring
from tests.shared.llm.edge import chat_document
from tests.shared.llm.scripted_server import Act, Send, scripted_server

PLAN = plan(
    creating(1, "scripts/verify.sh", acceptance_commands=["sh -n scripts/verify.sh"]),
    verify_contract=requiring("scripts/verify.sh"),
)
RIGHT = "The verification.\n\n```scripts/verify.sh\ntrue\n```\n"


def factory_replies(transcript: Path) -> list[str]:
    """Return what the factory's model replied, in the order of the calls."""
    records: list[dict[str, Any]] = [
        json.loads(line) for line in transcript.read_text().splitlines()
    ]
    calls = [
        each["key"]
        for each in records
        if each["record"] == "intent" and each["place"]["role"] == "factory"
    ]
    texts = {each["key"]: each["text"] for each in records if each["record"] == "response"}
    return [texts[key] for key in calls]


@pytest.fixture
def example(tmp_path: Path) -> Example:
    """An example of one order, which verifies itself by a script that it writes."""
    folder = tmp_path / "example"
    (folder / "replies").mkdir(parents=True)
    (folder / "spec.md").write_text("# A script\n\nWrite a verification.\n")
    (folder / "replies/plan-1.json").write_text(json.dumps(PLAN))
    return Example("script", "A script", "the recorder", folder, run=())


def test_what_the_server_replies_goes_on_record(example: Example, tmp_path: Path) -> None:
    replies = ["I cannot do that.", RIGHT]
    acts: list[Act] = [Send(chat_document(text)) for text in replies]
    with scripted_server(*acts) as http:
        server = named_server({URL: http.base_url, MODEL: "a-model"})
        assert server is not None
        assert record(example, server, tmp_path / "made.jsonl", "a server 1.0")
        assert {body["model"] for body in http.bodies} == {"a-model"}
    assert factory_replies(tmp_path / "made.jsonl") == replies
    with Transcript.read(tmp_path / "made.jsonl") as made:
        assert made.origin.factory_model == "a-model"
        assert made.origin.server == "a server 1.0"


def test_a_model_that_does_not_build_the_example_records_nothing(
    example: Example, tmp_path: Path
) -> None:
    acts: list[Act] = [Send(chat_document("I cannot do that."))] * 20
    with scripted_server(*acts) as http:
        server = named_server({URL: http.base_url, MODEL: "a-model"})
        assert server is not None
        assert not record(example, server, tmp_path / "made.jsonl")
    assert not (tmp_path / "made.jsonl").exists()


@pytest.mark.rest
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "set OPENAI_BASE_URL and LLMCH_TEST_MODEL"),
        ({URL: "http://127.0.0.1:9/v1"}, "set OPENAI_BASE_URL and LLMCH_TEST_MODEL"),
        ({MODEL: "m"}, "set OPENAI_BASE_URL and LLMCH_TEST_MODEL"),
        ({MODEL: "m", URL: "nonsense"}, "the base URL of the model server is not an http"),
        ({MODEL: "m", URL: "https://models.example/v1"}, "OPENAI_API_KEY is not set"),
    ],
    ids=["nothing", "no model", "no server", "no URL", "no key"],
)
def test_without_a_server_it_says_what_to_set(variables: dict[str, str], words: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.live.record"],
        cwd=ROOT,
        env=own_environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 2
    assert words in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_a_key_goes_along_with_the_server() -> None:
    server = named_server({URL: "https://models.example/v1", MODEL: "m", KEY: "sk-1"})
    assert server is not None
    assert server.environment == {URL: "https://models.example/v1", KEY: "sk-1"}
