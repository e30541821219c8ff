"""What the relay adds to a call of an agent: two synced records, and a look at every part."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from urllib.parse import urlsplit

from benchmarks.measure import interleave
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import Bench
from shared.events.events import ignore
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import CallPlace, Role
from shared.llm.relay import Relay, RelayTerms
from shared.llm.stack import Mode, ModelSource, open_model
from tests.shared.llm.edge import response_document, response_stream
from tests.shared.llm.relay_edge import UnixConnection
from tests.shared.llm.scripted_server import Act, Send, scripted_server

_ROUTE = "/v1/responses"


def measure_relay(bench: Bench) -> Section:
    """Return what a call takes through the relay, beside the same call of the server itself."""
    # What it says of tokens can be true: else each call would be looked at once more.
    said: dict[str, object] = {"input_tokens": 80_000, "output_tokens": 600, "total_tokens": 80_600}
    said |= {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
    said |= {"output_tokens_details": {"reasoning_tokens": 0}}
    reply = response_document(text="x" * 2_000, usage=said)
    stream = response_stream("x" * 2_000, reply)
    with contextlib.ExitStack() as opened:
        rows = [
            _row(bench, opened, "a call of 25 KB", 25_000, Send(reply)),
            _row(bench, opened, "a call of 250 KB", 250_000, Send(reply)),
            _row(bench, opened, "a call of 25 KB with a stream", 25_000, stream),
        ]
    return Section("The relay: a call of an agent", tuple(rows))


def _row(bench: Bench, opened: contextlib.ExitStack, name: str, size: int, act: Act) -> Row:
    rounds = bench.rounds(80)
    server = opened.enter_context(scripted_server(*[act] * (2 * rounds + 1)))
    folder = bench.folder("relay")
    access = ModelAccess(server.base_url, "sk-bench-0123456789")
    source = ModelSource(Mode.LIVE, open_live=lambda emit: LiveClient(access))
    model = opened.enter_context(open_model(source, folder, ignore))
    terms = RelayTerms(CallPlace(Role.FACTORY, 1, "WO-01"), "m", 9_000, most_calls=10_000)
    opened.enter_context(Relay(model.client, terms, folder / "r"))
    url = urlsplit(server.base_url)
    cases = {
        "relayed": partial(_seconds, lambda: UnixConnection(folder / "r"), size, count()),
        "direct": partial(_seconds, lambda: http.client.HTTPConnection(url.netloc), size, count()),
    }
    cases["relayed"]()  # the SDK is imported at the first call
    taken = interleave(cases, rounds)
    return timed(
        f"{name}, through the relay",
        taken["relayed"],
        taken["direct"],
        "of the server itself",
        Aim(factor=1, extra=5),
    )


def _seconds(
    connect: Callable[[], http.client.HTTPConnection], size: int, numbers: Iterator[int]
) -> float:
    """Return the seconds of one call, which differs from all before it."""
    tools = [{"type": "function", "name": "edit", "parameters": {}}]
    # An agent's call is a conversation: many parts, not one long text.
    part = {"type": "message", "role": "user", "content": f"{next(numbers)} " + "word " * 200}
    body = json.dumps({"input": [part] * (size // 1_000), "tools": tools, "stream": False})
    begun = time.perf_counter()
    connection = connect()
    connection.request("POST", _ROUTE, body)
    connection.getresponse().read()
    connection.close()
    return time.perf_counter() - begun
