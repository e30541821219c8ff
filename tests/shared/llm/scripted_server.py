"""A real HTTP server that plays a script: each request gets the next act, whatever it asks."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Protocol

SILENCE_SECONDS = 600  # at most: the end of the server ends it


@dataclass(frozen=True)
class Received:
    """A request as it came in."""

    method: str
    path: str
    body: dict[str, Any]
    headers: dict[str, str]


class Act(Protocol):
    """One thing the server does with one request."""

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None: ...


@dataclass(frozen=True)
class Send:
    """A whole answer; `body` is sent as JSON unless it is text."""

    body: object
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json"

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        payload = text.encode()
        handler.send_response(self.status)
        handler.send_header("content-type", self.media_type)
        handler.send_header("content-length", str(len(payload)))
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(payload)


@dataclass(frozen=True)
class Stream:
    """Server-sent events, and then an end: clean, a reset connection, or silence."""

    events: Sequence[dict[str, Any] | str]
    end: Literal["clean", "reset", "silence"] = "clean"

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream; charset=utf-8")
        handler.send_header("connection", "close")
        handler.end_headers()
        for event in self.events:
            data = event if isinstance(event, str) else json.dumps(event)
            handler.wfile.write(f"data: {data}\n\n".encode())
            handler.wfile.flush()
        handler.close_connection = True
        if self.end == "reset":
            _reset(handler)
        elif self.end == "silence":
            stop.wait(SILENCE_SECONDS)


@dataclass(frozen=True)
class Partial:
    """A whole answer of which only the first half comes; then a reset, silence or an early end."""

    body: object
    end: Literal["clean", "reset", "silence"]

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        payload = json.dumps(self.body).encode()
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(payload)))
        handler.end_headers()
        handler.wfile.write(payload[: len(payload) // 2])
        handler.wfile.flush()
        handler.close_connection = True
        if self.end == "reset":
            _reset(handler)
        elif self.end == "silence":
            stop.wait(SILENCE_SECONDS)


@dataclass(frozen=True)
class Reset:
    """No answer: the connection is reset."""

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        _reset(handler)


@dataclass(frozen=True)
class Silence:
    """No answer: the connection stays open, and nothing comes."""

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        stop.wait(SILENCE_SECONDS)
        handler.close_connection = True


class ScriptedServer:
    """Plays `script`; what came in is in `received`. Past the script's end it answers 599."""

    def __init__(self, script: Iterable[Act], host: str = "127.0.0.1") -> None:
        self.received: list[Received] = []
        self._script = list(script)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._http = ThreadingHTTPServer((host, 0), self._handler())
        self._http.daemon_threads = False
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [each.body for each in self.received]

    @property
    def left(self) -> int:
        return len(self._script)

    def extend(self, *acts: Act) -> None:
        """Add acts that need to know the URL of this server, or of another one."""
        self._script.extend(acts)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _next(self, received: Received) -> Act:
        with self._lock:
            self.received.append(received)
            if self._script:
                return self._script.pop(0)
        return Send({"error": {"message": "the script is over"}}, status=499)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for its head to be confirmed

            def do_POST(self) -> None:
                self._answer()

            def do_GET(self) -> None:
                self._answer()

            def _answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length) or b"{}")
                headers = {name.lower(): value for name, value in self.headers.items()}
                received = Received(self.command, self.path, body, headers)
                # What the client breaks off is the client's affair.
                try:
                    server._next(received).play(self, server._stop)
                except OSError:
                    self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        return Handler


def _reset(handler: BaseHTTPRequestHandler) -> None:
    """Close so that the peer sees a reset: lingering for no time discards instead of finishing."""
    handler.close_connection = True
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.shutdown(socket.SHUT_RD)
    handler.rfile.close()
    handler.connection.close()


@contextmanager
def scripted_server(*script: Act) -> Iterator[ScriptedServer]:
    """Run a server that plays `script`, and stop it."""
    server = ScriptedServer(script)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def refused_port() -> int:
    """Return a loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
