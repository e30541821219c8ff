"""What the client adds to a call of a model on each wire, beside the same call made by hand."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from benchmarks.measure import cpu_seconds_of, interleave
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import Bench
from shared.events.events import Event
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import Provider, Request
from tests.shared.llm.edge import (
    chat_request,
    chat_stream,
    planner_request,
    response_stream,
)
from tests.shared.llm.native_edge import good
from tests.shared.llm.scripted_server import Act, scripted_server

_PROMPT = "word " * 5_000
_PIECES = ("forty letters of a reply, and some more. ",) * 50

_WIRES: dict[str, tuple[Provider, Callable[[str], Request], Act]] = {
    "Responses": (Provider.OPENAI, planner_request, response_stream("".join(_PIECES))),
    "Chat": (Provider.OPENAI, chat_request, chat_stream(*_PIECES)),
    "Messages": (Provider.ANTHROPIC, chat_request, good("messages", *_PIECES)),
    "Gemini": (Provider.GEMINI, chat_request, good("gemini", *_PIECES)),
}


def measure_wires(bench: Bench) -> Section:
    """Return what a watched call with a prompt of 25 KB and a stream of 2 KB takes on each wire."""
    with contextlib.ExitStack() as opened:
        rows = [_row(bench, opened, name) for name in _WIRES]
    return Section("Wires: a call of a model", tuple(rows))


def _row(bench: Bench, opened: contextlib.ExitStack, name: str) -> Row:
    provider, request_of, act = _WIRES[name]
    rounds = bench.rounds(80)
    server = opened.enter_context(scripted_server(*[act] * (2 * rounds + 1)))
    access = ModelAccess(server.base_url, "sk-bench-0123456789", provider=provider)
    events: list[Event] = []
    client = opened.enter_context(LiveClient(access, events.append))
    request = request_of(_PROMPT)
    client.complete(request)  # libraries are imported at the first call
    asked, body = server.received[0], json.dumps(server.bodies[0])
    netloc = urlsplit(server.base_url).netloc
    taken = interleave(
        {
            # The server has threads of its own, and the machine other work.
            "ours": partial(cpu_seconds_of, partial(client.complete, request)),
            "by hand": partial(cpu_seconds_of, partial(_by_hand, netloc, asked.path, body)),
        },
        rounds,
    )
    return timed(
        f"a call of 25 KB by {name}, its reply in 50 pieces: own time",
        taken["ours"],
        taken["by hand"],
        "by hand",
        Aim(factor=1, extra=5),
    )


def _by_hand(netloc: str, path: str, body: str) -> None:
    connection = http.client.HTTPConnection(netloc)
    connection.request("POST", path, body)
    connection.getresponse().read()
    connection.close()
