"""Servers that lie, redirect, never end, or quote secrets: real HTTP on this machine's loopback."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import openai
import pytest

from shared.errors import ExitCode, LlmchError, ModelUnavailable
from shared.events.events import Event
from shared.files.secret_values import secret_values
from shared.llm.call_retry import RetryPolicy
from shared.llm.live_client import LiveClient, list_models
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import Provider, ReplyFailed, Request
from tests.shared.llm.edge import chat_document, chat_request, chat_stream, planner_request
from tests.shared.llm.native_edge import Native, good
from tests.shared.llm.scripted_server import Act, ScriptedServer, Send, scripted_server

KEY = "sk-test-0123456789"
ROOT = Path(__file__).parents[2]
MEGABYTE = 2**20


@dataclass(frozen=True)
class Flood:
    """An answer of many megabytes: as they are, in gzip, or in chunks that never end."""

    status: int
    megabytes: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        handler.send_response(self.status)
        for name, value in self.headers.items():
            handler.send_header(name, value)
        if self.headers.get("content-encoding") == "gzip":
            bomb = gzip.compress(bytes(self.megabytes * MEGABYTE), 1)
            handler.send_header("content-length", str(len(bomb)))
            handler.end_headers()
            handler.wfile.write(bomb)
        elif self.megabytes:
            handler.send_header("content-length", str(self.megabytes * MEGABYTE))
            handler.end_headers()
            for _ in range(self.megabytes):
                handler.wfile.write(b"x" * MEGABYTE)
        else:
            handler.send_header("transfer-encoding", "chunked")
            handler.end_headers()
            while not stop.is_set():
                handler.wfile.write(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
        handler.close_connection = True


def redirect(status: int, location: str) -> Send:
    return Send("", status, {"location": location})


def ask(
    url: str,
    request: Request | None = None,
    events: list[Event] | None = None,
    provider: Provider = Provider.OPENAI,
) -> str:
    """Return what the model says."""
    access = ModelAccess(url, KEY, stall_seconds=20, provider=provider)
    emit = events.append if events is not None else None
    policy = RetryPolicy(retries=0)
    with (
        LiveClient(access, emit, policy=policy) if emit else LiveClient(access, policy=policy)
    ) as client:
        return client.complete(request or chat_request("The whole prompt.")).text


def refusal_of(
    url: str, request: Request | None = None, provider: Provider = Provider.OPENAI
) -> LlmchError:
    with pytest.raises(ModelUnavailable) as caught:
        ask(url, request, provider=provider)
    return caught.value


each_native = pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.GEMINI])


# Redirects


@contextmanager
def thief() -> Iterator[ScriptedServer]:
    """Run a server on another port, which answers whatever it gets."""
    with scripted_server(Send(chat_document("stolen")), Send(chat_document("again"))) as other:
        yield other


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_is_refused_by_its_name(status: int) -> None:
    with thief() as other, scripted_server() as server:
        target = f"{other.base_url}/chat/completions?key=s3cret-of-the-target"
        server.extend(redirect(status, target))
        error = refusal_of(server.base_url)
        assert error.exit_code is ExitCode.MODEL
        assert f"redirects to {other.base_url.removesuffix('/v1')}:" in error.message
        assert "s3cret" not in error.message
        assert other.received == []


@each_native
def test_no_wire_takes_its_key_to_another_origin(provider: Provider) -> None:
    with thief() as other, scripted_server() as server:
        server.extend(redirect(307, f"{other.base_url}/messages"))
        assert "redirects to" in refusal_of(server.base_url, provider=provider).message
        assert KEY in server.received[0].headers.values()
        assert other.received == []


@each_native
def test_every_wire_follows_a_redirect_within_the_origin(provider: Provider) -> None:
    way: Native = "messages" if provider is Provider.ANTHROPIC else "gemini"
    with scripted_server(redirect(307, "/v2/chat"), good(way, "hello")) as server:
        assert ask(server.base_url, provider=provider) == "hello"
        assert server.received[1].path == "/v2/chat"
    with scripted_server(*[redirect(307, "/v1/x")] * 30) as server:
        assert "in a circle" in refusal_of(server.base_url, provider=provider).message


def test_the_sdk_alone_sends_the_prompt_to_another_origin() -> None:
    with thief() as other, scripted_server() as server:
        server.extend(redirect(307, f"{other.base_url}/chat/completions"))
        with openai.OpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as sdk:
            sdk.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "The whole prompt."}]
            )
        assert other.bodies[0]["messages"][0]["content"] == "The whole prompt."


@pytest.mark.parametrize("location", ["https://127.0.0.1:{port}/v1/x", "//localhost:{port}/v1/x"])
def test_another_scheme_and_another_name_of_the_host_are_other_origins(location: str) -> None:
    with scripted_server() as server:
        port = server.base_url.rpartition(":")[2].removesuffix("/v1")
        server.extend(redirect(308, location.format(port=port)))
        assert "redirects to" in refusal_of(server.base_url).message
        assert len(server.received) == 1


def test_a_redirect_within_the_origin_is_followed() -> None:
    with scripted_server(redirect(307, "/v2/chat"), Send(chat_document("hello"))) as server:
        assert ask(server.base_url) == "hello"
        assert [each.path for each in server.received] == ["/v1/chat/completions", "/v2/chat"]


@pytest.mark.parametrize("status", [301, 302, 303])
@pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.ANTHROPIC, Provider.GEMINI])
def test_a_redirect_that_would_drop_the_prompt_is_not_followed(
    provider: Provider, status: int
) -> None:
    act = redirect(status, f"/v2/{KEY}/chat?key=s3cret")
    with scripted_server(act, Send(chat_document("stolen"))) as server:
        error = refusal_of(server.base_url, provider=provider)
        assert "redirects to /v2/[redacted]/chat with a status" in error.message
        assert "s3cret" not in error.message
        assert "_BASE_URL at the address" in error.hint
        assert len(server.received) == 1
    with scripted_server(redirect(status, "/v2/models"), Send({"data": [{"id": "m"}]})) as server:
        listed = list_models(ModelAccess(server.base_url, KEY, provider=provider))
        assert listed == {"m"}, "a question without a body loses nothing"


def test_a_loop_of_redirects_ends() -> None:
    with scripted_server(*[redirect(307, "/v1/chat/completions")] * 30) as server:
        error = refusal_of(server.base_url)
        assert "redirects in a circle" in error.message
        assert error.exit_code == ExitCode.MODEL
        assert len(server.received) < 10


def test_no_location_ends_in_a_traceback() -> None:
    for location in ("http://[", "http:///x", "file:///etc/passwd", "", "\x7f"):
        with scripted_server(redirect(307, location)) as server:
            refusal_of(server.base_url)


# Bodies of errors

_CHILD = """
import json, re, sys
url, who, provider = sys.argv[1:]
import openai
from shared.errors import LlmchError
from shared.llm.model_client import Provider
from tests.attacks.test_lying_servers import ask
sdk = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
def peak():  # ru_maxrss would count what the process that started this one held
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
before = peak()
said, code = "", 0
try:
    ask(url, provider=Provider(provider)) if who == "llmch" else sdk.models.list()
