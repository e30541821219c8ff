"""What tests of the relay share: an agent's side of the socket, and a run's client behind it."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.events.events import Event
from shared.llm.budget import Budget
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import CallPlace, LlmClient, Provider, Role
from shared.llm.relay import Relay, RelayTerms
from shared.llm.stack import Mode, ModelSource, open_model
from tests.shared.llm.edge import POLICY, FakeClock
from tests.shared.llm.scripted_server import Act, ScriptedServer, scripted_server

PLACE = CallPlace(Role.FACTORY, 1, "WO-01")
TERMS = RelayTerms(PLACE, "small-1", max_output_tokens=500)


class UnixConnection(http.client.HTTPConnection):
    """A client's connection to a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("relay", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = connected(self._path)


def connected(path: Path) -> socket.socket:
    agent = socket.socket(socket.AF_UNIX)
    agent.settimeout(10)
    agent.connect(str(path))
    return agent


@dataclass(frozen=True)
class Answered:
    """What an agent gets: the status and the bytes, and whether they came to their end."""

    status: int
    body: bytes
    is_whole: bool = True

    @property
    def words(self) -> str:
        said: str = json.loads(self.body)["error"]["message"]
        return said


@dataclass
class Agent:
    """An agent's side of the relay."""

    path: Path
    relay: Relay
    events: list[Event] = field(default_factory=list)

    def post(self, body: object, route: str = "/v1/chat/completions", **headers: str) -> Answered:
        connection = UnixConnection(self.path)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request("POST", route, raw, named)
            answer = connection.getresponse()
            try:
                return Answered(answer.status, answer.read())
            except (http.client.IncompleteRead, ConnectionError) as cut:
                return Answered(answer.status, getattr(cut, "partial", b""), is_whole=False)
        finally:
            connection.close()

    def raw(self, sent: bytes) -> bytes:
        """Send bytes as they are, and return all that comes."""
        with connected(self.path) as agent:
            agent.sendall(sent)
            return b"".join(iter(lambda: agent.recv(1 << 16), b""))


@contextmanager
def relayed(
    server: ScriptedServer | None,
    folder: Path,
    terms: RelayTerms = TERMS,
    *,
    transcript: str = "transcript.jsonl",
    budget: Budget | None = None,
    stall_seconds: float = 10.0,
    key: str = "sk-test-0123456789",
    provider: Provider = Provider.OPENAI,
    around: Callable[[LlmClient], LlmClient] = lambda client: client,
) -> Iterator[Agent]:
    """Run a relay before `server`, or before the transcript alone, as a run would."""
    events: list[Event] = []

    def open_live(emit: object) -> LiveClient:
        assert server is not None
        access = ModelAccess(server.base_url, key, stall_seconds, provider=provider)
        return LiveClient(access, events.append, policy=POLICY, clock=FakeClock())

    source = ModelSource(
        Mode.LIVE if server else Mode.REPLAY,
        open_live=open_live,
        transcript=folder / transcript,
        budget=budget or Budget(),
    )
    path = folder / "r.sock"
    with (
        open_model(source, folder, events.append) as model,
        Relay(around(model.client), terms, path, events.append) as relay,
    ):
        yield Agent(path, relay, events)


@contextmanager
def relay_of(
    folder: Path, *script: Act, terms: RelayTerms = TERMS, **given: Any
) -> Iterator[tuple[Agent, ScriptedServer]]:
    """Run a relay before a server that plays `script`."""
    with scripted_server(*script) as server, relayed(server, folder, terms, **given) as agent:
        yield agent, server


def ask(text: str = "Hello.", **rest: Any) -> dict[str, Any]:
    """Return the body of a chat call."""
    return {"model": "small-1", "messages": [{"role": "user", "content": text}]} | rest


def events_of(stream: Sequence[object]) -> bytes:
    """Return the bytes of a stream as the scripted server sends it."""
    texts = (each if isinstance(each, str) else json.dumps(each) for each in stream)
    return "".join(f"data: {each}\n\n" for each in texts).encode()


def call_bytes(body: object, route: str = "/v1/chat/completions") -> bytes:
    """Return a whole call as it goes over the wire."""
    raw = json.dumps(body).encode()
    return f"POST {route} HTTP/1.1\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw
