"""Renders a run as one HTML page, writes it to a file, or serves it while the run goes on.

Only this machine can ask, and only who knows the token in the address. A page of another site
cannot: it does not know the token, and a name that it had lead here is not the one that is asked
for. Requests and the work for them are bounded.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmch.console.line import count, duration, short
from llmch.page import run_words
from llmch.page.drawings import draw_graph, lay_out
from llmch.page.drawn_patch import draw_patch, size_drawn
from llmch.page.run_words import (
    Allowance,
    brief_text,
    cost_words,
    cut,
    cut_excerpt,
    first_allowance,
    largest_page,
    masked,
)
from llmch.runs.run_model import RunView, SpanKind, Standing, calls_of, changes_of
from shared.errors import CommandFailed, how_to_install
from shared.events.events import Emit, Warned
from shared.files.atomic_io import write_text
from shared.files.secret_values import masking
from shared.files.text_sources import place_for_output

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class Figure:
    """Hold a number with its name, and what is to be said beside it."""

    name: str
    value: str
    aside: str = ""


def figures_of(run: RunView) -> tuple[Figure, ...]:
    return tuple(_figures(run))


def _figures(run: RunView) -> Iterator[Figure]:
    usage = run.usage
    before = sum(each.state == "skipped" for each in run.orders)
    yield Figure(
        "Orders landed",
        f"{run.landed:,} of {len(run.orders):,}",
        f"{before:,} from earlier runs" if before else "",
    )
    if not run.run_id:
        return
    yield Figure("Attempts", f"{run.attempts:,}", f"{run.rejected:,} rejected")
    replayed = f"{usage.replayed_calls:,} replayed" if usage.replayed_calls else ""
    yield Figure("Model calls", f"{usage.calls:,}", replayed)
    cached = f"{usage.cached_tokens:,} of them cached" if usage.cached_tokens else ""
    yield Figure("Tokens in", f"{usage.input_tokens:,}", cached)
    reasoning = f"{usage.reasoning_tokens:,} of them reasoning" if usage.reasoning_tokens else ""
    yield Figure("Tokens out", f"{usage.output_tokens:,}", reasoning)
    planned = "planning included" if any(each.role != "factory" for each in run.roles) else ""
    yield Figure("Cost", cost_words(usage), planned if usage.calls else "no model was asked")
    if run.seconds is not None:
        yield Figure("Wall time", duration(run.seconds), "")
    yield _time_of_commands(run)


def _time_of_commands(run: RunView) -> Figure:
    ran = [
        each.end - each.start
        for track in run.tracks
        for each in track.spans
        if each.activity in (SpanKind.COMMAND, SpanKind.TRIAL)
    ]
    return Figure("In commands", duration(sum(ran)), count(len(ran), "command"))


GENERATOR = "llmch report"
"""The maker that a page names in its head; a file that does so may be overwritten."""
_FEW_ORDERS = 5  # with so many, all of them are open when the page is


def render_page(run: RunView, live: str = "", mask: Callable[[str], str] = str) -> str:
    """Return the page. Long texts in it are cut, with words, until it is small enough.

    `live` is the version of a page that is served while the run goes on, "" for a file. `mask`
    takes secrets out of a text.
    """
    run = masked(run, mask)
    allowance = fitting_allowance(run, first_allowance(tuple(calls_of(run)), len(run.orders)))
    while True:
        page = _render_page(run, allowance, live)
        if len(page.encode()) <= largest_page(len(run.orders)) or allowance.is_least:
            return page
        allowance = allowance.smaller()


_SAMPLED = 20  # patches
_SAMPLE = 2_000  # characters of each


def fitting_allowance(run: RunView, allowance: Allowance) -> Allowance:
    """Return the first smaller allowance with which the patches may fit on the page.

    Colouring code takes most of the time of a page, so it is tried on samples of the patches, and
    not on a whole page that turns out to be too large.
    """
    patches = [each.patch for each in changes_of(run) if len(each.patch) > _SAMPLE]
    rates = [size_drawn(draw_patch(each, _SAMPLE)) / _SAMPLE for each in patches[:_SAMPLED]]
    room = largest_page(len(run.orders)) * len(rates) / (sum(rates) or 1)
    while not allowance.is_least and sum(min(len(p), allowance.patch) for p in patches) > room:
        allowance = allowance.smaller()
    return allowance


def _render_page(run: RunView, allowance: Allowance, live: str) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    return (
        _environment()
        .get_template("page.html")
        .render(
            run=run,
            allowance=allowance,
            live=live,
            generator=GENERATOR,
            style=style,
            script=script,
            policy=_policy(style, script, live=bool(live)),
            figures=figures_of(run),
            timeline=lay_out(run.tracks, run.planning.spans if run.planning else ()),
            graph=draw_graph(run.orders),
            all_open=len(run.orders) <= _FEW_ORDERS,
        )
    )


def _policy(style: str, script: str, *, live: bool) -> str:
    """Return a policy by which the browser runs what the page itself brings, and nothing else."""
    rules = (
        "default-src 'none'",
        f"style-src '{_digest(style)}'",
        f"script-src '{_digest(script)}'",
        "img-src data:",
        "connect-src 'self'" if live else "",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(filter(None, rules))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return resources.files("llmch.page").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    """Return the templates' environment: every value is escaped and has no unseen characters.

    Raises `CommandFailed` if the extra `html` is not installed.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise CommandFailed(
            f"the package {error.name} is not installed, which the page of a run needs",
            how_to_install("html"),
        ) from error

    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "count": count,
        "cut": cut,
        "cut_excerpt": cut_excerpt,
        "draw_patch": draw_patch,
        "short": short,
        "standings": run_words.STANDINGS,
        "words": run_words,
        "duration": duration,
    }
    return environment


def _finalized(value: Any) -> Any:
    return brief_text(value) if type(value) is str else value


def place_for(path: Path) -> Path:
    """Return where a page may be written. Raises `InvalidInput` as `place_for_output` does."""
    return place_for_output("--html", path, "report.html", GENERATOR)


def write_page(path: Path, run: RunView) -> None:
    """Write the page. No secret of this process's environment is in it."""
    write_text(path, render_page(run, mask=masking(os.environ)), sync=False)


def open_page(address: str, emit: Emit) -> None:
    """Open the page in the person's browser; where there is none, say so."""
    import webbrowser

    if not webbrowser.open(address):
        emit(Warned(f"no browser could be opened; the page is {address}"))


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


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing on the terminal of a browser that hangs up."""


@contextmanager
def _serving(site: _Site) -> Iterator[int]:
    """Serve `site` while the block runs; the port is a free one."""
    server = _QuietServer((_HOST, 0), _handler_of(site))
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
