"""What the shared floor contributes to `doctor`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shared.git.repos import Health, check_folder, check_git, check_tools
from shared.llm.live_client import check_model
from shared.llm.model_client import Provider
from tests.shared.llm.edge import error_answer
from tests.shared.llm.scripted_server import Send, scripted_server


def install_git(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Put a git of that version, and nothing else, on the PATH."""
    program = folder / "git"
    program.write_text(f"#!/bin/sh\necho git version {version}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("version", "health"),
    [
        ("2.30.9", Health.BROKEN),
        ("2.31.0", Health.LIMITED),
        ("2.37.4 (Apple Git-137)", Health.LIMITED),
        ("2.38.0", Health.WELL),
        ("10.0", Health.WELL),
    ],
)
def test_git_has_to_be_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, health: Health
) -> None:
    install_git(tmp_path, monkeypatch, version.replace("(", "'(").replace(")", ")'"))
    found = check_git()
    assert (found.health, found.detail) == (health, f"git version {version}")
    assert ("2.38" in found.remedy) == (health is not Health.WELL)


def test_git_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = check_git()
    assert found.health is Health.BROKEN
    assert found.remedy.startswith("install git")


def test_a_folder_that_is_to_be_made_is_looked_at_where_it_will_be(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    found = check_folder("records", folder, "--artifacts-dir")
    assert found.health in (Health.WELL, Health.LIMITED)
    assert found.detail.startswith(f"{folder}, ")
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_says_how_to_choose_another(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    found = check_folder("records", tmp_path / "records", "--artifacts-dir")
    assert found.health is Health.BROKEN
    assert "--artifacts-dir" in found.remedy


def test_a_model_without_a_key_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    found = check_model("planner", "some-model", None, online=True)
    assert found.health is Health.BROKEN
    assert "OPENAI_API_KEY" in found.remedy


@pytest.mark.parametrize(
    ("listed", "health", "words"),
    [
        ({"data": [{"id": "other"}, {"id": "some-model"}]}, Health.WELL, "answers"),
        ({"data": [{"id": "b"}, {"id": "a"}, {"id": 3}, "x"]}, Health.LIMITED, "lists a, b"),
        ({"data": []}, Health.LIMITED, "lists no models"),
        (["some-model"], Health.BROKEN, "JSON that is not an object"),
    ],
)
def test_a_server_is_asked_for_its_models(listed: object, health: Health, words: str) -> None:
    with scripted_server(Send(listed)) as server:
        found = check_model("planner", "some-model", server.base_url, online=True)
    assert found.health is health
    assert words in f"{found.detail}; {found.remedy}"


@pytest.mark.parametrize(
    ("status", "words"), [(401, "OPENAI_API_KEY"), (404, "OPENAI_BASE_URL"), (500, "")]
)
def test_a_server_that_refuses_to_list_its_models_is_broken(status: int, words: str) -> None:
    with scripted_server(*[error_answer(status, "no")] * 9) as server:
        found = check_model("planner", "some-model", server.base_url, online=True)
    assert found.health is Health.BROKEN
    assert found.detail.startswith(f"some-model at {server.base_url}: ")
    assert words in f"{found.detail}; {found.remedy}"


@pytest.mark.parametrize(
    ("provider", "model", "listed", "path", "key"),
    [
        (Provider.ANTHROPIC, "claude-opus-5", {"data": [{"id": "claude-opus-5"}]},
         "/v1/models?limit=1000", "ANTHROPIC_API_KEY"),
        (Provider.GEMINI, "gemini-2.5-pro", {"models": [{"name": "models/gemini-2.5-pro"}]},
         "/v1/models?pageSize=1000", "GEMINI_API_KEY"),
    ],
)  # fmt: skip
def test_each_provider_is_asked_for_its_models(
    provider: Provider, model: str, listed: object, path: str, key: str
) -> None:
    with scripted_server(Send(listed)) as server:
        found = check_model("factory", model, server.base_url, provider, online=True)
    assert found.health is Health.WELL
    assert f"({provider}, as the settings name it; key from {key})" in found.detail
    assert [each.path for each in server.received] == [path]


def test_a_provider_without_its_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    found = check_model("planner", "claude-opus-5", None, online=False)
    assert found.health is Health.BROKEN
    assert "ANTHROPIC_API_KEY is not set" in found.detail
    assert "OPENAI_API_KEY is set" in found.remedy
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-0123456789")
    found = check_model("planner", "claude-opus-5", None, online=False)
    assert found.health is Health.WELL
    assert "claude-opus-5 at https://api.anthropic.com (anthropic, as" in found.detail
    assert "secret" not in found.detail


def test_a_server_that_does_not_answer_is_broken() -> None:
    found = check_model("planner", "some-model", "http://127.0.0.1:9/v1", online=True)
    assert found.health is Health.BROKEN
    assert found.detail.startswith("some-model at http://127.0.0.1:9/v1: ")


def test_a_tool_that_judges_nothing_of_a_repo_is_not_reported() -> None:
    assert not [*check_tools(["go.mod", "a.go"])]
    assert [each.name for each in check_tools(["go.mod", "web/a.ts"])] == ["tools"]
    assert [each.name for each in check_tools()] == ["tools"]