except (LlmchError, openai.APIError) as error:
    said, code = str(error), getattr(error, "exit_code", 0)
print(json.dumps({"megabytes": (peak() - before) / 1024, "said": said[:2000], "code": code}))
"""

FLOODS = {
    "as it is": Flood(400, 192),
    "in gzip": Flood(400, 192, {"content-encoding": "gzip"}),
    "in chunks without an end": Flood(400),
    "of a redirect": Flood(307, 192, {"location": "/v1/x"}),
}


def in_a_process(flood: Act, who: str, provider: Provider = Provider.OPENAI) -> Any:
    with scripted_server(*[flood] * 8) as server:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, server.base_url, who, provider],
            cwd=ROOT,
            capture_output=True,
            timeout=100,
        )
    assert child.returncode == 0, child.stderr.decode()
    return json.loads(child.stdout)


@pytest.mark.rest
@pytest.mark.parametrize("flood", FLOODS)
def test_the_body_of_an_error_is_not_read_whole(flood: str) -> None:
    seen = in_a_process(FLOODS[flood], "llmch")
    assert seen["code"] == ExitCode.MODEL
    assert seen["megabytes"] < 24
    assert len(seen["said"]) < 800


@pytest.mark.rest
@each_native
def test_the_body_of_an_error_is_not_read_whole_on_any_wire(provider: Provider) -> None:
    assert in_a_process(FLOODS["in gzip"], "llmch", provider)["megabytes"] < 24


@each_native
def test_a_reply_without_an_end_is_not_read_whole(provider: Provider) -> None:
    kind = {"content-type": "application/json", "content-encoding": "gzip"}
    with (
        scripted_server(Flood(200, 70, kind)) as server,
        pytest.raises(ReplyFailed, match="has no end"),
    ):
        ask(server.base_url, provider=provider)


@pytest.mark.rest
def test_the_sdk_alone_reads_the_body_of_an_error_whole() -> None:
    assert in_a_process(FLOODS["in gzip"], "sdk")["megabytes"] > 192


@pytest.mark.parametrize("depth", [100, 900, 5000])
def test_an_error_that_is_nested_deep_is_an_error_like_others(depth: int) -> None:
    body = '{"error":' * depth + '"no"' + "}" * depth
    with scripted_server(Send(body, 400)) as server:
        assert "HTTP 400" in refusal_of(server.base_url).message


@pytest.mark.rest
def test_an_endless_list_of_models_is_not_read_whole() -> None:
    with (
        scripted_server(Flood(200, headers={"content-type": "application/json"})) as server,
        pytest.raises(ModelUnavailable, match="has no end"),
    ):
        list_models(ModelAccess(server.base_url, KEY))


# Secrets in the base URL

PASSWORD = "p4ssw0rd-of-the-proxy"
TOKEN = "t0ken%2Fof%2Bthe%2Furl"  # as it is in the URL
PLAIN_TOKEN = "t0ken/of+the/url"


def with_secrets(server: ScriptedServer) -> str:
    return server.base_url.replace("://", f"://someone:{PASSWORD}@") + f"?api-key={TOKEN}"


QUOTED = f"{KEY} and {PASSWORD} and {TOKEN} and {PLAIN_TOKEN}"


def said_by(server: ScriptedServer, request: Request) -> str:
    """Return all that is said and announced where a server quotes the secrets."""
    events: list[Event] = []
    try:
        said = ask(with_secrets(server), request, events)
    except (LlmchError, ReplyFailed) as error:
        said = str(error)
    return f"{said} {events}"


QUOTING: dict[str, Act] = {
    "an error": Send({"error": {"message": QUOTED}}, 401),
    "an error that is cut": Send({"error": {"message": "x" * 490 + QUOTED}}, 401),
    "an error in plain text": Send(QUOTED, 400, media_type="text/plain"),
    "an error under a good status": Send({"error": {"message": QUOTED, "code": 400}}),
    "a refusal": Send(chat_document("", refusal=QUOTED)),
    "a reply": Send(chat_document(QUOTED)),
    "a stream": chat_stream(QUOTED),
}


@pytest.mark.parametrize("way", QUOTING)
def test_a_secret_of_the_base_url_that_a_server_quotes_is_not_said(way: str) -> None:
    with scripted_server(QUOTING[way]) as server:
        said = said_by(server, chat_request())
    for secret in (KEY, PASSWORD, TOKEN, PLAIN_TOKEN):
        assert secret[:8] not in said


@pytest.mark.parametrize("shown", [1, 12, len(KEY) - 1])
def test_a_secret_is_not_said_in_half_where_the_body_of_an_error_is_cut(shown: int) -> None:
    said = "the key is "
    body = said + " " * (64 * 1024 - len(said) - shown) + KEY + " and more"
    with scripted_server(Send(body, 400, media_type="text/plain")) as server:
        assert refusal_of(server.base_url).message.endswith("HTTP 400: the key is")


def test_the_sdk_alone_says_a_secret_of_the_base_url_that_a_server_quotes() -> None:
    with scripted_server(QUOTING["an error"]) as server:
        sdk = openai.OpenAI(base_url=server.base_url, api_key=KEY, max_retries=0)
        with sdk, pytest.raises(openai.AuthenticationError, match=PASSWORD):
            sdk.models.list()


def test_a_secret_in_a_stream_of_letters_is_not_in_the_reply() -> None:
    with scripted_server(chat_stream(*QUOTED)) as server:
        assert (
            ask(with_secrets(server)) == "[redacted] and [redacted] and [redacted] and [redacted]"
        )


def test_a_refusal_of_the_responses_api_is_free_of_secrets() -> None:
    with scripted_server(QUOTING["an error"]) as server:
        assert PASSWORD not in said_by(server, planner_request())


def test_records_know_the_secrets_of_the_base_url() -> None:
    environ = {"OPENAI_BASE_URL": f"http://someone:{PASSWORD}@host/v1?api-key={TOKEN}"}
    assert {PASSWORD, TOKEN, PLAIN_TOKEN} <= set(secret_values(environ))


@pytest.mark.parametrize(
    "url", ["", "http://host/v1", "http://host/v1?api-version=2026-01-01-preview", "http://[", "x"]
)
def test_a_url_without_secrets_has_none(url: str) -> None:
    assert secret_values({"OPENAI_BASE_URL": url}) == ()
