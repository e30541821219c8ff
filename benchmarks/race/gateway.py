"""Stands between a tool and the model's server, and counts what passes.

Each tool is counted by the same scale, whatever it reports itself. A server that counts is
believed; where it does not, four bytes of text are a token. A tool that goes in circles, by llmch's
own measure, gets no more replies.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from shared.llm.relay_wires import goes_in_circles

_BYTES_OF_A_TOKEN: Final = 4
_CHUNK: Final = 65536
_PASSED_ON: Final = ("content-type", "accept", "user-agent")


@dataclass(slots=True)
class Counted:
    """Hold what a tool asked of the model: calls, tokens, and the calls that were refused.

    A call that is not passed on because the tool goes in circles is none of them.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    refused: int = 0
    is_in_circles: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, status: int, sent: bytes, received: bytes) -> None:
        """Count one call by its request's and its reply's body."""
        usage = _usage_in(received)
        with self._lock:
            self.calls += 1
            if status != http.HTTPStatus.OK:
                self.refused += 1
                return
            read = usage.get("prompt_tokens") or usage.get("input_tokens")
            written = usage.get("completion_tokens") or usage.get("output_tokens")
            self.input_tokens += read or len(sent) // _BYTES_OF_A_TOKEN
            self.output_tokens += written or _written(received)


def _usage_in(body: bytes) -> dict[str, Any]:
    """Return the usage that a reply states, streamed or not; the last one counts."""
    found: dict[str, Any] = {}
    for line in body.splitlines() if b"data:" in body[:200] else (body,):
        with contextlib.suppress(ValueError, AttributeError):
            document = json.loads(line.removeprefix(b"data:"))
            for each in (document, document.get("response")):  # the last event of Responses
                if isinstance(each, dict) and isinstance(each.get("usage"), dict):
                    found = each["usage"]
    return found


def _written(body: bytes) -> int:
    """Return a low estimate of the tokens of a reply without a usage."""
    events = sum(line.startswith(b"data: {") for line in body.splitlines())
    return events or len(body) // _BYTES_OF_A_TOKEN


@contextlib.contextmanager
def counting(base_url: str, key: str, at: Path | None = None) -> Iterator[tuple[str, Counted]]:
    """Serve the model of `base_url`, and yield the URL to ask and what is counted.

    It listens at the Unix socket `at`, or at a port of the loopback.
    """
    counted = Counted()
    handler = _handler(base_url, key, counted)
    server: socketserver.BaseServer
    if at is None:
        server = _Tcp(("127.0.0.1", 0), handler)
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    else:
        server, url = _Unix(str(at), handler), ""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield url, counted
    finally:
        server.shutdown()
        server.server_close()


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


class _Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False


def _handler(base_url: str, key: str, counted: Counted) -> type[BaseHTTPRequestHandler]:
    target = urlsplit(base_url)
    secure = target.scheme == "https"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on("GET", b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if goes_in_circles(_conversation(body)):
                counted.is_in_circles = True
                # An agent asks again after any other status than this one.
                self.send_error(http.HTTPStatus.NOT_FOUND, "it goes in circles")
            else:
                self._pass_on("POST", _with_usage(body))

        def _pass_on(self, method: str, body: bytes) -> None:
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(target.hostname or "", target.port, timeout=3600)
            headers = {name: self.headers[name] for name in _PASSED_ON if self.headers[name]}
            path = target.path.rstrip("/") + "/" + self.path.removeprefix("/v1").lstrip("/")
            headers["Authorization"] = f"Bearer {key}"
            try:
                connection.request(method, path, body, headers)
                self._wait_for(connection)
                self._answer(connection.getresponse(), method, body)
            except OSError:  # the tool has hung up, or the server has
                self.close_connection = True
            finally:
                connection.close()

        def _wait_for(self, connection: http.client.HTTPConnection) -> None:
            """Wait for a reply; a model need not finish one for a tool that has hung up."""
            ready, _, _ = select.select([connection.sock, self.connection], [], [])
            if connection.sock not in ready and not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionAbortedError

        def _answer(self, reply: http.client.HTTPResponse, method: str, body: bytes) -> None:
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.headers.get("Content-Type", "text/plain"))
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            received = []
            try:
                while data := reply.read1(_CHUNK):
                    received.append(data)
                    self.wfile.write(data)
                    self.wfile.flush()
            finally:
                if method == "POST":
                    counted.add(reply.status, body, b"".join(received))

        def address_string(self) -> str:
            return ""

        def log_message(self, *_: object) -> None:
            """Say nothing: what is counted is kept."""

    return Handler


def _conversation(body: bytes) -> Any:
    with contextlib.suppress(ValueError, AttributeError):
        document = json.loads(body)
        return document.get("messages") or document.get("input")
    return None


def _with_usage(body: bytes) -> bytes:
    """Return a request that has a stream end with its usage, if it is one."""
    try:
        document = json.loads(body)
    except ValueError:
        return body
    if not isinstance(document, dict) or not document.get("stream") or "messages" not in document:
        return body
    options = document.get("stream_options")
    document["stream_options"] = {**(options or {}), "include_usage": True}
    return json.dumps(document).encode()
