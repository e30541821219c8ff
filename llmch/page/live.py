"""Serves the page of a run on this machine while the run goes on, and ends with it.

Only this machine can ask, and only who knows the token in the address. A page of another site
cannot: it does not know the token, and a name that it had lead here is not the one that is asked
for. Requests and the work for them are bounded.
"""

from __future__ import annotations

import hmac
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from llmch.page.page import render_page
from llmch.run_view.model.run import RunView
from llmch.run_view.model.states import Standing
from shared.secrets.redaction import masking

_HOST = "127.0.0.1"
_LOOK_EVERY_SECONDS = 1.0
_SHARE = 5  # looking takes at most a fifth of the time
_LAST_LOOK_SECONDS = 10.0
_REQUEST_SECONDS = 10.0
_MOST_REQUESTS = 16  # at a time
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class _Shown:
    """Hold a page and its version. The page of a run that has ended does not ask for others."""

    version: str
    page: bytes
    is_last: bool


@dataclass(slots=True)
class _Site:
    """Hold what is served, and what has been asked for."""

    token: str
    shown: _Shown
    visited: threading.Event = field(default_factory=threading.Event)
    last_was_seen: threading.Event = field(default_factory=threading.Event)
    slots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(_MOST_REQUESTS))


def serve_live(
    look: Callable[[], RunView],
    announce: Callable[[str], None],
    last_look_seconds: float = _LAST_LOOK_SECONDS,
) -> RunView:
    """Serve the page until the run has ended, and return the run as it ended.

    `look` reads the run. `announce` gets the address of the page. A browser that was there gets a
    little time to fetch the last page, at most `last_look_seconds`.
    """
    run = look()
    site = _Site(secrets.token_urlsafe(24), _render(run, 1))
    with _serving(site) as port:
        announce(f"http://{_HOST}:{port}/{site.token}/")
        version = 1
        while run.standing is Standing.RUNNING:
            began = time.monotonic()
            found = look()
            if found != run:
                version += 1
                run, site.shown = found, _render(found, version)
            took = time.monotonic() - began
            if run.standing is Standing.RUNNING:
                time.sleep(max(_LOOK_EVERY_SECONDS, _SHARE * took))
        if site.visited.is_set():
            site.last_was_seen.wait(last_look_seconds)
    return run


def _render(run: RunView, version: int) -> _Shown:
    is_last = run.standing is not Standing.RUNNING
    page = render_page(run, "" if is_last else str(version), masking(os.environ))
    return _Shown(str(version), page.encode(), is_last)


@contextmanager
def _serving(site: _Site) -> Iterator[int]:
    """Serve `site` while the block runs; the port is a free one."""
    server = ThreadingHTTPServer((_HOST, 0), _handler_of(site))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler_of(site: _Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answer requests for the page and for its version; anything else is not found."""

        timeout = _REQUEST_SECONDS
        server_version = "llmch"
        sys_version = ""

        def do_GET(self) -> None:
            if not site.slots.acquire(blocking=False):
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, b"too many requests\n", "plain")
                return
            try:
                self._get()
            finally:
                site.slots.release()

        def _get(self) -> None:
            shown = site.shown
            if not self._is_for_us():
                self._answer(HTTPStatus.NOT_FOUND, b"not found\n", "plain")
            elif self.path.endswith("/version"):
                self._answer(HTTPStatus.OK, shown.version.encode(), "plain")
            else:
                site.visited.set()
                self._answer(HTTPStatus.OK, shown.page, "html")
                if shown.is_last:
                    site.last_was_seen.set()

        def _is_for_us(self) -> bool:
            """Return whether the request names this server and knows the token."""
            port = self.server.server_address[1]  # type: ignore[index]  # of a socket of TCP
            own = f"{_HOST}:{port!s}"
            paths = (f"/{site.token}/", f"/{site.token}/version")
            asked = self.path.encode("utf-8", "replace")
            known = [hmac.compare_digest(asked, each.encode()) for each in paths]
            return self.headers.get("Host") == own and any(known)

        def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"text/{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Print nothing: the address, with its token, would end up in a log."""

    return Handler
