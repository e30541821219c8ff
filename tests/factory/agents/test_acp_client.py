"""An agent that is prompted by the Agent Client Protocol is held and judged as any other is."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from factory.agents.known_agents import agent_named
from factory.orders.stages import Stage
from factory.run.run_order import run_order
from factory.sandbox.policy import Backend
from shared.errors import InvalidInput
from shared.events.events import AgentEnded
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import SandboxSettings
from tests.factory.agents.scripted_agent import account_of, agents_of, logged
from tests.harness import Factory, blob, order, stages

pytest.importorskip("acp", reason="the extra acp is not installed")

GREETS = order(acceptance_commands=["grep -q hello hello.txt"])
ASKS = """
def turn(text):
    say("I ask. ")
    write("hello.txt", call("how does one greet?"))
serve(turn)
"""


def prompted(factory: Factory, *bodies: str, **bounds: Any) -> dict[str, Any]:
    return agents_of(factory, *bodies, prompted=True, **bounds)


def test_what_a_prompted_agent_writes_lands(factory: Factory) -> None:
    summary = factory.run(GREETS, ["hello\n"], **prompted(factory, ASKS))
    assert summary.verdict == "PASS"
    assert blob(factory.repo, factory.tip(), "hello.txt") == b"hello\n"
    (record,) = summary.attempt_records
    assert record.agent and record.agent.name.startswith("acp ")
    assert (record.agent.calls, record.agent.account[0]) == (1, "it ended its turn (end_turn)")
    assert factory.seen(AgentEnded)[0].files == ("hello.txt",)
    assert logged(factory, "agent.acp.log") == "I ask. "


@pytest.mark.rest
def test_a_replay_starts_no_prompted_agent(factory: Factory) -> None:
    options = prompted(factory, ASKS)
    factory.run(GREETS, ["hello\n"], **options)
    Path(options["factory"].proposers[0][2]).unlink()
    source = ModelSource(Mode.REPLAY, transcript=factory.run_folder / "transcript.jsonl")
    options |= {"branch": "again", "sandbox": SandboxSettings(backend=Backend.OFF)}
    summary = run_order(factory.save(GREETS), factory.options(**options), source, factory._take)
    assert (summary.verdict, summary.usage.calls) == ("PASS", 0)
    assert blob(factory.repo, factory.tip("again"), "hello.txt") == b"hello\n"


@pytest.mark.rest
def test_an_agent_that_left_nothing_is_prompted_once_more(factory: Factory) -> None:
    body = """
    texts = []
    def turn(text):
        texts.append(text)
        if len(texts) == 2:
            say(text)
            write("hello.txt", "hello")
    serve(turn)
    """
    assert factory.run(GREETS, [], **prompted(factory, body)).verdict == "PASS"
    assert logged(factory, "agent.acp.log").endswith("Write them now:\n- hello.txt")
    summary = factory.run(
        order(), [], branch="b", max_attempts=1, **prompted(factory, "serve(say)")
    )
    assert stages(summary) == [Stage.EXCEPTION]
    assert "ended its turn (end_turn), and changed no file" in account_of(summary)


def test_a_stray_line_is_what_it_prints(factory: Factory) -> None:
    body = "print('warning: old', flush=True)\n" + ASKS
    assert factory.run(GREETS, ["hello"], **prompted(factory, body)).verdict == "PASS"
    assert logged(factory, "agent.acp.log").startswith("warning: old\nI ask.")


def test_a_bound_ends_a_prompted_agent_too(factory: Factory) -> None:
    body = """
    def turn(text):
        while True:
            call("again")
    serve(turn)
    """
    summary = factory.run(order(), ["no"] * 2, max_attempts=1, **prompted(factory, body, calls=2))
    assert "the bound of 2 calls is reached" in account_of(summary)


def test_a_proposer_without_command_or_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="has no command"):
        agent_named(("acp",))
    with pytest.raises(InvalidInput, match="no/such"):
        agent_named(("acp", "no/such"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match="agent-client-protocol is not installed") as refused:
        agent_named(("acp", "sh"))
    assert "pip install '.[acp]'" in str(refused.value.hint)
