"""What the environment must hold before a model can be asked, and what never shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shared.errors import InvalidInput, ModelUnavailable
from shared.files.secret_values import redact, secret_values
from shared.llm.transport import ModelAccess, check_access, is_loopback

ROOT = Path(__file__).parents[3]


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
