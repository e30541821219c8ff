"""An account that may not stream can plan and build: it is asked again without streams."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness import blob, order
from tests.llmch.command_line import Say, model_server
from tests.planner.plans import creating, plan
from tests.shared.llm.edge import chat_document, error_answer, response_document
from tests.shared.llm.scripted_server import Send

REFUSAL = error_answer(
    400, "Your organization must be verified to stream this model.", "unsupported_value", "stream"
)
SAID = "streaming was refused: replies are no longer shown as they come"


def test_a_plan_is_made_without_streams(
    say: Say, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "spec.md").write_text("# Greeter\n\nSay hello.\n")
    reply = json.dumps(plan(creating(1, "greet.py"), creating(2, "tests/test_greet.py")))
    acts = (REFUSAL, Send(response_document("queued")), Send(response_document(text=reply)))
    with model_server(monkeypatch, *acts) as server:
        said = say("plan", "--spec", "spec.md", "--no-review", "--outdir", "plan")
    assert said.code == 0, said.err
    assert said.out.count(SAID) == 1
    assert (server.left, len(server.received)) == (0, 3)
    assert (cwd / "plan" / "WO-02.json").exists()


def test_an_order_becomes_a_commit_without_streams(
    say: Say, cwd: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "WO-01.json").write_text(json.dumps(order()))
    reply = "It greets.\n\n```hello.txt\nhello\n```\n"
    with model_server(monkeypatch, REFUSAL, Send(chat_document(reply))) as server:
        said = say(
            "run", "--repo", repo, "--work-order", "WO-01.json", "--branch", "work",
            "--sandbox", "off",
        )  # fmt: skip
    assert said.code == 0, said.err
    assert said.out.count(SAID) == 1
    assert [body.get("stream") for body in server.bodies] == [True, None]
    assert blob(repo, "work", "hello.txt") == b"hello\n"
