"""Against a mock server that others wrote: it breaks calls its own way and grades the client.

llmock (PyPI, MIT) speaks both APIs. It watches how calls are repeated: too soon, too often, in
vain, or not at all; and whether a broken stream was taken for a whole one.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shared.events.events import ignore
from shared.llm.call_retry import RetryContext, RetryPolicy, SecondChanceClient, SystemClock
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import Completion, Request
from tests import processes
from tests.shared.llm.edge import SCHEMA, chat_request, outcome, planner_request
from tests.shared.llm.scripted_server import refused_port

pytestmark = pytest.mark.rest


# Real time passes here, for llmock measures it: a tenth of the usual first wait is enough.
POLICY = RetryPolicy(retries=4, base_seconds=0.1)
WAYS = {"chat": chat_request, "responses": planner_request}


@dataclass(frozen=True)
class Mock:
    """The running server."""

    port: int

    def call(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, path, payload, {"content-type": "application/json"})
            answer = connection.getresponse()
            assert answer.status < 400, answer.read()
            return json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def plan(self, *behaviors: dict[str, Any]) -> None:
        self.call("POST", "/_llmock/reset")
        if behaviors:
            self.call("POST", "/_llmock/scenario", {"behaviors": list(behaviors)})

    def ask(self, request: Request, *, stream: bool = True) -> Completion:
        access = ModelAccess(f"http://127.0.0.1:{self.port}/v1", "k", stall_seconds=3.0)
        emit = (lambda event: None) if stream else ignore
        with LiveClient(access, emit, policy=POLICY) as client:
            patience = RetryContext(POLICY, SystemClock())
            return SecondChanceClient(client, patience).complete(request)

    def findings(self, *, but: str = "") -> list[str]:
        """What it holds against the client; `but` is the code of a finding that is left out."""
        verdict = self.call("GET", "/_llmock/verdict")
        return [str(each) for each in verdict["findings"] if each["code"] != but]

    def requests(self) -> int:
        return int(self.call("GET", "/_llmock/requests")["count"])


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mock]:
    port = refused_port()
    command = [str(Path(sys.executable).with_name("llmock")), "serve"]
    server = processes.start(
        [*command, "-h", "127.0.0.1", "-p", str(port), "--log-level", "error"],
        cwd=tmp_path_factory.mktemp("llmock"),
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not _listens(port):
            assert server.poll() is None, "llmock ended instead of serving"
            assert time.monotonic() < deadline, "llmock does not listen"
            time.sleep(0.05)
        yield Mock(port)
    finally:
        server.terminate()
        server.wait(60)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(("way", "stream"), [("chat", True), ("chat", False), ("responses", True)])
@pytest.mark.parametrize(
    "fault",
    [
        [],
        [{"type": "fail", "status": 429, "retry_after": 0.3, "times": 2}],
        [{"type": "fail", "status": 429}],
        *(
            [{"type": "fail", "status": status, "retry_after": 0.1}]
            for status in (500, 502, 503, 504)
        ),
        [{"type": "fail", "status": 503, "times": 3, "retry_after": 0.1}],
        [{"type": "stream_fault", "kind": "disconnect", "after_chunks": 3}],
        [{"type": "stream_fault", "kind": "truncate", "after_chunks": 3}],
        [{"type": "stream_fault", "kind": "malformed", "after_chunks": 3}],
        [{"type": "stream_fault", "kind": "stall", "after_chunks": 3, "stall_seconds": 9}],
        [{"type": "delay", "seconds": 0.2}],
    ],
    ids=lambda fault: "-".join(str(value) for each in fault for value in each.values()) or "none",
)
def test_the_reply_comes_through_and_the_client_behaves(
    mock: Mock, way: str, stream: bool, fault: list[dict[str, Any]]
) -> None:
    text = "one two three four five six"
    mock.plan({"type": "reply", "text": text, "times": None}, *fault)
    assert mock.ask(WAYS[way](max_output_tokens=100), stream=stream).text == text
    if any(each.get("kind") == "malformed" for each in fault) and stream:
        # The mock takes a stream for accepted if its last bytes had left before the client hung
        # up, whatever the client did then: that it asked once more is counted here instead.
        assert mock.requests() > 1
        assert mock.findings(but="malformed_chunk_ignored") == []
    else:
        assert mock.findings() == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_no_retry_mends_is_asked_once(mock: Mock, way: str, status: int) -> None:
    mock.plan({"type": "fail", "status": status, "times": None, "message": "the model is gone"})
    assert outcome(lambda: mock.ask(WAYS[way]())).startswith("ModelUnavailable")
    assert mock.requests() == 1
    assert mock.findings() == []


@pytest.mark.parametrize("way", WAYS)
def test_an_outage_ends_the_run_after_bounded_retries(mock: Mock, way: str) -> None:
    mock.plan({"type": "fail", "status": 503, "times": None, "retry_after": 0.1})
    assert outcome(lambda: mock.ask(WAYS[way]())).startswith("ModelUnavailable: the model server")
    assert mock.requests() == 5
    assert mock.findings() == []


@pytest.mark.parametrize("way", WAYS)
def test_structured_output_and_usage_are_understood(mock: Mock, way: str) -> None:
    mock.plan()
    completion = mock.ask(WAYS[way](reply_schema=SCHEMA, temperature=0.0))
    assert set(json.loads(completion.text)) == {"answer"}
    assert completion.usage.input_tokens > 0
    assert completion.adjustments == ()
