"""An agent that is prompted by the Agent Client Protocol is held and judged as any other is."""

from __future__ import annotations

import importlib.util
import json
import logging
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
from tests.harness import Factory, blob, fingerprint, order, stages

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


def test_a_replay_starts_no_prompted_agent(factory: Factory) -> None:
    options = prompted(factory, ASKS)
    factory.run(GREETS, ["hello\n"], **options)
    Path(options["factory"].proposers[0][2]).unlink()
    source = ModelSource(Mode.REPLAY, transcript=factory.run_folder / "transcript.jsonl")
    options |= {"branch": "again", "sandbox": SandboxSettings(backend=Backend.OFF)}
    summary = run_order(factory.save(GREETS), factory.options(**options), source, factory._take)
    assert (summary.verdict, summary.usage.calls) == ("PASS", 0)
    assert blob(factory.repo, factory.tip("again"), "hello.txt") == b"hello\n"


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


def test_every_permission_is_given_and_nothing_of_the_client_is_offered(factory: Factory) -> None:
    before = fingerprint(factory.repo)
    body = f"""
    def option(kind):
        return {{"optionId": kind, "name": kind, "kind": kind}}
    def turn(text):
        asked = [option("reject_once"), option("allow_once")]
        call = {{"toolCallId": "c"}}
        meta = {{"self": 1, "options": "x"}}
        more = {{"toolCall": call, "_meta": meta}}
        say(json.dumps([
            ask("session/request_permission", options=asked, **more)["result"],
            ask("session/request_permission", options=asked[:1], **more)["result"],
            ask("session/request_permission", options=7)["error"]["code"],
            ask("fs/write_text_file", path={str(factory.repo / "evil")!r}, content="x")["error"],
            ask("fs/read_text_file", path="/etc/passwd")["error"]["code"],
            ask("terminal/create", command="id")["error"]["code"],
            ask("no/such")["error"]["code"],
        ]))
        attempt("outside", lambda: write({str(factory.repo / "evil")!r}, "x"))
        write("other.txt", "x")
        write("hello.txt", "hello")
    serve(turn)
    """
    summary = factory.run(GREETS, [], **prompted(factory, body))
    assert summary.verdict == "PASS", account_of(summary)
    said = logged(factory, "agent.acp.log").splitlines()
    allowed, denied, *refused = json.loads(said[0].partition("outside")[0])
    assert allowed == {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    assert denied == {"outcome": {"outcome": "cancelled"}}
    assert [each if isinstance(each, int) else each["code"] for each in refused] == [
        -32602,
        *([-32601] * 4),
    ]
    (record,) = summary.attempt_records
    assert record.agent and record.agent.dropped == ("other.txt",)
    assert fingerprint(factory.repo) == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("serve(lambda text: time.sleep(60))", "took over 0.03 minutes"),
        ("serve(lambda text: sys.exit(3))", "ended with exit code 3 before its turn had ended"),
        ("sys.exit(0)", "ended with exit code 0 before its turn had ended"),
        (
            "serve(lambda text: (os.close(0), os.close(1), time.sleep(60)))",
            "hung up during its turn",
        ),
        ("serve(print, **{'session/new': 7})", "it answered what the protocol does not have"),
        ("serve(print, initialize={'protocolVersion': 9})", "it speaks version 9 of the protocol"),
        ("serve(print, 'bored')", "it answered what the protocol does not have"),
        ("send(id=0, error={'code': 1, 'message': 'pay\\x1b[2J'}); read(); read()", "refused: pay"),
        ("print('{broken', flush=True); read(); read()", "not a message of JSON-RPC"),
        ("print('{\"id\":[1]}', flush=True); read(); read()", "not a message of JSON-RPC"),
        ("send(id=0, error=[7]); read(); read()", "not a message of JSON-RPC"),
        ("send(id=1, method=[7]); read(); read()", "not a message of JSON-RPC"),
        ("print('{' + '\"a\":{' * 99999, flush=True); read(); read()", "not a message of JSON-RPC"),
        ("print('x' * 100_000_000); read(); read()", "a line of over 8,388,608 bytes"),
        ("while True: say('x' * 100_000)", "it sent over 67,108,864 bytes"),
        ("while True: send(id=1, method='x')", "it asked over 10,000 questions"),
    ],
)
def test_an_agent_that_breaks_the_protocol_fails_the_attempt(
    factory: Factory,
    body: str,
    said: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    minutes = 0.03 if "minutes" in said else 1.0
    options = prompted(factory, body, minutes=minutes)
    summary = factory.run(order(), [], max_attempts=1, **options)
    assert stages(summary) == [Stage.EXCEPTION]
    assert said in account_of(summary) and "\x1b" not in account_of(summary)
    assert not factory.tip()
    assert not caplog.records and capfd.readouterr() == ("", "")
    assert not logging.getLogger().handlers or caplog.handler in logging.getLogger().handlers


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
