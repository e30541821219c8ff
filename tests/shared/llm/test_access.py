"""What the environment must hold before a model can be asked, and what never shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shared.errors import InvalidInput, ModelUnavailable
from shared.files.secret_values import is_model_variable, redact, secret_values
from shared.git.client import clean_environment
from shared.llm.live_client import LiveClient
from shared.llm.model_access import (
    VENDORS,
    ModelAccess,
    check_access,
    choose_provider,
    is_loopback,
    is_openai,
    relayed_url,
)
from shared.llm.model_client import Provider
from tests.shared.llm.edge import chat_document, chat_request
from tests.shared.llm.native_edge import good
from tests.shared.llm.scripted_server import Send, scripted_server

ROOT = Path(__file__).parents[3]
CHAT = "/v1/chat/completions"
AZURE = "https://own.openai.azure.com/openai"
GOOGLE = "https://generativelanguage.googleapis.com"
VERTEX = "https://aiplatform.googleapis.com/v1/publishers/google"
GEMINI_PATH = "/v1beta/models/m:generateContent"


def test_a_key_alone_means_openai() -> None:
    access = check_access({"OPENAI_API_KEY": " sk-1 "})
    assert access == ModelAccess(None, "sk-1")
    assert access.is_openai
    assert access.display_url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:1/v1", "http://127.9.9.9/v1"],
)
def test_a_local_server_needs_no_key(url: str) -> None:
    access = check_access({"OPENAI_BASE_URL": url})
    assert access.api_key == "local"
    assert access.is_local
    assert not access.is_openai


@pytest.mark.parametrize("url", [None, "https://models.example/v1", "http://10.0.0.1/v1"])
def test_any_other_server_needs_one(url: str | None) -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY is not set") as caught:
        check_access({"OPENAI_BASE_URL": url or "", "OPENAI_API_KEY": ""})
    assert "OPENAI_BASE_URL" in caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:80",
        "ftp://127.0.0.1",
        "http://",
        "http://[::1",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1/\x00",
        "http://127.0.0.1/a b",
        "http://ünï.example/v1",
        "http://..localhost/",
        "http://" + "a" * 99 + ".example/",
    ],
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="not an http or https URL"):
        check_access({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url})
    assert not is_openai({"OPENAI_BASE_URL": url}, None, "m"), "asked before the URL is checked"


@pytest.mark.parametrize("key", ["ключ", "sk-1\nsk-2", "sk 1", "sk\x7f"])
def test_a_key_that_cannot_be_one_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="characters that no key has") as caught:
        check_access({"OPENAI_API_KEY": key})
    assert key not in caught.value.message


def test_a_configured_url_wins_over_the_environment() -> None:
    environ = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://a.example/v1"}
    assert check_access(environ, "http://b.example/v1").host == "b.example"


def test_neither_key_nor_credentials_show() -> None:
    access = ModelAccess("https://user:pass@models.example:8443/v1?token=t", "sk-secret")
    assert "sk-secret" not in repr(access)
    assert access.display_url == "https://models.example:8443/v1"


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("LOCALHOST", True),
        ("x.localhost.", True),
        ("localhost.example", False),
        ("", False),
        ("0.0.0.0", False),
    ],
)
def test_only_this_machine_is_local(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_variables_that_speak_of_secrets_hold_them() -> None:
    environ = {
        "OPENAI_API_KEY": "sk-12345678",
        "GITHUB_TOKEN": "ghp_12345678901",
        "MY_PASSWORD": "hunter2hunter2",
        "SHORT_TOKEN": "yes",
        "KEYBOARD": "qwertyuiop",
        "PATH": "/usr/bin:/bin",
    }
    assert secret_values(environ) == ("ghp_12345678901", "hunter2hunter2", "sk-12345678")
    text = redact("a sk-12345678 b", secret_values(environ))
    assert text == "a [redacted] b"


def test_a_secret_inside_another_leaves_no_rest() -> None:
    secrets = secret_values({"A_KEY": "12345678", "B_KEY": "1234567890"})
    assert redact("1234567890", secrets) == "[redacted]"


@pytest.mark.parametrize(
    "module",
    [
        "model_client",
        "stack",
        "transport",
        "live_client",
        "transcript",
        "usage",
    ],
)
def test_importing_the_layer_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, shared.llm.{module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"openai", "pydantic", "httpx2", "httpx", "langgraph", "rich"} & set(loaded)


# Providers

CLAUDE, GEMINI = "claude-sonnet-4-5", "gemini-2.5-flash"
KEYS = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-ant-1", "GEMINI_API_KEY": "AIza1"}
LOCAL = "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("model", "base_url", "environ", "provider"),
    [
        ("gpt-5.2", None, KEYS, "openai"),
        ("some-model", None, KEYS, "openai"),
        (CLAUDE, None, KEYS, "anthropic"),
        (GEMINI, None, KEYS, "gemini"),
        (f"models/{GEMINI}", None, {"GOOGLE_API_KEY": "AIza1"}, "gemini"),
        (f"anthropic/{CLAUDE}", None, KEYS, "openai"),
        # A server that was chosen gets all models, unless the provider has one of its own.
        (CLAUDE, None, KEYS | {"OPENAI_BASE_URL": LOCAL}, "openai"),
        (CLAUDE, None, KEYS | {"OPENAI_BASE_URL": "https://api.openai.com/v1"}, "anthropic"),
        (
            CLAUDE,
            None,
            {"OPENAI_BASE_URL": LOCAL, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
            "anthropic",
        ),
        (CLAUDE, "https://gate.example/v1", KEYS, "openai"),
        ("m", "https://api.anthropic.com", KEYS, "anthropic"),
        ("m", "https://generativelanguage.googleapis.com/v1beta", KEYS, "gemini"),
        ("m", "https://generativelanguage.googleapis.com/v1beta/openai/", KEYS, "openai"),
        ("m", "https://notanthropic.com/v1", KEYS, "openai"),
        ("m", None, {"ANTHROPIC_API_KEY": "sk-ant-1"}, "anthropic"),
        ("m", None, {"GEMINI_API_KEY": "AIza1"}, "gemini"),
        ("m", None, {"ANTHROPIC_API_KEY": "sk-ant-1", "GEMINI_API_KEY": "AIza1"}, "openai"),
    ],
)
def test_the_provider_follows_from_the_server_the_name_and_the_keys(
    model: str, base_url: str | None, environ: dict[str, str], provider: str
) -> None:
    chosen, why = choose_provider(environ, base_url, model, Provider.AUTO)
    assert chosen == provider
    assert why
    assert choose_provider(environ, base_url, model, Provider.GEMINI)[0] == "gemini"


def test_each_provider_has_its_own_key_and_address() -> None:
    access = check_access(KEYS | {"OPENAI_BASE_URL": LOCAL}, None, CLAUDE, Provider.ANTHROPIC)
    assert (access.api_key, access.display_url) == ("sk-ant-1", "https://api.anthropic.com")
    assert access.headers == {"x-api-key": "sk-ant-1", "anthropic-version": "2023-06-01"}
    google = check_access({"GOOGLE_API_KEY": "AIza2", "GEMINI_API_KEY": "AIza1"}, None, GEMINI)
    assert (google.key_name, google.headers) == ("GEMINI_API_KEY", {"x-goog-api-key": "AIza1"})
    gateway = {"ANTHROPIC_AUTH_TOKEN": "t0ken", "ANTHROPIC_BASE_URL": "https://gate.example"}
    token = check_access(gateway, None, CLAUDE)
    assert token.headers["authorization"] == "Bearer t0ken"
    assert "x-api-key" not in token.headers
    assert check_access({"ANTHROPIC_BASE_URL": "http://localhost:1"}, None, "m").api_key == "local"


@pytest.mark.parametrize(
    ("model", "environ", "said", "hint"),
    [
        (
            CLAUDE,
            {"OPENAI_API_KEY": "sk-1"},
            "ANTHROPIC_API_KEY is not set",
            "OPENAI_API_KEY is set",
        ),
        (GEMINI, {}, "GEMINI_API_KEY is not set", "set GEMINI_API_KEY"),
        (
            "gpt-5.2",
            {"ANTHROPIC_API_KEY": "sk-ant-1"},
            "OPENAI_API_KEY is not set",
            "ANTHROPIC_API_KEY is set: name a model of Anthropic's, by --model claude-",
        ),
    ],
)
def test_a_missing_key_is_named_with_the_provider_and_why(
    model: str, environ: dict[str, str], said: str, hint: str
) -> None:
    with pytest.raises(ModelUnavailable, match=said) as caught:
        check_access(environ, None, model)
    assert f"the provider for {model} is" in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("environ", "model", "owner"),
    [
        ({"OPENAI_API_KEY": "sk-ant-abc"}, "gpt-5.2", "Anthropic"),
        ({"OPENAI_API_KEY": "AIzaSy"}, "gpt-5.2", "Google"),
        ({"ANTHROPIC_API_KEY": "sk-proj-abc"}, CLAUDE, "OpenAI"),
        ({"GEMINI_API_KEY": "sk-ant-abc"}, GEMINI, "Anthropic"),
    ],
)
def test_a_key_of_another_vendor_is_not_sent(
    environ: dict[str, str], model: str, owner: str
) -> None:
    ((name, key),) = environ.items()
    with pytest.raises(InvalidInput, match=f"{name} holds a key of {owner}'s") as caught:
        check_access(environ, None, model)
    assert key not in caught.value.message + caught.value.hint
    provider = next(each for each, vendor in VENDORS.items() if name in vendor.keys)
    gateway = environ | {VENDORS[provider].address: "https://gate.example/v1"}
    assert check_access(gateway, None, model, provider).api_key == key, "a gateway's are its own"


@pytest.mark.parametrize(
    ("name", "key", "owner"),
    [
        ("OPENAI_API_KEY", "sk-proj-abc", "OpenAI"),
        ("ANTHROPIC_API_KEY", "sk-ant-abc", "Anthropic"),
        ("GEMINI_API_KEY", "AIzaSyabc", "Google"),
    ],
)
def test_a_vendor_s_key_leaves_it_only_where_somebody_says_so(
    name: str, key: str, owner: str
) -> None:
    provider = next(each for each, vendor in VENDORS.items() if name in vendor.keys)
    environ, elsewhere = {name: key, "THEIR_API_KEY": "gsk-1"}, "https://api.cheap.example/v1"
    with pytest.raises(InvalidInput, match=f"{owner}'s, but the .* api.cheap.example") as caught:
        check_access(environ, elsewhere, "m", provider)
    assert key not in caught.value.message + caught.value.hint
    assert check_access(environ, elsewhere, "m", provider, "THEIR_API_KEY").api_key == "gsk-1"
    assert check_access(environ, elsewhere, "m", provider, name).api_key == key
    assert check_access(environ, "http://127.0.0.1:1/v1", "m", provider).api_key == key
    assert check_access({name: "plain-1"}, elsewhere, "m", provider).api_key == "plain-1"


@pytest.mark.parametrize(
    ("environ", "base_url"),
    [
        ({"OPENAI_API_KEY": "AIzaSy"}, f"{GOOGLE}/v1beta/openai"),
        ({"OPENAI_API_KEY": "sk-ant-1"}, "https://api.anthropic.com/v1"),
        ({"OPENAI_API_KEY": "sk-proj-1", "OPENAI_BASE_URL": "https://gate.example/v1"},
         "https://gate.example/other/v1"),
        ({"OPENAI_API_KEY": "sk-proj-1", "GOOGLE_GEMINI_BASE_URL": "http://["},
         "https://eu.api.openai.com/v1"),
    ],
)  # fmt: skip
def test_a_vendor_s_key_may_go_to_its_own_hosts_and_to_its_gateway(
    environ: dict[str, str], base_url: str
) -> None:
    access = check_access(environ, base_url, "m", Provider.OPENAI)
    assert access.api_key == environ["OPENAI_API_KEY"]


def test_a_key_of_an_openai_like_server_is_not_sent_to_openai() -> None:
    with pytest.raises(InvalidInput, match="a key of Groq's") as caught:
        check_access({"OPENAI_API_KEY": "gsk_12345"}, None, "gpt-5.2")
    assert "gsk_12345" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("model", ["gpt-5.2", "gemini-3.5-flash", "m"])
def test_a_key_without_a_server_or_a_provider_beside_it_goes_nowhere(model: str) -> None:
    with pytest.raises(InvalidInput, match="nothing says whose key that is"):
        check_access({"TEAM_API_KEY": "k"}, None, model, key_variable="TEAM_API_KEY")
    given = check_access({"TEAM_API_KEY": "k"}, None, model, Provider.GEMINI, "TEAM_API_KEY")
    assert given.host == "generativelanguage.googleapis.com"


def test_the_variable_that_a_role_names_is_the_one_that_is_missed() -> None:
    with pytest.raises(ModelUnavailable, match="THEIR_API_KEY is not set") as caught:
        check_access(
            {"OPENAI_API_KEY": "k"}, "https://a.example/v1", "m", key_variable="THEIR_API_KEY"
        )
    assert caught.value.hint.startswith("set THEIR_API_KEY")


@pytest.mark.parametrize(
    "name",
    [*(k for v in VENDORS.values() for k in (*v.keys, v.address)), "GROQ_API_KEY", "my_api_key"],
)
def test_nothing_that_is_started_gets_a_provider_s_variables(name: str) -> None:
    assert is_model_variable(name)
    assert name not in clean_environment({name: "x"})


@pytest.mark.parametrize(
    ("base_url", "provider", "path", "url"),
    [
        ("http://h/v1", "openai", CHAT, "http://h/v1/chat/completions"),
        ("http://h:4000", "openai", CHAT, "http://h:4000/chat/completions"),
        ("http://h/v1/", "openai", "/v1/messages", "http://h/v1/messages"),
        (f"{AZURE}/v1", "openai", CHAT, f"{AZURE}/v1/chat/completions"),
        (f"{AZURE}/deployments/d", "openai", CHAT, f"{AZURE}/deployments/d/chat/completions"),
        (f"{GOOGLE}/v1beta/openai", "openai", CHAT, f"{GOOGLE}/v1beta/openai/chat/completions"),
        ("https://api.groq.com/openai/v1", "openai", CHAT,
         "https://api.groq.com/openai/v1/chat/completions"),
        ("http://h/v1", "openai", "/v1/responses", "http://h/v1/responses"),
        ("http://h/v1", "openai", GEMINI_PATH, f"http://h{GEMINI_PATH}"),
        ("http://h/anthropic", "anthropic", "/v1/messages", "http://h/anthropic/v1/messages"),
        ("http://h/v1", "anthropic", CHAT, "http://h/v1/chat/completions"),
        (VERTEX, "gemini", GEMINI_PATH, f"{VERTEX}/models/m:generateContent"),
        (GOOGLE, "gemini", GEMINI_PATH, f"{GOOGLE}{GEMINI_PATH}"),
        (GOOGLE, "gemini", "/v1beta/openai/chat/completions",
         f"{GOOGLE}/v1beta/openai/chat/completions"),
    ],
)  # fmt: skip
def test_an_agent_s_call_goes_where_llmch_s_own_go(
    base_url: str, provider: str, path: str, url: str
) -> None:
    access = ModelAccess(base_url, "k", provider=Provider(provider))
    assert relayed_url(access, path) == url


def test_azure_gets_its_key_in_its_own_header_and_its_version_in_each_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deployment = "http://own.openai.azure.com/openai/deployments/mine"
    with scripted_server(Send(chat_document("hi"))) as server:
        # A proxy is how a host of that name is reached on this machine.
        monkeypatch.setenv("HTTP_PROXY", server.base_url.removesuffix("/v1"))
        given = {"AZURE_OPENAI_API_KEY": "k-azure"}
        url = f"{deployment}?api-version=2026-01-01"
        access = check_access(given, url, "gpt-5.2", key_variable="AZURE_OPENAI_API_KEY")
        with LiveClient(access) as client:
            assert client.complete(chat_request()).text == "hi"
        (received,) = server.received
    assert received.path == f"{deployment}/chat/completions?api-version=2026-01-01"
    assert received.headers["api-key"] == "k-azure"


def test_azure_gets_its_key_and_its_version() -> None:
    url = "https://own.openai.azure.com/openai/deployments/mine?api-version=2026-01-01"
    access = check_access({"OPENAI_API_KEY": "k-azure"}, url, "gpt-5.2")
    assert access.query == {"api-version": "2026-01-01"}
    assert access.plain_url == "https://own.openai.azure.com/openai/deployments/mine"


def test_what_a_base_url_asks_for_goes_with_each_request() -> None:
    with scripted_server(Send(chat_document("hi"))) as server:
        access = ModelAccess(f"{server.base_url}?api-version=2026-01-01", "k")
        with LiveClient(access) as client:
            assert client.complete(chat_request()).text == "hi"
        assert server.received[0].path == "/v1/chat/completions?api-version=2026-01-01"
    with scripted_server(good("gemini", "hi")) as server:
        access = ModelAccess(f"{server.base_url}?team=x", "k", provider=Provider.GEMINI)
        with LiveClient(access) as client:
            assert client.complete(chat_request()).text == "hi"
        assert server.received[0].path.endswith(":streamGenerateContent?alt=sse&team=x")
