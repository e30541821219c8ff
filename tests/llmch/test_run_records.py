"""What `run.json` says of the version, the work and the model, through the real entry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import llmch
from tests.harness import Json, git, order
from tests.llmch.command_line import Say, plan_reply, write_reply
from tests.planner.plans import creating, plan
from tests.shared.llm.edge import response_stream
from tests.shared.llm.scripted_server import scripted_server


def head_of(cwd: Path, kind: str) -> Json:
    (path,) = (cwd / "artifacts" / kind).glob("*/run.json")
    head: Json = json.loads(path.read_text())
    return head


def with_credentials(url: str) -> str:
    """Return a server's URL as somebody writes it who logs in with a password."""
    return url.replace("http://", "http://somebody:open-sesame@") + "?key=open-sesame"


def test_a_run_names_the_server_without_its_credentials(
    say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "WO-01.json").write_text(json.dumps(order()))
    with scripted_server(write_reply({"hello.txt": "hello\n"})) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", with_credentials(server.base_url))
        said = say(
            *("run", "--repo", repo, "--work-order", "WO-01.json", "--branch", "work"),
            *("--sandbox", "off", "--reply-format", "json"),
            *(
                "--factory-model",
                "small,large",
                "--max-attempts",
                "3",
                "--factory-temperature",
                "0.5",
            ),
        )
    assert said.code == 0, said.err
    head = head_of(cwd, "factory")
    assert "open-sesame" not in json.dumps(head)
    settings = head["model_settings"]
    assert settings["base_url"] == server.base_url
    assert (settings["models"][0], settings["models"][-1]) == ("small", "large")
    assert (settings["temperature"], settings["replies"]) == (0.5, "live")
    assert head["llmch_version"] == llmch.__version__
    key = git(repo, "log", "-1", "--format=%(trailers:key=Llmch-Key,valueonly)", "work").strip()
    assert head["orders"] == [{"id": "WO-01", "order_key": key}]


def test_a_plan_names_its_orders_its_hash_and_both_models(
    say: Say, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "spec.md").write_text("# Greeter\n\nSay hello.\n")
    good = plan(creating(1, "greet.py"))
    with (
        scripted_server(plan_reply(good)) as planner,
        scripted_server(response_stream(json.dumps({"findings": []}))) as reviewer,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", with_credentials(planner.base_url))
        monkeypatch.setenv("LLMCH_REVIEWER_BASE_URL", reviewer.base_url)
        said = say(
            "plan", "--spec", "spec.md", "--review", "--planner-model", "m", "--outdir", "plan"
        )
    assert said.code == 0, said.out + said.err
    head = head_of(cwd, "planner")
    assert "open-sesame" not in json.dumps(head)
    assert head["llmch_version"] == llmch.__version__
    assert (head["model_settings"]["models"], head["model_settings"]["replies"]) == (["m"], "live")
    assert head["model_settings"]["base_url"] == planner.base_url
    assert head["reviewer_settings"]["base_url"] == reviewer.base_url
    manifest = json.loads((cwd / "plan" / "WORK_ORDERS_MANIFEST.json").read_text())
    assert head["manifest_sha256"] == manifest["provenance"]["manifest_sha256"]
    assert [each["id"] for each in head["orders"]] == ["WO-01"]
    assert len(head["orders"][0]["order_key"]) == 64
