"""An agent that misuses the protocol by which it is prompted. llmch's process is the other end."""

from __future__ import annotations

import json
import logging

import pytest

from factory.orders.stages import Stage
from tests.factory.agents.scripted_agent import account_of, agents_of, logged
from tests.harness import Factory, fingerprint, order, stages

pytest.importorskip("acp", reason="the extra acp is not installed")


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
            ask("session/request_permission", options=[3] * 2_000_000)["error"]["code"],
            ask("fs/write_text_file", path={str(factory.repo / "evil")!r}, content="x")["error"],
            ask("fs/read_text_file", path="/etc/passwd")["error"]["code"],
            ask("terminal/create", command="id")["error"]["code"],
            ask("no/such")["error"]["code"],
        ]))
        attempt("outside", lambda: write({str(factory.repo / "evil")!r}, "x"))
        write("other.txt", "x")
        write("hello.txt", "hello")
    serve(turn, **{{"session/new": {{"sessionId": "s", "configOptions": [3] * 9999}}}})
    """
    summary = factory.run(order(), [], **agents_of(factory, body, prompted=True))
    assert summary.verdict == "PASS", account_of(summary)
    said = logged(factory, "agent.acp.log").splitlines()
    allowed, denied, *refused = json.loads(said[0].partition("outside")[0])
    assert allowed == {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    assert denied == {"outcome": {"outcome": "cancelled"}}
    assert [each if isinstance(each, int) else each["code"] for each in refused] == [
        *([-32602] * 2),
        *([-32601] * 4),
    ]
    (record,) = summary.attempt_records
    assert record.agent and record.agent.dropped == ("other.txt",)
    assert fingerprint(factory.repo) == before


@pytest.mark.rest
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
    options = agents_of(factory, body, prompted=True, minutes=minutes)
    summary = factory.run(order(), [], max_attempts=1, **options)
    assert stages(summary) == [Stage.EXCEPTION]
    assert said in account_of(summary) and "\x1b" not in account_of(summary)
    assert not factory.tip()
    assert not caplog.records and capfd.readouterr() == ("", "")
    assert not logging.getLogger().handlers or caplog.handler in logging.getLogger().handlers
